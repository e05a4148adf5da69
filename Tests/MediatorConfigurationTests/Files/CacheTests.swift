import CommonExpression
import Glibc
import MediatorConfiguration
import Testing
import TestSupport

@Suite struct `A configuration of which little has changed` {
    @Test func `has the loops that a change of one system closes`() {
        let found = (0..<6 * soakFactor).map(Self.closedLoops)
        #expect(found.reduce(0, +) > 2)
    }

    /// The number of loops that changes of one system closed, in a random ring.
    private static func closedLoops(seed: Int) -> Int {
        var random = Random(state: UInt64(seed))
        let count = 24
        // A ring of systems, most of which pass the event on. A quarter of the links lead over a bus.
        func system(_ index: Int, using random: inout Random) -> ConfigurationFile {
            let target = Int.random(in: 0..<24, using: &random) == 0 ? "stay" : "A"
            return ConfigurationFile(
                path: "s\(index).yaml",
                text: "system: s\(index)\nstates: { A: {} }\nevents: { E: {} }\ninitialState: A\nfromOutside: any\n"
                    + "transitions: { A: { E: \(target) } }\n")
        }
        let links = (0..<count).map { index in
            let next = (index + 1) % count
            guard index % 4 == 0 else {
                return "  l\(index): { attach: s\(index), toSystem: s\(next), onState: A, emitEvent: E }\n"
            }
            return "  l\(index): { attach: s\(index), to: b, onState: A, emitValue: \(index) }\n"
                + "  m\(index): { attach: s\(next), to: b, onValue: \(index), emitEvent: E }\n"
        }
        let wiring = "buses: { b: { kind: passthrough, value: int, fromOutside: both } }\nlinks:\n\(links.joined())"
        var sound: [ConfigurationFile]?
        var parts = CompiledParts()
        var loops = 0
        for round in 0..<60 {
            var files = sound ?? [ConfigurationFile(path: "wiring.yaml", text: wiring)]
            if sound == nil { for index in 0..<count { files.append(system(index, using: &random)) } }
            let index = Int.random(in: 0..<count, using: &random)
            files[index + 1] = system(index, using: &random)
            let anew = Self.compiled(files, CompiledParts())
            let again = Self.compiled(files, parts)
            #expect(again.diagnostics == anew.diagnostics, "seed \(seed), round \(round)")
            if anew.graph == nil {
                if sound != nil { loops += 1 }
            } else {
                (sound, parts) = (files, again.parts)
            }
        }
        return loops
    }

    /// A file with a system and a link to the next one.
    private static func link(_ index: Int, of count: Int, note: String = "") -> ConfigurationFile {
        let name = { (index: Int) in "s\(String(index + 10_000).dropFirst())" }
        let text = """
            system: \(name(index))
            description: \(note.isEmpty ? "one of many" : note)
            states: { A: {}, B: {} }
            events: { E: {} }
            initialState: A
            fromOutside: any
            transitions: { A: { E: B }, B: { E: A } }
            ---
            links:
              l\(index): { attach: \(name(index)), toSystem: \(name((index + 1) % count)), onState: B, emitEvent: E, loop: { limit: 9 per 1s } }
            """
        return ConfigurationFile(path: "\(name(index)).yaml", text: text)
    }

    @Test func `compiles only the links at files that have changed`() {
        let count = 200
        let files = (0..<count).map { Self.link($0, of: count) }
        let first = Self.compiled(files, CompiledParts())
        #expect(first.graph != nil)
        // Links are in the order of names, for any files and number of threads.
        #expect(first.graph?.links.map(\.name) == (0..<count).map { "l\($0)" }.sorted())
        func kept(_ change: (inout [ConfigurationFile]) -> Void) -> CompiledParts.Count {
            var changed = files
            change(&changed)
            let result = Self.compiled(changed, first.parts)
            #expect(digest(of: result.graph) == digest(of: Self.compiled(changed, CompiledParts()).graph))
            return first.parts.shared(with: result.parts)
        }
        func shared(files: Int, links: Int) -> CompiledParts.Count { .init(files: files, instances: 0, links: links) }
        #expect(kept { _ in } == shared(files: count, links: count))
        #expect(
            kept { $0[7] = Self.link(7, of: count, note: "another") } == shared(files: count - 1, links: count - 2))
        // A new system or bus changes the indices of all that follow.
        #expect(
            kept {
                $0.append(ConfigurationFile(path: "a.yaml", text: "system: a\nstates: { A: {} }\ninitialState: A\n"))
            } == shared(files: count, links: count))
        #expect(
            kept {
                $0.append(ConfigurationFile(path: "b.yaml", text: "buses: { b: { kind: passthrough, value: int } }"))
            } == shared(files: count, links: count))
        #expect(
            kept { for index in 0..<50 { $0[index] = Self.link(index, of: count, note: "another") } }
                == shared(files: count - 50, links: count - 51))
        #expect(
            kept { $0[7].contents += Array("---\ngroups: { g: { systems: [s0007, s0008] } }\n".utf8) }
                == shared(files: count - 1, links: count - 2))
    }

    private static func compiled(
        _ files: [ConfigurationFile], _ parts: CompiledParts, now: Int64 = 1, threads: Int? = nil
    ) -> CompilationResult {
        ConfigurationCompiler.compile(
            files: files, effects: EffectSchema.builtin, values: .none, unreadable: [],
            now: Timestamp(seconds: now, nanoseconds: 0),
            reusing: parts, threads: threads)
    }

    /// A change with a diagnostic that only the rest of the configuration explains.
    struct Hidden: Sendable, CustomTestStringConvertible {
        var testDescription: String
        /// By name, the files that do not change.
        var rest: [String: String]
        var name = "changes"
        var before: String
        var after: String
        /// The codes of the diagnostics after the change.
        var codes: [String]
    }

    private static let plain =
        "system: src\nstates: { A: {}, B: {} }\nevents: { E: {} }\ninitialState: A\nfromOutside: any\n"
        + "transitions: { A: { E: B }, B: { E: A } }\n"
    private static let template =
        "system: lamp@\nstates: { A: {}, B: {} }\nevents: { E: {}, F: {} }\ninitialState: A\nfromOutside: [E]\n"
        + "transitions: { A: { E: B, F: stay }, B: { E: A, F: stay } }\n---\n"
    private static let bus = "buses: { b: { kind: passthrough, value: int, fromOutside: both } }\n"

    private static let hidden = [
        Hidden(
            testDescription: "the type of a bus that a link of a template without instances leads to",
            rest: [
                "o": plain, "t": template + "links: { l: { attach: lamp@*, to: b, onState: B, emitValue: 1 } }\n",
            ], before: bus, after: bus.replacing("int", with: "string"), codes: ["wrong-type"]),
        Hidden(
            testDescription: "the name of such a bus",
            rest: [
                "o": plain, "t": template + "links: { l: { attach: lamp@*, to: b, onState: B, emitValue: 1 } }\n",
            ], before: bus, after: bus.replacing("b:", with: "c:"), codes: ["unknown-bus"]),
        Hidden(
            testDescription: "the type of a bus that a template without instances publishes on",
            rest: [
                "o": plain,
                "t": "system: lamp@\nstates: { A: {}, B: {} }\nevents: { E: {} }\ninitialState: A\nfromOutside: any\n"
                    + "feedbacks: { p: { onState: B, publish: { to: b, value: 1 } } }\n"
                    + "transitions: { A: { E: B }, B: { E: A } }\n",
            ], before: bus, after: bus.replacing("int", with: "string"), codes: ["wrong-type"]),
        Hidden(
            testDescription: "the events of a system that a link of a template without instances leads to",
            rest: [
                "o": plain.replacing("src", with: "other"),
                "t": template + "links: { l: { attach: lamp@*, toSystem: src, onState: B, emitEvent: E } }\n",
            ], before: plain, after: plain.replacing("E", with: "G"), codes: ["unknown-event"]),
        Hidden(
            testDescription: "the first of two instances about which the same is to be said",
            rest: ["o": plain, "t": template + "instances: { lamp@one: {}, lamp@two: {} }\n"],
            before: "links: { l: { attach: src, toSystem: lamp@one, onState: B, emitEvent: F } }\n",
            after: "# Nothing\n",
            codes: ["uncaused-event"]),
        Hidden(
            testDescription: "rights to what there is not",
            rest: ["acc": "access: { inject: [{ users: root, systems: [\"nothing*\"] }] }\n"],
            before: plain, after: plain + "# A comment\n", codes: ["moot"]),
        Hidden(
            testDescription: "the first of two buses to which an alias puts one value",
            rest: [
                "o": plain,
                "w": "buses: { b1: { kind: passthrough, value: int }, b2: { kind: passthrough, value: int } }\nlinks:\n"
                    + "  l1: { attach: src, to: b1, onState: A, emitValue: &v 5 }\n"
                    + "  l2: { attach: src, to: b2, onState: B, emitValue: *v }\n"
                    + "  r2: { attach: src, to: b2, onValue: 6, emitEvent: E }\n",
            ],
            before: "links: { r1: { attach: src, to: b1, onValue: 6, emitEvent: E } }\n",
            after: "links: { r1: { attach: src, to: b1, onValue: 5, emitEvent: E, loop: { limit: 3 per 1s } } }\n",
            codes: ["unmatched-value"]),
        Hidden(
            testDescription: "a limit of its own for a link that has one of its document's",
            rest: ["o": plain, "p": plain.replacing("src", with: "other")],
            before:
                "loop: { limit: 3 per 1s }\nlinks: { l: { attach: src, toSystem: other, onState: A, emitEvent: E } }\n",
            after:
                "links: { l: { attach: src, toSystem: other, onState: A, emitEvent: E, loop: { limit: 3 per 1s } } }\n",
            codes: ["needless-loop"]),
        Hidden(
            testDescription: "a system of a template's name, whose feedback of one name publishes, too",
            rest: [
                "bus":
                    "buses: { b: { kind: passthrough, value: int, fromOutside: both }, c: { kind: passthrough, value: int } }\n",
                "t": publishing("lamp@", to: "b") + "---\ninstances: { lamp@one: {} }\n",
            ], before: "# Nothing\n", after: publishing("lamp", to: "c"), codes: ["unread-bus"]),
        Hidden(
            testDescription: "more ways than can be searched for loops",
            rest: [
                "w": """
                links:
                  pq1: { attach: p, toSystem: q, onState: any, emitEvent: E }
                  pq2: { attach: p, toSystem: q, onState: any, emitEvent: E }
                  pq3: { attach: p, toSystem: q, onState: any, emitEvent: E }
                  pq4: { attach: p, toSystem: q, onState: any, emitEvent: E }
                  na: { attach: n, toSystem: a, onState: any, emitEvent: E }
                  qf: { attach: q, toSystem: f, onState: Z, emitEvent: E }
                  fg: { attach: f, toSystem: g, onState: Z, emitEvent: E }
                  gn: { attach: g, toSystem: n, onState: Z, emitEvent: E }
                  ah: { attach: a, toSystem: h, onState: Z, emitEvent: E }
                  hi: { attach: h, toSystem: i, onState: Z, emitEvent: E }
                  ip: { attach: i, toSystem: p, onState: Z, emitEvent: E }

                """,
                "p": wide("p", states: 998, any: false), "q": wide("q", states: 985, any: true),
                "n": wide("n", states: 300, any: false), "f": wide("f", states: 2, any: false),
                "g": wide("g", states: 2, any: false), "h": wide("h", states: 2, any: false),
                "i": wide("i", states: 2, any: false),
            ], before: wide("a", states: 300, any: false), after: wide("a", states: 300, any: true),
            codes: ["too-large"]),
    ]

    /// A system whose feedback puts a value on a bus.
    private static func publishing(_ name: String, to bus: String) -> String {
        "system: \(name)\nstates: { A: {}, B: {} }\nevents: { E: {} }\ninitialState: A\nfromOutside: any\n"
            + "feedbacks: { p: { onState: B, publish: { to: \(bus), value: 1 } } }\n"
            + "transitions: { A: { E: B }, B: { E: A } }\n"
    }

    /// A system with many states. One event leads through them, another leads back from the last state or from any.
    private static func wide(_ name: String, states: Int, any: Bool) -> String {
        let names = (0..<states).map { "S\($0)" } + ["Z"]
        let ways = names.dropLast().enumerated().map { "  \($1): { G: \(names[$0 + 1]) }\n" }.joined()
        return "system: \(name)\nstates: { \(names.map { "\($0): {}" }.joined(separator: ", ")) }\n"
            + "events: { E: {}, G: {} }\ninitialState: S0\nfromOutside: any\ntransitions:\n\(ways)"
            + "  \(any ? "any" : "Z"): { E: S0 }\n"
    }

    @Test(arguments: hidden)
    func `misses nothing that other parts show:`(_ hidden: Hidden) throws {
        func files(_ text: String) -> [ConfigurationFile] {
            (hidden.rest.map { ($0, $1) } + [(hidden.name, text)])
                .map { ConfigurationFile(path: "\($0).yaml", text: $1) }
        }
        let before = Self.compiled(files(hidden.before), CompiledParts())
        try #require(before.graph != nil, "\(before.diagnostics)")
        let anew = Self.compiled(files(hidden.after), CompiledParts())
        let again = Self.compiled(files(hidden.after), before.parts)
        #expect(Set(anew.diagnostics.map(\.code.rawValue)).isSuperset(of: hidden.codes), "\(anew.diagnostics)")
        #expect(again.diagnostics == anew.diagnostics)
        #expect(digest(of: again.graph) == digest(of: anew.graph))
    }

    @Test func `shows as many diagnostics as there may be`() {
        let buses = (0..<1_200).map { "  b\($0): { kind: passthrough, value: int }\n" }.joined()
        func files(_ count: Int) -> [ConfigurationFile] {
            let links = (0..<count).map {
                "  w\($0): { attach: src, to: b\($0), onState: A, emitValue: 1 }\n"
                    + "  r\($0): { attach: src, to: b\($0), onValue: 1, emitEvent: E, loop: { limit: 3 per 1s } }\n"
            }
            return [
                ConfigurationFile(path: "buses.yaml", text: "buses:\n\(buses)"),
                ConfigurationFile(path: "links.yaml", text: "links:\n\(links.joined())"),
                ConfigurationFile(path: "src.yaml", text: Self.plain),
            ]
        }
        let before = Self.compiled(files(1), CompiledParts())
        let again = Self.compiled(files(30), before.parts)
        #expect(before.graph != nil)
        #expect(again.diagnostics == Self.compiled(files(30), CompiledParts()).diagnostics)
        #expect(again.diagnostics.contains { $0.code.rawValue == "too-many-diagnostics" })
    }

    @Test func `costs a small part of the whole where one file has changed`() throws {
        let count = 300
        let files = (0..<count).map { Self.link($0, of: count) }
        /// The least of several processor times, so that other programs have no effect.
        func least(_ body: () -> CompilationResult) -> (time: Int, result: CompilationResult) {
            let runs = (0..<5).map { _ in
                let before = processorTime()
                let result = body()
                return (time: processorTime() - before, result: result)
            }
            return runs.min { $0.time < $1.time } ?? runs[0]
        }
        func processorTime() -> Int {
            var time = timespec()
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
            return Int(time.tv_sec) * 1_000_000_000 + Int(time.tv_nsec)
        }
        let whole = least { Self.compiled(files, CompiledParts(), threads: 1) }
        var changed = files
        changed[7] = Self.link(7, of: count, note: "another")
        let again = least { Self.compiled(changed, whole.result.parts, threads: 1) }
        #expect(again.time * 2 < whole.time, "\(again.time) of \(whole.time) ns")
    }

    @Test func `says when a time has passed meanwhile`() {
        let timed = Self.plain + "feedbacks: { f: { onState: A, at: \"1970-01-03 00:00:00 UTC\", emit: E } }\n"
        let files = [
            ConfigurationFile(path: "bus.yaml", text: Self.bus), ConfigurationFile(path: "timed.yaml", text: timed),
        ]
        let before = Self.compiled(files, CompiledParts())
        #expect(!before.diagnostics.contains { $0.code.rawValue == "past-calendar-time" })
        // Until that time nothing is compiled again. After it, everything is compiled once.
        let day: Int64 = 86_400
        let sooner = Self.compiled(files, before.parts, now: 2 * day - 1)
        #expect(before.parts.shared(with: sooner.parts).files == 2)
        let later = Self.compiled(files, sooner.parts, now: 2 * day)
        #expect(later.diagnostics == Self.compiled(files, CompiledParts(), now: 2 * day).diagnostics)
        #expect(later.diagnostics.contains { $0.code.rawValue == "past-calendar-time" })
        #expect(later.parts.shared(with: Self.compiled(files, later.parts, now: 3 * day).parts).files == 2)
        // The clock has been set back.
        #expect(Self.compiled(files, later.parts, now: day).diagnostics == before.diagnostics)
    }

    @Test(arguments: 0..<4 * soakFactor)
    func `comes to the same as all compiled anew`(seed: Int) {
        var random = Random(state: UInt64(seed))
        var sound: ChangingFiles?
        var parts = CompiledParts()
        var graphs = 0
        for round in 0..<100 {
            var files = sound ?? ChangingFiles(isLimited: seed % 2 == 0, using: &random)
            if sound != nil { files.change(using: &random) }
            let anew = Self.compiled(files.all, CompiledParts())
            let again = Self.compiled(files.all, parts)
            let place = "seed \(seed), round \(round)"
            #expect(again.diagnostics == anew.diagnostics, "\(place)")
            #expect(digest(of: again.graph) == digest(of: anew.graph), "\(place)")
            if anew.graph != nil { graphs += 1 }
            guard again.graph != nil else { continue }
            (sound, parts) = (files, again.parts)
        }
        #expect(graphs > 10)
    }
}
