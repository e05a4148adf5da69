/// A base class that owns the state machine behind an interface. After CombineFeedback's `ViewModel`.
///
///     final class SignInViewModel: ViewModel<SignIn.State, SignIn.Event> {
///         init() {
///             super.init(initial: SignIn.State(), feedbacks: [SignIn.whenSubmitted], reduce: SignIn.reduce)
///         }
///     }
///
/// The machine starts when its states are observed (``states(buffering:)``, a ``Widget``) or by ``start()``; what is
/// sent before waits. It ends by ``stop(within:)``, by ``cancel()``, or when the view model and all that is scoped from
/// it are released.
///
/// The class is bound to the main actor for the sake of its subclasses, whose properties an interface reads. What it
/// brings itself may be used from any thread, and the loop turns where the executor says, not on the main actor.
/// The originals' `state` is a publisher; here ``state`` is the current state, and ``states(buffering:)`` the stream.
@MainActor
open class ViewModel<State: Sendable, Event: Sendable> {
    /// The machine.
    nonisolated let machine: ViewMachine<State, Event>

    /// A view model of a reducer that changes the state in place.
    ///
    /// - Parameters:
    ///   - initial: the first state.
    ///   - feedbacks: in the order in which they see each state. To one that looks at events a mutation is no event.
    ///   - executor: where the loop turns.
    ///   - clock: what time it is for the loop and its side effects.
    ///   - mailboxLimit: how many events and mutations may wait, at least 1.
    ///   - overflow: what happens beyond the limit.
    ///   - observer: sees what happens inside.
    ///   - reduce: changes the state on an event; on the loop's turn.
    public nonisolated init(
        initial: State,
        feedbacks: [Feedback<State, Event>],
        executor: any LoopExecutor = .sharedPool,
        clock: any Clock<Duration> = ContinuousClock(),
        mailboxLimit: Int = .max,
        overflow: Overflow = .dropNewest,
        observer: (any LoopObserver<State, Update<State, Event>>)? = nil,
        reduce: @escaping @Sendable (inout State, Event) -> Void
    ) {
        let events = Update<State, Event>.events
        machine = ViewMachine(
            Loop(
                initial: initial,
                feedbacks: feedbacks.map {
                    $0.pullback(
                        state: { (state: State) -> State? in state }, embed: events.embed, extract: events.extract)
                },
                executor: executor, clock: clock, mailboxLimit: mailboxLimit, overflow: overflow, observer: observer
            ) { state, update in
                switch update {
                case .event(let event): reduce(&state, event)
                case .mutation(let mutation): mutation.apply(to: &state)
                }
                return .handled
            })
    }

    /// A view model of a reducer that returns the new state.
    public nonisolated init(
        initial: State,
        feedbacks: [Feedback<State, Event>],
        executor: any LoopExecutor = .sharedPool,
        clock: any Clock<Duration> = ContinuousClock(),
        mailboxLimit: Int = .max,
        overflow: Overflow = .dropNewest,
        observer: (any LoopObserver<State, Update<State, Event>>)? = nil,
        reduce: @escaping @Sendable (State, Event) -> State
    ) {
        machine =
            ViewModel(
                initial: initial, feedbacks: feedbacks, executor: executor, clock: clock,
                mailboxLimit: mailboxLimit, overflow: overflow, observer: observer,
                reduce: { (state: inout State, event: Event) in state = reduce(state, event) }
            ).machine
    }

    /// A view model of a ``Reducer``.
    public nonisolated init(
        initial: State,
        feedbacks: [Feedback<State, Event>],
        executor: any LoopExecutor = .sharedPool,
        clock: any Clock<Duration> = ContinuousClock(),
        mailboxLimit: Int = .max,
        overflow: Overflow = .dropNewest,
        observer: (any LoopObserver<State, Update<State, Event>>)? = nil,
        reduce: Reducer<State, Event>
    ) {
        machine =
            ViewModel(
                initial: initial, feedbacks: feedbacks, executor: executor, clock: clock,
                mailboxLimit: mailboxLimit, overflow: overflow, observer: observer,
                reduce: { (state: inout State, event: Event) in reduce(&state, event) }
            ).machine
    }

    private nonisolated init(machine: ViewMachine<State, Event>) {
        self.machine = machine
    }

    // MARK: In and out

    /// The current state.
    public nonisolated var state: State { machine.current() }

    /// The states from the current one on, ending when the machine stops. The machine is started if it has not been;
    /// whoever asks for the states before that sees the initial one too.
    ///
    /// - Parameter buffering: what to keep for a reader that is slower than the machine; everything, if not said.
    public nonisolated func states(
        buffering: AsyncStream<State>.Continuation.BufferingPolicy = .unbounded
    ) -> AsyncStream<State> {
        AsyncStream(bufferingPolicy: buffering) { continuation in
            let subscription = watch({ continuation.yield($0) }, finish: { continuation.finish() })
            continuation.onTermination = { _ in subscription.cancel() }
        }
    }

    /// Calls `see` on the loop's turn with the current state and then with every new one, and `finish` when the machine
    /// has stopped. The machine is started if it has not been.
    public nonisolated func watch(
        _ see: @escaping @Sendable (State) -> Void, finish: @escaping @Sendable () -> Void = {}
    ) -> Subscription {
        let subscription = machine.watch(see, finish)
        start()
        return subscription
    }

    /// Sends an event. One that is sent before the start waits for it.
    @discardableResult
    public nonisolated func send(event: Event) -> SendResult { machine.reach.send(event) }

    /// Sets a property of the state, in order with the events: behind those sent before, ahead of those sent after.
    ///
    ///     viewModel.mutate(keyPath: \.email, "example@example.com")
    @discardableResult
    public nonisolated func mutate<Value: Sendable>(
        keyPath: any WritableKeyPath<State, Value> & Sendable, _ value: Value
    ) -> SendResult {
        machine.reach.mutate(Mutation(keyPath, value))
    }

    // MARK: Parts

    /// A view model of a part of this one's state and of some of its events, on the same machine, which it keeps alive.
    /// It shows every state of the machine, also one in which the part is the same as before.
    public nonisolated func scope<Part: Sendable, PartEvent: Sendable>(
        state path: any WritableKeyPath<State, Part> & Sendable, event embed: @escaping @Sendable (PartEvent) -> Event
    ) -> ViewModel<Part, PartEvent> {
        ViewModel<Part, PartEvent>(machine: ViewMachine(machine, path: path, embed: embed, areSame: nil))
    }

    /// A view model of a part of this one's state and of some of its events, on the same machine, which it keeps alive.
    /// It shows only states in which the part has changed.
    public nonisolated func scope<Part: Sendable & Equatable, PartEvent: Sendable>(
        state path: any WritableKeyPath<State, Part> & Sendable, event embed: @escaping @Sendable (PartEvent) -> Event
    ) -> ViewModel<Part, PartEvent> {
        ViewModel<Part, PartEvent>(machine: ViewMachine(machine, path: path, embed: embed, areSame: { $0 == $1 }))
    }

    // MARK: Life

    /// Why the machine was cancelled, if it has failed: see ``Loop/fault``.
    public nonisolated var fault: LoopFault? { machine.fault() }

    /// Starts the machine; `false` if it had been started before.
    @discardableResult
    public nonisolated func start() -> Bool { machine.start() }

    /// Stops the machine gently: see ``Loop/stop(within:)``.
    public nonisolated func stop(within limit: Duration = .seconds(5)) async { await machine.stop(limit) }

    /// Stops the machine hard, and returns at once: see ``Loop/cancel()``.
    public nonisolated func cancel() { machine.cancel() }
}
