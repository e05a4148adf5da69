/// A system of typed feedbacks: an initial state, a reducer, and feedbacks. After the `system` operator of RxFeedback,
/// ReactiveFeedback and CombineFeedback.
///
/// All feedbacks are in place before the initial state is shown. Each event is reduced, the new state goes to whoever
/// watches, then to the feedbacks in their order, and only then is the next event looked at. Every event gives a new
/// state, also one that equals the old; a reducer that wants to say "nothing changes" is that of ``Loop``.
///
/// - Parameters:
///   - initial: the first state.
///   - reduce: changes the state on an event; on the loop's turn.
///   - feedbacks: in the order in which they see each state.
///   - executor: where the loop turns.
///   - clock: what time it is for the loop and its side effects.
///   - mailboxLimit: how many events may wait, at least 1.
///   - overflow: what happens beyond the limit.
///   - observer: sees what happens inside.
/// - Returns: the system, to be iterated over, or to make a ``Loop`` of.
@inlinable
public func system<State: Sendable, Event: Sendable>(
    initial: State,
    reduce: @escaping @Sendable (inout State, Event) -> Void,
    feedbacks: [Feedback<State, Event>],
    executor: any LoopExecutor = .sharedPool,
    clock: any Clock<Duration> = ContinuousClock(),
    mailboxLimit: Int = .max,
    overflow: Overflow = .dropNewest,
    observer: (any LoopObserver<State, Event>)? = nil
) -> StateSequence<State, Event> {
    StateSequence {
        Loop(
            initial: initial, feedbacks: feedbacks, executor: executor, clock: clock, mailboxLimit: mailboxLimit,
            overflow: overflow, observer: observer
        ) { state, event in
            reduce(&state, event)
            return .handled
        }
    }
}

/// The same, with a function that returns the new state.
@inlinable
public func system<State: Sendable, Event: Sendable>(
    initial: State,
    reduce: @escaping @Sendable (State, Event) -> State,
    feedbacks: [Feedback<State, Event>],
    executor: any LoopExecutor = .sharedPool,
    clock: any Clock<Duration> = ContinuousClock(),
    mailboxLimit: Int = .max,
    overflow: Overflow = .dropNewest,
    observer: (any LoopObserver<State, Event>)? = nil
) -> StateSequence<State, Event> {
    system(
        initial: initial, reduce: { (state: inout State, event: Event) in state = reduce(state, event) },
        feedbacks: feedbacks, executor: executor, clock: clock,
        mailboxLimit: mailboxLimit, overflow: overflow, observer: observer)
}

/// The same, with a ``Reducer``.
@inlinable
public func system<State: Sendable, Event: Sendable>(
    initial: State,
    reduce: Reducer<State, Event>,
    feedbacks: [Feedback<State, Event>],
    executor: any LoopExecutor = .sharedPool,
    clock: any Clock<Duration> = ContinuousClock(),
    mailboxLimit: Int = .max,
    overflow: Overflow = .dropNewest,
    observer: (any LoopObserver<State, Event>)? = nil
) -> StateSequence<State, Event> {
    system(
        initial: initial, reduce: { (state: inout State, event: Event) in reduce(&state, event) },
        feedbacks: feedbacks, executor: executor, clock: clock,
        mailboxLimit: mailboxLimit, overflow: overflow, observer: observer)
}

/// A system of typed feedbacks that need something from outside: a client, a database, a source of random numbers.
///
/// A feedback is then a function of the dependency, and its side effects hold what it was given:
///
///     func whenLoading(_ api: API) -> Feedback<State, Event> {
///         Feedback(skippingRepeated: { $0.nextPage }) { page in await api.fetch(page) }
///     }
///     let movies = system(initial: State(), reduce: reduce, feedbacks: [whenLoading], dependency: api)
///
/// CombineFeedback gives its feedbacks a third type parameter for this, and each side effect a further argument; for
/// functions written that way there is ``SideEffect``.
///
/// - Parameters:
///   - initial: the first state.
///   - reduce: changes the state on an event; on the loop's turn.
///   - feedbacks: called with the dependency once, now.
///   - dependency: what the feedbacks are given.
///   - executor: where the loop turns.
///   - clock: what time it is for the loop and its side effects.
///   - mailboxLimit: how many events may wait, at least 1.
///   - overflow: what happens beyond the limit.
///   - observer: sees what happens inside.
/// - Returns: the system, to be iterated over, or to make a ``Loop`` of.
@inlinable
public func system<State: Sendable, Event: Sendable, Dependency>(
    initial: State,
    reduce: @escaping @Sendable (inout State, Event) -> Void,
    feedbacks: [(Dependency) -> Feedback<State, Event>],
    dependency: Dependency,
    executor: any LoopExecutor = .sharedPool,
    clock: any Clock<Duration> = ContinuousClock(),
    mailboxLimit: Int = .max,
    overflow: Overflow = .dropNewest,
    observer: (any LoopObserver<State, Event>)? = nil
) -> StateSequence<State, Event> {
    system(
        initial: initial, reduce: reduce, feedbacks: feedbacks.map { $0(dependency) }, executor: executor, clock: clock,
        mailboxLimit: mailboxLimit, overflow: overflow, observer: observer)
}

/// The same, with a dependency and a function that returns the new state.
@inlinable
public func system<State: Sendable, Event: Sendable, Dependency>(
    initial: State,
    reduce: @escaping @Sendable (State, Event) -> State,
    feedbacks: [(Dependency) -> Feedback<State, Event>],
    dependency: Dependency,
    executor: any LoopExecutor = .sharedPool,
    clock: any Clock<Duration> = ContinuousClock(),
    mailboxLimit: Int = .max,
    overflow: Overflow = .dropNewest,
    observer: (any LoopObserver<State, Event>)? = nil
) -> StateSequence<State, Event> {
    system(
        initial: initial, reduce: reduce, feedbacks: feedbacks.map { $0(dependency) }, executor: executor, clock: clock,
        mailboxLimit: mailboxLimit, overflow: overflow, observer: observer)
}

/// The same, with a dependency and a ``Reducer``.
@inlinable
public func system<State: Sendable, Event: Sendable, Dependency>(
    initial: State,
    reduce: Reducer<State, Event>,
    feedbacks: [(Dependency) -> Feedback<State, Event>],
    dependency: Dependency,
    executor: any LoopExecutor = .sharedPool,
    clock: any Clock<Duration> = ContinuousClock(),
    mailboxLimit: Int = .max,
    overflow: Overflow = .dropNewest,
    observer: (any LoopObserver<State, Event>)? = nil
) -> StateSequence<State, Event> {
    system(
        initial: initial, reduce: reduce, feedbacks: feedbacks.map { $0(dependency) }, executor: executor, clock: clock,
        mailboxLimit: mailboxLimit, overflow: overflow, observer: observer)
}
