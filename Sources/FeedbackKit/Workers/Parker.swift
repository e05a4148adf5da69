#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// A place where one thread waits for a call by another one. A call before the wait is kept; several calls count as one.
final class Parker: Sendable {
    private struct Storage {
        var lock = pthread_mutex_t()
        var condition = pthread_cond_t()
        var isCalled = false
    }

    // Sound: the pointer never changes, and the memory is accessed under the lock in it. Only the initializer and the end,
    // when no other thread has the object, access it without. A lock of the C library must not move, so it is allocated.
    private nonisolated(unsafe) let storage: UnsafeMutablePointer<Storage>

    init() {
        storage = .allocate(capacity: 1)
        storage.initialize(to: Storage())
        pthread_mutex_init(&storage.pointee.lock, nil)
        pthread_cond_init(&storage.pointee.condition, nil)
    }

    deinit {
        pthread_cond_destroy(&storage.pointee.condition)
        pthread_mutex_destroy(&storage.pointee.lock)
        storage.deinitialize(count: 1)
        storage.deallocate()
    }

    /// Waits for a call since the last return.
    func wait() {
        pthread_mutex_lock(&storage.pointee.lock)
        while !storage.pointee.isCalled { pthread_cond_wait(&storage.pointee.condition, &storage.pointee.lock) }
        storage.pointee.isCalled = false
        pthread_mutex_unlock(&storage.pointee.lock)
    }

    /// Waits for a call since the last return, for at most some milliseconds. Returns `false` if none has come.
    func wait(milliseconds: Int) -> Bool {
        var end = timespec()
        clock_gettime(CLOCK_REALTIME, &end)
        end.tv_sec += milliseconds / 1_000
        end.tv_nsec += milliseconds % 1_000 * 1_000_000
        if end.tv_nsec >= 1_000_000_000 { (end.tv_sec, end.tv_nsec) = (end.tv_sec + 1, end.tv_nsec - 1_000_000_000) }
        pthread_mutex_lock(&storage.pointee.lock)
        defer { pthread_mutex_unlock(&storage.pointee.lock) }
        while !storage.pointee.isCalled {
            if pthread_cond_timedwait(&storage.pointee.condition, &storage.pointee.lock, &end) == ETIMEDOUT { break }
        }
        defer { storage.pointee.isCalled = false }
        return storage.pointee.isCalled
    }

    func call() {
        pthread_mutex_lock(&storage.pointee.lock)
        storage.pointee.isCalled = true
        pthread_cond_signal(&storage.pointee.condition)
        pthread_mutex_unlock(&storage.pointee.lock)
    }
}
