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
