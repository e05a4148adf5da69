/// An executor for the turns and the side effects of a loop.
///
/// The executor determines the time that a sender is blocked. With ``SendersThread``, the sender runs the whole turn
/// before it goes on. With ``SharedPool``, it only queues the turn.
public protocol LoopExecutor: Sendable {
    /// The maximum number of events that a loop takes in one turn before it lets others run, at least 1.
    var eventsPerTurn: Int { get }

    /// The task executor of async side effects, or `nil` for Swift's global concurrent executor.
    var taskExecutor: (any TaskExecutor)? { get }

    /// Calls `turn` exactly once, at once or later, on any thread.
    ///
    /// Turns of different loops may overlap. Turns of the same loop never overlap.
    func enqueue(_ turn: @escaping @Sendable () -> Void)
}

extension LoopExecutor {
    /// No task executor: async side effects run on Swift's global concurrent executor.
    public var taskExecutor: (any TaskExecutor)? { nil }
}

/// The threads of the library, one for each processor. They are the default executor of a loop.
///
/// If the turn of one loop requests the turn of another loop, that turn follows on the same thread. If a turn takes
/// longer than two milliseconds, the turns behind it get another thread. So a turn may block without a delay for other
/// loops. Async side effects run on the threads of Swift's concurrency runtime.
public struct SharedPool: LoopExecutor, PooledExecutor {
    /// The maximum number of events in one turn, 256 by default. Then other loops get the thread, so a loop that feeds
    /// itself without end does not starve them.
    public let eventsPerTurn: Int

    /// Creates an executor on the shared pool, with 256 events per turn.
    public init() { eventsPerTurn = 256 }

    /// Creates an executor on the shared pool. Other loops get the thread after this number of events.
    package init(eventsPerTurn: Int) { self.eventsPerTurn = eventsPerTurn }

    /// The common pool of all loops.
    package var pool: WorkerPool { .shared }

    /// Runs the turn on one of the pool's threads.
    public func enqueue(_ turn: @escaping @Sendable () -> Void) {
        pool.enqueue(Activation(turn))
    }
}

/// Runs turns on a pool of workers.
package protocol PooledExecutor: LoopExecutor {
    /// The pool whose workers run the turns.
    var pool: WorkerPool { get }
}

/// An executor on a separate pool of workers.
package struct OnWorkerPool: PooledExecutor {
    package let pool: WorkerPool
    package let eventsPerTurn: Int

    package init(_ pool: WorkerPool, eventsPerTurn: Int = 256) {
        self.pool = pool
        self.eventsPerTurn = eventsPerTurn
    }

    package func enqueue(_ turn: @escaping @Sendable () -> Void) {
        pool.enqueue(Activation(turn))
    }
}

/// The thread of the sender. When `send` returns, the loop is quiet again, or another thread runs its turn.
///
/// A sender that finds the loop in a turn only queues its event, so one loop does not nest its turns. This holds for a
/// turn on the same thread, within a feedback, and on another thread. Turns of different loops that send to each other
/// do nest, up to 64 levels on one thread. Beyond that, a turn goes on later on the same thread, before the outermost
/// turn ends. So a chain of any length needs a constant stack.
public struct SendersThread: LoopExecutor {
    /// The largest number: the sender pays for all consequences of its event.
    public var eventsPerTurn: Int { .max }

    /// Creates an executor on the sender's thread.
    public init() {}

    /// Runs the turn now.
    public func enqueue(_ turn: @escaping @Sendable () -> Void) {
        turn()
    }
}

/// A task executor of the caller, for example a queue, a thread or an event loop.
public struct OnTaskExecutor: LoopExecutor {
    /// The executor that runs the turns and the side effects.
    public let base: any TaskExecutor

    /// The maximum number of events in one turn: 256, as on the shared pool.
    public var eventsPerTurn: Int { 256 }

    /// The task executor of async side effects.
    public var taskExecutor: (any TaskExecutor)? { base }

    /// Creates an executor from a task executor.
    public init(_ base: any TaskExecutor) {
        self.base = base
    }

    /// Runs the turn as a job of the executor.
    public func enqueue(_ turn: @escaping @Sendable () -> Void) {
        Task.detached(executorPreference: base) { turn() }
    }
}

/// A serial executor of the caller. Turns and side effects run there, one at a time.
public struct OnSerialExecutor: LoopExecutor {
    private let tasks: SerialTasks

    /// The maximum number of events in one turn: 256, as on the shared pool.
    public var eventsPerTurn: Int { 256 }

    /// The task executor of async side effects.
    public var taskExecutor: (any TaskExecutor)? { tasks }

    /// Creates an executor from a serial executor.
    public init(_ base: any SerialExecutor) {
        tasks = SerialTasks(base)
    }

    /// Runs the turn as a job of the executor.
    public func enqueue(_ turn: @escaping @Sendable () -> Void) {
        Task.detached(executorPreference: tasks) { turn() }
    }

    /// A task executor that passes its jobs on to a serial executor.
    private final class SerialTasks: TaskExecutor {
        private let base: any SerialExecutor

        init(_ base: any SerialExecutor) {
            self.base = base
        }

        func enqueue(_ job: consuming ExecutorJob) {
            base.enqueue(job)
        }
    }
}

/// An actor of the caller. Turns and quick functions run on the actor, so they may assume its isolation. Async side
/// effects run on Swift's global concurrent executor, and hop to the actor as they need.
public struct OnActor: LoopExecutor {
    /// The actor.
    public let base: any Actor

    /// The maximum number of events in one turn: 64, so that others get the actor too.
    public var eventsPerTurn: Int { 64 }

    /// Creates an executor from an actor.
    public init(_ base: any Actor) {
        self.base = base
    }

    /// Runs the turn on the actor.
    public func enqueue(_ turn: @escaping @Sendable () -> Void) {
        Task.detached { await Self.run(turn, on: base) }
    }

    private static func run(_ turn: @Sendable () -> Void, on actor: isolated any Actor) {
        turn()
    }
}

extension LoopExecutor where Self == SharedPool {
    /// The threads of the library, one for each processor.
    public static var sharedPool: SharedPool { SharedPool() }
}

extension LoopExecutor where Self == SendersThread {
    /// The thread of the sender.
    public static var sendersThread: SendersThread { SendersThread() }
}

extension LoopExecutor where Self == OnTaskExecutor {
    /// Returns an executor for a task executor of the caller.
    public static func task(_ executor: any TaskExecutor) -> OnTaskExecutor { OnTaskExecutor(executor) }
}

extension LoopExecutor where Self == OnSerialExecutor {
    /// Returns an executor for a serial executor of the caller.
    public static func serial(_ executor: any SerialExecutor) -> OnSerialExecutor { OnSerialExecutor(executor) }
}

extension LoopExecutor where Self == OnActor {
    /// Returns an executor for an actor of the caller. The executor of the main actor is `.actor(MainActor.shared)`.
    public static func actor(_ actor: any Actor) -> OnActor { OnActor(actor) }
}

/// An executor for tests that knows when nothing is left to run.
package protocol SettlingExecutor: LoopExecutor, TaskExecutor {
    /// The number of turns and jobs so far.
    var activity: UInt64 { get }

    /// Returns when no turn and no job waits or runs.
    func settled() async
}
