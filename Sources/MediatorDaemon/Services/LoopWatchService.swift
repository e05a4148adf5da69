import MediatorHost
import ServiceLifecycle
import Systemd

/// Watches the loops and the waits of a host, and feeds the service manager's watchdog while all of them make progress. It
/// has a thread of its own, since systems may block the threads of the pool.
struct LoopWatchService: Service, CustomStringConvertible {
    /// The default limit on the time until a loop makes progress, if neither the options nor the service manager set one.
    static let usualDeadline = Duration.seconds(30)

    let host: Host
    /// Within which time loops without a deadline of their own are to turn.
    let deadline: Duration
    /// The service manager's watchdog, if it is on.
    let watchdog: Watchdog?

    /// The name in the group of services, which would otherwise print every property.
    var description: String { "watchdog" }

    /// Until graceful shutdown or cancellation.
    func run() async {
        await withTaskExecutorPreference(WatchThread.shared) {
            await withTaskGroup(of: Void.self) { group in
                if let watchdog { group.addTask { await watchdog.run() } }
                group.addTask { await cancelWhenGracefulShutdown { await look() } }
            }
        }
    }

    private func look() async {
        while !Task.isCancelled {
            _ = host.lookAtLoops(deadline: deadline)
            _ = host.lookAtWaits(deadline: deadline)
            guard (try? await WatchThread.Clock().sleep(for: host.watchPeriod(deadline: deadline))) != nil else {
                return
            }
        }
    }
}

/// A thread that watches other threads, with a clock that does not need them.
final class WatchThread: TaskExecutor {
    /// The thread of this process; `nil` if the system had no thread to give.
    static let shared = WatchThread()

    private let thread: TimerThread

    private init?() {
        guard let thread = TimerThread() else { return nil }
        self.thread = thread
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        thread.call(at: .now) { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }

    /// The continuous clock, with timers of the thread.
    struct Clock: _Concurrency.Clock {
        typealias Instant = ContinuousClock.Instant

        var now: Instant { ContinuousClock.now }
        var minimumResolution: Duration { ContinuousClock().minimumResolution }

        func sleep(until deadline: Instant, tolerance: Duration?) async throws {
            guard let watch = WatchThread.shared else {
                return try await ContinuousClock().sleep(until: deadline, tolerance: tolerance)
            }
            let waiter = CancellableWaiter<Void>()
            watch.thread.call(at: deadline) { waiter.resume(with: .success(())) }
            try await waiter.value()
        }
    }
}
