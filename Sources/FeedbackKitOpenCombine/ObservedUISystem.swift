#if !canImport(Combine)
public import FeedbackKit

/// A ``UISystem`` with the names from the documentation of Feedbacks: `system.state`, `system.$state`, `system.emit`.
///
/// On platforms with Combine, FeedbackKit has a type of this name for Combine.
@MainActor
public final class ObservedUISystem<PublishedState: Sendable> {
    /// The last published state. `$state` is its publisher, which delivers on the main actor: see
    /// ``UISystem/publisher``.
    @StateOfSystem public var state: PublishedState
    /// The system that publishes the state.
    public let system: UISystem<PublishedState>

    /// Observes a system and keeps it alive.
    public init(_ system: UISystem<PublishedState>) {
        self.system = system
        _state = StateOfSystem(system)
    }

    /// Sends an event of the user to the system.
    @discardableResult
    public func emit(_ event: any Event) -> SendResult { system.emit(event) }
}

/// The published state of a ``UISystem``, with its publisher as the projected value.
@propertyWrapper
public struct StateOfSystem<PublishedState: Sendable>: Sendable {
    private let system: UISystem<PublishedState>

    /// Wraps the state of a system.
    public init(_ system: UISystem<PublishedState>) {
        self.system = system
    }

    /// The last published state.
    public var wrappedValue: PublishedState { system.state }

    /// The publisher of the states.
    public var projectedValue: OrderedPublisher<PublishedState> { system.publisher }
}
#endif
