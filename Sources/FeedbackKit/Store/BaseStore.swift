public import Synchronization

/// A store whose state changes only by dispatched actions: the Redux dialect.
///
///     let store = BaseStore<State, Async, Sync>(
///         state: .init(counter: 0), reducer: reducer, thunk: thunk, environment: environment)
///     store.dispatch(sync: .modify(.increase))
///     store.dispatch(async: .networkCall(url))
///
/// Corresponds to Recombine's `BaseStore` and runs on this module's ``Loop``. Actions wait in one queue, first in,
/// first out, and the store takes one batch at a time. For each batch it:
///
/// 1. passes the actions through the ``Middleware``,
/// 2. calls the ``StoreSideEffect``,
/// 3. reduces the actions one by one,
/// 4. publishes **one** new state to its watchers, in the order in which they subscribed.
///
/// Async actions go to the ``Thunk``.
///
/// The store starts itself. The first dispatch is never lost, and nobody needs to subscribe. The store keeps nothing of
/// a dispatch that has ended. If it is released without having been stopped, it cancels its thunks; keep a reference
/// for as long as they must run.
///
/// Differences from the original:
///
/// - Nothing is published from within another publication.
/// - A dispatch can be awaited and cancelled.
/// - ``StoreLimits`` bound the actions that a dispatch may cause.
/// - A replay cancels the running thunks, so they cannot change the replayed state.
/// - The store is not an `ObservableObject`, because the library assumes no user-interface framework.
public final class BaseStore<State: Equatable & Sendable, AsyncAction: Sendable, SyncAction: Sendable>: Sendable {
    /// The actions that the store accepts.
    public typealias Action = EitherAction<AsyncAction, SyncAction>
    /// The loop's events.
    @usableFromInline package typealias Event = StoreEvent<State, AsyncAction, SyncAction>
    @usableFromInline package typealias Core = StoreCore<State, AsyncAction, SyncAction>

    /// The loop that runs the store.
    @usableFromInline package let loop: Loop<State, Event>
    @usableFromInline package let core: Core
    /// The state in which the store started.
    public let initialState: State
    let recorder = Mutex<StoreRecorder<State, SyncAction>?>(nil)

    /// Starts a store whose rules have their environment already.
    @inlinable
    init(
        state: State, rules: Core.Rules, executor: any LoopExecutor, clock: any Clock<Duration>, limits: StoreLimits,
        mailboxLimit: Int, overflow: Overflow, onFault: (@Sendable (StoreFault) -> Void)?,
        observer: (any LoopObserver<State, Event>)?
    ) {
        let mayEvict = mailboxLimit < .max && (overflow == .dropOldest || overflow == .keepLatest)
        let core = Core(rules: rules, limits: limits, mayEvict: mayEvict, onFault: onFault)
        let loop = Loop<State, Event>(
            initial: state, feedbacks: [core.feedback], executor: executor, clock: clock, mailboxLimit: mailboxLimit,
            overflow: overflow, observer: observer
        ) { state, event in core.reduce(&state, event) }
        core.connect(to: loop)
        self.core = core
        self.loop = loop
        initialState = state
        loop.start()
    }

    /// Creates a store and starts it.
    ///
    /// - Parameters:
    ///   - state: The first state.
    ///   - reducer: Changes the state on each sync action.
    ///   - thunk: Turns async actions into other actions. Without a thunk, async actions have no effect.
    ///   - environment: The dependencies of reducer, thunk and middleware. (The example in Recombine's document omits
    ///     this argument, although its reducer and thunk have an environment.)
    ///   - middleware: Receives each sync action first.
    ///   - sideEffect: Receives each batch after the middleware.
    ///   - executor: The executor of the store's loop, which also publishes the states.
    ///   - clock: The clock for recordings and replays.
    ///   - limits: The limits of one dispatch.
    ///   - mailboxLimit: The maximum number of batches and async actions that wait, at least 1.
    ///   - overflow: The rule for actions that find the mailbox full.
    ///   - onFault: Receives each dispatch that ended because it exceeded a limit. May be called on any thread.
    @inlinable
    public convenience init<Environment: Sendable>(
        state: State,
        reducer: Reducer<State, SyncAction, Environment>,
        thunk: Thunk<State, SyncAction, AsyncAction, Environment> = Thunk(),
        environment: Environment,
        middleware: Middleware<State, SyncAction, AsyncAction, Environment> = Middleware(),
        sideEffect: StoreSideEffect<SyncAction> = StoreSideEffect(),
        publishOn executor: any LoopExecutor = .sharedPool,
        clock: any Clock<Duration> = ContinuousClock(),
        limits: StoreLimits = StoreLimits(),
        mailboxLimit: Int = .max,
        overflow: Overflow = .dropNewest,
        onFault: (@Sendable (StoreFault) -> Void)? = nil
    ) {
        self.init(
            state: state,
            rules: Core.Rules(
                reducer: { state, action in reducer(&state, action, environment) },
                middleware: middleware.bound(to: environment),
                sideEffect: sideEffect.body,
                thunk: thunk.bound(to: environment)),
            executor: executor, clock: clock, limits: limits, mailboxLimit: mailboxLimit, overflow: overflow,
            onFault: onFault, observer: nil)
    }

    /// Creates a store whose parts need no environment, and starts it.
    ///
    /// The parameters are the same as those of the initializer with an environment.
    @inlinable
    public convenience init(
        state: State,
        reducer: Reducer<State, SyncAction>,
        thunk: Thunk<State, SyncAction, AsyncAction, Void> = Thunk(),
        middleware: Middleware<State, SyncAction, AsyncAction, Void> = Middleware(),
        sideEffect: StoreSideEffect<SyncAction> = StoreSideEffect(),
        publishOn executor: any LoopExecutor = .sharedPool,
        clock: any Clock<Duration> = ContinuousClock(),
        limits: StoreLimits = StoreLimits(),
        mailboxLimit: Int = .max,
        overflow: Overflow = .dropNewest,
        onFault: (@Sendable (StoreFault) -> Void)? = nil
    ) {
        self.init(
            state: state,
            rules: Core.Rules(
                reducer: { state, action in reducer(&state, action) },
                middleware: middleware.bound(to: ()),
                sideEffect: sideEffect.body,
                thunk: thunk.bound(to: ())),
            executor: executor, clock: clock, limits: limits, mailboxLimit: mailboxLimit, overflow: overflow,
            onFault: onFault, observer: nil)
    }

    /// Creates a store whose environment is `Void`, and starts it.
    ///
    /// The parameters are the same as those of the initializer with an environment.
    @inlinable
    @_disfavoredOverload  // A reducer whose type is not said is one without an environment.
    public convenience init(
        state: State,
        reducer: Reducer<State, SyncAction, Void>,
        thunk: Thunk<State, SyncAction, AsyncAction, Void> = Thunk(),
        middleware: Middleware<State, SyncAction, AsyncAction, Void> = Middleware(),
        sideEffect: StoreSideEffect<SyncAction> = StoreSideEffect(),
        publishOn executor: any LoopExecutor = .sharedPool,
        clock: any Clock<Duration> = ContinuousClock(),
        limits: StoreLimits = StoreLimits(),
        mailboxLimit: Int = .max,
        overflow: Overflow = .dropNewest,
        onFault: (@Sendable (StoreFault) -> Void)? = nil
    ) {
        self.init(
            state: state, reducer: reducer, thunk: thunk, environment: (), middleware: middleware,
            sideEffect: sideEffect, publishOn: executor, clock: clock, limits: limits, mailboxLimit: mailboxLimit,
            overflow: overflow, onFault: onFault)
    }

    // MARK: State

    /// The current state.
    @inlinable public var state: State { loop.state }

    /// The number of dispatches that ended because they exceeded a limit.
    public var faultCount: UInt64 { core.faultRecord.count }

    /// The reason why the last of these dispatches ended.
    public var lastFault: StoreFault? { core.faultRecord.last }

    /// The fault that cancelled the store, if its loop has failed: see ``Loop/fault``. A dispatch that exceeds a limit
    /// does not end the store; ``lastFault`` reports it.
    public var fault: LoopFault? { loop.fault }

    /// A snapshot of the store's loop.
    public var snapshot: LoopSnapshot { loop.snapshot }

    // MARK: Dispatch

    /// Dispatches one action.
    @inlinable
    @discardableResult
    public func dispatch(sync action: SyncAction) -> Dispatch {
        guard !core.needsTicket else { return dispatch(serially: false, collect: false, actions: [.sync([action])]) }
        guard core.announce(1) else { return Dispatch(.locked) }
        let result = DispatchResult(loop.send(.action(action)))
        guard result == .accepted else {
            core.retract(1)
            return Dispatch(result)
        }
        return Dispatch(result, .queued(self, core.place))
    }

    /// Dispatches several actions; see ``StoreProtocol/dispatch(serially:collect:actions:)``.
    @inlinable
    @discardableResult
    public func dispatch(serially: Bool, collect: Bool, actions: some Sequence<Action>) -> Dispatch {
        let actions = Array(actions)
        var batches = actions.compactMap(\.syncActions)
        guard batches.count == actions.count else {
            return dispatchWithTicket(serially: serially, collect: collect, actions)
        }
        if collect { batches = [Array(batches.joined())] }
        batches.removeAll(where: \.isEmpty)
        // An empty dispatch needs no ticket. It ends when the store has taken everything before it.
        guard !core.needsTicket || batches.isEmpty else {
            return dispatchWithTicket(serially: false, collect: false, batches.map { .sync($0) })
        }
        guard core.announce(batches.count) else { return Dispatch(.locked) }
        var tally = DispatchTally()
        for batch in batches {
            let result = DispatchResult(loop.send(.batch(batch, BatchOrigin(part: nil, depth: 0))))
            if result != .accepted { core.retract(1) }
            tally.note(result)
        }
        return Dispatch(tally.result, tally.isRefused ? .none : .queued(self, core.place))
    }

    @inlinable
    func dispatchWithTicket(serially: Bool, collect: Bool, _ actions: [Action]) -> Dispatch {
        guard !core.isLocked.load(ordering: .acquiring) else { return Dispatch(.locked) }
        let ticket = core.ticket(collects: collect)
        guard let part = ticket.open(isAsync: serially) else { return Dispatch(.dropped(.cancelled)) }
        if serially {
            let result = DispatchResult(loop.send(.serial(actions, part)))
            return Dispatch(result, result == .accepted ? .ticketed(ticket) : .none)
        }
        // The part keeps the dispatch open until all of it has been sent.
        defer { part.finish() }
        let tally = core.send(actions, to: loop, of: ticket, depth: 0)
        return Dispatch(tally.result, tally.isRefused ? .none : .ticketed(ticket))
    }

    // MARK: Lifecycle

    /// Stops gracefully. From now on the store accepts no action and starts no thunk. It still takes the waiting
    /// actions. Running thunks may finish, but the store drops the actions that they still yield. See
    /// ``Loop/stop(within:)``.
    public func stop(within limit: Duration = .seconds(5)) async { await loop.stop(within: limit) }

    /// Begins a graceful stop and returns at once; await ``stopped()`` for its end.
    public func beginStop() { loop.beginStop() }

    /// Cancels at once: drops the waiting actions, cancels the thunks, and does not wait.
    public func cancel() { loop.cancel() }

    /// Returns when the store has stopped and none of its work runs.
    public func stopped() async { await loop.stopped() }
}
