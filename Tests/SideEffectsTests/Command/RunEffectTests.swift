import CommonExpression
import FeedbackKitTesting
import Foundation
import Glibc
import Logging
import MediatorHost
import SideEffects
import Synchronization
import Testing

/// The reports of a run, in order.
private final class Reports: Sendable {
    private let storage = Mutex<[(name: String, result: Value)]>([])
    private let (signal, continuation) = AsyncStream<String>.makeStream()

    func add(_ name: String, _ result: Value) {
        storage.withLock { $0.append((name, result)) }
        continuation.yield(name)
    }

    var names: [String] { storage.withLock { $0.map(\.name) } }

    func text(_ index: Int, _ field: String) -> String? {
        storage.withLock { $0.indices.contains(index) ? $0[index].result : nil }.flatMap { value in
            guard case .structure(let structure) = value else { return nil }
            return structure[field]?.text
        }
    }

    /// Waits until a number of outcomes has been reported.
    func reported(_ count: Int) async {
        if names.count >= count { return }
        for await _ in signal where names.count >= count { return }
    }
}

private func run(
    _ command: [String], _ more: [String: Value] = [:], grace: Duration = .seconds(5),
    clock: any Clock<Duration> = ContinuousClock(), reports: Reports = Reports()
) async -> Reports {
    let context = EffectContext(
        system: "test", feedback: "test", clock: clock, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
        outcome: { name, result in
            reports.add(name, result)
            return true
        }, fault: { _ in })
    let arguments = more.merging(["command": .list(command.map { .string($0) })]) { first, _ in first }
    await RunEffect(grace: grace).run(arguments, in: context)
    return reports
}

/// Returns the number of pipes and process handles of this process, which commands need. Other tests that run at the
/// same time hold sockets and files.
private func openDescriptors() -> Int {
    let folder = "/proc/self/fd"
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return names.count { name in
        let target = (try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\(name)")) ?? ""
        return target.hasPrefix("pipe:") || target.contains("pidfd")
    }
}

/// Real commands, in real processes.
@Suite(.serialized, .timeLimit(.minutes(5))) struct `The side effect run` {
    @Test func `exit code 0 is success, with its output`() async {
        let reports = await run(["/bin/echo", "hello", "a b", "$HOME"])
        #expect(reports.names == ["onLine", "onSuccess"])
        #expect(reports.text(0, "line") == "hello a b $HOME")
        #expect(reports.text(1, "output") == "hello a b $HOME")
        #expect(reports.text(1, "exitCode") == "0")
    }

    @Test func `another exit code is failure, with the error output`() async {
        let reports = await run(["sh", "-c", "echo so >&2; exit 3"])
        #expect(reports.names == ["onFailure"])
        #expect(reports.text(0, "exitCode") == "3")
        #expect(reports.text(0, "error") == "so")
    }

    @Test func `a signal is failure`() async {
        let reports = await run(["sh", "-c", "kill -USR1 $$"])
        #expect(reports.names == ["onFailure"])
        #expect(reports.text(0, "signal") == "SIGUSR1")
        #expect(reports.text(0, "exitCode") == "-1")
    }

    @Test(arguments: [
        (["/no/such/command"], "no such command"), (["no-such-command-anywhere"], "no such command"),
        (["/etc/passwd"], "cannot be executed"), ([""], "empty"), ([], "empty"), (["echo", "a\u{0}b"], "NUL"),
    ])
    func `a command that cannot be started is failure`(command: [String], reason: String) async {
        let reports = await run(command)
        #expect(reports.names == ["onFailure"])
        #expect(reports.text(0, "exitCode") == "-1")
        #expect(reports.text(0, "error")?.contains(reason) == true, "\(reports.text(0, "error") ?? "")")
        // Only a name has a path to give.
        let advisesPath = reports.text(0, "error")?.contains("give its full path") == true
        #expect(advisesPath == (command == ["no-such-command-anywhere"]))
    }

    @Test func `lines are reported one by one, including a last one without a line break`() async {
        let reports = await run(["printf", "one\\n\\nthree\\nfour"])
        #expect(reports.names == ["onLine", "onLine", "onLine", "onLine", "onSuccess"])
        #expect((0..<4).map { reports.text($0, "line") } == ["one", "", "three", "four"])
        #expect((0..<4).map { reports.text($0, "number") } == ["1", "2", "3", "4"])
    }

    @Test func `a line is reported while the command still runs`() async {
        let reports = Reports()
        let task = Task { await run(["sh", "-c", "echo early; exec sleep 1000"], reports: reports) }
        await reports.reported(1)
        #expect(reports.names == ["onLine"])
        task.cancel()
        _ = await task.value
        #expect(reports.names == ["onLine"])
    }

    @Test func `output beyond the limit is read and discarded`() async {
        let reports = await run(["sh", "-c", "head -c 5000000 /dev/zero | tr '\\0' x"])
        #expect(reports.names == ["onLine", "onSuccess"])
        #expect(reports.text(0, "line")?.utf8.count == RunEffect.lineLimit)
        #expect(reports.text(1, "output")?.utf8.count == 64 * 1024)
    }

    @Test func `a command has its directory and environment, without systemd's variables for the daemon`() async {
        let hidden = ["NOTIFY_SOCKET", "MEDIATORD_STORE"]
        for name in hidden { setenv(name, "/nowhere", 1) }
        defer { for name in hidden { unsetenv(name) } }
        let reports = await run(
            ["sh", "-c", "pwd; echo $COLOUR; echo [$NOTIFY_SOCKET$MEDIATORD_STORE]; cat"],
            ["directory": .string("/usr"), "environment": .map([.string("COLOUR"): .string("green")])])
        #expect((0..<3).map { reports.text($0, "line") } == ["/usr", "green", "[]"])
        #expect(reports.names.last == "onSuccess")
    }

    @Test func `a missing directory is failure`() async {
        let reports = await run(["pwd"], ["directory": .string("/no/such/directory")])
        #expect(reports.names == ["onFailure"])
        #expect(reports.text(0, "error")?.contains("directory") == true)
    }

    @Test func `a timeout is distinguished from the command's own failure`() async {
        let (clock, reports) = (ManualClock(), Reports())
        let task = Task {
            await run(
                ["sh", "-c", "echo warming up >&2; echo up; exec sleep 1000"],
                ["timeout": .duration(.init(.seconds(60))!)], clock: clock, reports: reports)
        }
        await reports.reported(1)
        await clock.nextDeadline(in: .seconds(60))
        clock.advance(by: .seconds(60))
        _ = await task.value
        #expect(reports.text(1, "error") == "the time limit passed; its error output: warming up")
    }

    @Test(arguments: ["", "A=B", "a\u{0}"])
    func `an invalid name of an environment variable is failure`(name: String) async {
        let reports = await run(["true"], ["environment": .map([.string(name): .string("x")])])
        #expect(reports.names == ["onFailure"])
        #expect(reports.text(0, "exitCode") == "-1")
    }

    @Test func `cancelling ends the whole process group with SIGTERM`() async throws {
        let reports = Reports()
        let script = "trap 'exit 0' TERM; sleep 1000 & echo $$; echo $!; wait"
        let task = Task { await run(["sh", "-c", script], reports: reports) }
        await reports.reported(2)
        let pids = try (0..<2).map { try #require(Int32(reports.text($0, "line") ?? "")) }
        #expect(pids.allSatisfy(isAlive))
        task.cancel()
        _ = await task.value
        #expect(!pids.contains(where: isAlive))
        #expect(reports.names == ["onLine", "onLine"])
    }

    @Test func `a group that ignores SIGTERM is killed after the grace`() async throws {
        let reports = Reports()
        let script = "trap '' TERM; (trap '' TERM; sleep 1000) & echo $!; echo $$; wait"
        let task = Task { await run(["sh", "-c", script], grace: .milliseconds(200), reports: reports) }
        await reports.reported(2)
        let pids = try (0..<2).map { try #require(Int32(reports.text($0, "line") ?? "")) }
        task.cancel()
        _ = await task.value
        #expect(!pids.contains(where: isAlive))
    }

    @Test func `members that outlive their leader are also ended`() async throws {
        let reports = Reports()
        let script = "(trap '' TERM; exec sleep 1000) & echo $!; exec sleep 1000"
        let task = Task { await run(["sh", "-c", script], grace: .milliseconds(200), reports: reports) }
        await reports.reported(1)
        let pid = try #require(Int32(reports.text(0, "line") ?? ""))
        task.cancel()
        _ = await task.value
        #expect(!isAlive(pid))
    }

    @Test func `a command is ended after its timeout, which is failure`() async {
        let clock = ManualClock()
        let reports = Reports()
        let task = Task {
            await run(
                ["sh", "-c", "echo up; exec sleep 1000"], ["timeout": .duration(.init(.seconds(60))!)], clock: clock,
                reports: reports)
        }
        await reports.reported(1)
        await clock.nextDeadline(in: .seconds(60))
        clock.advance(by: .seconds(60))
        _ = await task.value
        #expect(reports.names == ["onLine", "onFailure"])
        #expect(reports.text(1, "error") == "the time limit passed")
        #expect(reports.text(1, "signal") == "SIGTERM")
    }

    @Test func `a process that a command starts keeps neither the run nor its descriptors open`() async throws {
        let reports = await run(["sh", "-c", "sleep 1000 & echo $!"])
        #expect(reports.names == ["onLine", "onSuccess"])
        let pid = try #require(Int32(reports.text(0, "line") ?? ""))
        #expect(isAlive(pid))
        kill(pid, SIGKILL)
    }

    @Test func `two hundred runs, half of them cancelled, leak no process or descriptor`() async {
        _ = await run(["true"])
        let before = openDescriptors()
        for round in 0..<50 {
            await withTaskGroup(of: Void.self) { group in
                for index in 0..<4 {
                    group.addTask {
                        let task = Task { await run(index % 2 == 0 ? ["true"] : ["sleep", "1000"]) }
                        if index % 2 == 1 {
                            if round % 2 == 0 { await Task.yield() }
                            task.cancel()
                        }
                        _ = await task.value
                    }
                }
            }
        }
        // A hundred commands were cancelled. The few commands of other tests come and go.
        #expect(openDescriptors() < before + 50)
        let children =
            (try? String(contentsOfFile: "/proc/self/task/\(getpid())/children", encoding: .utf8)) ?? ""
        for child in children.split(separator: " ") {
            let name = (try? String(contentsOfFile: "/proc/\(child)/comm", encoding: .utf8)) ?? ""
            #expect(!["sleep\n", "true\n"].contains(name))
        }
    }
}
