import Foundation
import MediatorCommands
import StrictJSON
import Testing
import Varlink

extension CommandTests {
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
            ("store", control), ("reload", control + [3]), ("attach", control + [3]),
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

    @Test(arguments: [
        ["frobnicate"], ["show"], ["tap", "x", "--count", "0"], ["tap", "x", "--count", "many"], ["list", "things"],
        ["list", "links", "--waits"],
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

    @Test func `an unknown verb shows the nearest`() async throws {
        let result = await Bench.run(["stauts"])
        #expect(result.error.hasPrefix("mediatorctl: there is no verb 'stauts'; did you mean 'status'?\n"))
        let foreign = await Bench.run(["stop", "disk-guard"])
        #expect(foreign.error.hasPrefix("mediatorctl: there is no verb 'stop'; `mediatorctl pause SYSTEM` holds "))
        // The verbs that it lists are those of --help.
        let help = await Bench.run(["--help"]).output
        let verbs = try #require(result.error.split(separator: "\nVerbs: ").last?.split(separator: ". See").first)
        for verb in verbs.split(separator: ", ") { #expect(help.contains("\n  \(verb) "), "\(verb)") }
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
}
