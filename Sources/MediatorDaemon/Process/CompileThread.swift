import Glibc
import Systemd

/// A thread for work that keeps a processor busy, such as compiling a large configuration. The threads of the pool stay
/// free for systems, even if there is only one.
package enum CompileThread {
    /// Its stack in bytes, as large as that of the thread that compiles at the start.
    private static let stackSize = 8 * 1024 * 1024

    /// The place of a mark that only such a thread has.
    private static let mark: pthread_key_t = {
        var key = pthread_key_t()
        let code = pthread_key_create(&key, nil)
        precondition(code == 0, "no key for a mark of a thread: error \(code)")
        return key
    }()

    /// A Boolean value that indicates whether the present thread is such a thread.
    package static var isPresent: Bool { pthread_getspecific(mark) != nil }

    /// Does something on such a thread, and returns when it is done. Where the system has no thread to give, it is done here.
    package static func run<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
        await withCheckedContinuation { continuation in
            let work: @Sendable () -> Void = { continuation.resume(returning: body()) }
            let hasThread = DetachedThread.start(stackSize: stackSize) {
                pthread_setspecific(mark, UnsafeRawPointer(bitPattern: 1))
                work()
            }
            if !hasThread { work() }
        }
    }
}
