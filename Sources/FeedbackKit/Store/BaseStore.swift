public import Synchronization

/// One state, changed only by dispatched actions: the Redux dialect.
///
///     let store = BaseStore<State, Async, Sync>(
///         state: .init(counter: 0), reducer: reducer, thunk: thunk, environment: environment)
///     store.dispatch(sync: .modify(.increase))
///     store.dispatch(async: .networkCall(url))
///
/// After Recombine's `BaseStore`, on the one loop of this module: actions queue first in, first out, and are taken one
/// batch at a time. A batch goes through the ``Middleware``, is shown to the ``StoreSideEffect``, is reduced action by
/// action, and gives **one** new state, which is then shown to all who watch, in the order in which they began to.
/// Async actions go to the ``Thunk``.
///
/// The store starts itself: the first dispatch is never lost, and nothing needs to be subscribed. It keeps nothing of
/// a dispatch that is over. Released without having been stopped, it cancels what it runs; so keep it for as long as
/// its thunks are to run.
///
/// It differs from the original in this: nothing is published from within another publication; a dispatch can be
/// awaited and cancelled; what its thunks may set off is bounded (``StoreLimits``); a replay cancels the thunks that
/// run instead of letting them change the replayed state; it is not an `ObservableObject`, since the platform's
/// interface is not assumed.
public final class BaseStore<State: Equatable & Sendable, AsyncAction: Sendable, SyncAction: Sendable>: Sendable {
    /// What is dispatched.
    public typealias Action = EitherAction<AsyncAction, SyncAction>
    /// The loop's events.
    @usableFromInline package typealias Event = StoreEvent<State, AsyncAction, SyncAction>
    @usableFromInline package typealias Turn = StoreTurn<State, AsyncAction, SyncAction>

    /// The engine.
    @usableFromInline package let loop: Loop<State, Event>
    @usableFromInline package let turn: Turn
    /// The state the store began with.
    public let initialState: State
    let recorder = Mutex<StoreRecorder<State, SyncAction>?>(nil)

    /// Starts a store on rules with the environment filled in.
    @inlinable
    init(
        state: State, rules: Turn.Rules, executor: any LoopExecutor, clock: any Clock<Duration>, limits: StoreLimits,
        mailboxLimit: Int, overflow: Overflow, onFault: (@Sendable (StoreFault) -> Void)?,
        observer: (any LoopObserver<State, Event>)?
    ) {
        let mayEvict = mailboxLimit < .max && (overflow == .dropOldest || overflow == .keepLatest)
        let turn = Turn(rules: rules, limits: limits, mayEvict: mayEvict, onFault: onFault)
        let loop = Loop<State, Event>(
            initial: state, feedbacks: [turn.feedback], executor: executor, clock: clock, mailboxLimit: mailboxLimit,
            overflow: overflow, observer: observer
        ) { state, event in turn.reduce(&state, event) }
        turn.connect(to: loop)
        self.turn = turn
        self.loop = loop
        initialState = state
        loop.start()
    }

    /// Makes a store, and starts it.
    ///
    /// - Parameters:
    ///   - state: the first state.
    ///   - reducer: changes the state on each sync action.
    ///   - thunk: turns async actions into others; without one they come to nothing.
    ///   - environment: what reducer, thunk and middleware need. (The document's example leaves it out of the call,
    ///     though its reducer and thunk have one.)
    ///   - middleware: sees each sync action first.
    ///   - sideEffect: sees each batch after the middleware.
    ///   - executor: where the store's loop turns, and where it publishes.
    ///   - clock: what time it is for recordings and replays.
    ///   - limits: how far a dispatch may go.
    ///   - mailboxLimit: how many batches and async actions may wait, at least 1.
    ///   - overflow: what happens beyond the limit.
    ///   - onFault: is told, on any thread, of each dispatch that was ended for going beyond a limit.
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
            rules: Turn.Rules(
                reducer: { state, action in reducer(&state, action, environment) },
                middleware: middleware.bound(to: environment),
                sideEffect: sideEffect.body,
                thunk: thunk.bound(to: environment)),
            executor: executor, clock: clock, limits: limits, mailboxLimit: mailboxLimit, overflow: overflow,
            onFault: onFault, observer: nil)
    }

    /// Makes a store whose parts need no environment, and starts it.
    ///
    /// The parameters are those of the initializer with an environment.
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
            rules: Turn.Rules(
                reducer: { state, action in reducer(&state, action) },
                middleware: middleware.bound(to: ()),
                sideEffect: sideEffect.body,
                thunk: thunk.bound(to: ())),
            executor: executor, clock: clock, limits: limits, mailboxLimit: mailboxLimit, overflow: overflow,
            onFault: onFault, observer: nil)
    }

    /// Makes a store whose environment is `Void`, and starts it.
    ///
    /// The parameters are those of the initializer with an environment.
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

    /// How many dispatches were ended for going beyond a limit.
    public var faultCount: UInt64 { turn.faultRecord.count }

    /// Why the last of them was ended.
    public var lastFault: StoreFault? { turn.faultRecord.last }

    /// Why the store was cancelled, if its loop has failed: see ``Loop/fault``. A dispatch that goes beyond a limit does
    /// not end the store; see ``lastFault`` for that.
    public var fault: LoopFault? { loop.fault }

    /// A picture of the loop under the store.
    public var snapshot: LoopSnapshot { loop.snapshot }

    // MARK: Dispatch

    /// Dispatches one action.
    @inlinable
    @discardableResult
    public func dispatch(sync action: SyncAction) -> Dispatch {
        guard !turn.needsTicket else { return dispatch(serially: false, collect: false, actions: [.sync([action])]) }
        guard turn.announce(1) else { return Dispatch(.locked) }
        let result = DispatchResult(loop.send(.action(action)))
        guard result == .accepted else {
            turn.retract(1)
            return Dispatch(result)
        }
        return Dispatch(result, .queued(self, turn.place))
    }

    /// Dispatches actions; see ``StoreProtocol/dispatch(serially:collect:actions:)``.
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
        // Nothing at all needs no ticket, and ends when everything before it has been taken.
        guard !turn.needsTicket || batches.isEmpty else {
            return dispatchWithTicket(serially: false, collect: false, batches.map { .sync($0) })
        }
        guard turn.announce(batches.count) else { return Dispatch(.locked) }
        var tally = DispatchTally()
        for batch in batches {
            let result = DispatchResult(loop.send(.batch(batch, StoreHop(part: nil, depth: 0))))
            if result != .accepted { turn.retract(1) }
            tally.note(result)
        }
        return Dispatch(tally.result, tally.isRefused ? .none : .queued(self, turn.place))
    }

    @inlinable
    func dispatchWithTicket(serially: Bool, collect: Bool, _ actions: [Action]) -> Dispatch {
        guard !turn.isLocked.load(ordering: .acquiring) else { return Dispatch(.locked) }
        let ticket = turn.ticket(collects: collect)
        guard let part = ticket.open(isAsync: serially) else { return Dispatch(.dropped(.cancelled)) }
        if serially {
            let result = DispatchResult(loop.send(.serial(actions, part)))
            return Dispatch(result, result == .accepted ? .ticketed(ticket) : .none)
        }
        // The part keeps the dispatch open until all of it has been sent.
        defer { part.finish() }
        let tally = turn.send(actions, to: loop, of: ticket, depth: 0)
        return Dispatch(tally.result, tally.isRefused ? .none : .ticketed(ticket))
    }

    // MARK: Life

    /// Stops gently: from now on no action is accepted and no thunk starts; what waits is taken, and thunks that run
    /// may finish, though what they still yield is dropped. See ``Loop/stop(within:)``.
    public func stop(within limit: Duration = .seconds(5)) async { await loop.stop(within: limit) }

    /// Begins a gentle stop and returns at once; ``stopped()`` tells when it is done.
    public func beginStop() { loop.beginStop() }

    /// Stops hard, and returns at once: what waits is dropped, thunks are cancelled.
    public func cancel() { loop.cancel() }

    /// Returns when the store has stopped and nothing of it runs.
    public func stopped() async { await loop.stopped() }
}
