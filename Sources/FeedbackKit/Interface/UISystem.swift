import Synchronization

/// A ``System`` whose state is published on the main actor, for an interface to show, and into which the interface
/// emits events. After the `UISystem` of Feedbacks.
///
///     let system = UISystem(viewStateFactory: stateToViewState) {
///         InitialState { LoadingState() }
///         Feedbacks { … }
///         Transitions { … }
///     }
///
/// It publishes either each state as it is, as a ``RawState``, or what a function makes of it, a ``ViewState``: then
/// repeats are left out, and before the first one there is ``ViewState/undefined``. The function is called on the
/// loop's turn.
///
/// States are published in the order of the loop. While the main actor is busy only the latest waits, so a slow
/// interface skips states, and never shows an old one last; whoever must see every state reads ``System/stream`` of
/// ``system``. The originals queue every state, without a bound.
///
/// It keeps the system alive, which does not keep it. It may be used from any thread; only what it publishes is
/// published on the main actor.
public final class UISystem<PublishedState: Sendable>: Sendable {
    /// The system.
    public let system: System
    /// The way onto the main actor: a loop that turns there, whose events are the states to publish, and of which one
    /// at most waits.
    let publication: Loop<PublishedState, PublishedState>
    private let watching: Subscription

    /// - Parameter shown: which state of the system, counted in transitions, is published to begin with; `nil`: none.
    private init(
        _ system: System, initial: PublishedState, shown: UInt64?,
        map: @escaping @Sendable (any State) -> PublishedState,
        areSame: @escaping @Sendable (PublishedState, PublishedState) -> Bool
    ) {
        self.system = system
        let publication = Loop<PublishedState, PublishedState>(
            initial: initial, executor: .actor(MainActor.shared), mailboxLimit: 1, overflow: .keepLatest
        ) { published, new in
            if areSame(published, new) { return .stay }
            published = new
            return .handled
        }
        publication.start()
        self.publication = publication
        let shown = LoopMemory<UInt64?>(shown)
        watching = system.loop.watch(
            { [weak loop = system.loop] state in
                // Only the turn goes on to another state, and this is the turn.
                if let known = shown.value {
                    shown.value = nil
                    if loop?.counters.transitions == known { return }
                }
                publication.send(map(state))
            }, finish: { publication.beginStop() })
    }

    /// The state published last. It changes on the main actor only; elsewhere it is a look at one moment.
    public var state: PublishedState { publication.state }

    /// The published states from the current one on, ending when the system has stopped or this object is released.
    /// They are put into the stream on the main actor.
    ///
    /// - Parameter buffering: what to keep for a reader that is slower; everything, if not said.
    public func states(
        buffering: AsyncStream<PublishedState>.Continuation.BufferingPolicy = .unbounded
    ) -> AsyncStream<PublishedState> {
        publication.states(buffering: buffering)
    }

    /// Calls `see` on the main actor, soon, with the current state, and then with every one that is published.
    public func subscribe(_ see: @escaping @MainActor @Sendable (PublishedState) -> Void) -> Subscription {
        // The loop of the publication turns on the main actor and nowhere else.
        publication.watch { state in MainActor.assumeIsolated { see(state) } }
    }

    /// Emits an event of the user in the system. One that is emitted before the start waits for it.
    @discardableResult
    public func emit(_ event: any Event) -> SendResult { system.send(event) }

    // MARK: The system's

    /// The state machine.
    public var transitions: Transitions { system.transitions }

    /// Says where the system's loop turns: see ``System/execute(on:)``. What is published is published on the main
    /// actor all the same.
    @discardableResult
    public func execute(on executor: some LoopExecutor) -> UISystem {
        system.execute(on: executor)
        return self
    }

    /// Says who sees what happens inside: see ``System/observe(with:)``.
    @discardableResult
    public func observe(with observer: some LoopObserver<any State, any Event>) -> UISystem {
        system.observe(with: observer)
        return self
    }

    /// Why the system was cancelled, if it has failed: see ``Loop/fault``.
    public var fault: LoopFault? { system.fault }

    /// Starts the system; `false` if it had been started before.
    @discardableResult
    public func start() -> Bool { system.start() }

    /// Starts the system and returns when it has stopped: see ``System/run()``.
    public func run() async throws(LoopFault) { try await system.run() }

    /// Stops the system gently: see ``Loop/stop(within:)``. The last state is still published.
    public func stop(within limit: Duration = .seconds(5)) async { await system.stop(within: limit) }

    /// Stops the system hard, and returns at once: see ``Loop/cancel()``.
    public func cancel() { system.cancel() }
}

extension UISystem where PublishedState == RawState {
    /// Publishes the states of a system as they are, equal ones included. The current state is there at once, and is
    /// published once.
    public convenience init(system: System) {
        let (state, shown) = system.loop.core.guarded.withLock { ($0.machine.state, $0.machine.counters.transitions) }
        self.init(
            system, initial: RawState(state: state), shown: shown, map: { RawState(state: $0) },
            areSame: { _, _ in false })
    }

    /// Builds a system and publishes its states as they are: see ``System/init(clock:mailboxLimit:overflow:_:)``.
    public convenience init(
        clock: any Clock<Duration> = ContinuousClock(),
        mailboxLimit: Int = .max,
        overflow: Overflow = .dropNewest,
        @SystemBuilder _ parts: () -> SystemParts
    ) {
        self.init(system: System(clock: clock, mailboxLimit: mailboxLimit, overflow: overflow, parts))
    }
}

extension UISystem where PublishedState: ViewState {
    /// Publishes what a function makes of the states of a system.
    ///
    /// - Parameter viewStateFactory: called on the loop's turn for each state, so it should be quick.
    /// - Parameter system: the system that is shown.
    public convenience init(
        system: System, viewStateFactory: @escaping @Sendable (any State) -> PublishedState
    ) {
        self.init(system, initial: .undefined, shown: nil, map: viewStateFactory, areSame: { $0 == $1 })
    }

    /// Builds a system and publishes what a function makes of its states: see
    /// ``System/init(clock:mailboxLimit:overflow:_:)``.
    ///
    /// - Parameter viewStateFactory: called on the loop's turn for each state, so it should be quick.
    /// - Parameter clock: what time it is for the system and its side effects.
    /// - Parameter mailboxLimit: how many events may wait, at least 1.
    /// - Parameter overflow: what happens beyond the limit.
    /// - Parameter parts: the initial state, the feedbacks and the transitions.
    public convenience init(
        viewStateFactory: @escaping @Sendable (any State) -> PublishedState,
        clock: any Clock<Duration> = ContinuousClock(),
        mailboxLimit: Int = .max,
        overflow: Overflow = .dropNewest,
        @SystemBuilder _ parts: () -> SystemParts
    ) {
        self.init(
            system: System(clock: clock, mailboxLimit: mailboxLimit, overflow: overflow, parts),
            viewStateFactory: viewStateFactory)
    }
}

extension System {
    /// This system with its states published on the main actor as they are.
    public func uiSystem() -> UISystem<RawState> { UISystem(system: self) }

    /// This system with what a function makes of its states published on the main actor.
    ///
    /// - Parameter viewStateFactory: called on the loop's turn for each state, so it should be quick.
    public func uiSystem<V: ViewState>(
        viewStateFactory: @escaping @Sendable (any State) -> V
    ) -> UISystem<V> {
        UISystem(system: self, viewStateFactory: viewStateFactory)
    }
}
