import MediatorCommands
import MediatorControl
import Testing
import Varlink

/// The output of each verb for the sample answers, letter by letter.
struct RenderingTests {
    static let texts: [(arguments: [String], text: String)] = [
        (
            ["status"],
            """
            mediatord 0.1.0, process 4242, up 3 h
            healthy: 1 healthy, 1 stopped
            2 systems, 3 buses, 1 link from /etc/mediatord, /run/mediatord

            SYSTEM      HEALTH   STATE                                          SINCE                   EVENTS  DROPPED  FAULTS  DESCRIPTION
            backup      stopped  Paused                                         Nov 19 02:13 (2 d ago)       7        4       1
            disk-guard  healthy  Full mount=/var note="nearly full" percent=97  11:57:00 (3 min ago)      1234                   Is a disk filling?

            """
        ),
        (
            ["list", "systems"],
            """
            SYSTEM      HEALTH   STATE                                          SINCE                   EVENTS  DROPPED  FAULTS  DESCRIPTION
            backup      stopped  Paused                                         Nov 19 02:13 (2 d ago)       7        4       1
            disk-guard  healthy  Full mount=/var note="nearly full" percent=97  11:57:00 (3 min ago)      1234                   Is a disk filling?

            """
        ),
        (
            ["list", "buses"],
            #"""
            BUS          KIND          TYPE    VALUE            SINCE               PUBLISHED  DROPPED  READERS  WRITERS  DESCRIPTION
            alarms       passthrough   alarms                                               3        1        1        1
            backup       currentValue  string  "off\u001b[31m"  11:59:59 (1 s ago)          1                 0        0  What the backup says
            temperature  currentValue  double  21.5                                         0                 0        0

            """#
        ),
        (
            ["list", "links"],
            """
            LINK       RULE                               FIRED  LAST FIRED
            tell-full  disk-guard ── Full ──▶ bus alarms      1  11:57:00 (3 min ago)

            """
        ),
        (
            ["show", "disk-guard"],
            """
            system disk-guard
              Is a disk filling?
              kind       disk
              health     healthy
              state      Full mount=/var note="nearly full" percent=97
              since      11:57:00 (3 min ago)
              counters   1234 events, 12 transitions, 3 unhandled, 0 dropped, 0 faults
              mailbox    limit 64, fail
              effects    1 running, 2 waiting
              on faults  restart after 1s, at most 1m; 10 per 10m, then stop
              ready      in Idle within 1m30s, otherwise restart
              watchdog   2m
              group      storage (rest): disk-guard, backup
              links      tell-full
              source     /etc/mediatord/disk.yaml:1

            with
              PARAMETER  TYPE              VALUE
              mounts     list(string)      ["/","/var"]
              share      optional(string)
              token      string            (not shown)

            states
              STATE                   FIELDS
              Unknown  initial
              Full     now, degraded  percent: int, mount: string, note: string

            events
              EVENT     FIELDS
              Reset
              Measured  percent: int (between 0 and 100), mount: string, within: duration

            transitions
              FROM  ON        TO       WHEN
              any   Measured  Full     event.percent > 90
              Full  Reset     Unknown

            feedbacks
              FEEDBACK  ON STATE  STRATEGY                    RUNNING  WAITING  NEXT               EFFECT
              probe     any       continueOnNewState, queued        1        2  12:00:04 (in 4 s)  every 5s: run df --output=pcent

            outcomes
              FEEDBACK  OUTCOME    EMITS     WHEN
              probe     onSuccess  Measured  result.exitCode == 0
              probe     onFailure  Reset

            """
        ),
        (
            ["show", "system:backup"],
            """
            system backup
              health      stopped
              state       Paused
              since       Nov 19 02:13 (2 d ago)
              counters    7 events, 2 transitions, 0 unhandled, 4 dropped, 1 fault, 2 restarts, 1 reset
              mailbox     limit 1024, dropOldest
              unhandled   warn
              effects     0 running, 0 waiting
              on faults   stop
              last fault  the expression 'a / b' divides by zero

            states
              STATE
              Paused  now, initial

            """
        ),
        (
            ["show", "alarms"],
            """
            bus alarms
              kind          passthrough
              type          text: string, severity: int
              published     3
              dropped       1 (limit 1024, dropOldest)
              readers       1
              writers       1
              from outside  written to and read by other programs
              links         tell-full
              source        /etc/mediatord/buses.yaml:3

            """
        ),
        (
            ["show", "link:tell-full"],
            """
            link tell-full
              disk-guard ── Full ──▶ bus alarms
              system      disk-guard
              bus         alarms
              fires on    onState: Full
              emits       { text: "disk full", severity: 3 }
              fired       1 time
              last fired  11:57:00 (3 min ago)
              limit       10 per 1s, and for what has come over 16 links at most
              source      /etc/mediatord/buses.yaml:9

            """
        ),
        (
            ["tap", "disk-guard", "--count", "2"],
            """
            11:57:00  is Unknown
            … 2 changes missed, as they were read too slowly
            11:58:30  Unknown ─ Measured(mount=/var percent=97) → Full mount=/var note="nearly full" percent=97

            """
        ),
        (
            ["tap", "temperature", "--count", "2"],
            """
            11:59:59  is 21.5
            Nov 20 10:00  {"a":[1,"b c"]}

            """
        ),
        (
            ["tap", "--count", "5"],
            """
            11:57:00  disk-guard  is Unknown
            11:59:59  temperature  is 21.5
            … 2 changes missed, as they were read too slowly
            11:58:30  disk-guard   Unknown ─ Measured(mount=/var percent=97) → Full mount=/var note="nearly full" percent=97
            11:58:30  tell-full    → {"text":"full"}
            11:59:00  backup       has ended
            11:59:00  backup       begins
            11:59:01  … 12 changes left out by --rate
            Nov 20 10:00  temperature  {"a":[1,"b c"]}

            """
        ),
        (
            ["graph"],
            """
            backup
            disk-guard
            └─ tell-full → bus alarms
            bus backup
            bus temperature

            """
        ),
        (
            ["graph", "--live", "--around", "alarms"],
            """
            disk-guard  Full mount=/var note="nearly full" percent=97
            └─ tell-full ×1 → bus alarms  1 dropped

            """
        ),
        (
            ["emit", "disk-guard", "Measured", "percent=5", "mount=/var log", "within=1h30m"],
            "emitted Measured mount=\"/var log\" percent=5 within=1h30m to system disk-guard\n"
        ),
        (
            ["publish", "alarms", "text=disk full", "severity=3"],
            "published {\"severity\":3,\"text\":\"disk full\"} on bus alarms\n"
        ),
        (["publish", "temperature", "--", "-5"], "published -5.0 on bus temperature\n"),
        (
            ["why", "disk-guard"],
            #"""
            disk-guard is in Paused since 11:57:00 (3 min ago)
              by the event Pause
              which the link pause made of a value of the bus uplink
              the bus uplink got "down\u{1b}[31m", 11:57:00
              put there by the link tell
            uplink was in Down { reason: "no answer" } since 11:56:58 (3 min ago)
              emitted by a client (user 0, process 7), 11:56:58

            """#
        ),
        (
            ["why", "disk-guard", "--limit", "1"],
            #"""
            disk-guard is in Paused since 11:57:00 (3 min ago)
              by the event Pause
              which the link pause made of a value of the bus uplink
              the bus uplink got "down\u{1b}[31m", 11:57:00
              put there by the link tell
              and 1 earlier state, which --limit leaves out

            """#
        ),
        (
            ["why-not", "disk-guard", "Measured"],
            """
            disk-guard is in Full mount=/var note="nearly full" percent=97 since 11:57:00 (3 min ago)
            Measured would lead to Idle, if the condition holds.
              Full: Measured → Idle when event.percent < 90  disk.yaml:12:9
                open: it depends on event.percent
              any: Measured → stay  disk.yaml:14:9
                open: not tried, since one before it may hold
            What sends Measured:
              link measure: bus sizes → disk-guard  a.yaml:3:3
                no: value > 3 — false, value is 2
                it fires at each value of the bus sizes; it fired last at 11:57:00
              feedback probe: every 5s: run df  disk.yaml:5:3
                it emits it on onSuccess; its time is at 12:00:03

            """
        ),
        (
            ["why-not", "disk-guard", "Measured", "percent=95", "mount=/", "within=1s"],
            """
            disk-guard is in Full mount=/var note="nearly full" percent=97 since 11:57:00 (3 min ago)
            It would handle Measured, and stay as it is.
              Full: Measured → Idle when event.percent < 90  disk.yaml:12:9
                no: event.percent < 90 — false, event.percent is 95
              any: Measured → stay  disk.yaml:14:9
            What sends Measured:
              link measure: bus sizes → disk-guard  a.yaml:3:3
                no: value > 3 — false, value is 2
                it fires at each value of the bus sizes; it fired last at 11:57:00
              feedback probe: every 5s: run df  disk.yaml:5:3
                it emits it on onSuccess; its time is at 12:00:03

            """
        ),
        (
            ["why-not", "disk-guard", "Reset"],
            """
            disk-guard is in Full mount=/var note="nearly full" percent=97 since 11:57:00 (3 min ago)
            Full has no transition on Reset; there is one in Idle and Filling.
            No link and no feedback sends Reset: it comes from outside only, such as by `mediatorctl emit`.

            """
        ),
        (
            ["why-not", "disk-guard", "Measured", "percent=80"],
            """
            disk-guard is in Full mount=/var note="nearly full" percent=97 since 11:57:00 (3 min ago)
            Measured would change nothing: the `set` of 'share' fails, which is a fault.
              Full: Measured → Idle when event.percent < 90  disk.yaml:12:9
                yes: event.percent < 90 — true, event.percent is 80
                fails: set share: state.percent / event.step — error: 97 / 0: division by zero, event.step is 0
            No link and no feedback sends Measured: it comes from outside only, such as by `mediatorctl emit`.

            """
        ),
        (
            ["trace", "disk-guard"],
            #"""
            Nov 19 02:13  began in Idle
            11:56:30  the feedback follow in Idle came after 30s to onLine { line: "x" } (and 1 before)
            11:57:00  Idle → Full { percent: 97 } on Measured { percent: 97 }
                no: event.percent < 90 — false, event.percent is 97
                yes: event.percent > 95 — true, event.percent is 97
            11:58:00  the feedback follow in Idle came after 2m to onLine { line: "y" }
            11:59:00  dropped Reset: mailboxFull\u{1b}[0m

            """#
        ),
    ]

    @Test(arguments: texts.indices)
    func `each verb prints for people what it always did`(index: Int) async throws {
        let bench = try await Bench()
        let (arguments, text) = Self.texts[index]
        let result = await Bench.run(arguments, variables: ["MEDIATORD_SOCKET": bench.socket])
        #expect(result == .init(status: .success, output: text, error: ""))
        await bench.service.close()
    }

    static let system =
        #"{"counters":{"dropped":0,"events":1234,"faults":0,"resets":0,"restarts":0,"transitions":12,"unhandled":3},"#
        + #""description":"Is a disk filling?","effectsRunning":1,"effectsWaiting":2,"health":"healthy","name":"disk-guard","#
        + #""since":"2026-11-21T11:57:00Z","state":{"data":{"mount":"/var","note":"nearly full","percent":97},"#
        + #""name":"Full"},"waiting":0,"waitingBytes":0}"#
    static let backup =
        #"{"counters":{"dropped":4,"events":7,"faults":1,"resets":1,"restarts":2,"transitions":2,"unhandled":0},"effectsRunning":0,"effectsWaiting":0,"#
        + #""health":"stopped","name":"backup","since":"2026-11-19T02:13:00.250Z","#
        + #""state":{"data":{},"name":"Paused"},"waiting":0,"waitingBytes":0}"#
    static let link =
        #"{"bus":"alarms","description":"disk-guard ── Full ──▶ bus alarms","dropped":0,"fired":1,"form":"systemToBus","#
        + #""lastFired":"2026-11-21T11:57:00Z","name":"tell-full","open":false,"origin":"written","#
        + #""system":"disk-guard"}"#

    static let objects: [(arguments: [String], lines: [String])] = [
        (
            ["status"],
            [
                #"{"buses":3,"configuration":["/etc/mediatord","/run/mediatord"],"generation":1,"health":"healthy","links":1,"#
                    + #""pid":4242,"reloads":{"applied":1,"rejected":2},"rights":["read","inject","administer"],"started":"2026-11-21T09:00:00Z","statusText":"1 healthy, 1 stopped","#
                    + #""systems":[\#(backup),\#(system)],"transient":0,"version":"0.1.0"}"#
            ]
        ),
        (["list", "systems"], [#"{"systems":[\#(backup),\#(system)]}"#]),
        (
            ["trace", "disk-guard", "--limit", "1"],
            [
                #"{"steps":[{"guards":[],"kind":"dropped","more":0,"outcomes":[],"#
                    + #""text":"dropped Reset: mailboxFull\u001b[0m","time":"2026-11-21T11:59:00Z"}]}"#
            ]
        ),
        (["list", "links"], [#"{"changes":[],"links":[\#(link)]}"#]),
        (
            ["show", "temperature"],
            [
                #"{"bus":{"fields":[],"limit":1024,"links":[],"overflow":"dropOldest","#
                    + #""source":"/etc/mediatord/buses.yaml:3","summary":{"dropped":0,"kind":"currentValue","#
                    + #""name":"temperature","published":0,"readers":0,"value":21.5,"valueType":"double","writers":0}}}"#
            ]
        ),
        (
            ["show", "tell-full"],
            [
                #"{"link":{"condition":"onState: Full","emits":"{ text: \"disk full\", severity: 3 }","#
                    + #""hops":16,"limit":"10 per 1s","source":"/etc/mediatord/buses.yaml:9","summary":\#(link)}}"#
            ]
        ),
        (
            ["show", "system:backup"],
            [
                #"{"system":{"events":[],"feedbacks":[],"initialState":"Paused","#
                    + #""lastFault":"the expression 'a / b' divides by zero","links":[],"mailbox":{"limit":1024,"overflow":"dropOldest"},"#
                    + #""states":[{"fields":[],"name":"Paused"}],"summary":\#(backup),"#
                    + #""supervision":{"beyond":"stop","delay":"1s","limit":"10 per 10m","maxDelay":"1m","onFault":"stop"},"#
                    + #""transitions":[],"unhandled":"warn"}}"#
            ]
        ),
        (
            ["tap", "disk-guard", "--count", "2"],
            [
                #"{"dropped":0,"kind":"system","name":"disk-guard","replayed":true,"#
                    + #""state":{"data":{},"name":"Unknown"},"time":"2026-11-21T11:57:00Z","topic":"state"}"#,
                #"{"dropped":2,"event":"Measured","eventData":{"mount":"/var","percent":97},"kind":"system","#
                    + #""name":"disk-guard","previous":"Unknown","#
                    + #""replayed":false,"state":{"data":{"mount":"/var","note":"nearly full","percent":97},"#
                    + #""name":"Full"},"time":"2026-11-21T11:58:30Z","topic":"state"}"#,
            ]
        ),
        (
            ["tap", "temperature", "--count", "1"],
            [
                #"{"dropped":0,"kind":"bus","name":"temperature","replayed":true,"time":"2026-11-21T11:59:59Z","#
                    + #""topic":"value","value":21.5}"#
            ]
        ),
        (
            ["graph", "--around", "alarms", "--live"],
            [
                #"{"links":[{"description":"disk-guard ── Full ──▶ bus alarms","fired":1,"#
                    + #""from":{"kind":"system","name":"disk-guard"},"loop":false,"name":"tell-full","open":false,"#
                    + #""to":{"kind":"bus","name":"alarms"}}],"parts":[{"count":1234,"description":"Is a disk filling?","#
                    + #""dropped":0,"health":"healthy","kind":"system","name":"disk-guard","#
                    + #""state":{"data":{"mount":"/var","note":"nearly full","percent":97},"name":"Full"}},"#
                    + #"{"count":3,"dropped":1,"kind":"bus","name":"alarms"}]}"#
            ]
        ),
        (
            ["emit", "disk-guard", "Measured", "percent=5", "mount=/var", "within=5s"],
            [#"{"data":{"mount":"/var","percent":5,"within":"5s"},"event":"Measured","system":"disk-guard"}"#]
        ),
        (["publish", "backup", "on"], [#"{"bus":"backup","value":"on"}"#]),
    ]

    @Test(arguments: objects.indices)
    func `each verb prints as JSON one object on a line`(index: Int) async throws {
        let bench = try await Bench()
        let (arguments, lines) = Self.objects[index]
        let result = await Bench.run(arguments + ["--json"], variables: ["MEDIATORD_SOCKET": bench.socket])
        #expect(result == .init(status: .success, output: lines.map { $0 + "\n" }.joined(), error: ""))
        for line in lines { #expect(throws: Never.self) { try JSONValue(parsing: line) } }
        await bench.service.close()
    }

    @Test func `list without a word is everything in one object`() async throws {
        let bench = try await Bench()
        let output = await bench.run("list", "--json").output
        let value = try JSONValue(parsing: output)
        #expect(value.objectValue?.keys.sorted() == ["buses", "changes", "links", "systems"])
        await bench.service.close()
    }

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
        #expect(PlainText.value("a\u{9B}b") == "\"a\\u{9b}b\"")
        #expect(PlainText.fields(["b": 1, "a": "x=y"]) == "a=\"x=y\" b=1")
    }
}
