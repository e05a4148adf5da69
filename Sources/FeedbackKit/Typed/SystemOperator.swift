/// Describes a system of typed feedbacks: an initial state, a reducer, and feedbacks. Corresponds to the `system`
/// operator of RxFeedback, ReactiveFeedback and CombineFeedback.
///
/// All feedbacks are attached before the initial state is published. For each event the loop reduces it, passes the new
/// state to the watchers and then to the feedbacks in their order, and only then takes the next event. Every event
/// produces a new state, even an equal one. To report that an event changes nothing, return a ``Reduction``.
///
/// - Parameters:
///   - initial: The first state.
///   - reduce: Changes the state on an event; runs on the loop's executor.
///   - feedbacks: The feedbacks, in the order in which they receive each state.
///   - executor: The executor of the loop.
///   - clock: The clock for the loop and its side effects.
///   - mailboxLimit: The maximum number of waiting events, at least 1.
///   - overflow: The rule for events that find the mailbox full.
///   - observer: Receives the loop's internal events.
/// - Returns: The system, to iterate over or to make a ``Loop`` from.
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

/// Describes the same system with a function that changes the state and returns a ``Reduction``, like the reducer of
/// ``Loop``.
///
/// After ``Reduction/stay`` and ``Reduction/unhandled`` there is no new state, and no side effect restarts. With `nil`
/// as the function, no event is handled.
@inlinable
public func system<State: Sendable, Event: Sendable>(
    initial: State,
    reduce: (@Sendable (inout State, Event) -> Reduction)?,
    feedbacks: [Feedback<State, Event>],
    executor: any LoopExecutor = .sharedPool,
    clock: any Clock<Duration> = ContinuousClock(),
    mailboxLimit: Int = .max,
    overflow: Overflow = .dropNewest,
    observer: (any LoopObserver<State, Event>)? = nil
) -> StateSequence<State, Event> {
    // The function is optional for the sake of overload resolution, which does not check for a missing `return`. The
    // conversion to an optional ranks this form behind the one without a result for a closure that returns nothing. For
    // a closure that is a call of a function with a `Reduction`, this form still ranks first.
    StateSequence {
        Loop(
            initial: initial, feedbacks: feedbacks, executor: executor, clock: clock, mailboxLimit: mailboxLimit,
            overflow: overflow, observer: observer
        ) { state, event in
            reduce?(&state, event) ?? .unhandled
        }
    }
}

/// Describes the same system with a function that returns the new state.
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
        initial: initial, reduce: { (state: inout State, event: Event) -> Void in state = reduce(state, event) },
        feedbacks: feedbacks, executor: executor, clock: clock,
        mailboxLimit: mailboxLimit, overflow: overflow, observer: observer)
}

/// Describes the same system with a ``Reducer``.
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
        initial: initial, reduce: { (state: inout State, event: Event) -> Void in reduce(&state, event) },
        feedbacks: feedbacks, executor: executor, clock: clock,
        mailboxLimit: mailboxLimit, overflow: overflow, observer: observer)
}

/// Describes a system of typed feedbacks with a dependency: a client, a database, a source of random numbers.
///
/// Each feedback is a function of the dependency, and its side effects capture it:
///
///     func whenLoading(_ api: API) -> Feedback<State, Event> {
///         Feedback(skippingRepeated: { $0.nextPage }) { page in await api.fetch(page) }
///     }
///     let movies = system(initial: State(), reduce: reduce, feedbacks: [whenLoading], dependency: api)
///
/// CombineFeedback instead adds a third type parameter to its feedbacks and an argument to each side effect. For
/// functions of that form, use ``SideEffect``.
///
/// - Parameters:
///   - initial: The first state.
///   - reduce: Changes the state on an event; runs on the loop's executor.
///   - feedbacks: Functions from the dependency to a feedback, each called once during this call.
///   - dependency: The argument of these functions.
///   - executor: The executor of the loop.
///   - clock: The clock for the loop and its side effects.
///   - mailboxLimit: The maximum number of waiting events, at least 1.
///   - overflow: The rule for events that find the mailbox full.
///   - observer: Receives the loop's internal events.
/// - Returns: The system, to iterate over or to make a ``Loop`` from.
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

/// Describes the same system with a dependency and a function that returns a ``Reduction``.
@inlinable
public func system<State: Sendable, Event: Sendable, Dependency>(
    initial: State,
    reduce: (@Sendable (inout State, Event) -> Reduction)?,
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

/// Describes the same system with a dependency and a function that returns the new state.
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

/// Describes the same system with a dependency and a ``Reducer``.
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
