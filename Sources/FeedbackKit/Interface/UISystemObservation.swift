#if canImport(Combine)
public import Combine

/// A ``UISystem`` as an observable object for SwiftUI and Combine: `@ObservedObject`, `$state`.
///
/// In the originals, `UISystem` itself is such an object. Here it may be used from any thread, which an observable
/// object does not allow.
@MainActor
public final class ObservedUISystem<PublishedState: Sendable>: ObservableObject {
    /// The last published state.
    @Published public private(set) var state: PublishedState
    /// The system that publishes the state.
    public let system: UISystem<PublishedState>
    private var watching: FeedbackKit.Subscription?

    /// Observes a system and keeps it alive.
    public init(_ system: UISystem<PublishedState>) {
        self.system = system
        state = system.state
        watching = system.subscribe { [weak self] in self?.state = $0 }
    }

    /// Sends an event of the user to the system.
    @discardableResult
    public func emit(_ event: any Event) -> SendResult { system.emit(event) }
}
#endif
