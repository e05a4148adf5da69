import Synchronization

/// A handle that ends an activity, for example a mediator's deliveries or a stream of states.
///
/// It ends the activity once: when ``cancel()`` is called, or when the last reference to the subscription is released.
public final class Subscription: Sendable {
    private let body: Mutex<(@Sendable () -> Void)?>

    /// Creates a subscription that calls `cancel` once.
    public init(_ cancel: @escaping @Sendable () -> Void) {
        body = Mutex(cancel)
    }

    /// Ends the activity. A delivery that already runs on another thread may still finish. No delivery begins
    /// afterwards.
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

/// A subscription that is made later and can be cancelled before.
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

    /// Makes the subscription, unless it has been cancelled.
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

    /// Cancels the subscription, or prevents its creation.
    @usableFromInline
    func cancel() {
        let before = phase.withLock { phase in
            defer { phase = .cancelled }
            return phase
        }
        if case .begun(let made) = before { made.cancel() }
    }
}
