/// What is dispatched to a store, and what a thunk yields: actions for the thunk, or actions for the reducer.
///
/// After Recombine's `EitherAction<AsyncAction, SyncAction>`. One value of `.sync` is one batch: it gives one new
/// state. Several async actions in one value are started one after the other or side by side, as the dispatch says.
public enum EitherAction<AsyncAction, SyncAction> {
    /// The actions that the thunk turns into others.
    public typealias Async = AsyncAction
    /// The actions that the reducer knows.
    public typealias Sync = SyncAction

    /// Actions for the thunk.
    case async([AsyncAction])
    /// One batch of actions for the reducer.
    case sync([SyncAction])

    /// Actions for the thunk.
    @inlinable
    public static func async(_ actions: AsyncAction...) -> EitherAction { .async(actions) }

    /// One batch of actions for the reducer.
    @inlinable
    public static func sync(_ actions: SyncAction...) -> EitherAction { .sync(actions) }

    /// The async actions; `nil` if these are sync actions.
    @inlinable
    public var asyncActions: [AsyncAction]? {
        if case .async(let actions) = self { actions } else { nil }
    }

    /// The sync actions; `nil` if these are async actions.
    @inlinable
    public var syncActions: [SyncAction]? {
        if case .sync(let actions) = self { actions } else { nil }
    }

    /// The same with every sync action changed.
    @inlinable
    public func map<NewSyncAction>(
        sync transform: (SyncAction) throws -> NewSyncAction
    ) rethrows -> EitherAction<AsyncAction, NewSyncAction> {
        switch self {
        case .async(let actions): .async(actions)
        case .sync(let actions): .sync(try actions.map(transform))
        }
    }

    /// The same with every async action changed.
    @inlinable
    public func map<NewAsyncAction>(
        async transform: (AsyncAction) throws -> NewAsyncAction
    ) rethrows -> EitherAction<NewAsyncAction, SyncAction> {
        switch self {
        case .async(let actions): .async(try actions.map(transform))
        case .sync(let actions): .sync(actions)
        }
    }
}

extension EitherAction: Sendable where AsyncAction: Sendable, SyncAction: Sendable {}
extension EitherAction: Equatable where AsyncAction: Equatable, SyncAction: Equatable {}
extension EitherAction: Hashable where AsyncAction: Hashable, SyncAction: Hashable {}
