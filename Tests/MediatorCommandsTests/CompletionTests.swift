import MediatorCommands
import Testing
import Varlink

/// The proposals for the next word, with and without a daemon.
@Suite(.timeLimit(.minutes(5)))
struct CompletionTests {
    static let cases: [(words: [String], proposals: [String])] = [
        (["sta"], ["status"]), (["to"], ["top"]), (["completion", ""], ["bash", "zsh", "fish"]),
        (["list", "b"], ["buses"]), (["list", "--w"], ["--waits"]), (["help", "gr"], ["graph"]), (["bri"], []),
        (["comple"], ["completion"]),
        (["status", "--jso"], ["--json"]), (["status", "--json", "--jso"], []),
        (["--socket", "/x", "sta"], ["status"]), (["--so"], ["--socket"]),
        (["show", "disk"], ["disk-guard"]), (["show", "t"], ["temperature", "tell-full"]),
        (["show", "bus:a"], ["bus:alarms"]), (["show", "system:"], ["system:backup", "system:disk-guard"]),
        (["tap", "disk-guard", "al"], ["alarms"]), (["restart", ""], ["backup", "disk-guard"]),
        (["emit", ""], ["backup", "disk-guard"]), (["emit", "disk-guard", ""], ["Reset", "Measured"]),
        (["emit", "disk-guard", "Measured", ""], ["percent=", "mount=", "within="]),
        (["emit", "disk-guard", "Measured", "percent=1", "m"], ["mount="]),
        (["emit", "disk-guard", "Measured", "--wait", ""], ["Unknown", "Full"]),
        (["emit", "disk-guard", "Measured", "--wait=F"], ["--wait=Full"]),
        (["publish", "al"], ["alarms"]), (["publish", "alarms", ""], ["text=", "severity="]),
        (["publish", "backup", "on", "--wait", "disk"], ["disk-guard="]),
        (["publish", "backup", "on", "--wait", "disk-guard=F"], ["disk-guard=Full"]),
        (["detach", ""], ["tell-full"]), (["set", "t"], ["tell-full"]), (["cat-config", "tem"], ["temperature"]),
        (["graph", "--around", "al"], ["alarms"]), (["graph", "--format", "m"], ["mermaid"]),
        (["status", "--color", "a"], ["auto", "always"]), (["validate", "x"], [":files"]),
        (["graph", "--config", ""], [":directories"]), (["graph", "--config=x"], [":directories"]),
        (["status", "--socket", ""], [":files"]),
        (["attach", "x", "--system", "disk"], ["disk-guard"]), (["attach", "x", "--to", "al"], ["alarms"]),
        (["attach", "x", "--system", "disk-guard", "--on-state", "F"], ["Full"]),
        (["attach", "x", "--system=disk-guard", "--on-state", "U"], ["Unknown"]),
        (["attach", "x", "--on-state", ""], []), (["attach", "x", "--to-system", "b"], ["backup"]),
        (["set", "tell-full", "em"], ["emitValue=", "emitEvent="]),
        (["set", "tell-full", "emitValue=x", "em"], ["emitEvent="]),
        (["store", "f"], ["forget"]), (["store", "check", ""], []), (["store", "forget", "d"], ["disk-guard"]),
        (["store", "forget", "system:"], ["system:disk-guard", "system:gone"]),
        (["why-not", "disk-guard", "Measured", "m"], ["mount="]), (["log-level", "d"], ["debug", "default"]),
        (["nothing", ""], []), (["emit", "no-such", ""], []), (["status", "x"], []),
    ]

    @Test(arguments: cases.indices)
    func `what may come next is proposed`(index: Int) async throws {
        let bench = try await Bench()
        let (words, proposals) = Self.cases[index]
        let variables = ["MEDIATORD_SOCKET": bench.socket]
        let result = await Bench.run(["complete", "--"] + words, variables: variables)
        #expect(result.status == .success && result.error.isEmpty)
        let told = result.output.split(separator: "\n").map { $0.prefix { $0 != "\t" } }
        #expect(told == proposals.map { $0[...] }, "\(words)")
        // The same as a line of a shell.
        let line = (["mediatorctl"] + words).joined(separator: " ")
        #expect(await Bench.run(["complete", "--line", line], variables: variables) == result)
        await bench.service.close()
    }

    @Test func `a line is read as a shell reads it`() async throws {
        let bench = try await Bench()
        for line in ["m show 'disk-g", "m  show \"disk-g", "m show di\\sk-g", "'my ctl' show disk-"] {
            let result = await bench.run("complete", "--line", line)
            #expect(result.output == "disk-guard\tIs a disk filling?\n", "\(line)")
        }
        await bench.service.close()
    }

    @Test func `where there is no daemon names are not proposed, and nothing is said`() async {
        for words in [["show", ""], ["emit", "a", ""], ["publish", "a", "b", "--wait", "x="]] {
            let variables = ["MEDIATORD_SOCKET": "/nowhere/socket"]
            let result = await Bench.run(["complete", "--"] + words, variables: variables)
            #expect(result == .init(status: .success, output: "", error: ""))
        }
        #expect(await Bench.run(["complete", "--", "stat"]).output.hasPrefix("status\t"))
    }

    @Test func `a daemon that does not answer does not hold up the shell`() async throws {
        let bench = try await Bench { $0.maximumConnections = 0 }
        let result = await Bench.run(
            ["complete", "--", "show", ""], variables: ["MEDIATORD_SOCKET": bench.socket],
            completionLimit: .milliseconds(50))
        #expect(result == .init(status: .success, output: "", error: ""))
        await bench.service.close()
    }
}
