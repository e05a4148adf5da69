#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// Threads of the operating system.
enum WorkerThread {
    private final class Body: Sendable {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    /// The worker of a thread, and its pool.
    final class Seat: Sendable {
        let pool: WorkerPool
        let worker: Worker

        init(_ worker: Worker, of pool: WorkerPool) {
            self.pool = pool
            self.worker = worker
        }
    }

    /// The key under which a worker's thread keeps its seat.
    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        let code = pthread_key_create(&key, nil)
        precondition(code == 0, "no key for what a thread keeps: error \(code)")
        return key
    }()

    /// The seat of this thread; `nil` outside of workers.
    static var seat: Seat? {
        pthread_getspecific(key).map { Unmanaged<Seat>.fromOpaque($0).takeUnretainedValue() }
    }

    /// The identity of this thread, as long as it lives.
    static var identity: UInt {
        #if canImport(Darwin)
        UInt(bitPattern: pthread_self())
        #else
        UInt(pthread_self())
        #endif
    }

    /// Runs a function on a new thread. Returns `false` if the system cannot create one.
    static func start(_ run: @escaping @Sendable () -> Void) -> Bool {
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        defer { pthread_attr_destroy(&attributes) }
        let body = Unmanaged.passRetained(Body(run))
        #if canImport(Darwin)
        var thread: pthread_t?
        #else
        var thread = pthread_t()
        #endif
        let code = pthread_create(
            &thread, &attributes,
            { argument in
                let body: UnsafeMutableRawPointer? = argument
                if let body { Unmanaged<Body>.fromOpaque(body).takeRetainedValue().run() }
                return nil
            }, body.toOpaque())
        if code != 0 { body.release() }
        return code == 0
    }

    /// Runs a function on the new thread of a worker.
    static func start(at seat: Seat, _ run: @escaping @Sendable () -> Void) -> Bool {
        start {
            pthread_setspecific(key, Unmanaged.passUnretained(seat).toOpaque())
            // The closure holds the seat while the thread runs it.
            withExtendedLifetime(seat) { run() }
            pthread_setspecific(key, nil)
        }
    }

    /// Sleeps for less than a second.
    static func sleep(milliseconds: Int) {
        var time = timespec(tv_sec: 0, tv_nsec: milliseconds * 1_000_000)
        nanosleep(&time, nil)
    }

    /// The number of processors in use by the system, at least 1.
    static var processors: Int { max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))) }
}
