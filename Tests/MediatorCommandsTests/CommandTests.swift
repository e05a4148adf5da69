import FeedbackKitTesting
import MediatorCommands
import MediatorControl
import StrictJSON
import Testing
import TestSupport
import Varlink

/// The parsing and the exit codes of command lines, against a real service.
@Suite(.timeLimit(.minutes(5)))
struct CommandTests {
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

    @Test(arguments: [
        (
            ["pause", "disk-guard"],
            "paused system disk-guard, which is in Full mount=/var note=\"nearly full\" percent=97\n"
        ),
        (
            ["resume", "disk-guard"],
            "resumed system disk-guard, which is in Full mount=/var note=\"nearly full\" percent=97\n"
        ),
        (["log-level"], "mediatord logs info and more severe levels\n"),
        (["log-level", "debug"], "mediatord logs debug and more severe levels, and was started with info\n"),
        (["log-level", "default"], "mediatord logs info and more severe levels\n"),
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

    @Test func `a long value that was sent is shown in short`() async throws {
        let long = String(repeating: "x", count: 100_000)
        let bench = try await Bench()
        let sent = await bench.run("emit", "disk-guard", "Measured", "percent=5", "mount=\(long)", "within=1s")
        #expect(sent.output.hasPrefix("emitted Measured mount=xxx") && sent.output.count < 300, "\(sent.error)")
        await bench.service.close()
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
        await clock.nextDeadline(in: .seconds(120))
        await suspend(while: bench.handler.emitted.count < 3)
        // It was sent over a connection of its own, which is closed once the answer is there.
        await suspend(while: bench.service.connectionCount > 2)
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
            (["sys*"], "nothing is called 'sys*' now; waiting for one"),
            (
                ["bus:disk-guar?"],
                "nothing is called 'bus:disk-guar?' now; waiting for one"
            ),
            (
                ["system:disk-gaurd*"],
                "nothing is called 'system:disk-gaurd*' now; waiting for one; did you mean 'disk-guard'?"
            ),
            (
                ["disk*", "--where", "stateName == 'Ful' || \"Unknown\" == stateName"],
                "no system that is followed has a state 'Ful' now; waiting for one; did you mean 'Full'?"
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
                #"{"guards":[],"kind":"resumed","more":0,"number":7,"outcomes":[],"text":"resumed by root after 1m3s","#
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
