public import FeedbackKit
public import OpenCombine

/// Stores that run and publish on a scheduler: `publishOn: DispatchQueue.main`. The parameters are those of the
/// initializers with an executor.
extension BaseStore {
    /// Creates a store that publishes on a scheduler, and starts it.
    public convenience init<Environment: Sendable>(
        state: State,
        reducer: Reducer<State, SyncAction, Environment>,
        thunk: Thunk<State, SyncAction, AsyncAction, Environment> = Thunk(),
        environment: Environment,
        middleware: Middleware<State, SyncAction, AsyncAction, Environment> = Middleware(),
        sideEffect: StoreSideEffect<SyncAction> = StoreSideEffect(),
        publishOn scheduler: some Scheduler,
        clock: any Clock<Duration> = ContinuousClock(),
        limits: StoreLimits = StoreLimits(),
        mailboxLimit: Int = .max,
        overflow: Overflow = .dropNewest,
        onFault: (@Sendable (StoreFault) -> Void)? = nil
    ) {
        self.init(
            state: state, reducer: reducer, thunk: thunk, environment: environment, middleware: middleware,
            sideEffect: sideEffect,
            publishOn: OnScheduler(scheduler), clock: clock, limits: limits, mailboxLimit: mailboxLimit,
            overflow: overflow, onFault: onFault)
    }

    /// Creates a store that publishes on a scheduler and whose parts need no environment, and starts it.
    public convenience init(
        state: State,
        reducer: Reducer<State, SyncAction>,
        thunk: Thunk<State, SyncAction, AsyncAction, Void> = Thunk(),
        middleware: Middleware<State, SyncAction, AsyncAction, Void> = Middleware(),
        sideEffect: StoreSideEffect<SyncAction> = StoreSideEffect(),
        publishOn scheduler: some Scheduler,
        clock: any Clock<Duration> = ContinuousClock(),
        limits: StoreLimits = StoreLimits(),
        mailboxLimit: Int = .max,
        overflow: Overflow = .dropNewest,
        onFault: (@Sendable (StoreFault) -> Void)? = nil
    ) {
        self.init(
            state: state, reducer: reducer, thunk: thunk, middleware: middleware, sideEffect: sideEffect,
            publishOn: OnScheduler(scheduler), clock: clock, limits: limits, mailboxLimit: mailboxLimit,
            overflow: overflow, onFault: onFault)
    }

    /// Creates a store that publishes on a scheduler and whose environment is `Void`, and starts it.
    @_disfavoredOverload  // A reducer whose type is not said is one without an environment.
    public convenience init(
        state: State,
        reducer: Reducer<State, SyncAction, Void>,
        thunk: Thunk<State, SyncAction, AsyncAction, Void> = Thunk(),
        middleware: Middleware<State, SyncAction, AsyncAction, Void> = Middleware(),
        sideEffect: StoreSideEffect<SyncAction> = StoreSideEffect(),
        publishOn scheduler: some Scheduler,
        clock: any Clock<Duration> = ContinuousClock(),
        limits: StoreLimits = StoreLimits(),
        mailboxLimit: Int = .max,
        overflow: Overflow = .dropNewest,
        onFault: (@Sendable (StoreFault) -> Void)? = nil
    ) {
        self.init(
            state: state, reducer: reducer, thunk: thunk, middleware: middleware, sideEffect: sideEffect,
            publishOn: OnScheduler(scheduler), clock: clock, limits: limits, mailboxLimit: mailboxLimit,
            overflow: overflow, onFault: onFault)
    }
}
