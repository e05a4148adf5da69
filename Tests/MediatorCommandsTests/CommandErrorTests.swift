import Foundation
import MediatorCommands
import MediatorControl
import StrictJSON
import Testing
import Varlink

extension CommandTests {
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
}
