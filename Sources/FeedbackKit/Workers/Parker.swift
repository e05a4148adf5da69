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

    func call() {
        pthread_mutex_lock(&storage.pointee.lock)
        storage.pointee.isCalled = true
        pthread_cond_signal(&storage.pointee.condition)
        pthread_mutex_unlock(&storage.pointee.lock)
    }
}
