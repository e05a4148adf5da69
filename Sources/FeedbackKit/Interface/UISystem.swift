import Synchronization

/// A ``System`` for a user interface: it publishes states on the main actor and accepts events from the user.
/// Corresponds to the `UISystem` of Feedbacks.
///
///     let system = UISystem(viewStateFactory: stateToViewState) {
///         InitialState { LoadingState() }
///         Feedbacks { … }
///         Transitions { … }
///     }
///
/// It publishes either each state as a ``RawState``, or a ``ViewState`` that a function makes of it. View states are
/// published without repetitions, and ``ViewState/undefined`` is the state before the first one. The function runs on
/// the loop's executor.
///
/// States are published in the order of the loop. While the main actor is busy, only the latest state waits. A slow
/// interface therefore skips states, but never shows an old one last. To see every state, read ``System/stream`` of
/// ``system``. (The originals queue every state without a bound.)
///
/// It keeps the system alive; the system does not keep it alive. You may use it from any thread; only publication
/// happens on the main actor.
public final class UISystem<PublishedState: Sendable>: Sendable {
    /// The underlying system.
    public let system: System
    /// A loop on the main actor that publishes the states. Its events are states, of which at most one waits.
    let publication: Loop<PublishedState, PublishedState>
    private let watching: Subscription

    /// - Parameter shown: The number of transitions of the state that is published initially; `nil` for none.
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
                // Only the loop's executor advances the state, and this code runs on it.
                if let known = shown.value {
                    shown.value = nil
                    if loop?.counters.changes == known { return }
                }
                publication.send(map(state))
            }, finish: { publication.beginStop() })
    }

    /// The last published state. It changes on the main actor only; another thread reads a momentary value.
    public var state: PublishedState { publication.state }

    /// Returns the published states, beginning with the current one. The sequence ends when the system has stopped or
    /// this object is released. States are added on the main actor.
    ///
    /// - Parameter buffering: The policy for a slow reader. By default every state is kept.
    public func states(
        buffering: AsyncStream<PublishedState>.Continuation.BufferingPolicy = .unbounded
    ) -> AsyncStream<PublishedState> {
        publication.states(buffering: buffering)
    }

    /// Calls `handler` on the main actor, soon with the current state and later with each published state.
    public func subscribe(_ handler: @escaping @MainActor @Sendable (PublishedState) -> Void) -> Subscription {
        // The publishing loop runs on the main actor only.
        publication.watch { state in MainActor.assumeIsolated { handler(state) } }
    }

    /// Sends an event of the user to the system. Before the start, the event waits in the mailbox.
    @discardableResult
    public func emit(_ event: any Event) -> SendResult { system.send(event) }

    // MARK: Forwarded to the system

    /// The state machine of the system.
    public var transitions: Transitions { system.transitions }

    /// Sets the executor of the system's loop: see ``System/execute(on:)``. States are published on the main actor in
    /// any case.
    @discardableResult
    public func execute(on executor: some LoopExecutor) -> UISystem {
        system.execute(on: executor)
        return self
    }

    /// Sets the observer of the system's internal events: see ``System/observe(with:)``.
    @discardableResult
    public func observe(with observer: some LoopObserver<any State, any Event>) -> UISystem {
        system.observe(with: observer)
        return self
    }

    /// The fault that cancelled the system, if it has failed: see ``Loop/fault``.
    public var fault: LoopFault? { system.fault }

    /// Starts the system. Returns `false` if it was started before.
    @discardableResult
    public func start() -> Bool { system.start() }

    /// Starts the system and returns when it has stopped: see ``System/run()``.
    public func run() async throws(LoopFault) { try await system.run() }

    /// Stops the system gracefully: see ``Loop/stop(within:)``. The last state is still published.
    public func stop(within limit: Duration = .seconds(5)) async { await system.stop(within: limit) }

    /// Cancels the system at once, without waiting: see ``Loop/cancel()``.
    public func cancel() { system.cancel() }
}

extension UISystem where PublishedState == RawState {
    /// Publishes the states of a system unchanged, including equal ones. The current state is available at once and is
    /// published once.
    public convenience init(system: System) {
        let (state, shown) = system.loop.core.guarded.withLock { ($0.machine.state, $0.machine.counters.changes) }
        self.init(
            system, initial: RawState(state: state), shown: shown, map: { RawState(state: $0) },
            areSame: { _, _ in false })
    }

    /// Builds a system and publishes its states unchanged: see ``System/init(clock:mailboxLimit:overflow:_:)``.
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
    /// Publishes a view state for each state of a system.
    ///
    /// - Parameter viewStateFactory: Makes a view state. It runs on the loop's executor for each state and must be
    ///   quick.
    /// - Parameter system: The system to publish.
    public convenience init(
        system: System, viewStateFactory: @escaping @Sendable (any State) -> PublishedState
    ) {
        self.init(system, initial: .undefined, shown: nil, map: viewStateFactory, areSame: { $0 == $1 })
    }

    /// Builds a system and publishes a view state for each of its states: see
    /// ``System/init(clock:mailboxLimit:overflow:_:)``.
    ///
    /// - Parameter viewStateFactory: Makes a view state. It runs on the loop's executor for each state and must be
    ///   quick.
    /// - Parameter clock: The clock for the system and its side effects.
    /// - Parameter mailboxLimit: The maximum number of waiting events, at least 1.
    /// - Parameter overflow: The rule for events that find the mailbox full.
    /// - Parameter parts: The initial state, the feedbacks and the transitions.
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
    /// Returns a `UISystem` that publishes the states of this system unchanged.
    public func uiSystem() -> UISystem<RawState> { UISystem(system: self) }

    /// Returns a `UISystem` that publishes a view state for each state of this system.
    ///
    /// - Parameter viewStateFactory: Makes a view state. It runs on the loop's executor for each state and must be
    ///   quick.
    public func uiSystem<V: ViewState>(
        viewStateFactory: @escaping @Sendable (any State) -> V
    ) -> UISystem<V> {
        UISystem(system: self, viewStateFactory: viewStateFactory)
    }
}
