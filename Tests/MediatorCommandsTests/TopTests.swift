import MediatorCommands
import MediatorControl
import StrictJSON
import Testing
import Varlink

/// The model of `top`, its keys and its screen, without a terminal.
struct TopTests {
    /// 2026-11-21T12:00:00Z
    private static let now: Int64 = 1_795_262_400

    private static func system(_ name: String, events: Int, dropped: Int = 0, health: Health = .healthy)
        -> SystemSummary
    {
        SystemSummary(
            name: name, health: health, state: SystemState(name: "On", data: ["n": .int(Int64(events))]),
            since: "2026-11-21T11:57:00Z", counters: Counters(events: events, dropped: dropped), effectsRunning: 1)
    }

    /// Two systems, a bus and a link at a time, with their counters.
    private static func sample(_ time: Double, disk: Int, backup: Int, bus: Int, link: Int) -> TopModel.Sample {
        TopModel.Sample(
            time: time,
            status: StatusReply(
                version: "0.1.0", pid: 1, started: "2026-11-21T09:00:00Z", health: .degraded,
                statusText: "1 healthy, 1 degraded", configuration: [],
                systems: [
                    system("backup", events: backup, dropped: backup / 2, health: .degraded),
                    system("disk-guard", events: disk),
                ], buses: 1, links: 1),
            buses: [
                BusSummary(
                    name: "alarms", kind: .currentValue, valueType: "string", value: "a\u{1B}[2J", published: bus)
            ],
            links: [
                LinkSummary(
                    name: "tell", form: .systemToBus, system: "disk-guard", bus: "alarms", description: "disk → alarms",
                    fired: link, open: true, dropped: 4)
            ])
    }

    private static func model() -> TopModel {
        var model = TopModel()
        model.take(sample(1, disk: 100, backup: 10, bus: 5, link: 0))
        model.take(sample(3, disk: 500, backup: 30, bus: 5, link: 1))
        return model
    }

    private static func lines(_ model: TopModel, _ columns: Int = 100, _ rows: Int = 12) -> [String] {
        TopScreen(model: model, columns: columns, rows: rows, now: now).lines
    }

    @Test func `rates are what was counted between two samples, and the busiest is first`() {
        let model = Self.model()
        #expect(model.listed.map(\.name) == ["disk-guard", "backup", "tell", "alarms"])
        #expect(model.listed.map(\.rate) == [200, 10, 0.5, 0])
        #expect(model.listed.map(\.dropRate) == [0, 5, 0, 0])
    }

    @Test func `times are as on the clock for people, and as they travel for programs`() {
        var sample = Self.sample(1, disk: 0, backup: 0, bus: 0, link: 0)
        sample.status.systems[1].state.data = ["since": "2026-11-21T11:57:00.5Z"]
        sample.buses[0].value = "2026-11-21T11:58:00Z"
        func states(_ style: TextStyle?) -> [String] {
            var model = TopModel()
            model.take(sample, style)
            return model.rows.map(\.state).filter { $0.contains(":") && !$0.hasPrefix("held") }
        }
        #expect(states(TextStyle()) == ["On since=2026-11-21 11:57", "2026-11-21 11:58"])
        #expect(states(nil) == ["On since=2026-11-21T11:57:00.5Z", "2026-11-21T11:58:00Z"])
    }

    @Test func `what begins anew counts from zero`() {
        var model = Self.model()
        model.take(Self.sample(4, disk: 3, backup: 40, bus: 6, link: 1))
        #expect(model.rows.first { $0.name == "disk-guard" }?.rate == 0)
        #expect(model.rows.first { $0.name == "alarms" }?.rate == 1)
    }

    @Test func `the screen is as it is to be`() {
        let model = Self.model()
        #expect(
            Self.lines(model)
                == [
                    "mediatord 0.1.0  up 3 h  1 healthy, 1 degraded",
                    "2 systems 210 events/s, 1 bus 0 values/s, 1 link 0.5 firings/s, 2 effects running, 5.0 dropped/s",
                    "[1 all] 2 systems  3 buses  4 links   by rate",
                    "KIND    NAME          RATE/S       TOTAL   DROPS/S   DROPPED   RUNS  STATE",
                    "\u{1B}[7msystem  disk-guard       200         500                          1  On n=500"
                        + String(repeating: " ", count: 23) + "\u{1B}[0m",
                    "system  backup          10.0          30       5.0        15      1  degraded: On n=30",
                    "link    tell             0.5           1                   4         held back: disk → alarms",
                    "bus     alarms             0           5                             \"a\\u001b[2J\"", "", "", "",
                    "q quit  ? help  s sort  r reverse  / filter  tab view  enter open  w waits  space hold",
                ])
    }

    @Test(arguments: [(20, 6), (30, 7), (49, 10), (60, 24), (80, 24), (120, 40), (300, 100), (10, 3), (1, 1)])
    func `no line is wider than the screen, and there are as many as it has rows`(columns: Int, rows: Int) {
        var model = Self.model()
        for key in [nil, TopKey.letter("?"), .escape, .enter] {
            if let key { _ = model.press(key, pageLength: 5) }
            let lines = Self.lines(model, columns, rows)
            #expect(lines.count == rows)
            for line in lines {
                let shown = line.replacing(/\u{1B}\[[0-9;]*m/, with: "")
                #expect(TextWidth.columns(shown) <= columns, "\(shown)")
                #expect(!shown.contains("\u{1B}"))
            }
        }
    }

    @Test func `keys choose, sort, filter and open`() {
        var model = Self.model()
        #expect(model.press(.letter("s"), pageLength: 5) == nil && model.sort == .total)
        _ = model.press(.letter("s"), pageLength: 5)
        #expect(model.listed.first?.name == "backup" && model.sort == .drops)
        _ = model.press(.letter("r"), pageLength: 5)
        #expect(model.listed.last?.name == "backup")
        _ = model.press(.letter("3"), pageLength: 5)
        #expect(model.listed.map(\.name) == ["alarms"])
        _ = model.press(.letter("1"), pageLength: 5)
        for letter in "/DISK" { _ = model.press(.letter(letter), pageLength: 5) }
        #expect(model.isTyping && model.listed.map(\.name) == ["disk-guard"])
        #expect(model.press(.letter("q"), pageLength: 5) == nil)
        _ = model.press(.backspace, pageLength: 5)
        _ = model.press(.enter, pageLength: 5)
        #expect(!model.isTyping && model.filter == "DISK")
        #expect(model.press(.enter, pageLength: 5) == .open(.part(Target(kind: .system, name: "disk-guard"))))
        model.show(.part(Target(kind: .system, name: "other")), ["x"])
        #expect(model.page == .report(.part(Target(kind: .system, name: "disk-guard")), lines: nil))
        model.show(.part(Target(kind: .system, name: "disk-guard")), (1...20).map { "line \($0)" })
        _ = model.press(.pageDown, pageLength: 5)
        #expect(Self.lines(model, 80, 10)[3] == "line 6")
        for _ in 0..<9 { _ = model.press(.pageDown, pageLength: 5) }
        #expect(Self.lines(model, 80, 10)[3] == "line 16")
        #expect(model.press(.letter("q"), pageLength: 5) == nil && model.page == .list)
        _ = model.press(.escape, pageLength: 5)
        #expect(model.filter.isEmpty)
        #expect(model.press(.letter("q"), pageLength: 5) == .quit)
        #expect(model.press(.interrupt, pageLength: 5) == .quit)
    }

    @Test func `the pending waits are kept current until the page is left or the display is held`() {
        var model = Self.model()
        #expect(model.awaited == nil)
        #expect(model.press(.letter("w"), pageLength: 5) == .open(.waits) && model.awaited == .waits)
        model.show(.waits, ["a wait"])
        #expect(Self.lines(model)[3] == "a wait" && model.awaited == .waits)
        model.show(.waits, (1...20).map { "wait \($0)" })
        for _ in 0..<9 { _ = model.press(.pageDown, pageLength: 5) }
        // Most of them have ended.
        model.show(.waits, ["a wait"])
        #expect(Self.lines(model)[3] == "a wait")
        #expect(model.press(.letter(" "), pageLength: 5) == nil && model.awaited == nil)
        #expect(model.press(.letter(" "), pageLength: 5) == .sample && model.awaited == .waits)
        _ = model.press(.escape, pageLength: 5)
        #expect(model.page == .list && model.awaited == nil)
        // A late answer changes nothing.
        model.show(.waits, ["a wait"])
        #expect(model.page == .list)
        _ = model.press(.letter(" "), pageLength: 5)
        #expect(model.press(.letter("w"), pageLength: 5) == .open(.waits) && model.awaited == .waits)
        model.show(.waits, ["a wait"])
        #expect(model.awaited == nil)
        // A part is fetched once.
        _ = model.press(.escape, pageLength: 5)
        _ = model.press(.enter, pageLength: 5)
        model.show(.part(Target(kind: .system, name: "disk-guard")), ["a part"])
        #expect(model.awaited == nil && Self.lines(model)[3] == "a part")
    }

    @Test func `what is chosen stays chosen when the order changes, and holding shows nothing new`() {
        var model = Self.model()
        _ = model.press(.down, pageLength: 5)
        #expect(model.listed[model.selection].name == "backup")
        model.take(Self.sample(4, disk: 500, backup: 9000, bus: 5, link: 1))
        #expect(model.selection == 0 && model.listed[0].name == "backup")
        _ = model.press(.letter(" "), pageLength: 5)
        model.take(Self.sample(5, disk: 9999, backup: 9000, bus: 5, link: 1))
        #expect(model.listed[0].name == "backup" && Self.lines(model)[2].hasSuffix("held"))
        #expect(model.press(.letter(" "), pageLength: 5) == .sample)
        model.lose("no daemon")
        #expect(Self.lines(model)[2] == "no daemon")
    }

    @Test(
        arguments: [
            ("q", [.letter("q")]), ("\u{1B}[A\u{1B}OB\u{1B}[5~\u{1B}[6~", [.up, .down, .pageUp, .pageDown]),
            ("\u{1B}", [.escape]), ("\r\u{7F}\t\u{3}", [.enter, .backspace, .tab, .interrupt]),
            ("é日", [.letter("é"), .letter("日")]), ("\u{1B}[1;5C\u{1B}[H\u{1B}[4~", [.right, .home, .end]),
            ("\u{1B}[200~", []), ("\u{1B}[", []),
        ] as [(String, [TopKey])])
    func `keys are read as terminals send them`(text: String, keys: [TopKey]) {
        #expect(TopKey.keys(Array(text.utf8)) == keys)
    }

    @Test func `no input of a terminal is too much`() {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<2000 {
            let bytes = (0..<Int.random(in: 0...20, using: &random)).map { _ in UInt8.random(in: 0 ... .max) }
            var model = Self.model()
            for key in TopKey.keys(bytes) where key != .interrupt { _ = model.press(key, pageLength: 3) }
            #expect(Self.lines(model, 60, 8).count == 8)
        }
    }

    @Test func `without a terminal it writes tables or objects`() async throws {
        let bench = try await Bench()
        let text = await bench.run("top", "--interval", "100ms", "--count", "1")
        #expect(
            text.output == """
                KIND    NAME         RATE/S  TOTAL  DROPPED  RUNS  STATE
                bus     alarms            0      3        1
                bus     backup            0      1                 "off\\u001b[31m"
                system  backup            0      7        4     0  stopped: Paused
                system  disk-guard        0   1234              1  Full mount=/var note="nearly full" percent=97
                link    tell-full         0      1                 disk-guard ── Full ──▶ bus alarms
                bus     temperature       0      0                 21.5


                """)
        let json = await bench.run("top", "--interval", "100ms", "--count", "2", "--json")
        #expect(json.output.split(separator: "\n").count == 2 && json.output.contains(#""name":"disk-guard","rate":0"#))
        await bench.service.close()
    }
}
