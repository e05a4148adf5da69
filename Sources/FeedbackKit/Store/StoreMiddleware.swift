/// Sees each sync action on its way to the reducer, and drops, changes, adds or dispatches actions.
///
/// After Recombine's `Middleware`. It answers each action with the actions that go on in its place: `[]` drops it,
/// `[action]` lets it pass. It is called on the store's turn, for the actions of a batch in order; all of them see the
/// state before the batch, as in the original. It must not block.
///
/// What it dispatches starts anew, behind everything that waits, as batches of their own, and goes through the whole
/// middleware again. It counts as part of the dispatch that led to it, but is neither collected nor put in series. A middleware that dispatches what it sees, without end, is stopped by ``StoreLimits/depth``.
public struct Middleware<State: Sendable, SyncAction: Sendable, AsyncAction: Sendable, Environment: Sendable>: Sendable
{
    /// Puts actions in at the beginning again.
    public typealias Dispatch = MiddlewareDispatch<AsyncAction, SyncAction>
    @usableFromInline
    typealias Body = @Sendable (State, SyncAction, Dispatch, Environment) -> [SyncAction]
    @usableFromInline let body: Body?

    /// Lets every action pass.
    @inlinable
    public init() {
        body = nil
    }

    /// Asks a function, which gets the state before the batch, the action, a way to dispatch, and the environment.
    @inlinable
    public init(_ transform: @escaping @Sendable (State, SyncAction, Dispatch, Environment) -> [SyncAction]) {
        body = transform
    }

    /// Asks a function that dispatches nothing.
    @inlinable
    public init(_ transform: @escaping @Sendable (State, SyncAction, Environment) -> [SyncAction]) {
        body = { state, action, _, environment in transform(state, action, environment) }
    }

    /// The function with the environment filled in.
    @inlinable
    func bound(to environment: Environment) -> (@Sendable (State, SyncAction, Dispatch) -> [SyncAction])? {
        guard let body else { return nil }
        return { state, action, dispatch in body(state, action, dispatch, environment) }
    }

    /// Several, in order: each sees what the one before lets pass.
    public init(_ middlewares: Middleware...) {
        self = middlewares.reduce(Middleware()) { $0.appending($1) }
    }

    /// This one, then the other, which sees what this one lets pass.
    public func appending(_ other: Middleware) -> Middleware {
        guard let first = body else { return other }
        guard let second = other.body else { return self }
        return Middleware { state, action, dispatch, environment in
            first(state, action, dispatch, environment).flatMap { second(state, $0, dispatch, environment) }
        }
    }
}

/// Lets a middleware dispatch actions. It can be kept and used later; it does not keep the store alive.
public struct MiddlewareDispatch<AsyncAction: Sendable, SyncAction: Sendable>: Sendable {
    @usableFromInline let body: @Sendable ([EitherAction<AsyncAction, SyncAction>]) -> DispatchResult

    @inlinable
    init(_ body: @escaping @Sendable ([EitherAction<AsyncAction, SyncAction>]) -> DispatchResult) {
        self.body = body
    }

    /// Dispatches actions, as batches of their own.
    @discardableResult
    public func callAsFunction(_ actions: EitherAction<AsyncAction, SyncAction>...) -> DispatchResult { body(actions) }

    /// Dispatches one batch.
    @discardableResult
    public func callAsFunction(sync actions: SyncAction...) -> DispatchResult { body([.sync(actions)]) }

    /// Dispatches async actions.
    @discardableResult
    public func callAsFunction(async actions: AsyncAction...) -> DispatchResult { body([.async(actions)]) }
}
