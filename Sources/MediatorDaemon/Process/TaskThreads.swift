#if compiler(<6.4)
@_spi(ExperimentalCustomExecutors) import _Concurrency
#endif
import CTasks
import FeedbackKit
import MediatorHost

/// The threads that run Swift's tasks, in place of those of Dispatch.
///
/// Dispatch creates threads when there is work, and ends them after five idle seconds. If the system has no thread then, it tries
/// again each second for ever. Meanwhile no task runs, so no command is started, watched or ended at its time limit.
/// These threads exist from the start to the end. A worker that is held up gets help of spare ones, if the system has threads;
/// they end after some idle seconds.
///
/// A queue holds each ready job once, so it is at most as long as the number of tasks.
///
/// The hooks are those of one version of Swift's runtime, which may change them. SwiftNIO uses one of them in the same way
/// (`PosixSingletons+ConcurrencyTakeOver.swift`), and only with versions that it knows, too. With a later compiler the tasks stay
/// on the threads of Dispatch.
///
/// The main actor stays on the main queue of Dispatch. Nothing of the daemon needs it.
enum TaskThreads {
    private static let pool = WorkerPool(workers: WorkerPool.usualWorkers)
    /// The threads of tasks with the priority of overseers or a higher one, which wait for no others.
    private static let overseers = WorkerPool(workers: 2)
    private static let timers = TimerThread()

    /// Starts the threads, and gives them all tasks from now on. Returns `false` if the system cannot create them. Call this
    /// before the first task.
    static func start() -> Bool {
        #if compiler(<6.4)
        guard timers != nil, pool.start(), overseers.start() else { return false }
        _createExecutors(factory: Factory.self)
        tasks_take_over({ TaskThreads.run($0) }, { TaskThreads.run($0, after: $1) })
        #endif
        return true
    }

    #if compiler(<6.4)
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
    #endif

    private static func run(_ job: UnsafeMutableRawPointer?) {
        guard let job else { preconditionFailure("the runtime enqueues no job") }
        // A job has the size of a pointer, and is one for the runtime, which gives it to one thread at a time.
        nonisolated(unsafe) let own = job
        let priority = unsafeBitCast(job, to: UnownedJob.self).priority.rawValue
        // Behind the others, so that a task that yields lets them run.
        (priority < TaskPriority.management.rawValue ? pool : overseers).enqueueBehind(Activation { tasks_run(own) })
    }

    private static func run(_ job: UnsafeMutableRawPointer?, after nanoseconds: Int64) {
        // As above: only the timer has the job, and it gives the job to one thread.
        nonisolated(unsafe) let own = job
        // It only makes a task ready to go on, so it is short, and waits for no other task.
        timers?.call(at: .now + .nanoseconds(nanoseconds)) { tasks_run(own) }
    }
}
