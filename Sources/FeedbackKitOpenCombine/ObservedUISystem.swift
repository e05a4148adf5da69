#if !canImport(Combine)
public import FeedbackKit

/// A ``UISystem`` under the names the documentation of Feedbacks gives it: `system.state`, `system.$state`,
/// `system.emit`.
///
/// Where the platform has Combine, FeedbackKit has a type of this name for it.
@MainActor
public final class ObservedUISystem<PublishedState: Sendable> {
    /// The state published last. `$state` is its publisher, which delivers on the main actor: see
    /// ``UISystem/publisher``.
    @StateOfSystem public var state: PublishedState
    /// The system that publishes it.
    public let system: UISystem<PublishedState>

    /// Observes a system, which it keeps alive.
    public init(_ system: UISystem<PublishedState>) {
        self.system = system
        _state = StateOfSystem(system)
    }

    /// Emits an event of the user in the system.
    @discardableResult
    public func emit(_ event: any Event) -> SendResult { system.emit(event) }
}

/// The published state of a ``UISystem``, with its publisher as the projected value.
@propertyWrapper
public struct StateOfSystem<PublishedState: Sendable>: Sendable {
    private let system: UISystem<PublishedState>

    /// The state of this system.
    public init(_ system: UISystem<PublishedState>) {
        self.system = system
    }

    /// The state published last.
    public var wrappedValue: PublishedState { system.state }

    /// The publisher of what is published.
    public var projectedValue: OrderedPublisher<PublishedState> { system.publisher }
}
#endif
