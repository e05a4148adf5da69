import CLinux
import Glibc
import Synchronization
import SystemPackage
import Systemd

/// Waits until descriptors are readable. One thread serves all waits, so that a wait blocks no thread of the pool.
///
/// Sources of Dispatch would need less code. But Dispatch handles no error of a socket (`EPOLLERR`), reports no failed
/// registration, and needs a new thread for an event when the system may have none.
///
/// Each wait is one-shot (`EPOLLONESHOT`, epoll(7)). An event that nobody requests again is not reported again, so
/// events do not pile up for a slow reader.
///
/// A wait is not a ``CancellableWaiter``, because a cancelled task waits until its descriptor is no longer watched.
package final class Poller: Sendable {
    /// The poller of this process. Its descriptor and its thread are created with the first wait, and stay.
    package static let shared = Poller()

    private struct Waiter {
        let descriptor: Int32
        let continuation: CheckedContinuation<Errno?, Never>
    }

    private struct State {
        var queue: Int32?
        var nextID: UInt64 = 1
        var waiters: [UInt64: Waiter] = [:]
    }

    /// The most events that one call fetches.
    private static let batch = 64

    private let state = Mutex(State())

    private init() {}

    /// Creates the descriptor and the thread. Throws if the system has none to give.
    func prepare() throws(SensingProblem) {
        try state.withLock { state throws(SensingProblem) in
            guard Self.begin(&state) == nil else { return }
            let failure = Errno(rawValue: errno)
            throw failure == .resourceTemporarilyUnavailable
                ? .noThread : SensingProblem("cannot watch files", failure)
        }
    }

    /// Waits until reading the descriptor would not block, because of data, the end, or an error.
    ///
    /// Only one task may wait for a descriptor, which must stay open until this returns. Throws `Errno` if the
    /// descriptor cannot be watched, and `CancellationError` as soon as the task is cancelled.
    package func readable(_ descriptor: Int32) async throws {
        let id = state.withLock { state in
            defer { state.nextID += 1 }
            return state.nextID
        }
        let failure = await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<Errno?, Never>) in
                let answer: Errno?? = state.withLock { state in
                    if Task.isCancelled { return .some(nil) }
                    if let failure = Self.register(descriptor, id, &state) { return failure }
                    state.waiters[id] = Waiter(descriptor: descriptor, continuation: continuation)
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            wake(id)
        }
        if let failure { throw failure }
        try Task.checkCancellation()
    }

    /// Waits likewise, up to a limit. Returns whether the descriptor is readable.
    func readable(_ descriptor: Int32, within limit: Duration, clock: any Clock<Duration>) async throws -> Bool {
        try await withThrowingTaskGroup(of: Bool.self) { group in
            group.addTask {
                try await self.readable(descriptor)
                return true
            }
            group.addTask {
                try await clock.sleep(for: limit)
                return false
            }
            defer { group.cancelAll() }
            return try await group.next() ?? false
        }
    }

    /// Requests one event from the system.
    private static func register(_ descriptor: Int32, _ id: UInt64, _ state: inout State) -> Errno? {
        guard let queue = begin(&state) else { return Errno(rawValue: errno) }
        return linux_epoll_add(queue, descriptor, id) == 0 ? nil : Errno(rawValue: errno)
    }

    /// Creates the queue, unless it exists, and the thread that waits for its events. If the system has no thread to give,
    /// `errno` is `EAGAIN`.
    private static func begin(_ state: inout State) -> Int32? {
        if let queue = state.queue { return queue }
        let queue = linux_epoll()
        guard queue >= 0 else { return nil }
        guard DetachedThread.start({ shared.serve(queue) }) else {
            close(queue)
            errno = EAGAIN
            return nil
        }
        state.queue = queue
        return queue
    }

    /// Wakes the waits of readable descriptors, as long as the process lives.
    private func serve(_ queue: Int32) {
        var numbers = [UInt64](repeating: 0, count: Self.batch)
        while true {
            let count = linux_epoll_wait(queue, &numbers, Int32(Self.batch))
            precondition(count >= 0, "the queue of events cannot be read: \(String(cString: strerror(errno)))")
            for index in 0..<Int(count) { wake(numbers[index]) }
        }
    }

    /// Ends one wait, unless it has ended already.
    private func wake(_ id: UInt64) {
        let waiter = state.withLock { state in
            let waiter = state.waiters.removeValue(forKey: id)
            // The descriptor is removed before its owner can close it, so that its number never belongs to another
            // file.
            if let waiter, let queue = state.queue { _ = linux_epoll_remove(queue, waiter.descriptor) }
            return waiter
        }
        waiter?.continuation.resume(returning: nil)
    }
}
