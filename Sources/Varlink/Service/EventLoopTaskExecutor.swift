import NIOCore
import NIOPosix

/// Runs tasks on an event loop, so that a call that needs only the loop is answered without changing threads.
final class EventLoopTaskExecutor: TaskExecutor {
    /// The executors for calls that take long. The second one is for peers with precedence, so that other peers do not
    /// delay them. Their threads serve no connection and are not part of the pool, which a system's code may block.
    private static let longCalls = {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 2)
        return (common: EventLoopTaskExecutor(group.next()), precedence: EventLoopTaskExecutor(group.next()))
    }()

    /// Returns the executor for calls that take long.
    static func longCalls(hasPrecedence: Bool) -> EventLoopTaskExecutor {
        hasPrecedence ? longCalls.precedence : longCalls.common
    }

    private let eventLoop: any EventLoop

    init(_ eventLoop: any EventLoop) {
        self.eventLoop = eventLoop
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        eventLoop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
