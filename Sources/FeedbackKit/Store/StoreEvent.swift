/// An entry in the mailbox of a store's loop.
///
/// All cases but the single action are boxed, so that an event is as small as an action, and as quick to copy.
@usableFromInline
package enum StoreEvent<State: Sendable, AsyncAction: Sendable, SyncAction: Sendable>: Sendable {
    /// One action, dispatched by itself.
    case action(SyncAction)
    /// A batch, which produces one new state.
    indirect case batch([SyncAction], BatchOrigin<SyncAction>)
    /// An async action for the thunk.
    indirect case async(AsyncAction, DispatchPart<SyncAction>, depth: Int)
    /// A dispatch whose actions run one after the other.
    indirect case serial([EitherAction<AsyncAction, SyncAction>], DispatchPart<SyncAction>)
    /// The beginning of a replay: sets the state and cancels the running thunks.
    indirect case reset(State)
    /// A batch from a recording.
    indirect case replayed([SyncAction])
    /// The end of a replay.
    case unlock
}

/// The origin of a batch.
@usableFromInline
package struct BatchOrigin<SyncAction: Sendable>: Sendable {
    /// The dispatch that waits for this batch; `nil` if nobody waits.
    @usableFromInline let part: DispatchPart<SyncAction>?
    /// The number of actions that led to it.
    @usableFromInline let depth: Int

    @inlinable
    init(part: DispatchPart<SyncAction>?, depth: Int) {
        self.part = part
        self.depth = depth
    }
}

/// The event that the store has just taken, for its watchers.
@usableFromInline
package struct StoreStep<State: Sendable, AsyncAction: Sendable, SyncAction: Sendable>: Sendable {
    /// The batch as it was dispatched; `nil` if it bypassed the middleware.
    @usableFromInline package var before: [SyncAction]?
    /// The batch as the reducer received it; `nil` if there is no batch.
    @usableFromInline package var after: [SyncAction]?
    /// The async action that was taken.
    @usableFromInline package var async: AsyncAction?
    /// The state before the event.
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
