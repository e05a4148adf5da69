import Subprocess
import Synchronization
import SystemPackage
import Systemd

/// The threads that commands need: that of the ``Poller``, and those of the library that starts commands.
///
/// The library creates its threads with the first command, and never again. Without the one that starts processes, every
/// command would wait for ever. So the first command begins only if there is room for all of them.
package enum CommandThreads {
    /// The number of threads.
    package static let count = 4
    /// The number of threads of the library: one starts processes, one waits for their end, and one reads pipes.
    private static let ofLibrary = 3

    /// The time for the library to create its threads and to find out that it has no program to start.
    private static let limit = Duration.seconds(10)

    private static let areReady = Atomic(false)

    /// Creates the threads, unless they exist. Returns `false` if the system cannot create them.
    package static func start() async -> Bool {
        do throws(SensingProblem) {
            try await prepare()
            return true
        } catch {
            return false
        }
    }

    /// Creates the threads, unless they exist. Throws if the system has no thread or descriptor to give.
    static func prepare() async throws(SensingProblem) {
        try Poller.shared.prepare()
        guard !areReady.load(ordering: .acquiring) else { return }
        // And one process, which finds no program.
        guard DetachedThread.hasRoom(for: ofLibrary + 1), await areCreated() else { throw .noThread }
        areReady.store(true, ordering: .releasing)
    }

    /// Lets the library create its threads. Returns `false` if it cannot; it may wait for ever then, so this does not.
    private static func areCreated() async -> Bool {
        let (results, continuation) = AsyncStream<Bool>.makeStream(bufferingPolicy: .bufferingOldest(1))
        Task.detached {
            do {
                // This is no program, so no command starts, but the library creates its threads before it notices.
                _ = try await Subprocess.run(.path("/dev/null"), input: .none, output: .discarded, error: .discarded)
                continuation.yield(false)
            } catch {
                continuation.yield((error as? SubprocessError)?.code == .executableNotFound)
            }
        }
        let timer = Task.detached {
            // The system clock, also where the daemon has another one: this is a wait for the system.
            try await Task.sleep(for: limit)
            continuation.yield(false)
        }
        defer { timer.cancel() }
        for await result in results { return result }
        return false
    }
}
