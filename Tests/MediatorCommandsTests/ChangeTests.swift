import MediatorCommands
import MediatorControl
import StrictJSON
import Testing
import Varlink

/// The calls, output and exit codes of `attach`, `detach` and `set`.
@Suite(.timeLimit(.minutes(5)))
struct ChangeTests {
    static let table = """
        PART  NAME       ACTION  WHY
        link  tell-full  change  its definition has changed

        """
    static let hint = "It is in no file, and holds until mediatord ends; 'mediatorctl set NAME --persist' writes it.\n"

    /// A command line with its call and its output.
    static let changes: [(arguments: [String], asked: String, text: String)] = [
        (
            ["attach", "x", "{ to: y }"], "{ to: y } []",
            table + "link 'x' attached: 2 kept; 1 link changed\n" + hint.replacing("NAME", with: "x")
        ),
        (
            [
                "attach", "link:x", "--system", "a", "--to", "b", "--on-state", "S", "--when", "state.n == \"1\"",
                "--emit-value", "{ c: 1 }", "--loop", "1 per 1s", "--persist",
            ],
            #"none ["attach=a", "to=b", "onState=S", "when=\"state.n == \\\"1\\\"\"", "emitValue={ c: 1 }", "#
                + #""loop.limit=1 per 1s"]"#,
            table + "link 'x' attached: 2 kept; 1 link changed\nwritten: /etc/mediatord/90-mediatorctl.yaml\n"
        ),
        (
            ["attach", "x", "--to-system", "s", "--on-value", "1", "--emit-event", "E", "--dry-run", "--persist"],
            #"none ["toSystem=s", "onValue=1", "emitEvent=E"]"#,
            table + """
                link 'x' would be attached: 2 kept; 1 link changed
                written would be /etc/mediatord/90-mediatorctl.yaml:
                  # Written
                  links: {}

                """
        ),
        (
            ["attach", "x", "-"], "to: input [" + "]",
            table + "link 'x' attached: 2 kept; 1 link changed\n" + hint.replacing("NAME", with: "x")
        ),
        (
            // An option may add a key, and describe the effect of the definition.
            ["attach", "x", "{ to: y, when: a > 1, loop: { limit: 1 per 1s } }", "--when", "a > 1", "--hops", "2"],
            #"{ to: y, when: a > 1, loop: { limit: 1 per 1s } } ["when=\"a > 1\"", "loop.hops=2"]"#,
            table + "link 'x' attached: 2 kept; 1 link changed\n" + hint.replacing("NAME", with: "x")
        ),
        (
            ["detach", "tell-full"], "detach",
            table + "link 'tell-full' detached: 2 kept; 1 link changed\n"
                + hint.replacing("set NAME", with: "detach tell-full")
        ),
        (
            ["set", "tell-full", "when=a == b", "loop="], #"["when=\"a == b\"", "loop="]"#,
            table + "link 'tell-full' changed: 2 kept; 1 link changed\n" + hint.replacing("NAME", with: "tell-full")
        ),
        (
            ["set", "tell-full", "--persist"], "[]",
            table + "link 'tell-full' changed: 2 kept; 1 link changed\n"
                + "written: /etc/mediatord/90-mediatorctl.yaml\n"
        ),
    ]

    @Test(arguments: changes.indices)
    func `a change is asked for and told as it is`(index: Int) async throws {
        let change = Self.changes[index]
        let bench = try await Bench()
        let variables = ["MEDIATORD_SOCKET": bench.socket]
        let result = await Bench.run(change.arguments, variables: variables, input: "to: input")
        #expect(result == .init(status: .success, output: change.text, error: ""))
        #expect(bench.handler.changes == [change.asked])
        let json = await Bench.run(change.arguments + ["--json"], variables: variables, input: "to: input")
        let reply = try JSONValue(parsing: json.output).objectValue
        #expect(reply?["applied"] == .bool(!change.arguments.contains("--dry-run")))
        await bench.service.close()
    }

    @Test func `what is rejected ends with 1, what is late with 3`() async throws {
        let broken = try await Bench(health: .failed)
        let diagnostic = "<control x>:1:1: error: wrong\n"
        #expect(
            await broken.run("set", "tell-full", "a=b")
                == .init(
                    status: .refused,
                    output: diagnostic + "rejected, nothing has changed: 1 error in the configuration\n", error: ""))
        #expect(
            await broken.run("attach", "x", "{}", "--dry-run")
                == .init(
                    status: .refused, output: diagnostic + "it would be rejected: 1 error in the configuration\n",
                    error: ""))
        await broken.service.close()
        let slow = try await Bench(health: .starting)
        let late = await slow.run("detach", "tell-full")
        #expect(late.status == .appliedLate)
        #expect(late.output.hasSuffix("slow: not ready in time\n"))
        await slow.service.close()
    }

    @Test(arguments: [
        (
            ["attach", "tell-full", "{}"], CommandStatus.refused,
            "mediatorctl: there is another link 'tell-full' already\nChange it with `mediatorctl set tell-full …`, or take "
                + "it away with `mediatorctl detach tell-full`.\n"
        ),
        (["detach", "tell"], .refused, "mediatorctl: there is no link 'tell'; did you mean 'tell-full'?\n"),
        (
            ["detach", "tell-full", "--persist"], .refused,
            "mediatorctl: '/etc/mediatord/x.yaml' cannot be written, so nothing has changed: Read-only file system\nLet "
                + "mediatord's user write there (its owner or an ACL, and under systemd an empty ReadOnlyPaths= and "
                + "ReadWritePaths=); or leave out --persist, and write yourself what --persist --dry-run shows.\n"
        ),
        (
            ["set", "tell@a", "x=y"], .refused,
            "mediatorctl: 'tell@a' is one of the links that 'tell' makes, one for each instance\nAll of them are changed "
                + "at once, as 'tell'.\n"
        ),
        (
            ["attach", "x", "{ attach: b, emitEvent: E }", "--system", "a"], .usage,
            "mediatorctl: the definition says something else of 'attach' than --system\nLeave one of the two out.\n"
        ),
        (
            ["attach", "x", "{ attach: b, loop: 3 }", "--hops", "4"], .usage,
            "mediatorctl: the definition says something else of 'loop.hops' than --hops\nLeave one of the two out.\n"
        ),
        (
            ["attach", "x", "{ when: a == 1 }", "--when", "a == 2"], .usage,
            "mediatorctl: the definition says something else of 'when' than --when\nLeave one of the two out.\n"
        ),
        (["set", "bus:alarms", "x=y"], .usage, "mediatorctl: only a link can be changed so\n"),
        (
            ["set", "away", "x=y"], .refused,
            "mediatorctl: the link 'away' was detached\n`mediatorctl attach away` brings it back.\n"
        ),
        (
            ["detach", "late", "--persist"], .refused,
            "mediatorctl: '/a/90.yaml' cannot be written, so nothing has changed: '/a/95.yaml' is later\n"
                + "Change the link in '/a/95.yaml' and `mediatorctl reload`, or leave out --persist.\n"
        ),
        (
            ["set", "tell-full", "when=a", "to=b", "when=c"], .usage,
            "Error: 'when' is set twice; give it one value.\nUsage: mediatorctl set <name> [<key=value> ...] [--persist] [--dry-run] [--all] [--socket <path>] [--host <user@machine>] [--json] [--color <when>] [--timeout <time>]\n  See 'mediatorctl set --help' for more information.\n"
        ),
    ])
    func `what cannot be changed is told with what to do instead`(
        arguments: [String], status: CommandStatus, error: String
    ) async throws {
        let bench = try await Bench()
        let result = await Bench.run(arguments, variables: ["MEDIATORD_SOCKET": bench.socket])
        #expect(result == .init(status: status, output: "", error: error))
        if error.hasPrefix("mediatorctl: ") {
            let json = await Bench.run(arguments + ["--json"], variables: ["MEDIATORD_SOCKET": bench.socket])
            try CommandTests.checkJSON(json, status: status, text: error)
        }
        await bench.service.close()
    }

    @Test func `that there was nothing to do is told`() async throws {
        let bench = try await Bench()
        #expect(
            await bench.run("attach", "there", "{}")
                == .init(status: .success, output: "nothing has changed: link 'there' is there already\n", error: ""))
        #expect(
            await bench.run("attach", "there", "--dry-run")
                == .init(status: .success, output: "nothing would change: link 'there' is there already\n", error: ""))
        let reply = try JSONValue(parsing: await bench.run("attach", "there", "--json").output).objectValue
        #expect(reply?["changed"] == false && reply?["applied"] == true)
        await bench.service.close()
    }

    @Test func `what is in no file is seen in status and list`() async throws {
        let bench = try await Bench(health: .degraded)
        let status = await bench.run("status").output
        #expect(status.contains("changing the link 'ring' since 11:59:00 (1 min ago); 1 other waits\n"))
        #expect(status.contains("change of the link 'ring' rejected 11:57:00 (3 min ago): 1 error\n"))
        #expect(status.contains("since the start 1 reload or link change applied, 2 rejected\n"))
        #expect(status.contains("2 links are changed in no file; see mediatorctl list links\n"))
        let links = await bench.run("list", "links").output
        #expect(
            links == """
                LINK       RULE                               FIRED  LAST FIRED            TRANSIENT
                tell-full  disk-guard ── Full ──▶ bus alarms      1  11:57:00 (3 min ago)  changed

                detached, and in no file: ring

                """)
        let json = try JSONValue(parsing: await bench.run("list", "links", "--json").output).objectValue
        #expect(json?["changes"]?.arrayValue?.count == 2)
        #expect(await bench.run("reload", "--drop-transient").output == "reloaded: dropped\n")
        for name in ["ring", "link:ring"] {
            let shown = await bench.run("show", name)
            #expect(
                shown.error == "mediatorctl: the link 'ring' was detached\n`mediatorctl attach ring` brings it back.\n")
        }
        await bench.service.close()
    }

    @Test func `the configuration that runs is shown with where each value comes from`() async throws {
        let bench = try await Bench()
        let output = await bench.run("cat-config", "--running").output
        #expect(
            output == """
                # /etc/mediatord/a.yaml
                # <control l>
                buses: { b: { kind: passthrough, value: int } }  # /etc/mediatord/a.yaml:2
                links:
                  l:
                    to: b                                        # <control l>:3
                ---
                # <control m>
                links:
                  m: { to: b }  # <control m>:3

                """)
        #expect(await bench.run("cat-config", "--running", "m").output.hasPrefix("# <control m>\n"))
        await bench.service.close()
        #expect(await Bench.run(["cat-config", "--running", "--socket", "/nowhere/x"]).status == .noConnection)
    }
}
