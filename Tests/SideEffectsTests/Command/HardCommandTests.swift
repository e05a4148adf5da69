import CommonExpression
import FeedbackKitTesting
import Glibc
import Logging
import MediatorHost
import SideEffects
import Synchronization
import TestSupport
import Testing

/// Begins a command.
private func begin(
    _ script: String, _ more: [String: Value] = [:], grace: Duration = .milliseconds(200),
    clock: any Clock<Duration> = ContinuousClock()
) -> Sensing {
    Sensing(
        RunEffect(grace: grace),
        more.merging(["command": .list(["sh", "-c", script].map { .string($0) })]) { first, _ in first }, clock: clock)
}

/// Returns whether a process with this number runs. One that waits to be reaped does not count.
func isAlive(_ pid: Int32) -> Bool {
    let stat = contents("/proc/\(pid)/stat")
    guard let end = stat.lastIndex(of: ")") else { return false }
    return stat[end...].split(separator: " ").dropFirst().first != "Z"
}

/// Tests of badly behaved commands in real processes.
@Suite(.serialized, .timeLimit(.minutes(10))) struct `Badly behaved commands` {
    @Test(arguments: ["exec >&- 2>&-; exec sleep 1000", "exec >/dev/null 2>&1; exec sleep 1000", "exec sleep 1000"])
    func `one that writes nothing more is still ended`(script: String) async {
        let running = begin("echo $$; \(script)")
        await running.reported(1)
        let pid = Int32(running.text(0, "line") ?? "") ?? 0
        #expect(isAlive(pid))
        await running.cancel()
        #expect(!isAlive(pid))
        #expect(running.names == ["onLine"])
    }

    @Test func `one that closes its output may run until its time limit`() async {
        let ending = begin("exec >&- 2>&-; sleep 0.2; exit 3")
        await ending.until(\.isOver)
        #expect(ending.names == ["onFailure"])
        #expect(ending.last("exitCode") == "3")
        let clock = ManualClock()
        let staying = begin("exec >&- 2>&-; exec sleep 1000", ["timeout": time("50s")], clock: clock)
        await clock.nextDeadline(in: .seconds(50))
        clock.advance(by: .seconds(50))
        await staying.until(\.isOver)
        #expect(staying.last("error") == "the time limit passed")
        #expect(staying.last("signal") == "SIGTERM")
    }

    @Test func `one that ignores SIGTERM is killed, which is reported`() async {
        let clock = ManualClock()
        let running = begin(
            "trap '' TERM; echo up; while :; do sleep 0.01; done", ["timeout": time("50s")], clock: clock)
        // The limit passes when the command ignores the signal for sure.
        await running.reported(1)
        await clock.nextDeadline(in: .seconds(50))
        clock.advance(by: .seconds(50))
        await running.until(\.isOver)
        #expect(running.last("signal") == "SIGKILL")
        #expect(running.last("error") == "the time limit passed")
    }

    @Test func `a child in its own session that holds the output open delays nothing`() async {
        let running = begin("setsid sleep 1000 & echo $!; exit 0")
        await running.until(\.isOver)
        #expect(running.names == ["onLine", "onSuccess"])
        let pid = Int32(running.text(0, "line") ?? "") ?? 0
        #expect(isAlive(pid))
        kill(pid, SIGKILL)
    }

    @Test func `a child in its own session does not keep a command from being ended`() async {
        let running = begin("setsid sh -c 'trap \"\" TERM; echo $$; exec sleep 1000' & exec sleep 1000")
        await running.reported(1)
        let pid = Int32(running.text(0, "line") ?? "") ?? 0
        await running.cancel()
        #expect(isAlive(pid))
        kill(pid, SIGKILL)
    }

    @Test func `the output of a child that keeps writing is not read forever`() async {
        let running = begin("setsid sh -c 'echo $$; exec cat /dev/zero' & sleep 0.05; exit 0", ["maxOutput": .int(16)])
        await running.until { $0.names.last == "onSuccess" || $0.isOver }
        await running.until(\.isOver)
        #expect(running.names.last == "onSuccess")
        if let pid = Int32(running.text(0, "line") ?? "") { kill(pid, SIGKILL) }
    }

    @Test func `the last output of a command is never lost`() async {
        for _ in 0..<200 {
            let running = Sensing(
                RunEffect(), ["command": .list(["head", "-c", "60000", "/dev/zero"].map { .string($0) })])
            await running.until(\.isOver)
            #expect(running.last("output")?.utf8.count == 60_000)
        }
    }

    @Test func `two gibibytes of output, without a line break, take no memory`() async {
        await #expect(processExitsWith: .success) {
            let before = Memory.anonymous
            Memory.resetPeak()
            let running = Sensing(
                RunEffect(), ["command": .list(["head", "-c", "2147483648", "/dev/zero"].map { .string($0) })])
            await running.until(\.isOver)
            precondition(running.names == ["onLine", "onSuccess"], "\(running.names)")
            precondition(running.text(0, "line")?.utf8.count == RunEffect.lineLimit)
            precondition(running.last("truncated") == "true")
            let peak = Memory.peak
            precondition(peak > 0 && peak - before < 64 * 1024, "\(before) KiB before, at most \(peak) KiB")
        }
    }

    @Test func `many lines that are reported take no memory`() async {
        await #expect(processExitsWith: .success) { await Self.reportManyLines(areWanted: true) }
    }

    @Test func `many lines that are not reported take no memory`() async {
        await #expect(processExitsWith: .success) { await Self.reportManyLines(areWanted: false) }
    }

    /// Runs a command that writes 64 MiB in short lines. A violation ends the process.
    private static func reportManyLines(areWanted: Bool) async {
        let before = Memory.anonymous
        let count = Mutex(0)
        let last = Mutex("")
        let context = EffectContext(
            system: "test", feedback: "test", clock: ContinuousClock(),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            outcome: { name, _ in
                count.withLock { $0 += 1 }
                last.withLock { $0 = name }
                return areWanted
            }, fault: { _ in })
        let script = "yes \(String(repeating: "x", count: 255)) | head -c 67108864"
        await RunEffect().run(["command": .list(["sh", "-c", script].map { .string($0) })], in: context)
        precondition(last.withLock { $0 } == "onSuccess")
        precondition(count.withLock { $0 } == (areWanted ? 262_145 : 2))
        let growth = Memory.anonymous - before
        precondition(growth < 64 * 1024, "grew by \(growth) KiB")
    }

    @Test func `invalid text is reported as valid text`() async {
        let running = begin("head -c 1000000 /dev/urandom", ["maxOutput": .int(1_048_576)])
        await running.until(\.isOver)
        #expect(running.names.last == "onSuccess")
        #expect((running.last("output")?.unicodeScalars.count ?? 0) > 100_000)
        #expect(running.last("truncated") == "false")
    }
}
