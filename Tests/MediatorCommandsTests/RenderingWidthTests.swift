import MediatorCommands
import MediatorControl
import StrictJSON
import Testing
import Varlink

extension RenderingTests {
    @Test func `a narrow terminal gets narrow lines`() async throws {
        let bench = try await Bench()
        for columns in [85, 100, 130, 200] {
            let result = await bench.run("status", columns: columns, variables: ["NO_COLOR": "1"])
            let longest = result.output.split(separator: "\n").map(\.count).max() ?? 0
            #expect(longest <= columns)
        }
        let narrow = await bench.run("status", columns: 90, variables: ["NO_COLOR": "1"])
        #expect(
            narrow.output.hasSuffix(
                """
                SYSTEM      HEALTH   STATE                 SINCE                   EVENTS  DROPPED  FAULTS
                backup      stopped  Paused                Nov 19 02:13 (2 d ago)       7        4       1
                disk-guard  healthy  Full mount=/var not…  11:57:00 (3 min ago)      1234

                """
            ),
            "\(narrow.output)"
        )
        await bench.service.close()
    }

    @Test func `a wide state moves no other column, also in a pipe`() async throws {
        let bench = try await Bench()
        let text = String(repeating: "x", count: 200)
        bench.handler.hold(["text": .string(text)])
        func column(of text: String, in lines: [String], behind start: String) throws -> Int {
            let line = try #require(lines.first { $0.hasPrefix(start) })
            let place = try #require(line.firstRange(of: text))
            return line.distance(from: line.startIndex, to: place.lowerBound)
        }
        for arguments in [["status"], ["list", "systems"]] {
            let output = await Bench.run(arguments, variables: ["MEDIATORD_SOCKET": bench.socket]).output
            let lines = output.split(separator: "\n").map(String.init)
            let place = try column(of: "SINCE", in: lines, behind: "SYSTEM")
            #expect(try column(of: "Nov 19", in: lines, behind: "backup") == place)
            #expect(try column(of: "11:57:00", in: lines, behind: "disk-guard") == place, "\(output)")
            #expect(output.contains("xxx…  11:57:00"))
        }
        #expect(await bench.run("show", "disk-guard").output.contains(text))
        #expect(await bench.run("status", "--json").output.contains(text))
        await bench.service.close()
    }

    @Test func `times in values are shown as on the clock`() async throws {
        let bench = try await Bench()
        let exact = "2026-11-21T11:52:14.239976038Z"
        bench.handler.hold(["since": .string(exact), "until": "2026-11-22T08:00:00Z", "times": [.string(exact)]])
        let shown = "Full since=11:52:14 times=[\"11:52:14\"] until=Nov 22 08:00"
        let all = [["status"], ["list", "systems"], ["show", "disk-guard"], ["why-not", "disk-guard", "Reset"]]
        for arguments in all {
            let output = await Bench.run(arguments, variables: ["MEDIATORD_SOCKET": bench.socket]).output
            #expect(output.contains(shown), "\(output)")
        }
        let why = await bench.run("why", "disk-guard").output
        #expect(why.hasPrefix("disk-guard is in Paused { since: 11:52:14 } since 11:57:00"), "\(why)")
        #expect(await bench.run("show", "disk-guard", "--json").output.contains(exact))
        await bench.service.close()
    }

    @Test func `the description gives way before anything else is cut`() async throws {
        let bench = try await Bench()
        func line(_ columns: Int) async -> String {
            let output = await bench.run("status", columns: columns, variables: ["NO_COLOR": "1"]).output
            return output.split(separator: "\n").last.map(String.init) ?? ""
        }
        // All of it has room in 140, a description that is not much shortened in 139, and the whole state without it.
        #expect(await line(142).hasSuffix("(3 min ago)      1234                   Is a disk filling?"))
        #expect(await line(115).hasSuffix("percent=97  11:57:00 (3 min ago)      1234"))
        await bench.service.close()
    }

    @Test(arguments: [50, 60, 80, 100])
    func `names in tables stay whole on any terminal that is wider than they are`(columns: Int) async throws {
        let bench = try await Bench()
        for (arguments, names) in [
            (["status"], ["backup", "disk-guard"]), (["list", "buses"], ["alarms", "backup", "temperature"]),
            (["list", "links"], ["tell-full"]), (["plan", "--all"], ["disk-guard"]),
        ] {
            let output = await Bench.run(
                arguments, columns: columns, variables: ["MEDIATORD_SOCKET": bench.socket, "NO_COLOR": "1"]
            ).output
            let words = output.split { $0.isWhitespace }
            for name in names { #expect(words.contains(name[...]), "\(output)") }
            guard arguments[0] == "list" else { continue }
            #expect(output.split(separator: "\n").allSatisfy { TextWidth.columns(String($0)) <= columns })
        }
        let narrow = await bench.run("list", "buses", columns: 70, variables: ["NO_COLOR": "1"])
        #expect(
            narrow.output == """
                BUS          KIND   TYPE   VALUE  SINCE          PU…  DRO…  REA…  WRI…
                alarms       pass…  alar…                          3     1     1     1
                backup       curr…  stri…  "off…  11:59:59 (1 …    1           0     0
                temperature  curr…  doub…  21.5                    0           0     0

                """)
        let least = await bench.run("list", "buses", columns: 8, variables: ["NO_COLOR": "1"])
        #expect(least.output == "BUS\nalarms\nbackup\ntempera…\n")
        await bench.service.close()
    }

    @Test(arguments: [40, 60, 80, 120])
    func `what is said of one thing is cut on no terminal`(columns: Int) async throws {
        let bench = try await Bench()
        for name in ["disk-guard", "system:backup", "alarms", "link:tell-full"] {
            let variables = ["MEDIATORD_SOCKET": bench.socket, "NO_COLOR": "1"]
            let whole = await Bench.run(["show", name], variables: variables).output
            let shown = await Bench.run(["show", name], columns: columns, variables: variables).output
            #expect(!shown.contains("…"))
            func letters(_ text: String) -> [Character] { text.filter { !$0.isWhitespace }.sorted() }
            #expect(letters(shown) == letters(whole))
        }
        let shown = await bench.run("show", "disk-guard", columns: 50, variables: ["NO_COLOR": "1"])
        #expect(
            shown.output.contains(
                """
                  Measured  percent: int (between 0 and 100),
                            mount: string, within: duration

                """))
        await bench.service.close()
    }

    @Test func `text goes on below at a blank, and within a word that is too long`() {
        #expect(TextWidth.wrapped("every 5s: run df", to: 9) == ["every 5s:", "run df"])
        #expect(TextWidth.wrapped("every 5s: run df", to: 20) == ["every 5s: run df"])
        #expect(TextWidth.wrapped("run /usr/lib/something -x", to: 8) == ["run", "/usr/lib", "/somethi", "ng -x"])
        #expect(TextWidth.wrapped("", to: 5) == [""])
        #expect(TextWidth.wrapped("日本語です", to: 5) == ["日本", "語で", "す"])
    }

    @Test(arguments: [40, 60, 80])
    func `on a terminal no line of a table, a story or a tap is too wide, and in a pipe all are whole`(
        columns: Int
    ) async throws {
        let bench = try await Bench()
        for arguments in [
            ["list"], ["why", "disk-guard"], ["trace", "disk-guard"], ["tap", "--count", "5"],
        ] {
            let variables = ["MEDIATORD_SOCKET": bench.socket]
            bench.handler.forgetTraces()
            let plain = await Bench.run(arguments + ["--color", "never"], columns: columns, variables: variables)
            bench.handler.forgetTraces()
            let whole = await Bench.run(arguments, variables: variables)
            for line in plain.output.split(separator: "\n") {
                #expect(TextWidth.columns(String(line)) <= columns, "\(arguments): \(line)")
            }
            if columns == 40 { #expect(plain.output.contains("…") && whole.output.count > plain.output.count) }
            // Colours take no room, and end where the line does.
            bench.handler.forgetTraces()
            let colored = await Bench.run(arguments + ["--color", "always"], columns: columns, variables: variables)
            #expect(colored.output.replacing(/\u{1B}\[[0-9]*m/, with: "") == plain.output, "\(arguments)")
        }
        let why = await bench.run("why", "disk-guard", "--color", "never", columns: 48)
        #expect(why.output.contains("  which the link pause made of a value of the b…\n"))
        #expect(why.output.hasPrefix("disk-guard is in Pau… since 11:57:00 (3 min ago)\n"), "\(why.output)")
        await bench.service.close()
    }

    @Test(
        arguments: [
            (80, [:], true), (nil, [:], false), (80, ["NO_COLOR": "1"], false), (80, ["NO_COLOR": ""], true),
            (80, ["TERM": "dumb"], false), (80, ["TERM": "xterm"], true),
            (nil, ["COLOR": "always"], true), (80, ["COLOR": "never"], false),
        ] as [(Int?, [String: String], Bool)])
    func `colours are for terminals that want them`(columns: Int?, variables: [String: String], colored: Bool)
        async throws
    {
        let bench = try await Bench(health: .failed)
        let result = await bench.run(
            "status", "--color", variables["COLOR"] ?? "auto", columns: columns, variables: variables)
        #expect(result.output.contains("\u{1B}[31mfailed\u{1B}[0m") == colored)
        #expect(result.output.contains("\u{1B}") == colored)
        await bench.service.close()
    }

    @Test func `what comes from the daemon cannot steer the terminal`() {
        #expect(
            PlainText.cleaned("a\u{1B}[31m\n\u{9B}b\u{202E}c\u{2028}")
                == "a\\u{1b}[31m\\u{a}\\u{9b}b\\u{202e}c\\u{2028}")
        #expect(PlainText.cleaned("Grüße ── ▶ 日本") == "Grüße ── ▶ 日本")
        #expect(PlainText.value("a b") == "\"a b\"")
        #expect(PlainText.value("") == "\"\"")
        #expect(PlainText.value("a\u{9B}b") == #""a\u009bb""#)
        #expect(PlainText.fields(["b": 1, "a": "x=y"]) == "a=\"x=y\" b=1")
    }
}
