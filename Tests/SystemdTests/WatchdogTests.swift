import Glibc
import ServiceLifecycle
import ServiceLifecycleTestKit
import Synchronization
import Systemd
import Testing
import TestSupport

@Suite
struct `The watchdog` {
    @Test
    func `It sends at once and then every half interval`() async {
        await withWatchdog(check: { .alive }) { bench in
            for tick in 0..<4 {
                #expect(await bench.next() == .sent("WATCHDOG=1"))
                await bench.clock.sleeper(until: .seconds(5 * (tick + 1)))
                bench.clock.advance(to: .seconds(5 * (tick + 1)))
            }
        }
    }

    @Test
    func `It sends nothing while a part is stuck, and sends again as soon as none is`() async {
        let answers = Answers([.alive, .stuck(["uplink", "disk"]), .stuck(["disk"]), .alive])
        await withWatchdog(check: { answers.next() }) { bench in
            let expected: [Bench.Output] = [
                .sent("WATCHDOG=1"), .withheld(.stuck(["uplink", "disk"])), .withheld(.stuck(["disk"])),
                .sent("WATCHDOG=1"),
            ]
            // After a short block, a message follows before the interval of 10 s since the last one is over.
            for (output, next) in zip(expected, [5, 7, 9, 14]) {
                #expect(await bench.next() == output)
                await bench.clock.sleeper(until: .seconds(next))
                bench.clock.advance(to: .seconds(next))
            }
        }
    }

    @Test
    func `A check that overruns is cancelled and reported, and nothing is sent`() async {
        let isFirst = Mutex(true)
        let clock = ManualClock()
        let check: @Sendable () async -> Liveness = {
            if isFirst.withLock({ exchange(&$0, with: false) }) { try? await clock.sleep(for: .seconds(1_000)) }
            return .alive
        }
        await withWatchdog(clock: clock, check: check) { bench in
            await clock.sleeper(until: .seconds(1_000))
            await clock.sleeper(until: .seconds(2))
            clock.advance(to: .seconds(2))
            #expect(await bench.next() == .withheld(.checkOverran(limit: .seconds(2))))
            await clock.sleeper(until: .seconds(4))
            clock.advance(to: .seconds(4))
            #expect(await bench.next() == .sent("WATCHDOG=1"))
        }
    }

    @Test
    func `A check that ignores cancellation is reported while it still hangs`() async {
        let (gate, opener) = AsyncStream<Void>.makeStream()
        let isFirst = Mutex(true)
        let check: @Sendable () async -> Liveness = {
            guard isFirst.withLock({ exchange(&$0, with: false) }) else { return .alive }
            // An unstructured task does not receive the cancellation.
            await Task { for await _ in gate { break } }.value
            return .alive
        }
        await withWatchdog(check: check) { bench in
            await bench.clock.sleeper(until: .seconds(2))
            bench.clock.advance(to: .seconds(2))
            #expect(await bench.next() == .withheld(.checkOverran(limit: .seconds(2))))
            bench.clock.advance(to: .seconds(30))
            opener.yield()
            await bench.clock.sleeper(until: .seconds(32))
            bench.clock.advance(to: .seconds(32))
            #expect(await bench.next() == .sent("WATCHDOG=1"))
        }
    }

    @Test
    func `After a long pause it sends once and continues from there`() async {
        await withWatchdog(check: { .alive }) { bench in
            #expect(await bench.next() == .sent("WATCHDOG=1"))
            await bench.clock.sleeper(until: .seconds(5))
            bench.clock.advance(to: .seconds(98))
            #expect(await bench.next() == .sent("WATCHDOG=1"))
            await bench.clock.sleeper(until: .seconds(103))
        }
    }

    @Test
    func `Graceful shutdown ends it without a message`() async {
        let clock = ManualClock()
        let sent = Received()
        let watchdog = Watchdog(
            interval: .seconds(10), clock: clock, notifier: Notifier(receiver: { sent.append($0) }),
            check: { .alive }, onStuck: { Issue.record("stuck: \($0)") })
        await testGracefulShutdown { trigger in
            await withTaskGroup { group in
                group.addTask { await watchdog.run() }
                await clock.sleeper(until: .seconds(5))
                trigger.triggerGracefulShutdown()
                await group.waitForAll()
            }
        }
        #expect(sent.all == ["WATCHDOG=1"])
    }

    @Test
    func `A message that cannot be sent is reported`() async {
        await #expect(processExitsWith: .success) {
            setenv("NOTIFY_SOCKET", "/tmp/there-is-no-such-socket", 1)
            let clock = ManualClock()
            let withheld = Mutex<[Watchdog.Withheld]>([])
            let watchdog = Watchdog(
                interval: .seconds(10), clock: clock, check: { .alive },
                onStuck: { reason in withheld.withLock { $0.append(reason) } })
            await withTaskGroup { group in
                group.addTask { await watchdog.run() }
                // The sleeper may be waiting for the check, before anything is sent.
                await suspend(while: withheld.withLock({ $0.isEmpty }))
                group.cancelAll()
            }
            #expect(withheld.withLock { $0 } == [.undeliverable(errno: ENOENT)])
        }
    }

    @Test(arguments: [Duration.microseconds(10), .milliseconds(2), .seconds(2), .seconds(30), .seconds(86_400)])
    func `A check may take less than a quarter of the interval`(interval: Duration) {
        let watchdog = Watchdog(interval: interval, check: { .alive }, onStuck: { _ in })
        #expect(watchdog.checkLimit > .zero)
        #expect(watchdog.checkLimit < interval / 4)
    }

    @Test
    func `The interval is read from the environment, if it is meant for this process`() async {
        await #expect(processExitsWith: .success) {
            unsetenv("WATCHDOG_PID")
            unsetenv("WATCHDOG_USEC")
            try #require(Watchdog.configuredInterval() == nil)
            setenv("WATCHDOG_USEC", "30000000", 1)
            try #require(Watchdog.configuredInterval() == .seconds(30))
            setenv("WATCHDOG_PID", "\(getpid())", 1)
            try #require(Watchdog.configuredInterval() == .seconds(30))
            setenv("WATCHDOG_PID", "1", 1)
            try #require(Watchdog.configuredInterval() == nil)
        }
    }

    @Test
    func `A malformed interval is an error that names the variable`() async {
        await #expect(processExitsWith: .success) {
            unsetenv("WATCHDOG_PID")
            setenv("WATCHDOG_USEC", "soon", 1)
            let error = #expect(throws: SystemdError.self) { try Watchdog.configuredInterval() }
            #expect(error?.code == .malformedWatchdog)
            #expect(error?.errno == EINVAL)
            #expect(error?.description.contains("$WATCHDOG_USEC") == true)
        }
    }

    /// Runs a watchdog with an interval of 10 seconds beside `body`, and ends it afterwards.
    private func withWatchdog(
        clock: ManualClock = ManualClock(),
        check: @escaping @Sendable () async -> Liveness,
        body: (Bench) async -> Void
    ) async {
        let (outputs, continuation) = AsyncStream<Bench.Output>.makeStream()
        let watchdog = Watchdog(
            interval: .seconds(10), clock: clock,
            notifier: Notifier(receiver: { continuation.yield(.sent($0)) }),
            check: check, onStuck: { continuation.yield(.withheld($0)) })
        await withTaskGroup { group in
            group.addTask { await watchdog.run() }
            await body(Bench(clock: clock, outputs: outputs))
            group.cancelAll()
        }
    }
}

@Suite
struct `Stopping notifier` {
    @Test
    func `It reports that the shutdown has begun, and why`() async {
        let sent = Received()
        let service = StoppingNotifier(notifier: Notifier(receiver: { sent.append($0) }), status: "Stopping")
        await testGracefulShutdown { trigger in
            await withTaskGroup { group in
                group.addTask { await service.run() }
                #expect(sent.all == [])
                trigger.triggerGracefulShutdown()
                await group.waitForAll()
            }
        }
        #expect(sent.all == ["STOPPING=1\nSTATUS=Stopping"])
    }

    @Test
    func `Cancellation counts as a shutdown`() async {
        let sent = Received()
        let service = StoppingNotifier(notifier: Notifier(receiver: { sent.append($0) }))
        await withTaskGroup { group in
            group.addTask { await service.run() }
            group.cancelAll()
        }
        #expect(sent.all == ["STOPPING=1"])
    }
}

/// The clock of a watchdog under test, and its output in order.
private struct Bench {
    enum Output: Equatable {
        case sent(String)
        case withheld(Watchdog.Withheld)
    }

    let clock: ManualClock
    let outputs: AsyncStream<Output>

    func next() async -> Output? {
        await outputs.first { _ in true }
    }
}

/// Returns the answers of a check, one after another.
private final class Answers: Sendable {
    private let rest: Mutex<[Liveness]>

    init(_ answers: [Liveness]) { rest = Mutex(answers.reversed()) }
    func next() -> Liveness { rest.withLock { $0.popLast() ?? .alive } }
}

/// Replaces a value and returns the one before.
private func exchange<T>(_ value: inout T, with new: T) -> T {
    defer { value = new }
    return value
}
