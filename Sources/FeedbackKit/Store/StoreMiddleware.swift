/// A filter between dispatch and reducer that drops, changes, adds or dispatches sync actions.
///
/// Corresponds to Recombine's `Middleware`. For each action it returns the actions that replace it: `[]` drops the
/// action, `[action]` passes it on. It runs on the store's executor, for the actions of a batch in order. As in the
/// original, every call sees the state before the batch. It must not block.
///
/// Actions that a middleware dispatches form new batches behind all waiting actions, and pass through the whole
/// middleware again. They count as part of the dispatch that caused them, but `collect` and `serially` do not apply to
/// them. ``StoreLimits/depth`` stops a middleware that dispatches its own input without end.
public struct Middleware<State: Sendable, SyncAction: Sendable, AsyncAction: Sendable, Environment: Sendable>: Sendable
{
    /// The function with which a middleware dispatches actions.
    public typealias Dispatch = MiddlewareDispatch<AsyncAction, SyncAction>
    @usableFromInline
    typealias Body = @Sendable (State, SyncAction, Dispatch, Environment) -> [SyncAction]
    @usableFromInline let body: Body?

    /// Creates a middleware that passes every action on.
    @inlinable
    public init() {
        body = nil
    }

    /// Creates a middleware from a function of the state before the batch, the action, a dispatch function, and the
    /// environment.
    @inlinable
    public init(_ transform: @escaping @Sendable (State, SyncAction, Dispatch, Environment) -> [SyncAction]) {
        body = transform
    }

    /// Creates a middleware from a function that dispatches nothing.
    @inlinable
    public init(_ transform: @escaping @Sendable (State, SyncAction, Environment) -> [SyncAction]) {
        body = { state, action, _, environment in transform(state, action, environment) }
    }

    /// Returns the function with its environment bound.
    @inlinable
    func bound(to environment: Environment) -> (@Sendable (State, SyncAction, Dispatch) -> [SyncAction])? {
        guard let body else { return nil }
        return { state, action, dispatch in body(state, action, dispatch, environment) }
    }

    /// Combines several in order; each receives the actions that the one before passes on.
    public init(_ middlewares: Middleware...) {
        self = middlewares.reduce(Middleware()) { $0.appending($1) }
    }

    /// Returns a middleware that applies this one and then `other` to its results.
    public func appending(_ other: Middleware) -> Middleware {
        guard let first = body else { return other }
        guard let second = other.body else { return self }
        return Middleware { state, action, dispatch, environment in
            first(state, action, dispatch, environment).flatMap { second(state, $0, dispatch, environment) }
        }
    }
}

/// A function with which a middleware dispatches actions. You may keep it and call it later; it does not keep the store
/// alive.
public struct MiddlewareDispatch<AsyncAction: Sendable, SyncAction: Sendable>: Sendable {
    @usableFromInline let body: @Sendable ([EitherAction<AsyncAction, SyncAction>]) -> DispatchResult

    @inlinable
    init(_ body: @escaping @Sendable ([EitherAction<AsyncAction, SyncAction>]) -> DispatchResult) {
        self.body = body
    }

    /// Dispatches actions, each group as a batch of its own.
    @discardableResult
    public func callAsFunction(_ actions: EitherAction<AsyncAction, SyncAction>...) -> DispatchResult { body(actions) }

    /// Dispatches one batch.
    @discardableResult
    public func callAsFunction(sync actions: SyncAction...) -> DispatchResult { body([.sync(actions)]) }

    /// Dispatches async actions.
    @discardableResult
    public func callAsFunction(async actions: AsyncAction...) -> DispatchResult { body([.async(actions)]) }
}
