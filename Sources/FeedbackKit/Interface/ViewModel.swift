/// A base class that owns the state machine behind a user interface. Corresponds to CombineFeedback's `ViewModel`.
///
///     final class SignInViewModel: ViewModel<SignIn.State, SignIn.Event> {
///         init() {
///             super.init(initial: SignIn.State(), feedbacks: [SignIn.whenSubmitted], reduce: SignIn.reduce)
///         }
///     }
///
/// The machine starts with ``start()``, or when its states are observed (``states(buffering:)``, a ``Widget``). Events
/// sent earlier wait. It ends with ``stop(within:)``, with ``cancel()``, or when the view model and everything scoped
/// from it are released.
///
/// The class is bound to the main actor for its subclasses, whose properties a user interface reads. Its own members
/// may be used from any thread, and the loop runs on the given executor, not on the main actor. In the originals
/// `state` is a publisher; here ``state`` is the current state, and ``states(buffering:)`` is the stream.
@MainActor
open class ViewModel<State: Sendable, Event: Sendable> {
    /// The loop behind the user interface.
    nonisolated let loop: LoopView<State, Event>

    /// Creates a view model from a reducer that changes the state in place.
    ///
    /// - Parameters:
    ///   - initial: The first state.
    ///   - feedbacks: The feedbacks, in the order in which they receive each state. Feedbacks on events ignore
    ///     mutations.
    ///   - executor: The executor of the loop.
    ///   - clock: The clock for the loop and its side effects.
    ///   - mailboxLimit: The maximum number of waiting events and mutations, at least 1.
    ///   - overflow: The rule for events that find the mailbox full.
    ///   - observer: Receives the loop's internal events.
    ///   - reduce: Changes the state on an event; runs on the loop's executor.
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
        loop = LoopView(
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

    /// Creates a view model from a reducer that returns the new state.
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
        loop =
            ViewModel(
                initial: initial, feedbacks: feedbacks, executor: executor, clock: clock,
                mailboxLimit: mailboxLimit, overflow: overflow, observer: observer,
                reduce: { (state: inout State, event: Event) in state = reduce(state, event) }
            ).loop
    }

    /// Creates a view model from a ``Reducer``.
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
        loop =
            ViewModel(
                initial: initial, feedbacks: feedbacks, executor: executor, clock: clock,
                mailboxLimit: mailboxLimit, overflow: overflow, observer: observer,
                reduce: { (state: inout State, event: Event) in reduce(&state, event) }
            ).loop
    }

    private nonisolated init(loop: LoopView<State, Event>) {
        self.loop = loop
    }

    // MARK: In and out

    /// The current state.
    public nonisolated var state: State { loop.current() }

    /// Returns the states, beginning with the current one, until the machine stops. Starts the machine if needed; the
    /// first call before the start also receives the initial state.
    ///
    /// - Parameter buffering: The policy for a reader that is slower than the machine. By default every state is kept.
    public nonisolated func states(
        buffering: AsyncStream<State>.Continuation.BufferingPolicy = .unbounded
    ) -> AsyncStream<State> {
        AsyncStream(bufferingPolicy: buffering) { continuation in
            let subscription = watch({ continuation.yield($0) }, finish: { continuation.finish() })
            continuation.onTermination = { _ in subscription.cancel() }
        }
    }

    /// Calls `handler` on the loop's executor with the current state and then with each new one, and `finish` when the
    /// machine has stopped. Starts the machine if needed.
    public nonisolated func watch(
        _ handler: @escaping @Sendable (State) -> Void, finish: @escaping @Sendable () -> Void = {}
    ) -> Subscription {
        let subscription = loop.watch(handler, finish)
        start()
        return subscription
    }

    /// Sends an event. Before the start, the event waits in the mailbox.
    @discardableResult
    public nonisolated func send(event: Event) -> SendResult { loop.access.send(event) }

    /// Sets a property of the state, in order with the events: after those sent before, ahead of those sent after.
    ///
    ///     viewModel.mutate(keyPath: \.email, "example@example.com")
    @discardableResult
    public nonisolated func mutate<Value: Sendable>(
        keyPath: any WritableKeyPath<State, Value> & Sendable, _ value: Value
    ) -> SendResult {
        loop.access.mutate(Mutation(keyPath, value))
    }

    // MARK: Parts

    /// Returns a view model of a part of the state and a subset of the events, on the same machine, which it keeps
    /// alive. It shows every state of the machine, even if the part is unchanged.
    public nonisolated func scope<Part: Sendable, PartEvent: Sendable>(
        state path: any WritableKeyPath<State, Part> & Sendable, event embed: @escaping @Sendable (PartEvent) -> Event
    ) -> ViewModel<Part, PartEvent> {
        ViewModel<Part, PartEvent>(loop: LoopView(loop, path: path, embed: embed, areSame: nil))
    }

    /// Returns a view model of a part of the state and a subset of the events, on the same machine, which it keeps
    /// alive. It shows only states in which the part has changed.
    public nonisolated func scope<Part: Sendable & Equatable, PartEvent: Sendable>(
        state path: any WritableKeyPath<State, Part> & Sendable, event embed: @escaping @Sendable (PartEvent) -> Event
    ) -> ViewModel<Part, PartEvent> {
        ViewModel<Part, PartEvent>(loop: LoopView(loop, path: path, embed: embed, areSame: { $0 == $1 }))
    }

    // MARK: Lifecycle

    /// The fault that cancelled the machine, if it has failed: see ``Loop/fault``.
    public nonisolated var fault: LoopFault? { loop.fault() }

    /// Starts the machine. Returns `false` if it was started before.
    @discardableResult
    public nonisolated func start() -> Bool { loop.start() }

    /// Stops the machine gracefully: see ``Loop/stop(within:)``.
    public nonisolated func stop(within limit: Duration = .seconds(5)) async { await loop.stop(limit) }

    /// Cancels the machine at once, without waiting: see ``Loop/cancel()``.
    public nonisolated func cancel() { loop.cancel() }
}
