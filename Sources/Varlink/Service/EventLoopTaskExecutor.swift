import NIOCore
import NIOPosix

/// Runs tasks on an event loop, so that a call that needs nothing but the loop is answered without changing threads.
final class EventLoopTaskExecutor: TaskExecutor {
    /// The threads for calls that take long: the second one for peers with precedence, so that others do not hold them up. They
    /// serve no connection. They are none of the pool's threads, which a system's code may block.
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
