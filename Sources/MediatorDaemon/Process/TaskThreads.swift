@_spi(ExperimentalCustomExecutors) import _Concurrency
import CTasks
import FeedbackKit
import MediatorHost

/// The threads that run Swift's tasks, in place of those of Dispatch.
///
/// Dispatch creates threads when there is work, and ends them after five idle seconds. If the system has no thread then, it tries
/// again each second for ever, and nothing that needs a task goes on: no command is started, watched or ended at its time limit.
/// These threads exist from the start to the end. A worker that is held up gets help of spare ones, if the system has threads.
///
/// A queue holds each job that is ready once, so it is as long as there are tasks.
///
/// The hooks are those of one version of Swift's runtime, which may change them. SwiftNIO uses one of them in the same way
/// (`PosixSingletons+ConcurrencyTakeOver.swift`), and only with versions that it knows, too.
enum TaskThreads {
    private static let pool = WorkerPool(workers: WorkerPool.usualWorkers)
    /// The threads of tasks with the priority of overseers or a higher one, which wait for no others.
    private static let overseers = WorkerPool(workers: 2)
    private static let timers = TimerThread()

    /// Starts the threads, and gives them all tasks from now on. Returns `false` if the system cannot create them. Call this
    /// before the first task.
    static func start() -> Bool {
        guard timers != nil, pool.start(), overseers.start() else { return false }
        _createExecutors(factory: Factory.self)
        tasks_take_over({ TaskThreads.run($0) }, { TaskThreads.run($0, after: $1) })
        return true
    }

    /// The usual executor of tasks. Unlike that of Dispatch it is no executor with timers, since only then does a task that sleeps
    /// reach the hooks.
    private final class Executor: TaskExecutor {
        func enqueue(_ job: consuming ExecutorJob) {
            // A job has the size of a pointer.
            run(unsafeBitCast(UnownedJob(job), to: UnsafeMutableRawPointer.self))
        }
    }

    private enum Factory: ExecutorFactory {
        static var mainExecutor: any MainExecutor { PlatformExecutorFactory.mainExecutor }
        static let defaultExecutor: any TaskExecutor = Executor()
    }

    private static func run(_ job: UnsafeMutableRawPointer?) {
        guard let job else { preconditionFailure("the runtime enqueues no job") }
        // A job has the size of a pointer, and is one for the runtime, which gives it to one thread at a time.
        nonisolated(unsafe) let own = job
        let priority = unsafeBitCast(job, to: UnownedJob.self).priority.rawValue
        // Behind the others, so that a task that yields lets them run.
        (priority < TaskPriority.management.rawValue ? pool : overseers).enqueueBehind(Activation { tasks_run(own) })
    }

    private static func run(_ job: UnsafeMutableRawPointer?, after nanoseconds: Int64) {
        // As above: nobody else has the job until then.
        nonisolated(unsafe) let own = job
        timers?.call(at: .now + .nanoseconds(nanoseconds)) {
            // It only wakes a task, so that an overseer that sleeps waits for no others either.
            overseers.enqueueBehind(Activation { tasks_run(own) })
        }
    }
}
