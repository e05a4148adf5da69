/// A group of actions that is dispatched to a store or yielded by a thunk: actions for the thunk, or actions for the
/// reducer.
///
/// Corresponds to Recombine's `EitherAction<AsyncAction, SyncAction>`. One `.sync` value is one batch and produces one
/// new state. The async actions of one value start one after the other or side by side, depending on the dispatch.
public enum EitherAction<AsyncAction, SyncAction> {
    /// The actions that the thunk turns into other actions.
    public typealias Async = AsyncAction
    /// The actions that the reducer handles.
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

    /// The async actions, or `nil` if this value holds sync actions.
    @inlinable
    public var asyncActions: [AsyncAction]? {
        if case .async(let actions) = self { actions } else { nil }
    }

    /// The sync actions, or `nil` if this value holds async actions.
    @inlinable
    public var syncActions: [SyncAction]? {
        if case .sync(let actions) = self { actions } else { nil }
    }

    /// Returns the same group with each sync action transformed.
    @inlinable
    public func map<NewSyncAction>(
        sync transform: (SyncAction) throws -> NewSyncAction
    ) rethrows -> EitherAction<AsyncAction, NewSyncAction> {
        switch self {
        case .async(let actions): .async(actions)
        case .sync(let actions): .sync(try actions.map(transform))
        }
    }

    /// Returns the same group with each async action transformed.
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
