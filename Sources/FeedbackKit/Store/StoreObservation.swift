public import Synchronization

/// The point at which a batch is observed.
public enum ActionStage: Sendable, Hashable {
    /// The batch as it was dispatched.
    case beforeMiddleware
    /// The batch as the reducer receives it.
    case afterMiddleware
}

/// A batch of actions with the states before and after it.
public struct ActionsAndStates<State: Sendable, SyncAction: Sendable>: Sendable {
    /// The batch as the reducer received it.
    public let actions: [SyncAction]
    /// The state before.
    public let previous: State
    /// The state after.
    public let current: State

    @inlinable
    init(actions: [SyncAction], previous: State, current: State) {
        self.actions = actions
        self.previous = previous
        self.current = current
    }
}

extension ActionsAndStates: Equatable where State: Equatable, SyncAction: Equatable {}

/// Without watchers, observation costs one comparison of a number for each batch.
///
/// The store calls all watchers of all kinds on its executor, in the order in which they subscribed. It calls them
/// after the batch has been reduced and the new state has become the store's state.
extension BaseStore: StoreProtocol {
    /// The whole state.
    public typealias SubState = State
    /// All sync actions.
    public typealias SubAction = SyncAction

    /// Calls `handler` with each published state and with the event that led to it. The first call has the current
    /// state and `nil`.
    ///
    /// - Parameter note: Receives the async actions of serial dispatches, which produce no state.
    @inlinable
    package func watchSteps(
        _ handler: @escaping @Sendable (State, Core.Step?) -> Void, note: (@Sendable (AsyncAction) -> Void)? = nil,
        finish: @escaping @Sendable () -> Void
    ) -> Subscription {
        core.watcherCount.add(1, ordering: .relaxed)
        if let note {
            let watcher = AsyncActionWatcher(handler: note)
            core.add(watcher)
            let inner = loop.watch(
                { [core] state in
                    watcher.isThere.store(true, ordering: .releasing)
                    handler(state, core.shown)
                }, finish: finish)
            return Subscription { [core] in
                core.remove(watcher)
                inner.cancel()
                core.watcherCount.subtract(1, ordering: .relaxed)
            }
        }
        let inner = loop.watch({ [core] state in handler(state, core.shown) }, finish: finish)
        return Subscription { [core] in
            inner.cancel()
            core.watcherCount.subtract(1, ordering: .relaxed)
        }
    }

    /// Calls `handler` with the current state and then after each batch.
    @inlinable
    public func watchStates(
        _ handler: @escaping @Sendable (State) -> Void, finish: @escaping @Sendable () -> Void
    ) -> Subscription {
        watchSteps(
            { state, step in
                if step == nil || step?.after != nil || step?.isReset == true { handler(state) }
            }, finish: finish)
    }

    /// Calls `handler` with the current state, then with each state that differs from the one before.
    @inlinable
    public func watchChanges(
        _ handler: @escaping @Sendable (State) -> Void, finish: @escaping @Sendable () -> Void
    ) -> Subscription {
        watchSteps({ state, step in if step?.isChange != false { handler(state) } }, finish: finish)
    }

    /// Calls `handler` with each batch, before or after the middleware. A batch that the middleware empties is visible
    /// only before it; a replayed batch, only after it.
    @inlinable
    public func watchActions(
        _ stage: ActionStage, _ handler: @escaping @Sendable ([SyncAction]) -> Void,
        finish: @escaping @Sendable () -> Void = {}
    ) -> Subscription {
        watchSteps(
            { _, step in
                if let batch = stage == .beforeMiddleware ? step?.before : step?.after { handler(batch) }
            }, finish: finish)
    }

    /// Calls `handler` with each async action when it goes to the thunk.
    @inlinable
    public func watchAsyncActions(
        _ handler: @escaping @Sendable (AsyncAction) -> Void, finish: @escaping @Sendable () -> Void = {}
    ) -> Subscription {
        watchSteps({ _, step in if let action = step?.async { handler(action) } }, note: handler, finish: finish)
    }

    /// Calls `handler` with each reduced batch and the states before and after it.
    @inlinable
    public func watchActionsAndStates(
        _ handler: @escaping @Sendable (ActionsAndStates<State, SyncAction>) -> Void,
        finish: @escaping @Sendable () -> Void = {}
    ) -> Subscription {
        watchSteps(
            { state, step in
                guard let step, let actions = step.after else { return }
                handler(ActionsAndStates(actions: actions, previous: step.previous, current: state))
            }, finish: finish)
    }

    /// Returns the batches as a sequence; see ``watchActions(_:_:finish:)``.
    @inlinable
    public func actions(
        _ stage: ActionStage, buffering: AsyncStream<[SyncAction]>.Continuation.BufferingPolicy = .unbounded
    ) -> AsyncStream<[SyncAction]> {
        stream(buffering) { watchActions(stage, $0, finish: $1) }
    }

    /// Returns the async actions as a sequence; see ``watchAsyncActions(_:finish:)``.
    @inlinable
    public func asyncActions(
        buffering: AsyncStream<AsyncAction>.Continuation.BufferingPolicy = .unbounded
    ) -> AsyncStream<AsyncAction> {
        stream(buffering) { watchAsyncActions($0, finish: $1) }
    }

    /// The batches with their states, as a sequence; see ``watchActionsAndStates(_:finish:)``.
    @inlinable
    public var actionsAndStates: AsyncStream<ActionsAndStates<State, SyncAction>> {
        stream(.unbounded) { watchActionsAndStates($0, finish: $1) }
    }
}
