#if canImport(Combine)
public import Combine

/// A ``UISystem`` as an object that SwiftUI and Combine observe: `@ObservedObject`, `$state`.
///
/// In the originals `UISystem` is itself such an object; here it may be used from any thread, which an observable
/// object may not.
@MainActor
public final class ObservedUISystem<PublishedState: Sendable>: ObservableObject {
    /// The state published last.
    @Published public private(set) var state: PublishedState
    /// The system that publishes it.
    public let system: UISystem<PublishedState>
    private var watching: FeedbackKit.Subscription?

    /// Observes a system, which it keeps alive.
    public init(_ system: UISystem<PublishedState>) {
        self.system = system
        state = system.state
        watching = system.subscribe { [weak self] in self?.state = $0 }
    }

    /// Emits an event of the user in the system.
    @discardableResult
    public func emit(_ event: any Event) -> SendResult { system.emit(event) }
}
#endif
