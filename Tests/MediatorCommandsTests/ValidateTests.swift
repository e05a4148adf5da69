import FoundationEssentials
import Glibc
import MediatorCommands
import MediatorConfiguration
import StrictJSON
import Testing
import Varlink

/// `mediatorctl validate`, which needs no daemon.
@Suite struct ValidateTests {
    static let good = """
        system: lamp
        states: { Off: {}, On: {} }
        events: { Press: {} }
        fromOutside: [Press]
        initialState: Off
        transitions: { Off: { Press: On }, On: { Press: Off } }
        persist: none
        """
    static let broken = good.replacing("Press: Off", with: "Press: Of")
    static let doubtful = good.replacing("fromOutside: [Press]\n", with: "")

    @Test func `a valid configuration is summed up`() async {
        let result = await Bench.run(["validate", "-"], input: Self.good)
        #expect(result.output == "standard input is valid: 1 system, 0 buses and 0 links in 1 file\n")
        #expect(result.status == .success)
        #expect(result.error == "")
    }

    @Test func `a link that reads a bus by to is noted with its direction, once for all instances`() async {
        let text = """
            system: lamp@
            states: { Off: {}, On: {} }
            events: { Press: {} }
            initialState: Off
            transitions: { Off: { Press: On }, On: { Press: Off } }
            ---
            instances: { lamp@a: {}, lamp@b: {} }
            buses: { bell: { kind: passthrough, value: string, fromOutside: both } }
            links:
              hear: { attach: lamp@*, KEY: bell, emitEvent: Press }
              tell: { attach: lamp@a, to: bell, onState: On, emitValue: lit, loop: { limit: 1 per 1s } }
            """
        let by = await Bench.run(["validate", "-"], input: text.replacing("KEY", with: "to"))
        let note = "<stdin>:10:3: note: the link 'hear' reads its bus; write from instead of to\n"
        #expect(by.output.hasPrefix(note))
        #expect(by.output.split(separator: "\n").count == 2 && by.status == .success, "\(by.output)")
        let quiet = await Bench.run(["validate", "-", "--quiet"], input: text.replacing("KEY", with: "to"))
        #expect(quiet.output == "")
        let from = await Bench.run(["validate", "-"], input: text.replacing("KEY", with: "from"))
        #expect(from.output.split(separator: "\n").count == 1, "\(from.output)")
    }

    @Test func `an error is shown with its place, and ends with 1`() async {
        let result = await Bench.run(["validate", "-"], input: Self.broken)
        #expect(
            result.output == """
                <stdin>:6:49: error: 'lamp' has no state 'Of' [unknown-state]
                  transitions: { Off: { Press: On }, On: { Press: Of } }
                                                                  ^~
                  hint: did you mean 'Off'?
                standard input is not valid: 1 error in 1 file

                """)
        #expect(result.status == .refused)
    }

    @Test func `the journal is told how grave each line is`() async {
        let wrong = await Bench.run(["validate", "-"], input: Self.broken, isJournal: true)
        #expect(
            wrong.output == """
                <3><stdin>:6:49: error: 'lamp' has no state 'Of' [unknown-state]
                <3>  transitions: { Off: { Press: On }, On: { Press: Of } }
                <3>                                                  ^~
                <3>  hint: did you mean 'Off'?
                <3>standard input is not valid: 1 error in 1 file

                """)
        let doubtful = await Bench.run(["validate", "-", "--quiet"], input: Self.doubtful, isJournal: true)
        #expect(!doubtful.output.isEmpty)
        #expect(doubtful.output.split(separator: "\n").allSatisfy { $0.hasPrefix("<4>") })
        let good = await Bench.run(["validate", "-"], input: Self.good, isJournal: true)
        #expect(good.output.hasPrefix("<6>standard input is valid: "))
        // The output for programs is the same as before.
        let json = await Bench.run(["validate", "-", "--json"], input: Self.good, isJournal: true)
        #expect(json.output.hasPrefix("{"))
    }

    @Test func `a warning is an error where that is wanted`() async {
        let allowed = await Bench.run(["validate", "-"], input: Self.doubtful)
        #expect(allowed.status == .success)
        #expect(
            allowed.output.hasSuffix("standard input is valid: 1 system, 0 buses and 0 links in 1 file; 1 warning\n"))
        let denied = await Bench.run(["validate", "-", "--deny-warnings"], input: Self.doubtful)
        #expect(denied.status == .refused)
        #expect(denied.output.hasSuffix("standard input is not valid: 1 warning in 1 file\n"))
    }

    @Test func `kinds of a daemon of one's own are read from what it prints`() async throws {
        let path = "/tmp/kinds-\(UUID().uuidString).json"
        defer { try? FileManager.default.removeItem(atPath: path) }
        let speaker = SystemKind(name: "speaker", states: [.init(name: "VolumeState")])
        try #require(FileManager.default.createFile(atPath: path, contents: Data(try KindFile([speaker]).json().utf8)))
        let text = "system: kitchen\nkind: speaker\n"
        #expect(await Bench.run(["validate", "-", "--kinds", path], input: text).status == .success)
        let without = await Bench.run(["validate", "-"], input: text)
        #expect(without.status == .refused)
        #expect(without.output.contains("[unknown-kind]"))
        let schema = await Bench.run(["schema", "--kinds", "-"], input: try KindFile([speaker]).json())
        #expect(schema.output.contains(#""enum": ["speaker"]"#))
        let broken = await Bench.run(["validate", "-", "--kinds", "/nowhere"], input: text)
        #expect(broken.status == .usage)
        #expect(broken.error.contains("'/nowhere' does not describe the kinds of a daemon: "))
        let nonsense = await Bench.run(["schema", "--kinds", "-"], input: "{}")
        #expect(nonsense.status == .usage)
        #expect(nonsense.error.contains("standard input does not describe the kinds of a daemon: kinds is missing"))
        #expect(await Bench.run(["validate", "-", "--kinds", "-"], input: text).status == .usage)
    }

    @Test func `a daemon whose socket is named is asked what it knows`() async throws {
        let bench = try await Bench()
        let text = "system: kitchen\nkind: speaker\n"
        #expect(await Bench.run(["validate", "-", "--socket", bench.socket], input: text).status == .success)
        let schema = await Bench.run(["schema", "--socket", bench.socket])
        #expect(schema.output.contains(#""enum": ["speaker"]"#))
        #expect(!(await Bench.run(["schema"])).output.contains("speaker"))
        // A file tells more than the daemon.
        let file = await Bench.run(["validate", "-", "--socket", bench.socket, "--kinds", "/nowhere"], input: text)
        #expect(file.error.contains("'/nowhere' does not describe the kinds of a daemon: "))
        #expect(await Bench.run(["schema", "--host", "there", "--kinds", "-"], input: "{}").status == .usage)
        await bench.service.close()
    }

    @Test func `quietly only diagnostics are printed`() async {
        #expect(await Bench.run(["validate", "--quiet", "-"], input: Self.good).output == "")
        #expect(await Bench.run(["validate", "--quiet", "-"], input: Self.broken).output.hasSuffix("'Off'?\n"))
    }

    @Test func `colours are for terminals`() async {
        let onTerminal = await Bench.run(["validate", "-"], input: Self.broken, isTerminal: true)
        #expect(onTerminal.output.contains("\u{1B}[1;31merror: \u{1B}[0m"))
        let without = await Bench.run(
            ["validate", "-"], variables: ["NO_COLOR": "1"], input: Self.broken, isTerminal: true)
        #expect(!without.output.contains("\u{1B}"))
    }

    @Test func `an initial state that cannot be computed is an error`() async {
        let text = """
            system: a
            states: { A: { n: int } }
            initialState: { A: { n: "${1 / (int(now) - int(now))}" } }
            """
        let result = await Bench.run(["validate", "-"], input: text)
        #expect(result.status == .refused)
        #expect(
            result.output.hasPrefix(
                "<stdin>:3:17: error: the initial state of 'a' cannot be computed: 1 / 0: division by zero [initial-state]\n"
            ))
    }

    @Test func `json is one object`() async throws {
        let nothing = await Bench.run(["validate", "/nowhere/there"])
        #expect(nothing.output.hasSuffix("\n/nowhere/there is not valid: 1 error\n"))
        let result = await Bench.run(["validate", "--format", "json", "-"], input: Self.broken)
        let json = try JSONValue(parsing: result.output)
        #expect(json["valid"] == false)
        #expect(json["errors"] == 1)
        #expect(json["warnings"] == 0)
        #expect(json["files"] == ["<stdin>"])
        #expect(json["systems"] == .null)
        let diagnostic = try #require(json["diagnostics"]?.arrayValue?.first)
        #expect(
            diagnostic == [
                "severity": "error", "code": "unknown-state", "message": "'lamp' has no state 'Of'",
                "file": "<stdin>", "line": 6, "column": 49, "length": 2, "hint": "did you mean 'Off'?",
                "excerpt": "transitions: { Off: { Press: On }, On: { Press: Of } }",
            ])
        #expect(
            try JSONValue(parsing: await Bench.run(["validate", "--json", "-"], input: Self.good).output)["valid"]
                == true)
    }

    @Test func `sarif has a rule and a result for each diagnostic`() async throws {
        let result = await Bench.run(["validate", "--format", "sarif", "-"], input: Self.broken)
        let json = try JSONValue(parsing: result.output)
        #expect(json["version"] == "2.1.0")
        let run = try #require(json["runs"]?.arrayValue?.first)
        #expect(run["tool"]?["driver"]?["rules"]?.arrayValue?.first?["id"] == "unknown-state")
        let found = try #require(run["results"]?.arrayValue?.first)
        #expect(found["ruleId"] == "unknown-state")
        #expect(found["ruleIndex"] == 0)
        #expect(found["level"] == "error")
        let place = try #require(found["locations"]?.arrayValue?.first?["physicalLocation"])
        #expect(place["artifactLocation"]?["uri"] == "%3Cstdin%3E")
        #expect(place["region"] == ["startLine": 6, "startColumn": 49, "endColumn": 51])
    }

    @Test func `several files are one configuration, and one that is missing is told`() async throws {
        let result = await Bench.run(["validate", "/nowhere/a.yaml", "-", "/nowhere/a.yaml"], input: Self.good)
        #expect(
            result.output
                == """
                /nowhere/a.yaml:1:1: error: cannot open '/nowhere/a.yaml': No such file or directory [unreadable]
                  hint: is the path right?
                /nowhere/a.yaml, -, /nowhere/a.yaml is not valid: 1 error in 1 file

                """.replacing(", -,", with: ", standard input,"))
        #expect(result.status == .refused)
    }

    @Test func `help has examples and says how it ends`() async {
        let result = await Bench.run(["validate", "--help"])
        #expect(result.status == .success)
        #expect(result.output.contains("EXAMPLES\n  mediatorctl validate"))
        #expect(result.output.contains("EXIT STATUS\n   0  valid\n"))
    }

    @Test(arguments: [["validate", "--format", "xml"], ["validate", "--json", "--format", "sarif"]])
    func `a wrong command line ends with 2`(arguments: [String]) async {
        #expect(await Bench.run(arguments).status == .usage)
    }
}
