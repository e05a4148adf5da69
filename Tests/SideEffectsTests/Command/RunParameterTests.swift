import CommonExpression
import Foundation
import Glibc
import SideEffects
import Testing

/// Runs a command with the default parameters.
private func run(_ command: [String], _ more: [String: Value] = [:]) async -> Sensing {
    let sensing = Sensing(
        RunEffect(), more.merging(["command": .list(command.map { .string($0) })]) { first, _ in first })
    await sensing.until(\.isOver)
    return sensing
}

/// Tests of the parameters and results of real commands.
@Suite(.serialized, .timeLimit(.minutes(5))) struct `The parameters of run` {
    // Input

    @Test(arguments: [0, 1, 65_536, 65_537, 1_048_576])
    func `a command reads its input, and then the end`(count: Int) async {
        let text = String(repeating: "x", count: count)
        let reading = await run(["wc", "-c"], ["input": .string(text)])
        #expect(reading.names == ["onLine", "onSuccess"])
        #expect(reading.last("output") == "\(count)")
    }

    @Test(arguments: [
        ["true"], ["head", "-c", "1"], ["sh", "-c", "exec <&-; sleep 0.05; echo done"], ["sh", "-c", "kill -KILL $$"],
        ["sh", "-c", "read line; exit 0"],
    ])
    func `unread input delays nothing`(command: [String]) async {
        let reading = await run(
            command, ["input": .string(String(repeating: "line\n", count: 200_000)), "expect": .string("0,SIGKILL")])
        #expect(reading.names.last == "onSuccess")
        #expect(openDescriptors(on: "memfd:input") == 0)
    }

    @Test func `input cannot be changed, and can be read again`() async {
        let reading = await run(
            ["sh", "-c", "echo spoilt >&0 || echo kept; cat; cat /dev/stdin; readlink /proc/self/fd/0"],
            ["input": .string("given\n")])
        #expect(reading.last("output")?.hasPrefix("kept\ngiven\ngiven\n/memfd:input") == true)
    }

    @Test(arguments: [["/no/such/command"], ["no-such-command-anywhere"], ["/etc/passwd"]])
    func `the input of a command that cannot be started is not kept`(command: [String]) async {
        let reading = await run(command, ["input": .string("x")])
        #expect(reading.names == ["onFailure"])
        #expect(openDescriptors(on: "memfd:input") == 0)
    }

    // Expected results

    @Test(arguments: [
        ("exit 0", "0", true), ("exit 1", "0", false), ("exit 1", "0,1", true), ("exit 0", "1", false),
        ("exit 77", "0, 75 - 78", true), ("exit 79", "0,75-78", false), ("kill -TERM $$", "0", false),
        ("kill -TERM $$", "0,SIGTERM", true), ("exit 143", "SIGTERM", false), ("kill -KILL $$", "SIGTERM", false),
        ("exit 255", "0-255", true),
    ])
    func `an expected exit status is a success`(script: String, expect: String, isSuccess: Bool) async {
        let ending = await run(["sh", "-c", script], ["expect": .string(expect)])
        #expect(ending.names == [isSuccess ? "onSuccess" : "onFailure"])
    }

    @Test(arguments: [
        ("exit 0", "0", ""), ("kill -KILL $$", "-1", "SIGKILL"), ("kill -HUP $$", "-1", "SIGHUP"),
        ("kill -37 $$", "-1", "SIGRTMIN+3"),
    ])
    func `a signal is reported by its name`(script: String, exitCode: String, signal: String) async {
        let ending = await run(["sh", "-c", script])
        #expect(ending.last("exitCode") == exitCode)
        #expect(ending.last("signal") == signal)
    }

    @Test func `a command that does not start or times out is a failure, whatever is expected`() async {
        let all: [String: Value] = ["expect": .string("0-255,SIGTERM")]
        #expect(await run(["/no/such/command"], all).names == ["onFailure"])
        let late = await run(["sleep", "1000"], all.merging(["timeout": time("20ms")]) { $1 })
        #expect(late.names == ["onFailure"])
        #expect(late.last("error") == "the time limit passed")
    }

    // Output

    @Test(arguments: [(10, 10, false), (11, 10, true), (1, 0, true), (0, 0, false), (300_000, 1_048_576, false)])
    func `output is kept up to the limit, and a cut is reported`(
        count: Int, limit: Int64, isCut: Bool
    ) async {
        let writing = await run(
            ["sh", "-c", "head -c \(count) /dev/zero | tr '\\0' x"], ["maxOutput": .int(limit)])
        #expect(writing.last("output")?.utf8.count == min(count, Int(limit)))
        #expect(writing.value(writing.names.count - 1, "truncated") == .bool(isCut))
    }

    @Test func `a cut of the error output is also reported`() async {
        let writing = await run(["sh", "-c", "echo too much >&2"], ["maxOutput": .int(3)])
        #expect(writing.last("error") == "too")
        #expect(writing.last("truncated") == "true")
    }

    @Test func `output can be one JSON text`() async {
        let telling = await run(
            ["printf", #"{"links": [\n{"name": "eth0"},\n{"name": "lo"}]}\n"#], ["output": .string("json")])
        #expect(telling.names == ["onLine", "onLine", "onLine", "onSuccess"])
        #expect(telling.value(0, "json") == .null)
        guard case .map(let object)? = telling.value(3, "json"), case .list(let links)? = object[.string("links")]
        else {
            Issue.record("it is an object with a list")
            return
        }
        #expect(links.count == 2)
    }

    @Test(arguments: [
        ("echo nonsense", "its output is not JSON: a value cannot begin like this, at byte 0"),
        ("echo '[1, 2,]'", "its output is not JSON: a value cannot begin like this, at byte 6"),
        ("echo '{\"a\": \"},]\", }'", "its output is not JSON: a member name is missing, at byte 13"),
        ("true", "its output is not JSON: a value is missing, at byte 0"),
        (
            "echo '{\"a\": 1'; echo hm >&2",
            "its output is not JSON: a comma or closing brace is missing, at byte 8; its error output: hm"
        ),
        ("head -c 100 /dev/zero | tr '\\0' 1", "its output is longer than maxOutput, so its JSON is incomplete"),
    ])
    func `output that is not the requested JSON is a failure`(script: String, error: String) async {
        let telling = await run(["sh", "-c", script], ["output": .string("json"), "maxOutput": .int(64)])
        #expect(telling.names.last == "onFailure")
        #expect(telling.last("error") == error)
        #expect(telling.last("exitCode") == "0")
        #expect(telling.value(telling.names.count - 1, "json") == .null)
    }

    @Test func `the JSON of a failed command is reported`() async {
        let telling = await run(["sh", "-c", "echo '[1]'; exit 2"], ["output": .string("json")])
        #expect(telling.names.last == "onFailure")
        #expect(telling.value(telling.names.count - 1, "json") == .list([.int(1)]))
        #expect(telling.last("error") == "it ended with exit code 2")
    }

    @Test func `each line can be a JSON text`() async {
        let telling = await run(
            ["printf", #"{"a": 1}\nnonsense\n\n[2]"#], ["output": .string("jsonLines")])
        #expect(telling.names == ["onLine", "onLine", "onLine", "onLine", "onSuccess"])
        #expect(telling.value(0, "json") == .map([.string("a"): .int(1)]))
        #expect(telling.value(1, "json") == .null)
        #expect(telling.text(1, "line") == "nonsense")
        #expect(telling.value(3, "json") == .list([.int(2)]))
        #expect(telling.value(4, "json") == .null)
    }

    @Test func `invalid UTF-8 is replaced`() async {
        let telling = await run(["printf", #"a\377b\n\303"#])
        #expect(telling.text(0, "line") == "a\u{FFFD}b")
        #expect(telling.text(1, "line") == "\u{FFFD}")
        #expect(telling.last("output") == "a\u{FFFD}b\n\u{FFFD}")
    }

    // Accounts

    @Test(.enabled(if: geteuid() == 0), arguments: [("nobody", nil), ("65534", nil), ("daemon", "tty"), ("root", nil)])
    func `a command can run as another user`(user: String, group: String?) async {
        let what = "id -u; id -G; id -g; echo ${HOME-none} $USER $LOGNAME ${SHELL-none}"
        let becoming = await run(
            ["sh", "-c", what], ["user": .string(user)].merging(group.map { ["group": .string($0)] } ?? [:]) { $1 })
        // The system's own record of the user.
        let name = user == "65534" ? "nobody" : user
        let known = await run([
            "sh", "-c",
            """
            IFS=: read -r _ _ _ _ _ home shell <<END
            $(getent passwd \(name))
            END
            group=$(\(group.map { "getent group \($0) | cut -d: -f3" } ?? "id -g \(name)"))
            others=$(id -G \(name) | tr ' ' '\\n' | grep -vx "$(id -g \(name))" | grep -vx "$group" | tr '\\n' ' ')
            case $shell in */nologin|*/false) shell=none;; esac
            case $home in /nonexistent|/) home=none;; esac
            id -u \(name); echo $group $others; echo $group; echo $home \(name) \(name) $shell
            """,
        ])
        #expect(becoming.last("output") == known.last("output"))
        #expect(becoming.names.last == "onSuccess")
    }

    @Test(.enabled(if: geteuid() == 0))
    func `the configured environment overrides that of the account`() async {
        let becoming = await run(
            ["sh", "-c", "echo $HOME $USER"],
            ["user": .string("nobody"), "environment": .map([.string("HOME"): .string("/srv")])])
        #expect(becoming.last("output") == "/srv nobody")
    }

    @Test func `a command starts only with descriptors for it and for other starting commands`() {
        #expect(DescriptorReserve.mayBegin(open: 16, limit: 64, beginning: 0))
        #expect(!DescriptorReserve.mayBegin(open: 17, limit: 64, beginning: 0))
        #expect(!DescriptorReserve.mayBegin(open: 16, limit: 64, beginning: 1))
        #expect(DescriptorReserve.mayBegin(open: 16, limit: 80, beginning: 1))
        #expect(!DescriptorReserve.mayBegin(open: 0, limit: 0, beginning: 0))
    }

    @Test(.enabled(if: geteuid() == 0))
    func `another user enters a directory with its own permissions`() async throws {
        let closed = FileManager.default.temporaryDirectory.appending(path: "mediatord-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: closed, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        defer { try? FileManager.default.removeItem(at: closed) }
        let arguments = ["user": Value.string("nobody"), "directory": .string(closed.path)]
        let refused = await run(["pwd"], arguments)
        #expect(refused.names.last == "onFailure" && refused.last("exitCode") == "125")
        let error = try #require(refused.last("error"))
        #expect(error.contains("cannot change directory to") && error.contains(closed.path), "\(error)")
        let open = arguments.merging(["directory": .string("/usr")]) { $1 }
        let allowed = await run(["pwd"], open)
        #expect(allowed.last("output") == "/usr")
        // A word that looks like a variable is a program.
        let odd = await run(["/a=1/b", "echo", "ran"], open)
        #expect(odd.names.last == "onFailure" && odd.last("exitCode") == "127" && odd.last("output") == "")
    }

    @Test(.enabled(if: geteuid() == 0))
    func `a command of another user reads its input, and is ended like others`() async {
        let reading = await run(["cat", "/dev/stdin"], ["user": .string("nobody"), "input": .string("given")])
        #expect(reading.last("output") == "given")
        let sleeping = Sensing(
            RunEffect(),
            [
                "command": .list(["sh", "-c", "echo up; exec sleep 1000"].map { .string($0) }),
                "user": .string("nobody"),
            ])
        await sleeping.reported(1)
        await sleeping.cancel()
        #expect(sleeping.names == ["onLine"])
    }

    @Test(
        .enabled(if: geteuid() == 0),
        arguments: [
            ("no-such-user", nil, "there is no user 'no-such-user'"), ("3999999999", nil, "there is no user"),
            ("nobody", "no-such-group", "there is no group 'no-such-group'"),
        ])
    func `an unknown account is a failure`(user: String, group: String?, error: String) async {
        let failing = await run(
            ["true"], ["user": .string(user)].merging(group.map { ["group": .string($0)] } ?? [:]) { $1 })
        #expect(failing.names == ["onFailure"])
        #expect(failing.last("error")?.contains(error) == true, "\(failing.last("error") ?? "")")
    }

    @Test(.enabled(if: geteuid() != 0)) func `a daemon without root cannot run a command as another user`() async {
        let failing = await run(["true"], ["user": .string("nobody")])
        #expect(failing.names == ["onFailure"])
        #expect(failing.last("error")?.contains("only a daemon that runs as root") == true)
    }
}
