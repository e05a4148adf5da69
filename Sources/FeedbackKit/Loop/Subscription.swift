import Synchronization

/// Ends something that goes on: a mediator's deliveries, a stream of states.
///
/// Ends it once: when ``cancel()`` is called, or when the last reference to it is released.
public final class Subscription: Sendable {
    private let body: Mutex<(@Sendable () -> Void)?>

    /// A subscription that calls `cancel` once.
    public init(_ cancel: @escaping @Sendable () -> Void) {
        body = Mutex(cancel)
    }

    /// Ends it. A delivery that is under way on another thread may still finish; none begins afterwards.
    public func cancel() {
        let body = body.withLock { body in
            let taken = body
            body = nil
            return taken
        }
        body?()
    }

    deinit {
        cancel()
    }
}

/// A subscription that is made later, and may be cancelled before.
@usableFromInline
final class LateSubscription: Sendable {
    private enum Phase: Sendable {
        case new
        case begun(Subscription)
        case cancelled
    }
    private let phase = Mutex(Phase.new)

    @usableFromInline
    init() {}

    /// Makes it, unless it has been cancelled.
    @usableFromInline
    func begin(_ make: () -> Subscription) {
        if phase.withLock({ if case .cancelled = $0 { true } else { false } }) { return }
        let made = make()
        let isCancelled = phase.withLock { phase in
            if case .cancelled = phase { return true }
            phase = .begun(made)
            return false
        }
        if isCancelled { made.cancel() }
    }

    /// Cancels it, or keeps it from being made.
    @usableFromInline
    func cancel() {
        let before = phase.withLock { phase in
            defer { phase = .cancelled }
            return phase
        }
        if case .begun(let made) = before { made.cancel() }
    }
}
