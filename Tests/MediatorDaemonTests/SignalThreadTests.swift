import Foundation
import Glibc
import MediatorDaemon
import Testing

/// Each in a process of its own, since the signals are those of the process.
@Suite(.timeLimit(.minutes(5))) struct `The thread of signals` {
    @Test func `gives a signal to all that wait for it, and to no others`() async {
        await #expect(processExitsWith: .success) {
            let thread = try #require(SignalThread.shared)
            let (both, stop) = (thread.signals(SIGHUP, SIGTERM), thread.signals(SIGTERM))
            var (ofBoth, ofStop) = (both.makeAsyncIterator(), stop.makeAsyncIterator())
            kill(getpid(), SIGHUP)
            #expect(await ofBoth.next() == SIGHUP)
            kill(getpid(), SIGTERM)
            #expect(await ofBoth.next() == SIGTERM)
            #expect(await ofStop.next() == SIGTERM)
            // A second one, too.
            kill(getpid(), SIGTERM)
            #expect(await ofStop.next() == SIGTERM)
        }
    }

    @Test func `goes on while many signals wait for a task, and after the end of one`() async {
        await #expect(processExitsWith: .success) {
            let thread = try #require(SignalThread.shared)
            let hangups = thread.signals(SIGHUP)
            _ = thread.signals(SIGINT)
            // This one would end the process by default.
            kill(getpid(), SIGINT)
            var stops = thread.signals(SIGTERM).makeAsyncIterator()
            for _ in 0..<1_000 { kill(getpid(), SIGHUP) }
            kill(getpid(), SIGTERM)
            #expect(await stops.next() == SIGTERM)
            var iterator = hangups.makeAsyncIterator()
            #expect(await iterator.next() == SIGHUP)
        }
    }

    @Test func `leaves a signal that a program blocks to the program`() async {
        await #expect(processExitsWith: .success) {
            // The new thread takes over what this one blocks.
            func make() -> SignalThread? {
                var signals = sigset_t()
                sigemptyset(&signals)
                for number in [SIGHUP, SIGUSR1] { sigaddset(&signals, number) }
                pthread_sigmask(SIG_BLOCK, &signals, nil)
                return SignalThread.shared
            }
            let thread = try #require(make())
            var hangups = thread.signals(SIGHUP).makeAsyncIterator()
            kill(getpid(), SIGHUP)
            #expect(await hangups.next() == SIGHUP)
            // Of each thread, the signals that it blocks.
            let tasks = "/proc/self/task"
            let blocked = try FileManager.default.contentsOfDirectory(atPath: tasks).compactMap { task in
                try? String(contentsOfFile: "\(tasks)/\(task)/status", encoding: .utf8)
            }.compactMap { status in
                status.split(separator: "\n").first { $0.hasPrefix("SigBlk:") }
                    .flatMap { UInt64($0.dropFirst(7).drop { $0 == "\t" }, radix: 16) }
            }
            func has(_ signals: UInt64, _ number: Int32) -> Bool { signals & 1 << UInt64(number - 1) != 0 }
            #expect(blocked.contains { !has($0, SIGHUP) && has($0, SIGUSR1) }, "\(blocked)")
        }
    }
}
