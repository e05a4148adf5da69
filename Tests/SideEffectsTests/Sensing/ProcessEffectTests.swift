import CommonExpression
import Foundation
import Glibc
import MediatorHost
import SideEffects
import Testing
import TestSupport

/// A real process that a test ends: sleep(1), through a link if it needs a name of its own.
private struct Child {
    let pid: pid_t

    init?(_ words: String...) {
        var arguments = words.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        var pid = pid_t()
        guard posix_spawn(&pid, words[0], nil, nil, &arguments, environ) == 0 else { return nil }
        self.pid = pid
    }

    /// Kills the process. Until it is reaped, no other process can have its number.
    func kill() { _ = Glibc.kill(pid, SIGKILL) }

    func reap() {
        var status: Int32 = 0
        var reaped: pid_t
        repeat { reaped = waitpid(pid, &status, 0) } while reaped < 0 && errno == EINTR
    }

    func end() {
        kill()
        reap()
    }
}

private func following(
    _ arguments: [String: String], every: Duration = .milliseconds(20), memory: EffectMemory = EffectMemory()
) -> Sensing {
    var values = arguments.mapValues { Value.string($0) }
    values["every"] = TimeSpan(every).map { .duration($0) }
    return Sensing(
        ProcessEffect(settle: .milliseconds(1), retryInterval: .milliseconds(20)), values, memory: memory)
}

/// The system's file with the last process number. Only the superuser may write it.
private let lastNumber = "/proc/sys/kernel/ns_last_pid"

/// Real processes.
@Suite(.serialized, .timeLimit(.minutes(5))) struct `The side effect process` {
    private let folder = TemporaryDirectory()
    private var file: String { folder("pid") }

    /// Creates a program with a unique name. It is a link, because a copy cannot be started (`ETXTBSY`) while a child
    /// that another test forks has it open for writing.
    private func program(_ name: String) throws -> String {
        try FileManager.default.createSymbolicLink(atPath: folder(name), withDestinationPath: "/bin/sleep")
        return folder(name)
    }

    @Test func `a process with a name is reported when it runs, and when it is killed`() async throws {
        let name = "med-\(getpid())-a"
        let sensing = following(["command": name])
        await sensing.reported(1)
        #expect(sensing.names == ["onEnded"] && sensing.value(0, "pid") == .int(0))
        let before = Int64(time(nil))
        let child = try #require(Child(try program(name), "1000"))
        await sensing.reported(2)
        #expect(sensing.value(1, "pid") == .int(Int64(child.pid)) && sensing.text(1, "command") == name)
        guard case .timestamp(let started)? = sensing.value(1, "started") else { throw CancellationError() }
        #expect((before - 2...Int64(time(nil)) + 2).contains(started.seconds))
        child.kill()
        // The process is not reaped yet, but it has ended.
        await sensing.reported(3)
        #expect(sensing.names == ["onEnded", "onRunning", "onEnded"])
        #expect(sensing.value(2, "pid") == .int(Int64(child.pid)))
        child.reap()
        await sensing.cancel()
        #expect(sensing.failures == [])
    }

    @Test func `the oldest of several counts, and after it the next`() async throws {
        let name = "med-\(getpid())-b"
        let program = try program(name)
        let first = try #require(Child(program, "1000"))
        let second = try #require(Child(program, "1000"))
        let sensing = following(["command": name])
        await sensing.reported(1)
        #expect(sensing.value(0, "pid") == .int(Int64(min(first.pid, second.pid))))
        first.end()
        await sensing.until { $0.value($0.names.count - 1, "pid") == .int(Int64(second.pid)) }
        #expect(sensing.names == ["onRunning", "onEnded", "onRunning"])
        second.end()
        await sensing.reported(4)
        await sensing.cancel()
    }

    @Test func `a file with a number is followed, also when a renamed file replaces it`() async throws {
        let first = try #require(Child("/bin/sleep", "1000"))
        let second = try #require(Child("/bin/sleep", "1000"))
        write("\(first.pid)\n/var/lib/data\n", file)
        let sensing = following(["pidFile": file], every: .seconds(3_600))
        await sensing.reported(1)
        #expect(sensing.names == ["onRunning"] && sensing.text(0, "command") == "sleep")
        #expect(sensing.value(0, "pid") == .int(Int64(first.pid)))
        write(" \(second.pid) ", file + ".new")
        rename(file + ".new", file)
        await sensing.reported(2)
        #expect(sensing.names.last == "onRunning" && sensing.value(1, "pid") == .int(Int64(second.pid)))
        // The end of an earlier process does not count, and neither does a file that disappears before its process.
        first.end()
        unlink(file)
        second.end()
        await sensing.reported(3)
        #expect(sensing.names.last == "onEnded" && sensing.value(2, "pid") == .int(Int64(second.pid)))
        await sensing.cancel()
        #expect(sensing.failures == [])
    }

    @Test func `a stale file does not count until it has the number of a running process`() async throws {
        let dead = try #require(Child("/bin/true"))
        dead.reap()
        write("\(dead.pid)\n", file)
        let sensing = following(["pidFile": file], every: .seconds(3_600))
        await sensing.reported(1)
        #expect(sensing.names == ["onEnded"] && sensing.value(0, "pid") == .int(0))
        let child = try #require(Child("/bin/sleep", "1000"))
        write("\(child.pid)\n", file)
        await sensing.reported(2)
        #expect(sensing.value(1, "pid") == .int(Int64(child.pid)))
        child.end()
        await sensing.reported(3)
        #expect(sensing.names == ["onEnded", "onRunning", "onEnded"])
        await sensing.cancel()
        #expect(sensing.failures == [])
    }

    @Test func `a process that goes to the background is followed`() async throws {
        let sensing = following(["pidFile": folder("run/pid")], every: .seconds(3_600))
        await sensing.reported(1)
        mkdir(folder("run"), 0o755)
        let script =
            "sleep 1000 & echo $! > '\(folder("run/pid.new"))'; mv '\(folder("run/pid.new"))' '\(folder("run/pid"))'"
        let starter = try #require(Child("/bin/sh", "-c", script))
        starter.reap()
        await sensing.reported(2)
        guard case .int(let pid)? = sensing.value(1, "pid") else { throw CancellationError() }
        #expect(sensing.names == ["onEnded", "onRunning"] && pid != Int64(starter.pid))
        kill(pid_t(pid), SIGKILL)
        await sensing.reported(3)
        #expect(sensing.names.last == "onEnded")
        await sensing.cancel()
    }

    @Test(.enabled(if: access(lastNumber, W_OK) == 0, "SKIPPED: needs the superuser, to say which number comes next"))
    func `a reused number is not mistaken for the old process`() async throws {
        let memory = EffectMemory()
        let child = try #require(Child("/bin/sleep", "1000"))
        write("\(child.pid)\n", file)
        let sensing = following(["pidFile": file], every: .milliseconds(5), memory: memory)
        await sensing.reported(1)
        // Time is counted in hundredths of a second, and the next process must not begin in the same one.
        let begin = ContinuousClock.now
        await suspend(while: ContinuousClock.now - begin < .milliseconds(30))
        child.end()
        await sensing.reported(2)
        // If other processes came in between, the test tries again.
        var other: Child?
        for _ in 0..<200 {
            write("\(child.pid - 1)", lastNumber)
            let candidate = try #require(Child("/bin/sleep", "1000"))
            if candidate.pid == child.pid {
                other = candidate
                break
            }
            candidate.end()
        }
        let found = try #require(other)
        await sensing.cancel()
        // The process to which a file refers is kept from one run to the next.
        let next = following(["pidFile": file], every: .milliseconds(5), memory: memory)
        await next.reported(1)
        #expect(sensing.names == ["onRunning", "onEnded"] && next.names == ["onEnded"])
        // A rewritten file refers to the process that has the number now.
        write("\(child.pid)\n", file + ".new")
        rename(file + ".new", file)
        await next.reported(2)
        #expect(next.names == ["onEnded", "onRunning"])
        found.end()
        await next.reported(3)
        await next.cancel()
    }

    @Test(arguments: ["nonsense", "-1", "12 34", "0", "99999999999"])
    func `a file without a number is reported once, and a later number counts`(text: String) async throws {
        write(text, file)
        let sensing = following(["pidFile": file])
        await sensing.failed(1)
        #expect(sensing.failures == ["the first line of \(file) is not a process number"] && sensing.names == [])
        write("\(getpid())", file)
        await sensing.reported(1)
        #expect(sensing.names == ["onRunning"] && sensing.failures.count == 1)
        await sensing.cancel()
    }

    @Test func `a thousand processes leak no descriptor`() async throws {
        let before = openDescriptors(on: "[pidfd]")
        let sensing = following(["pidFile": file], every: .seconds(3_600))
        await sensing.reported(1)
        for round in 0..<1_000 {
            let child = try #require(Child("/bin/sleep", "1000"))
            write("\(child.pid)", file + ".new")
            rename(file + ".new", file)
            await sensing.reported(2 * round + 2)
            child.end()
            await sensing.reported(2 * round + 3)
        }
        #expect(Set(sensing.names.enumerated().filter { $0.offset % 2 == 1 }.map(\.element)) == ["onRunning"])
        #expect(sensing.names.count == 2_001)
        await sensing.cancel()
        // Commands of other tests that run at the same time have some.
        #expect(openDescriptors(on: "[pidfd]") <= before + 16)
        #expect(sensing.failures == [])
    }
}
