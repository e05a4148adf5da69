import NIOCore
import NIOPosix

/// Runs tasks on an event loop, so that a call that needs nothing but the loop is answered without changing threads.
final class EventLoopTaskExecutor: TaskExecutor {
    /// The thread for calls that take long. It serves no connection, and is none of the pool's, whose threads may all be blocked
    /// by what a client wants to look into.
    static let longCalls = EventLoopTaskExecutor(longCallsThread.next())
    private static let longCallsThread = MultiThreadedEventLoopGroup(numberOfThreads: 1)

    private let eventLoop: any EventLoop

    init(_ eventLoop: any EventLoop) {
        self.eventLoop = eventLoop
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        eventLoop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
