/// Sees each batch of sync actions after the middleware and before the reducer.
///
/// After Recombine's `SideEffect`; it has another name here because `SideEffect.make` is a name of the declarative
/// dialect. It is called on the store's turn, once a batch, so it should be quick; it is for telling others (a log, a
/// statistic, a mediator), not for work that leads to actions, which is a ``Thunk``'s. It is not called for a batch
/// that the middleware has emptied, nor, unlike the original's, while a recording is replayed.
public struct StoreSideEffect<SyncAction: Sendable>: Sendable {
    @usableFromInline let body: (@Sendable ([SyncAction]) -> Void)?

    /// Does nothing.
    @inlinable
    public init() {
        body = nil
    }

    /// Calls a function with each batch.
    @inlinable
    public init(_ body: @escaping @Sendable ([SyncAction]) -> Void) {
        self.body = body
    }

    /// Several, in order.
    public init(_ effects: StoreSideEffect...) {
        self = effects.reduce(StoreSideEffect()) { $0.appending($1) }
    }

    /// This one, then the other.
    public func appending(_ other: StoreSideEffect) -> StoreSideEffect {
        guard let first = body else { return other }
        guard let second = other.body else { return self }
        return StoreSideEffect { actions in
            first(actions)
            second(actions)
        }
    }
}
