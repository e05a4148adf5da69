import FeedbackKitTesting
import Foundation
import MediatorCommands
import MediatorControl
import Synchronization
import Testing
import Varlink

/// The parsing and the exit codes of command lines, against a real service.
@Suite(.timeLimit(.minutes(5)))
struct CommandTests {
    /// A command line that fails.
    struct Failure: Sendable {
        let arguments: [String]
        let status: CommandStatus
        let error: String

        init(_ arguments: [String], _ status: CommandStatus, _ error: String) {
            self.arguments = arguments
            self.status = status
            self.error = error
        }
    }

    static let failures = [
        Failure(
            ["show", "backup"], .usage,
            "mediatorctl: 'backup' is the name of several things\nSay which: system:backup or bus:backup.\n"
        ),
        Failure(
            ["show", "disk-gard"], .refused,
            "mediatorctl: nothing is called 'disk-gard' (system, bus, link); did you mean 'disk-guard'?\n"
                + "All names: `mediatorctl list`.\n"
        ),
        Failure(
            ["show", "temprature"], .refused,
            "mediatorctl: nothing is called 'temprature' (system, bus, link); did you mean 'temperature'?\n"
                + "All names: `mediatorctl list`.\n"
        ),
        Failure(
            ["show", "bus:nothing"], .refused,
            "mediatorctl: there is no bus 'nothing'\nThere are: alarms, backup, temperature.\n"),
        Failure(
            ["why", "alarms"], .refused,
            "mediatorctl: there is no system 'alarms': that is a bus\nSee `mediatorctl show bus:alarms`.\n"),
        Failure(
            ["reset", "temprature"], .refused,
            "mediatorctl: there is no system 'temprature'; did you mean the bus 'temperature'?\n"
                + "There are: backup, disk-guard.\n"),
        Failure(
            ["pause", "tell-full"], .refused,
            "mediatorctl: there is no system 'tell-full': that is a link\nSee `mediatorctl show link:tell-full`.\n"),
        Failure(
            ["tap", "tell-fll"], .refused,
            "mediatorctl: nothing is called 'tell-fll' (system, bus, link); did you mean 'tell-full'?\n"
                + "All names: `mediatorctl list`.\n"
        ),
        Failure(
            ["tap", "disk*", "--where", "state.x"], .refused,
            "mediatorctl: 'where': column 7: there is no 'x'\n"),
        Failure(
            ["graph", "--around", "alrms"], .refused,
            "mediatorctl: there is no system or bus 'alrms'; did you mean 'alarms'?\n"
                + "All names: `mediatorctl graph`.\n"),
        Failure(
            ["graph", "--system", "backup"], .usage,
            "mediatorctl: 'backup' is the name of several things\nSay which: system:backup or bus:backup.\n"),
        Failure(
            ["graph", "--system", "link:tell-full"], .usage,
            "mediatorctl: a link does not fit here; a system or bus is wanted\n"),
        Failure(
            ["emit", "disk-guard", "Measured", "percent=5", "mount=/", "within=1s", "--wait", "Ful"], .refused,
            "mediatorctl: the system 'disk-guard' has no state 'Ful'; did you mean 'Full'?\nIt has: Unknown, Full.\n"),
        Failure(
            ["publish", "backup", "on", "--wait", "disk-guard=Fll"], .refused,
            "mediatorctl: the system 'disk-guard' has no state 'Fll'; did you mean 'Full'?\nIt has: Unknown, Full.\n"),
        Failure(
            ["tap", "temperature"], .noConnection,
            "mediatorctl: 'bus:temperature' can no longer be watched: the daemon is stopping\n"
        ),
        Failure(
            ["emit", "disk", "Reset"], .refused, "mediatorctl: there is no system 'disk'; did you mean 'disk-guard'?\n"),
        Failure(
            ["restart", "disk"], .refused,
            "mediatorctl: there is no system 'disk'; did you mean 'disk-guard'?\n"),
        Failure(
            ["pause", "disk"], .refused,
            "mediatorctl: there is no system 'disk'; did you mean 'disk-guard'?\n"),
        Failure(["resume", "link:backup"], .usage, "mediatorctl: only a system can be resumed\n"),
        Failure(["reset", "link:backup"], .usage, "mediatorctl: only a system can be reset\n"),
        Failure(["emit", "bus:backup", "Reset"], .usage, "mediatorctl: an event can only be sent to a system\n"),
        Failure(
            ["emit", "disk-guard", "measred"], .refused,
            "mediatorctl: the system 'disk-guard' has no event 'measred'; did you mean 'Measured'?\n"
                + "It has: Reset, Measured.\n"
        ),
        Failure(
            ["emit", "disk-guard", "Measured", "percnt=5"], .refused,
            "mediatorctl: the event 'Measured' has no field 'percnt'; did you mean 'percent'?\n"
                + "The event 'Measured' has: percent (int), mount (string), within (duration).\n"
        ),
        Failure(
            ["emit", "disk-guard", "Measured", "percent=5"], .refused,
            "mediatorctl: the event 'Measured' also wants mount (string), within (duration)\n"
                + "Give each as key=value: mount=… within=…\n"
        ),
        Failure(
            ["emit", "disk-guard", "Measured", "percent=many"], .refused,
            "mediatorctl: 'many' is no value for 'percent': a whole number (int) is expected\n"
        ),
        Failure(
            ["emit", "disk-guard", "Reset", "now"], .usage,
            "mediatorctl: 'now' is not of the form key=value\nThe event 'Reset' has no fields.\n"
        ),
        Failure(
            ["emit", "disk-guard", "Reset"], .refused,
            "mediatorctl: 'disk-guard' did not accept it: its mailbox is full\n"),
        Failure(
            ["publish", "system:disk-guard", "1"], .usage, "mediatorctl: a value can only be published on a bus\n"),
        Failure(
            ["publish", "nothing", "1"], .refused,
            "mediatorctl: there is no bus 'nothing'\nThere are: alarms, backup, temperature.\n"),
        Failure(
            ["publish", "backup", "a", "b"], .usage,
            "mediatorctl: the bus 'backup' takes one value of type string, not 2\nPut text with spaces in quotes.\n"
        ),
        Failure(
            ["publish", "temperature", "hot"], .refused,
            "mediatorctl: 'hot' is no value for 'temperature': a number (double) is expected\n"
        ),
        Failure(
            ["publish", "alarms", #"{"text":"a","severity":"high"}"#], .refused,
            "mediatorctl: '\"high\"' is no value for 'severity': int is expected\n"
        ),
        Failure(
            ["publish", "alarms", #"{"txt":"a"}"#], .refused,
            "mediatorctl: the value of bus 'alarms' has no field 'txt'; did you mean 'text'?\n"
                + "The value of bus 'alarms' has: text (string), severity (int).\n"
        ),
        Failure(
            ["publish", "alarms", #"{"text":"#], .refused,
            #"mediatorctl: '{"text":' is no value for 'alarms': JSON for an object is expected, "#
                + "but this is none: a value is missing\n"
        ),
    ]

    @Test(arguments: failures.indices)
    func `what cannot be done is told with what to do instead`(index: Int) async throws {
        let bench = try await Bench()
        let failure = Self.failures[index]
        let result = await Bench.run(failure.arguments, variables: ["MEDIATORD_SOCKET": bench.socket])
        #expect(result.error == failure.error)
        #expect(result.status == failure.status)
        #expect(bench.handler.emitted.isEmpty)
        #expect(bench.handler.published.isEmpty)
        await bench.service.close()
    }

    @Test(arguments: failures.indices)
    func `what cannot be done is told as JSON where JSON is asked for`(index: Int) async throws {
        let bench = try await Bench()
        let failure = Self.failures[index]
        let result = await Bench.run(
            [failure.arguments[0], "--json"] + failure.arguments.dropFirst(),
            variables: ["MEDIATORD_SOCKET": bench.socket])
        try Self.checkJSON(result, status: failure.status, text: failure.error)
        await bench.service.close()
    }

    /// Holds an error told as JSON against the same told to people.
    static func checkJSON(_ result: Bench.Result, status: CommandStatus, text: String) throws {
        #expect(result.status == status)
        #expect(result.error.hasSuffix("}\n") && result.error.count { $0 == "\n" } == 1)
        let members = try #require(try JSONValue(parsing: result.error).objectValue)
        #expect(Array(members.keys) == ["error"])
        let error = try #require(members["error"]?.objectValue)
        let lines = text.split(separator: "\n").map(String.init)
        #expect(error["message"]?.stringValue.map { "mediatorctl: \($0)" } == lines.first)
        #expect(error["hint"]?.stringValue == lines.dropFirst().first)
        let code = try #require(error["code"]?.stringValue)
        let page = try String(
            contentsOfFile: #filePath.replacing(
                /Tests\/MediatorCommandsTests.*/, with: "Documentation/Reference/ExitCodes.md"),
            encoding: .utf8)
        #expect(page.contains("`\(code)`"), "\(code) is not documented")
    }

    @Test(arguments: [
        (["show", "--json"], "usage"), (["frobnicate", "--json"], "usage"),
        (["eval", "--json", "1 +"], "invalid-expression"),
        (["calendar", "25:00", "--json"], "invalid-calendar-time"),
        (["calendar", "daily", "--base-time", "now", "--json"], "usage"),
        (["eval", "1", "--with", "x", "--json"], "usage"), (["eval", "1 / 0", "--json"], "evaluation-failed"),
        (["status", "--json", "--socket", "/nowhere/x"], "no-connection"),
        (["--socket", "/nowhere/x", "--json", "list"], "no-connection"),
        (["validate", "--json", "--kinds", "/nowhere"], "usage"),
        (["validate", "--format", "json", "--config"], "usage"),
        (["cat-config", "--config", "/nowhere", "--json"], "not-valid"), (["plan", "/nowhere", "--json"], "refused"),
        (["cat-config", "--config", "/dev", "--json", "x"], "no-such-name"),
        (["show", "--json", "disk-gard"], "no-such-name"), (["show", "--json", "bus:x"], "no-such-bus"),
        (["emit", "disk-guard", "x", "--json"], "no-such-event"),
        (["emit", "disk-guard", "Measured", "percent=x", "--json"], "invalid-value"),
        (["publish", "alarms", "--json", "txt=a"], "invalid-value"),
        (["emit", "disk-guard", "Reset", "--json"], "not-accepted"),
        (["emit", "disk-guard", "Reset", "--wait", "Gone", "--json"], "no-such-state"),
    ])
    func `every verb tells errors as JSON`(arguments: [String], code: String) async throws {
        let bench = try await Bench()
        let result = await Bench.run(arguments, variables: ["MEDIATORD_SOCKET": bench.socket])
        let error = try JSONValue(parsing: result.error)["error"]
        #expect(error?["code"] == .string(code))
        #expect(error?["message"]?.stringValue?.isEmpty == false)
        #expect(result.status != .success)
        await bench.service.close()
    }

    @Test func `the help of each verb, that of the root and the guide have the same exit codes`() async throws {
        let page = try String(
            contentsOfFile: #filePath.replacing(
                /Tests\/MediatorCommandsTests.*/, with: "Documentation/Reference/ExitCodes.md"),
            encoding: .utf8)
        let rows = page.matches(of: /(?m)^\| ([0-9]+) \| (.*) \|$/).map { (code: Int32($0.1) ?? -1, text: $0.2) }
        // The daemon's own kinds come first.
        let guide = rows.drop { $0.code != 0 }.dropFirst().drop { $0.code != 0 }
        let all = CommandStatus.allCases.map(\.rawValue).sorted()
        #expect(guide.map(\.code) == all)
        func told(_ arguments: [String]) async throws -> [Int32] {
            let text = await Bench.run(arguments).output
            let part = try #require(text.split(separator: "EXIT STATUS\n").dropFirst().first)
            return part.split(separator: "\n", omittingEmptySubsequences: false).prefix { !$0.isEmpty }
                .compactMap { $0.split(separator: " ").first.flatMap { Int32($0) } }
        }
        #expect(try await told(["--help"]) == all)
        let control: [Int32] = [0, 1, 2, 4, 69, 74]
        var seen = Set<Int32>()
        for (verb, expected) in [
            ("status", control + [5]), ("list", control), ("show", control), ("graph", control), ("tap", control),
            ("emit", control + [6]), ("publish", control + [6]), ("version", control), ("plan", control),
            ("reload", control + [3]), ("attach", control + [3]),
            ("detach", control + [3]), ("set", control + [3]), ("cat-config", control), ("eval", [0, 1, 2, 74]),
            ("calendar", [0, 1, 2, 74]),
            ("validate", control), ("schema", control),
        ] {
            let codes = try await told([verb, "--help"])
            #expect(codes == expected.sorted(), "\(verb)")
            seen.formUnion(codes)
            // The guide names exit codes that only some verbs have.
            for code in codes where ![0, 1, 2, 4, 69, 74].contains(code) {
                #expect(guide.first { $0.code == code }?.text.contains("`\(verb)`") == true, "\(verb) and \(code)")
            }
        }
        #expect(seen.sorted() == all)
    }

    @Test func `an answer that cannot be written is an error, one that nobody reads is none`() async throws {
        let bench = try await Bench()
        for arguments in [["status"], ["list", "--json"], ["eval", "1"], ["--help"]] {
            let variables = ["MEDIATORD_SOCKET": bench.socket]
            let full = await Bench.run(arguments, variables: variables) { _ in throw CommandError.notWritten("No space")
            }
            #expect(full.status == .notWritten)
            #expect(full.error.contains("standard output cannot be written: No space"))
            #expect(await Bench.run(arguments, variables: variables) { _ in throw OutputClosed() }.status == .success)
        }
        await bench.service.close()
    }

    @Test func `an event arrives with its values typed`() async throws {
        let bench = try await Bench()
        let result = await bench.run("emit", "system:disk-guard", "Measured", "percent=-5", "mount=1", "within=500ms")
        #expect(result.status == .success)
        let data: JSONObject = ["percent": -5, "mount": "1", "within": "500ms"]
        #expect(bench.handler.emitted == [EmitParameters(system: "disk-guard", event: "Measured", data: data)])
        await bench.service.close()
    }

    @Test func `an event's values may be one JSON object`() async throws {
        let bench = try await Bench()
        let data: JSONObject = ["percent": -5, "mount": "1", "within": "500ms"]
        #expect(await bench.run("emit", "disk-guard", "Measured", "\(JSONValue.object(data))").status == .success)
        #expect(bench.handler.emitted == [EmitParameters(system: "disk-guard", event: "Measured", data: data)])
        let wrong = await bench.run("emit", "disk-guard", "Measured", #"{"percnt": 5}"#)
        #expect(wrong.status == .refused)
        #expect(
            wrong.error.hasPrefix("mediatorctl: the event 'Measured' has no field 'percnt'; did you mean 'percent'?"))
        await bench.service.close()
    }

    @Test func `a value arrives typed, as fields, as JSON and as a scalar`() async throws {
        let bench = try await Bench()
        for arguments in [
            ["alarms", "text=a=b", "severity=3"], ["alarms", #"{"severity": 3, "text": "a=b"}"#], ["backup", "12"],
            ["bus:temperature", "12"],
        ] {
            let result = await Bench.run(["publish"] + arguments, variables: ["MEDIATORD_SOCKET": bench.socket])
            #expect(result.status == .success)
        }
        let alarm = PublishParameters(bus: "alarms", value: ["text": "a=b", "severity": 3])
        #expect(
            bench.handler.published == [
                alarm, alarm, PublishParameters(bus: "backup", value: "12"),
                PublishParameters(bus: "temperature", value: 12.0),
            ]
        )
        await bench.service.close()
    }

    @Test(arguments: [
        (Health.healthy, CommandStatus.success), (.stopped, .success), (.starting, .unhealthy), (.degraded, .unhealthy),
        (.failed, .unhealthy),
    ])
    func `status ends with what it found`(health: Health, status: CommandStatus) async throws {
        let bench = try await Bench(health: health)
        #expect(await bench.run("status").status == status)
        #expect(await bench.run("status", "--json").status == status)
        await bench.service.close()
    }

    @Test func `without a daemon the next step is told`() async {
        let result = await Bench.run(["status", "--socket", "/tmp/no-such-directory/socket"])
        #expect(result.status == .noConnection)
        #expect(result.error.contains("there is no socket '/tmp/no-such-directory/socket'"))
        #expect(result.error.contains("systemctl status mediatord"))
        #expect(!result.error.contains("make run"))
        #expect(
            await Bench.run(["status", "--socket", "/dev/null"])
                == .init(
                    status: .noConnection, output: "",
                    error:
                        "mediatorctl: no connection to mediatord: '/dev/null' is no socket\nAnother socket is chosen "
                        + "with --socket or MEDIATORD_SOCKET.\n"))
    }

    @Test func `the socket is an option before a variable`() async throws {
        let bench = try await Bench()
        let variables = ["MEDIATORD_SOCKET": "/nowhere"]
        #expect(await Bench.run(["status"], variables: variables).status == .noConnection)
        #expect(await Bench.run(["status", "--socket", bench.socket], variables: variables).status == .success)
        await bench.service.close()
    }

    @Test func `what is not allowed ends with 4`() async throws {
        let bench = try await Bench {
            $0.authorize = { request, _ in request != .call(method: "io.mediatord.Control.Publish") }
        }
        let result = await bench.run("publish", "backup", "on")
        #expect(result.status == .permissionDenied)
        #expect(
            result.error
                == "mediatorctl: user 0 may not inject anything into 'backup'\n"
                + "Root, mediatord's own user, whoever `access: inject:` in its configuration names, have that right: try "
                + "`sudo mediatorctl …`, or ask for it.\n")
        let json = await bench.run("publish", "backup", "on", "--json")
        #expect(json.error.contains(#""code":"permission-denied""#) && json.error.contains(#""right":"inject""#))
        await bench.service.close()
    }

    @Test func `root of a user namespace is told that it is not root to the daemon`() async throws {
        let bench = try await Bench {
            $0.authorize = { request, _ in request != .call(method: "io.mediatord.Control.Publish") }
        }
        let result = await Bench.run(
            ["publish", "backup", "on"], variables: ["MEDIATORD_SOCKET": bench.socket], outerUserID: 1000)
        #expect(
            result.error
                == "mediatorctl: user 1000, who is user 0 in a user namespace only, may not inject anything into 'backup'\n"
                + "Root outside of the namespace, mediatord's own user, whoever `access: inject:` in its configuration names, "
                + "have that right: run mediatorctl outside of the namespace, or ask for it.\n")
        await bench.service.close()
    }

    @Test(
        arguments: [
            ("         0          0 4294967295\n", 0, nil), ("0 1000 1\n", 0, 1000),
            ("0 100000 65536\n", 65_535, 165_535),
            ("1 100001 5\n0 1000 1\n", 0, 1000), ("0 1000 1\n", 1, nil), ("", 0, nil), ("0 4294967295 2\n", 1, nil),
            ("x\n", 0, nil),
        ] as [(String, UInt32, UInt32?)])
    func `the user outside of a user namespace is read from its map`(map: String, user: UInt32, outer: UInt32?) {
        #expect(CommandEnvironment.outerUser(of: user, map: map) == outer)
    }

    @Test func `who may not even connect is told what would help`() async throws {
        let bench = try await Bench {
            $0.authorize = { request, _ in request != .connection }
            // However busy the machine is.
            $0.unauthorizedLimit = .seconds(300)
        }
        let result = await bench.run("status")
        #expect(result.status == .permissionDenied)
        #expect(
            result.error
                == "mediatorctl: user 0 may not read what mediatord does\n"
                + "Root, mediatord's own user, the group mediatord, and whoever `access: read:` in its configuration names, "
                + "have that right: try `sudo mediatorctl …`, or ask for it.\n")
        await bench.service.close()
    }

    @Test(arguments: [
        (
            ["pause", "disk-guard"],
            "paused system disk-guard, which is in Full mount=/var note=\"nearly full\" percent=97\n"
        ),
        (
            ["resume", "disk-guard"],
            "resumed system disk-guard, which is in Full mount=/var note=\"nearly full\" percent=97\n"
        ),
        (["log-level"], "mediatord logs info and what is graver\n"),
        (["log-level", "debug"], "mediatord logs debug and what is graver, and was started with info\n"),
        (["log-level", "default"], "mediatord logs info and what is graver\n"),
        (["log-level", "warning", "--json"], "{\"given\":\"info\",\"level\":\"warning\"}\n"),
    ])
    func `what runs is steered`(arguments: [String], output: String) async throws {
        let bench = try await Bench()
        let result = await Bench.run(arguments + ["--socket", bench.socket])
        #expect(result.status == .success, "\(result.error)")
        #expect(result.output == output)
        await bench.service.close()
    }

    @Test func `what is so already is told, and is no failure`() async throws {
        let paused = try await Bench(health: .degraded)
        let state = "Full mount=/var note=\"nearly full\" percent=97"
        let again = await paused.run("pause", "disk-guard")
        #expect(
            again
                == .init(
                    status: .success,
                    output:
                        "system disk-guard is paused already since 11:58:00 (2 min ago) by alice, and is in \(state)\n",
                    error: ""))
        #expect(await paused.run("pause", "disk-guard", "--json").output.hasPrefix(#"{"changed":false,"#))
        await paused.service.close()
        let going = try await Bench(health: .starting)
        let resumed = await going.run("resume", "disk-guard")
        #expect(resumed.output == "system disk-guard is not paused, and is in \(state)\n")
        #expect(resumed.status == .success)
        await going.service.close()
    }

    @Test func `an event for a paused system is said to wait`() async throws {
        let bench = try await Bench(health: .degraded)
        let arguments = ["emit", "disk-guard", "Measured", "percent=5", "mount=/", "within=1s"]
        let variables = ["MEDIATORD_SOCKET": bench.socket]
        let sent = await Bench.run(arguments, variables: variables)
        #expect(
            sent.output == "emitted Measured mount=/ percent=5 within=1s to system disk-guard\n"
                + "it waits: disk-guard is paused since 11:58:00 (2 min ago) by alice, until `mediatorctl resume disk-guard`\n"
        )
        let object = try JSONValue(parsing: await Bench.run(arguments + ["--json"], variables: variables).output)
        #expect(object["paused"] == ["since": "2026-11-21T11:58:00Z", "uid": 1000, "user": "alice"])
        // And so is one whose state is waited for.
        let clock = ManualClock()
        async let late = Bench.run(
            arguments + ["--wait", "Unknown", "--timeout", "120"], variables: variables, clock: clock)
        await clock.sleepers(atLeast: 1)
        while !Task.isCancelled, bench.handler.emitted.count < 3 { await Task.yield() }
        // It was sent over a connection of its own, which is closed once the answer is there.
        while !Task.isCancelled, bench.service.connectionCount > 2 { await Task.yield() }
        clock.advance(by: .seconds(120))
        #expect(
            await late.error
                == "mediatorctl: it was sent, but not entered within 120.0 seconds: disk-guard (Unknown), which is in Full, "
                + "paused since 11:58:00 (2 min ago) by alice\n`mediatorctl resume disk-guard` lets it go on; "
                + "--timeout waits longer.\n")
        await bench.service.close()
    }

    @Test(
        arguments: [
            (["sys*"], "nothing is called 'sys*' now, and what comes is waited for"),
            (
                ["bus:disk-guar?"],
                "nothing is called 'bus:disk-guar?' now, and what comes is waited for"
            ),
            (
                ["system:disk-gaurd*"],
                "nothing is called 'system:disk-gaurd*' now, and what comes is waited for; did you mean 'disk-guard'?"
            ),
            (
                ["disk*", "--where", "stateName == 'Ful' || \"Unknown\" == stateName"],
                "no system that is followed has a state 'Ful' now, and what comes is waited for; did you mean 'Full'?"
            ),
            (["disk*", "temp?rature", "--where", "stateName == \"Full\""], nil),
        ] as [([String], String?)])
    func `a tap that fits nothing says so and waits`(arguments: [String], note: String?) async throws {
        let bench = try await Bench()
        let variables = ["MEDIATORD_SOCKET": bench.socket]
        for (more, text) in [([], "mediatorctl: \(note ?? "")\n"), (["--json"], nil)] {
            let result = await Bench.run(["tap", "--for", "10ms"] + arguments + more, variables: variables)
            #expect(result.status == .success)
            if let note {
                #expect(result.error == text ?? "\(JSONValue.object(["note": ["message": .string(note)]]))\n")
            } else {
                #expect(result.error.isEmpty)
            }
        }
        #expect(bench.handler.watched.count == 2)
        await bench.service.close()
    }

    @Test func `a trace can be followed`() async throws {
        let bench = try await Bench()
        for (more, last) in [
            ([], "11:59:30  resumed by root after 1m3s\n"),
            (
                ["--json"],
                #"{"guards":[],"kind":"resumed","more":0,"outcomes":[],"text":"resumed by root after 1m3s","#
                    + #""time":"2026-11-21T11:59:30Z"}"# + "\n"
            ),
        ] {
            bench.handler.forgetTraces()
            let result = await Bench.run(
                ["trace", "disk-guard", "--follow", "--limit", "1"] + more,
                variables: ["MEDIATORD_SOCKET": bench.socket]
            ) { text in
                if text.contains("resumed") { throw OutputClosed() }
            }
            #expect(result.status == .success && result.error.isEmpty)
            // The last step of the first look, and the new ones.
            #expect(result.output.split(separator: "\n").count == 2)
            #expect(result.output.hasSuffix(last), "\(result.output)")
        }
        await bench.service.close()
    }

    @Test func `the files of the daemon at a socket are looked at`() async throws {
        let bench = try await Bench()
        for arguments in [["validate"], ["cat-config"]] {
            let result = await Bench.run(arguments + ["--socket", bench.socket])
            #expect((result.output + result.error).contains("'/etc/mediatord'"), "\(arguments)")
            #expect(!(result.output + result.error).contains("/usr/lib/mediatord"))
            // A named choice counts more.
            let named = await Bench.run(arguments + ["--config", "/dev", "--socket", bench.socket])
            #expect((named.output + named.error).contains("/dev"))
            #expect(!(named.output + named.error).contains("'/etc/mediatord'"))
            #expect(await Bench.run(arguments + ["--socket", "/nowhere/socket"]).status == .noConnection)
        }
        // It needs no daemon, unless it must read the daemon's kinds.
        let elsewhere = ["--config", "/dev", "--socket", "/nowhere/socket"]
        #expect(await Bench.run(["cat-config"] + elsewhere).status != .noConnection)
        #expect(await Bench.run(["validate"] + elsewhere).status == .noConnection)
        #expect(await Bench.run(["validate", "--kinds", "/dev/null"] + elsewhere).error.contains("'/dev/null'"))
        #expect(await Bench.run(["validate", "--host", "x"]).status == .usage)
        await bench.service.close()
    }

    @Test func `a daemon that goes away while it is tapped is told`() async throws {
        let bench = try await Bench()
        let closing = Mutex<Task<Void, Never>?>(nil)
        let result = await bench.run("tap", "disk-guard") { text in
            guard text.contains("Measured") else { return }
            closing.withLock { $0 = Task { await bench.service.close(within: .zero) } }
        }
        #expect(result.status == .noConnection)
        #expect(result.error.hasPrefix("mediatorctl: mediatord went away\n"))
        await closing.withLock { $0 }?.value
    }

    @Test func `a closed pipe ends without a word`() async throws {
        let bench = try await Bench()
        let result = await bench.run("tap", "disk-guard") { _ in throw OutputClosed() }
        #expect(result.status == .success)
        #expect(result.error.isEmpty)
        await bench.service.close()
    }

    @Test func `a daemon that does not answer is waited for no longer than asked`() async throws {
        // A socket that listens and never accepts.
        let bench = try await Bench { $0.maximumConnections = 0 }
        for limit in ["0.2", "200ms", "0.2s"] {
            #expect(await bench.run("status", "--timeout", limit).status == .noConnection)
        }
        await bench.service.close()
    }

    @Test(arguments: [
        ["frobnicate"], ["show"], ["tap", "x", "--count", "0"], ["tap", "x", "--count", "many"], ["list", "things"],
        ["status", "--timeout", "0"], ["status", "--timeout", "-1"], ["status", "--timeout", "soon"],
        ["status", "--timeout", "25h"], ["status", "extra"], ["emit", "x"],
        ["tap", "--rate", "0/s"], ["tap", "--rate", "5"], ["tap", "--rate", "5/x"], ["tap", "--for", "soon"],
        ["publish", "b", "1", "--wait", "x"],
        ["graph", "--format", "png"], ["graph", "--format", "svg", "--json"], ["graph", "--live", "--config", "x"],
        ["graph", "--depth", "2"], ["graph", "--around", "x", "--system", "y"], ["status", "--color", "sometimes"],
        ["publish", "x"], ["status", "--socket", ""], ["--frobnicate"], ["attach"], ["detach"], ["detach", "a", "b"],
        ["set", "x"], ["set", "x", "when"], ["set", "x", "=y"], ["cat-config", "--running", "--config", "x"],
    ])
    func `a wrong command line ends with 2 before anything is sent`(arguments: [String]) async {
        let result = await Bench.run(arguments, variables: ["MEDIATORD_SOCKET": "/nowhere"])
        #expect(result.status == .usage)
        #expect(result.output.isEmpty)
        #expect(!result.error.isEmpty)
    }

    @Test func `an unknown level shows the nearest`() async {
        let words = "Levels: trace, debug, info, notice, warning, error, critical, default."
        #expect(
            await Bench.run(["log-level", "debgu"]).error.hasPrefix(
                "Error: There is no level 'debgu'; did you mean 'debug'? \(words)\n"))
        #expect(await Bench.run(["log-level", "x"]).error.hasPrefix("Error: There is no level 'x'. \(words)\n"))
    }

    @Test func `an unknown verb shows the nearest`() async {
        let result = await Bench.run(["stauts"])
        #expect(result.error.hasPrefix("mediatorctl: there is no verb 'stauts'; did you mean 'status'?\n"))
        // Help with it does not exist, either.
        for arguments in [
            ["help", "stauts"], ["--json", "help", "stauts"], ["help", "--json", "stauts"],
            ["--timeout", "3", "help", "stauts"],
        ] {
            let help = await Bench.run(arguments)
            #expect(help.status == .usage && help.output.isEmpty && help.error.contains("; did you mean 'status'?"))
        }
        for arguments in [
            ["help"], ["help", "help"], ["help", "status"], ["stauts", "--help"], ["help", "--help"],
            ["--color", "never", "help"], ["--color=never", "--json", "help", "status"],
        ] {
            #expect(await Bench.run(arguments).status == (arguments[0] == "stauts" ? .usage : .success))
        }
    }

    @Test(arguments: [(["show"], "mediatorctl show --help"), (["-x"], "mediatorctl --help")])
    func `what is wrong with a command line names the same help in both forms`(arguments: [String], help: String)
        async throws
    {
        #expect(await Bench.run(arguments).error.contains("See '\(help)' for more information."))
        let json = try JSONValue(parsing: await Bench.run(arguments + ["--json"]).error)["error"]
        #expect(json?["hint"] == .string("See `\(help)`."))
    }

    @Test func `who may not read is told the version of mediatorctl all the same`() async throws {
        let benches = [
            try await Bench {
                $0.authorize = { request, _ in request != .call(method: "io.mediatord.Control.Status") }
            },
            try await Bench {
                $0.authorize = { request, _ in request != .connection }
                $0.unauthorizedLimit = .seconds(300)
            },
        ]
        for bench in benches {
            let result = await bench.run("version")
            #expect(result.status == .permissionDenied && result.output == "mediatorctl 0.1.0\n")
            #expect(result.error.contains("may not read what mediatord does"))
            #expect(await bench.run("version", "--json").output == #"{"client":"0.1.0"}"# + "\n")
            await bench.service.close()
        }
    }

    @Test(arguments: [
        (["publish", "temperature", "-5"], "publish temperature -- -5"),
        (["publish", "temperature", "-5", "--wait", "backup=On"], "publish temperature --wait backup=On -- -5"),
        (["emit", "disk-guard", "Measured", "-x", "percent=1"], "emit disk-guard Measured -- -x percent=1"),
        (["why-not", "disk-guard", "Reset", "-5"], "why-not disk-guard Reset -- -5"),
        (["eval", "-n + 3", "--with", "n=1"], "eval --with n=1 -- '-n + 3'"),
    ])
    func `who writes a value that begins with a dash is told how`(arguments: [String], line: String) async throws {
        let advice = "A value that begins with '-' is written behind `--`: `mediatorctl \(line)`."
        let result = await Bench.run(arguments)
        #expect(result.status == .usage && result.output.isEmpty)
        #expect(result.error.hasPrefix("Error: "))
        #expect(result.error.split(separator: "\n").dropFirst().first == advice[...], "\(result.error)")
        let json = try JSONValue(parsing: await Bench.run(arguments + ["--json"]).error)["error"]
        #expect(json?["hint"] == .string(advice.replacing(" -- ", with: " --json -- ")))
    }

    @Test(arguments: [["publish", "temperature"], ["publish", "temperature", "--wiat", "x"], ["status", "-5"]])
    func `what is no such value has no such advice`(arguments: [String]) async throws {
        #expect(!(await Bench.run(arguments)).error.contains("begins with"))
    }

    @Test func `the help of the root names every exit status`() async {
        let result = await Bench.run(["--help"])
        #expect(result.status == .success)
        for status in CommandStatus.allCases {
            #expect(result.output.contains("  \(status.rawValue)  \(status.meaning)"))
        }
    }

    @Test(arguments: [
        "status", "list", "show", "graph", "version", "tap", "emit", "publish", "attach", "detach", "set", "plan",
        "reload",
    ])
    func `every verb has help with examples`(verb: String) async {
        for arguments in [[verb, "--help"], ["help", verb]] {
            let result = await Bench.run(arguments)
            #expect(result.status == .success)
            #expect(result.output.contains("EXAMPLES\n  mediatorctl \(verb)"))
            #expect(result.output.contains("--socket"))
        }
    }

    @Test func `the version of both is told, and that of the client also without a daemon`() async throws {
        let bench = try await Bench()
        let both = await bench.run("version")
        #expect(both.output == "mediatorctl 0.1.0\nmediatord   0.1.0, process 4242, started 09:00:00 (3 h ago)\n")
        #expect(
            await bench.run("version", "--json").output
                == #"{"client":"0.1.0","daemon":{"pid":4242,"started":"2026-11-21T09:00:00Z","version":"0.1.0"}}"#
                + "\n")
        await bench.service.close()
        let without = await Bench.run(["version"], variables: ["MEDIATORD_SOCKET": "/nowhere/socket"])
        #expect(without.output == "mediatorctl 0.1.0\n")
        #expect(without.status == .noConnection && !without.error.isEmpty)
        let local = await Bench.run(["version", "--client", "--json"], variables: ["MEDIATORD_SOCKET": "/nowhere"])
        #expect(local == .init(status: .success, output: #"{"client":"0.1.0"}"# + "\n", error: ""))
    }

    @Test func `a state is waited for, also one of several, and what does not come ends with 6`() async throws {
        let bench = try await Bench()
        let measured = ["percent=5", "mount=/", "within=1s"]
        let variables = ["MEDIATORD_SOCKET": bench.socket]
        // Whose time does not pass by itself, however busy the machine is.
        let clock = ManualClock()
        let reached = await Bench.run(
            ["emit", "disk-guard", "Measured"] + measured + ["--wait", "Full", "--wait", "Unknown"],
            variables: variables, clock: clock)
        #expect(
            reached.output == "emitted Measured mount=/ percent=5 within=1s to system disk-guard\n"
                + "disk-guard is in Full mount=/var note=\"nearly full\" percent=97\n")
        #expect(bench.handler.watched == [WatchParameters(patterns: ["system:disk-guard"], announce: true)])
        let published = await Bench.run(
            ["publish", "backup", "on", "--wait", "disk-guard=Full", "--json"], variables: variables, clock: clock)
        let object = try JSONValue(parsing: published.output).objectValue
        #expect(object?["reached"]?.arrayValue?.first?.objectValue?["system"] == "disk-guard")
        async let late = Bench.run(
            ["emit", "disk-guard", "Measured"] + measured + ["--wait", "Unknown", "--timeout", "120"],
            variables: variables, clock: clock)
        await clock.sleepers(atLeast: 1)
        while !Task.isCancelled, bench.handler.emitted.count < 2 { await Task.yield() }
        // It was sent over a connection of its own, which is closed once the answer is there.
        while !Task.isCancelled, bench.service.connectionCount > 2 { await Task.yield() }
        clock.advance(by: .seconds(120))
        #expect(await late.status == .notReached)
        #expect(
            await late.error
                == "mediatorctl: it was sent, but not entered within 120.0 seconds: disk-guard (Unknown), which is in Full\n"
                + "`mediatorctl why-not disk-guard Measured percent=5 mount=/ within=1s` tells what stands in its way, "
                + "`mediatorctl trace disk-guard` tells what disk-guard did; --timeout waits longer.\n")
        #expect(bench.handler.emitted.count == 2)
        await bench.service.close()
    }

    @Test func `a state that was entered before the sending is not what is waited for`() async throws {
        let bench = try await Bench()
        let clock = ManualClock()
        let emit = ["emit", "disk-guard", "Measured", "percent=5", "mount=/", "within=1s", "--json", "--wait", "Full"]
        let variables = ["MEDIATORD_SOCKET": bench.socket]
        // If a change is left out, the system reports Full since 11:57:00, and then that Full was entered at 11:58:30.
        let times: [String?: String] = [
            nil: "2026-11-21T11:57:00Z", "2026-11-21T11:57:00Z": "2026-11-21T11:57:00Z",
            "2026-11-21T11:57:00.000001Z": "2026-11-21T11:58:30Z", "2026-11-21T13:58:30+02:00": "2026-11-21T11:58:30Z",
        ]
        for (taken, reached) in times {
            bench.handler.take(at: taken)
            let result = await Bench.run(emit, variables: variables, clock: clock)
            let states = try JSONValue(parsing: result.output).objectValue?["reached"]?.arrayValue
            #expect(states?.count == 1 && states?.first?.objectValue?["time"] == .string(reached), "\(taken ?? "")")
        }
        bench.handler.take(at: "2026-11-21T11:58:30.000001Z")
        let count = bench.handler.emitted.count
        async let late = Bench.run(emit + ["--timeout", "120"], variables: variables, clock: clock)
        await clock.sleepers(atLeast: 1)
        while !Task.isCancelled, bench.handler.emitted.count == count { await Task.yield() }
        while !Task.isCancelled, bench.service.connectionCount > 2 { await Task.yield() }
        clock.advance(by: .seconds(120))
        #expect(await late.status == .notReached)
        #expect(await late.error.contains("which is in Full and has not entered it anew"))
        await bench.service.close()
    }

    @Test func `nothing is sent where nobody watches`() async throws {
        let bench = try await Bench()
        bench.handler.beSilent()
        let clock = ManualClock()
        async let late = Bench.run(
            [
                "emit", "disk-guard", "Measured", "percent=5", "mount=/", "within=1s", "--wait", "Full", "--timeout",
                "120",
            ],
            variables: ["MEDIATORD_SOCKET": bench.socket], clock: clock)
        await clock.sleepers(atLeast: 1)
        while !Task.isCancelled, bench.handler.watched.isEmpty { await Task.yield() }
        clock.advance(by: .seconds(120))
        #expect(
            await late
                == .init(
                    status: .noConnection, output: "",
                    error: "mediatorctl: nothing was sent: mediatord has not said within 120.0 seconds that it watches "
                        + "disk-guard\nWait longer with --timeout.\n"))
        #expect(bench.handler.emitted.isEmpty)
        await bench.service.close()
    }

    @Test func `what is wanted of a tap is asked of the daemon`() async throws {
        let bench = try await Bench()
        _ = await bench.run("tap", "disk*", "bus:*", "--where", "name != ''", "--rate", "5/2m", "--count", "1")
        _ = await bench.run("tap", "temperature", "tell-full", "--rate", "7/s", "--for", "10ms")
        #expect(
            bench.handler.watched == [
                WatchParameters(patterns: ["disk*", "bus:*"], condition: "name != ''", limit: 5, period: "2m"),
                WatchParameters(patterns: ["bus:temperature", "link:tell-full"], limit: 7, period: "1s"),
            ])
        await bench.service.close()
    }

    @Test func `the version is told`() async {
        #expect(await Bench.run(["--version"]).output == "mediatorctl \(Mediatorctl.version)\n")
    }
}
