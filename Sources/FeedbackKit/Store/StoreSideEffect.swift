/// A hook that receives each batch of sync actions after the middleware and before the reducer.
///
/// Corresponds to Recombine's `SideEffect`, renamed because `SideEffect.make` belongs to the declarative dialect. Use
/// it to notify others: a log, a statistic, a mediator. Use a ``Thunk`` for work that leads to actions.
///
/// It runs on the store's executor, once per batch, so it must be quick. It is not called for a batch that the
/// middleware has emptied. Unlike the original's, it is not called while a recording is replayed.
public struct StoreSideEffect<SyncAction: Sendable>: Sendable {
    @usableFromInline let body: (@Sendable ([SyncAction]) -> Void)?

    /// Creates a hook that does nothing.
    @inlinable
    public init() {
        body = nil
    }

    /// Creates a hook that calls a function with each batch.
    @inlinable
    public init(_ body: @escaping @Sendable ([SyncAction]) -> Void) {
        self.body = body
    }

    /// Combines several hooks, called in order.
    public init(_ effects: StoreSideEffect...) {
        self = effects.reduce(StoreSideEffect()) { $0.appending($1) }
    }

    /// Returns a hook that calls this one and then `other`.
    public func appending(_ other: StoreSideEffect) -> StoreSideEffect {
        guard let first = body else { return other }
        guard let second = other.body else { return self }
        return StoreSideEffect { actions in
            first(actions)
            second(actions)
        }
    }
}
