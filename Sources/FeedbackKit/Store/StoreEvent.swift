/// What waits in the mailbox of a store's loop.
///
/// All but the single action is in a box, so that an event is as small, and as quick to hand on, as an action.
@usableFromInline
package enum StoreEvent<State: Sendable, AsyncAction: Sendable, SyncAction: Sendable>: Sendable {
    /// One action, dispatched by itself.
    case action(SyncAction)
    /// A batch: gives one new state.
    indirect case batch([SyncAction], StoreHop<SyncAction>)
    /// For the thunk.
    indirect case async(AsyncAction, DispatchPart<SyncAction>, depth: Int)
    /// A dispatch whose actions are worked off one after the other.
    indirect case serial([EitherAction<AsyncAction, SyncAction>], DispatchPart<SyncAction>)
    /// A replay begins: this is the state now, and what runs is cancelled.
    indirect case reset(State)
    /// A recorded batch.
    indirect case replayed([SyncAction])
    /// The replay is over.
    case unlock
}

/// How a batch has come about.
@usableFromInline
package struct StoreHop<SyncAction: Sendable>: Sendable {
    /// `nil`: it belongs to no dispatch that anybody waits for.
    @usableFromInline let part: DispatchPart<SyncAction>?
    /// How many actions led to it.
    @usableFromInline let depth: Int

    @inlinable
    init(part: DispatchPart<SyncAction>?, depth: Int) {
        self.part = part
        self.depth = depth
    }
}

/// What has just been taken, for those who watch.
@usableFromInline
package struct StoreStep<State: Sendable, AsyncAction: Sendable, SyncAction: Sendable>: Sendable {
    /// The batch as it was dispatched; `nil`: it came past the middleware.
    @usableFromInline package var before: [SyncAction]?
    /// The batch as the reducer saw it; `nil`: none.
    @usableFromInline package var after: [SyncAction]?
    /// The async action that was taken.
    @usableFromInline package var async: AsyncAction?
    /// The state before.
    @usableFromInline package var previous: State
    /// Whether the state differs from the one before.
    @usableFromInline package var isChange = false
    /// Whether the state was set by a replay.
    @usableFromInline package var isReset = false

    @inlinable
    init(previous: State) {
        self.previous = previous
    }
}
