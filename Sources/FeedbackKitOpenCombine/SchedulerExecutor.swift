public import FeedbackKit
public import OpenCombine

/// An executor that schedules the jobs of loops and side effects on an OpenCombine scheduler.
///
///     system.execute(on: DispatchQueue(label: "A background queue"))   // with OpenCombineDispatch
///
/// A loop never runs two jobs at once, even on a concurrent scheduler. `ImmediateScheduler` runs on the sender's
/// thread. If your own scheduler calls back before `schedule` returns, the calls nest once for each 256 events of a
/// chain; use ``SendersThread`` instead.
public struct OnScheduler: LoopExecutor {
    private let schedule: @Sendable (@escaping @Sendable () -> Void) -> Void

    /// The maximum number of events per job, as on the shared pool; unlimited on `ImmediateScheduler`.
    public let eventsPerTurn: Int

    /// The executor of side effects.
    public let taskExecutor: (any TaskExecutor)?

    /// Wraps a scheduler.
    public init(_ scheduler: some Scheduler) {
        if scheduler is ImmediateScheduler {
            schedule = { $0() }
            eventsPerTurn = SendersThread().eventsPerTurn
            taskExecutor = nil
        } else {
            let handle = Handle(base: scheduler)
            let schedule: @Sendable (@escaping @Sendable () -> Void) -> Void = { handle.schedule($0) }
            self.schedule = schedule
            eventsPerTurn = SharedPool().eventsPerTurn
            taskExecutor = ScheduledTasks(schedule)
        }
    }

    /// Schedules a job of a loop.
    public func enqueue(_ turn: @escaping @Sendable () -> Void) {
        schedule(turn)
    }

    /// `@unchecked`: only `schedule` of the scheduler is called. A scheduler must allow that from any thread, because
    /// `receive(on:)` calls it without a lock on the thread of each value.
    private struct Handle: @unchecked Sendable {
        let base: any Scheduler

        func schedule(_ action: @escaping @Sendable () -> Void) {
            base.schedule(action)
        }
    }

    /// The executor of async functions.
    private final class ScheduledTasks: TaskExecutor {
        private let schedule: @Sendable (@escaping @Sendable () -> Void) -> Void

        init(_ schedule: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void) {
            self.schedule = schedule
        }

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            schedule { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
        }
    }
}

extension LoopExecutor where Self == OnScheduler {
    /// Returns an executor for an OpenCombine scheduler.
    public static func scheduler(_ scheduler: some Scheduler) -> OnScheduler { OnScheduler(scheduler) }
}

extension Feedback {
    /// Runs the side effects on a scheduler. A publisher is created and subscribed to there too.
    public func execute(on scheduler: some Scheduler) -> Feedback { execute(on: OnScheduler(scheduler)) }
}

extension Feedbacks {
    /// Runs the side effects of feedbacks without an executor of their own on a scheduler.
    public func execute(on scheduler: some Scheduler) -> Feedbacks { execute(on: OnScheduler(scheduler)) }
}

extension Transitions {
    /// Runs the transitions, and with them the system's loop, on a scheduler.
    public func execute(on scheduler: some Scheduler) -> Transitions { execute(on: OnScheduler(scheduler)) }
}

extension System {
    /// Runs the system's loop, and side effects without an executor of their own, on a scheduler. Call it before the
    /// start.
    @discardableResult
    public func execute(on scheduler: some Scheduler) -> System { execute(on: OnScheduler(scheduler)) }
}

extension UISystem {
    /// Runs the system's loop on a scheduler. States are published on the main actor in any case.
    @discardableResult
    public func execute(on scheduler: some Scheduler) -> UISystem { execute(on: OnScheduler(scheduler)) }
}
