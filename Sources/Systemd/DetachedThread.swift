import CSystemd
import Glibc
import Synchronization

/// A thread of the operating system, for calls that may block or must stay on one thread.
package enum DetachedThread {
    /// The default stack size in bytes, enough for system calls and little else.
    package static let stackSize = 512 * 1024

    /// The function of a new thread.
    private final class Body: Sendable {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    /// Runs a function on a new detached thread. Returns `false` if the system cannot create a thread.
    package static func start(stackSize: Int = stackSize, _ run: @escaping @Sendable () -> Void) -> Bool {
        var attributes = pthread_attr_t()
        guard pthread_attr_init(&attributes) == 0 else { return false }
        defer { pthread_attr_destroy(&attributes) }
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        pthread_attr_setstacksize(&attributes, stackSize)
        let body = Unmanaged.passRetained(Body(run))
        var thread = pthread_t()
        let code = pthread_create(
            &thread, &attributes,
            { argument in
                guard let argument else { return nil }
                Unmanaged<Body>.fromOpaque(argument).takeRetainedValue().run()
                return nil
            }, body.toOpaque())
        if code != 0 { body.release() }
        return code == 0
    }

    /// The time that the system has to remove a thread that has ended.
    private static let removalLimit = Duration.seconds(1)

    /// Returns whether the system can create a number of threads at once. It creates them, and they have ended when this
    /// returns.
    package static func hasRoom(for count: Int) -> Bool {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { return false }
        let (reading, writing) = (ends[0], ends[1])
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        let places = Places()
        let started = (0..<count).prefix { _ in
            start {
                places.add()
                // Until the writing end is closed.
                var byte: UInt8 = 0
                _ = read(reading, &byte, 1)
            }
        }.count
        close(writing)
        // A thread counts until the system has removed it, which is soon after its end.
        let deadline = ContinuousClock.now + removalLimit
        while !places.areGone(started) {
            // A thread may still be about to read, so the descriptor stays open.
            guard ContinuousClock.now < deadline else { return false }
            poll(nil, 0, 1)
        }
        close(reading)
        return started == count
    }

    /// The directories of threads below /proc.
    private final class Places: Sendable {
        private let paths = Mutex<[String]>([])

        /// Adds that of this thread.
        func add() {
            var path = [CChar](repeating: 0, count: 64)
            _ = readlink("/proc/thread-self", &path, path.count - 1)
            let name = String(decoding: path.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            paths.withLock { $0.append("/proc/" + name) }
        }

        /// Returns whether so many threads were there, and none is now.
        func areGone(_ count: Int) -> Bool {
            paths.withLock { $0.count == count && !$0.contains { access($0, F_OK) == 0 } }
        }
    }
}
