import Glibc

/// Threads of their own that send, so that senders do not take the pool's threads from the loop.
enum Senders {
    /// The work of a thread.
    private final class Job: Sendable {
        let body: @Sendable () -> Void

        init(_ body: @escaping @Sendable () -> Void) {
            self.body = body
        }
    }

    /// Runs `body` on so many threads at once and returns when all have finished.
    static func run(_ count: Int, _ body: @escaping @Sendable () -> Void) async {
        let finished = Latch(count)
        for _ in 0..<count {
            start {
                body()
                finished.count()
            }
        }
        await finished.wait()
    }

    private static func start(_ body: @escaping @Sendable () -> Void) {
        var thread = pthread_t()
        let job = Unmanaged.passRetained(Job(body)).toOpaque()
        let code = pthread_create(
            &thread, nil,
            { job in
                guard let job else { return nil }
                Unmanaged<Job>.fromOpaque(job).takeRetainedValue().body()
                return nil
            }, job)
        precondition(code == 0, "a thread could not be made: error \(code)")
        pthread_detach(thread)
    }
}
