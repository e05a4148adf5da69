public import FeedbackKit
public import OpenCombine

/// A scheduler of OpenCombine as an executor: turns and side effects are scheduled there.
///
///     system.execute(on: DispatchQueue(label: "A background queue"))   // with OpenCombineDispatch
///
/// A loop never has two turns under way, also on a scheduler that works in parallel. `ImmediateScheduler` is the
/// sender's thread. A scheduler of one's own that calls back before `schedule` returns nests one call for each 256
/// events of a chain; take ``SendersThread`` for that.
public struct OnScheduler: LoopExecutor {
    private let schedule: @Sendable (@escaping @Sendable () -> Void) -> Void

    /// The same share as on the shared pool; without limit on `ImmediateScheduler`.
    public let eventsPerTurn: Int

    /// Where side effects run.
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

    /// Schedules the turn.
    public func enqueue(_ turn: @escaping @Sendable () -> Void) {
        schedule(turn)
    }

    /// `@unchecked`: of the scheduler only `schedule` is called, and to be called from any thread is what a scheduler
    /// is for: `receive(on:)` calls it, without a lock, on whatever thread a value comes.
    private struct Handle: @unchecked Sendable {
        let base: any Scheduler

        func schedule(_ action: @escaping @Sendable () -> Void) {
            base.schedule(action)
        }
    }

    /// Runs the parts of async functions.
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
    /// A scheduler of OpenCombine.
    public static func scheduler(_ scheduler: some Scheduler) -> OnScheduler { OnScheduler(scheduler) }
}

extension Feedback {
    /// Says that the side effects run on a scheduler. A publisher is made and subscribed to there too.
    public func execute(on scheduler: some Scheduler) -> Feedback { execute(on: OnScheduler(scheduler)) }
}

extension Feedbacks {
    /// Says that the side effects run on a scheduler, for those feedbacks that do not say it themselves.
    public func execute(on scheduler: some Scheduler) -> Feedbacks { execute(on: OnScheduler(scheduler)) }
}

extension Transitions {
    /// Says that the transitions are computed on a scheduler, which is where the system's loop turns.
    public func execute(on scheduler: some Scheduler) -> Transitions { execute(on: OnScheduler(scheduler)) }
}

extension System {
    /// Says that the system's loop turns on a scheduler, and that the side effects run there which do not say it
    /// themselves. Only before the start.
    @discardableResult
    public func execute(on scheduler: some Scheduler) -> System { execute(on: OnScheduler(scheduler)) }
}

extension UISystem {
    /// Says that the system's loop turns on a scheduler. What is published is published on the main actor all the same.
    @discardableResult
    public func execute(on scheduler: some Scheduler) -> UISystem { execute(on: OnScheduler(scheduler)) }
}
