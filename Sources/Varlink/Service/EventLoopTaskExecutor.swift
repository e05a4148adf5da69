import NIOCore
import NIOPosix

/// Runs tasks on an event loop, so that a call that needs only the loop is answered without changing threads.
final class EventLoopTaskExecutor: TaskExecutor {
    private let eventLoop: any EventLoop

    init(_ eventLoop: any EventLoop) {
        self.eventLoop = eventLoop
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        eventLoop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}

/// Runs tasks of calls that take long, on threads that serve no connection. They are none of the pool's threads either, which a
/// system's code may block.
///
/// Peers with precedence have a thread of their own, so that others do not hold them up.
final class LongCallExecutor: TaskExecutor {
    fileprivate static let common = LongCallExecutor()
    fileprivate static let precedence = LongCallExecutor()

    /// Returns the executor for a peer.
    static func of(precedence hasPrecedence: Bool) -> LongCallExecutor { hasPrecedence ? precedence : common }

    /// Unlike an event loop, it holds no descriptor.
    private let thread = NIOThreadPool(numberOfThreads: 1)

    private init() { thread.start() }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        thread.submit { _ in job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}

/// The threads of calls that take long.
package enum LongCallThreads {
    /// The number of threads.
    package static let count = 2

    /// Creates the threads, unless they exist. Otherwise the first call does. If the system cannot create them, the process ends.
    package static func start() {
        _ = LongCallExecutor.common
        _ = LongCallExecutor.precedence
    }
}
