import Dispatch
import Glibc
import Synchronization

// A task that waits suspends, with `await` or `suspend(while:)`. The functions here are for code that cannot suspend,
// such as a reducer. The concurrency pool has as many threads as the machine has processors. A test that blocks or
// spins on one of them may hold the thread that its condition needs.

/// Runs a function on threads of its own, and suspends until all of them have returned.
///
/// - Parameters:
///   - count: The number of threads.
///   - body: The function, which receives the number of its thread, from 0.
package func onThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) async {
    guard count > 0 else { return }
    let running = Running(count)
    await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
        for number in 0..<count {
            startThread {
                body(number)
                if running.end() { continuation.resume() }
            }
        }
    }
}

/// Blocks the thread until a condition holds, and sleeps between two looks at it.
///
/// The caller must not be on a thread of the concurrency pool. A task uses `suspend(while:)` instead.
/// Beyond ``waitLimit`` it ends the process.
package func blockThread(until condition: @autoclosure () throws -> Bool) rethrows {
    preventBlockedPool()
    let end = ContinuousClock.now + waitLimit
    while try !condition() {
        precondition(ContinuousClock.now < end, "nothing has changed within \(waitLimit)")
        usleep(100)
    }
}

/// A semaphore for threads that may block.
package final class ThreadSemaphore: Sendable {
    private let semaphore: DispatchSemaphore

    /// Creates a semaphore that admits the given number of waits.
    package init(value: Int = 0) { semaphore = DispatchSemaphore(value: value) }

    /// Admits one more wait.
    package func signal() { semaphore.signal() }

    /// Blocks the thread until a signal admits it. The caller must not be on a thread of the concurrency pool.
    package func wait() {
        preventBlockedPool()
        semaphore.wait()
    }

    /// Blocks the thread until a signal admits it, for a limited time. Returns `false` if none has come. The caller
    /// must not be on a thread of the concurrency pool.
    package func wait(seconds: Int) -> Bool {
        preventBlockedPool()
        return semaphore.wait(timeout: .now() + .seconds(seconds)) == .success
    }

    /// Blocks the thread like `wait(seconds:)`, also a thread of the concurrency pool.
    ///
    /// All other tests of the process have one thread fewer until it returns.
    package func waitHoldingPoolThread(seconds: Int) -> Bool {
        semaphore.wait(timeout: .now() + .seconds(seconds)) == .success
    }
}

/// The number of threads that have not ended.
private final class Running: Sendable {
    private let count: Atomic<Int>

    init(_ count: Int) { self.count = Atomic(count) }

    /// Counts one thread less. Returns `true` if it was the last one.
    func end() -> Bool { count.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 }
}

/// The function of a thread.
private final class ThreadBody: Sendable {
    let run: @Sendable () -> Void

    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
}

private func startThread(_ run: @escaping @Sendable () -> Void) {
    var thread = pthread_t()
    let body = Unmanaged.passRetained(ThreadBody(run)).toOpaque()
    let code = pthread_create(
        &thread, nil,
        { body in
            if let body { Unmanaged<ThreadBody>.fromOpaque(body).takeRetainedValue().run() }
            return nil
        }, body)
    precondition(code == 0, "no thread for a test: error \(code)")
    pthread_detach(thread)
}

private func preventBlockedPool() {
    precondition(
        !isOnConcurrencyPool,
        """
        a test blocks a thread of the concurrency pool, and all tests share its few threads; suspend with \
        suspend(while:), or run this code by onThreads or on a queue of its own
        """)
}

/// A Boolean value that indicates whether a thread of the concurrency pool runs the caller.
private var isOnConcurrencyPool: Bool {
    // Dispatch exports it under this name, and not to Swift.
    guard let found = dlsym(nil, "dispatch_queue_get_label") else {
        preconditionFailure("Dispatch has no function dispatch_queue_get_label")
    }
    typealias Call = @convention(c) (UnsafeRawPointer?) -> UnsafePointer<CChar>?
    // The function takes a pointer, which is null for the current queue, and returns a C string (dispatch/queue.h).
    let label = unsafeBitCast(found, to: Call.self)(nil)
    // The queue of the concurrency runtime on Linux, for all threads of the pool.
    return label.map { String(cString: $0) } == "Swift global concurrent queue"
}
