import FeedbackKit
import NIOCore
import NIOPosix
import SideEffects
import Synchronization
import Systemd
import Varlink

/// The threads of the daemon that stay as long as it runs, beside ``TaskThreads``. All of them are created at the start, since
/// some of the libraries end the process, or wait for ever, if the system has no thread to give later.
enum DaemonThreads {
    /// The reason why the daemon ends if it has not all of its threads.
    static let refusal =
        "the system cannot create the threads that the daemon needs; raise its limit on tasks (TasksMax=, pids.max or ulimit -u)"

    /// The threads of long calls, that of the watchdog, and that of signals.
    private static let ofServices = LongCallThreads.count + 2

    private static let areReady = Atomic(false)

    /// Creates the threads, unless they exist. Returns `false` if the system cannot create all of them.
    static func start() async -> Bool {
        guard !areReady.load(ordering: .acquiring) else { return true }
        let ofLoops = WorkerPool.shared.threads + NIOSingletons.groupLoopCountSuggestion
        guard DetachedThread.hasRoom(for: ofLoops + ofServices + CommandThreads.count),
            WorkerPool.shared.start(), WatchThread.shared != nil, SignalThread.shared != nil,
            await CommandThreads.start()
        else { return false }
        LongCallThreads.start()
        _ = MultiThreadedEventLoopGroup.singleton
        areReady.store(true, ordering: .releasing)
        return true
    }
}
