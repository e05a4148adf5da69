/// Says where a loop turns, and where side effects run.
///
/// A loop never blocks whoever sends to it longer than its executor says: the ``SendersThread`` runs the whole turn
/// before the sender goes on, the ``SharedPool`` only notes that there is something to do.
public protocol LoopExecutor: Sendable {
    /// How many events a loop may take in one go before it gives the place to others, at least 1.
    var eventsPerTurn: Int { get }

    /// Where side effects started under this executor run; `nil`: on the shared pool.
    var taskExecutor: (any TaskExecutor)? { get }

    /// Calls `turn` exactly once, at once or later, on any thread.
    ///
    /// Turns of different loops may overlap. A loop never has two turns under way.
    func enqueue(_ turn: @escaping @Sendable () -> Void)
}

extension LoopExecutor {
    /// On the shared pool.
    public var taskExecutor: (any TaskExecutor)? { nil }
}

/// The concurrency runtime's own pool of threads. What a loop uses when nothing else is said.
public struct SharedPool: LoopExecutor {
    /// After 256 events other loops get a thread, so that a loop which feeds itself without end starves nobody.
    public var eventsPerTurn: Int { 256 }

    /// The shared pool.
    public init() {}

    /// Runs the turn as a job of the pool.
    public func enqueue(_ turn: @escaping @Sendable () -> Void) {
        Task.detached { turn() }
    }
}

/// The thread of whoever sends: when `send` returns, the loop is quiet again, or another thread is turning it.
///
/// A sender that finds the loop turning (on this thread, from within a feedback, or on another) only queues, so
/// there is no recursion within one loop. Loops that are attached to each other and all turn on the sender's thread
/// nest once for each loop on the way; for chains of thousands of loops use the ``SharedPool``.
public struct SendersThread: LoopExecutor {
    /// No limit: the sender pays for what it set off.
    public var eventsPerTurn: Int { .max }

    /// The sender's thread.
    public init() {}

    /// Runs the turn now.
    public func enqueue(_ turn: @escaping @Sendable () -> Void) {
        turn()
    }
}

/// A task executor of the caller's own: a queue, a thread, an event loop.
public struct OnTaskExecutor: LoopExecutor {
    /// The executor that runs the turns and the side effects.
    public let base: any TaskExecutor

    /// The same share as on the shared pool.
    public var eventsPerTurn: Int { 256 }

    /// Where side effects run.
    public var taskExecutor: (any TaskExecutor)? { base }

    /// Wraps a task executor.
    public init(_ base: any TaskExecutor) {
        self.base = base
    }

    /// Runs the turn as a job of the executor.
    public func enqueue(_ turn: @escaping @Sendable () -> Void) {
        Task.detached(executorPreference: base) { turn() }
    }
}

/// A serial executor of the caller's own, turns and side effects run there, one at a time.
public struct OnSerialExecutor: LoopExecutor {
    private let tasks: SerialTasks

    /// The same share as on the shared pool.
    public var eventsPerTurn: Int { 256 }

    /// Where side effects run.
    public var taskExecutor: (any TaskExecutor)? { tasks }

    /// Wraps a serial executor.
    public init(_ base: any SerialExecutor) {
        tasks = SerialTasks(base)
    }

    /// Runs the turn as a job of the executor.
    public func enqueue(_ turn: @escaping @Sendable () -> Void) {
        Task.detached(executorPreference: tasks) { turn() }
    }

    /// Hands jobs on.
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

/// An actor of the caller's own: the loop turns, and quick functions are called, on the actor, so that they may assume
/// its isolation. Async side effects run on the shared pool and hop to the actor as they need.
public struct OnActor: LoopExecutor {
    /// The actor.
    public let base: any Actor

    /// Few at a time, so that others get the actor too.
    public var eventsPerTurn: Int { 64 }

    /// Wraps an actor.
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
    /// The concurrency runtime's own pool of threads.
    public static var sharedPool: SharedPool { SharedPool() }
}

extension LoopExecutor where Self == SendersThread {
    /// The thread of whoever sends.
    public static var sendersThread: SendersThread { SendersThread() }
}

extension LoopExecutor where Self == OnTaskExecutor {
    /// A task executor of the caller's own.
    public static func task(_ executor: any TaskExecutor) -> OnTaskExecutor { OnTaskExecutor(executor) }
}

extension LoopExecutor where Self == OnSerialExecutor {
    /// A serial executor of the caller's own.
    public static func serial(_ executor: any SerialExecutor) -> OnSerialExecutor { OnSerialExecutor(executor) }
}

extension LoopExecutor where Self == OnActor {
    /// An actor of the caller's own; the main actor is `.actor(MainActor.shared)`.
    public static func actor(_ actor: any Actor) -> OnActor { OnActor(actor) }
}
