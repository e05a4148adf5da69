import CommonExpression
import Foundation
import MediatorConfiguration
import Testing

/// How many times as many seeds are tried: what `SOAK_FACTOR` says, else once.
private let soakFactor = ProcessInfo.processInfo.environment["SOAK_FACTOR"].flatMap(Int.init) ?? 1

@Suite struct `A whole of which little has changed` {
    /// Files whose insides change at random, and what they name now and then.
    private struct Files {
        static let count = 7
        var texts: [String] = []
        /// Whether links have a limit of loops, as a rule.
        let isLimited: Bool
        /// Files that come and go, by path.
        var guests: [String: String] = [:]

        init(isLimited: Bool, using random: inout Random) {
            self.isLimited = isLimited
            for index in 0..<Self.count { texts.append(Self.system(index, isLimited, using: &random)) }
            texts.append(Self.buses(using: &random))
            if Self.chance(3, using: &random) {
                texts.append("access: { inject: [{ users: root, systems: [s1, \"nothing*\"], buses: [b*] }] }\n")
            }
            if Self.chance(3, using: &random) {
                // Without instances: only its body is checked, and what it would be linked to.
                texts.append(
                    """
                    system: idle@
                    states: { A: {}, B: {} }
                    events: { E: {} }
                    initialState: A
                    fromOutside: any
                    feedbacks: { p: { onState: B, publish: { to: d0, value: 1 } } }
                    transitions: { A: { E: B }, B: { E: A } }
                    ---
                    links: { idle: { attach: idle@*, toSystem: s2, onState: B, emitEvent: { F: { n: 1 } } } }
                    """)
            }
            if Bool.random(using: &random) {
                // What an alias repeats stands at one place.
                texts.append(
                    """
                    buses: { c0: { kind: passthrough, value: int }, c1: { kind: passthrough, value: int } }
                    links:
                      v0: { attach: s0, to: c0, onState: A, emitValue: &v 5 }
                      v1: { attach: s1, to: c1, onState: B, emitValue: *v }
                    """)
            }
            if Bool.random(using: &random) {
                texts.append(
                    """
                    system: lamp@
                    states: { A: {}, B: {} }
                    events: { E: {}, F: { n: int } }
                    initialState: A
                    fromOutside: [E]
                    transitions: { A: { E: B, F: stay }, B: { E: A, F: stay } }
                    ---
                    instances: { lamp@one: {}, lamp@two: {} }
                    links: { lamps: { attach: lamp@*, toSystem: s0, onState: B, emitEvent: E, loop: { limit: 3 per 1s } } }
                    """)
            }
        }

        /// Changes the inside of a file or two.
        mutating func change(using random: inout Random) {
            for _ in 0...Int.random(in: 0...1, using: &random) {
                let index = Int.random(in: 0..<Self.count + 6, using: &random)
                if index >= Self.count + 2 {
                    let path = "\(Self.pick(["a", "c0", "c1", "call", "f3x", "z"], using: &random)).yaml"
                    guests[path] = guests[path] == nil ? Self.guest(path, using: &random) : nil
                } else if index < Self.count {
                    texts[index] = Self.system(index, isLimited, using: &random)
                } else if index == Self.count {
                    texts[index] = Self.buses(using: &random)
                } else if let last = texts.indices.last {
                    texts[last] += "# another comment\n"
                }
            }
        }

        var all: [ConfigurationFile] {
            texts.enumerated().map { ConfigurationFile(path: "f\($0).yaml", text: $1) }
                + guests.map { ConfigurationFile(path: $0, text: $1) }
        }

        private static func chance(_ one: Int, using random: inout Random) -> Bool {
            Int.random(in: 0..<one, using: &random) == 0
        }

        private static func pick(_ texts: [String], using random: inout Random) -> String {
            texts[Int.random(in: texts.indices, using: &random)]
        }

        /// A file with a system, a bus, links, or all of them.
        private static func guest(_ path: String, using random: inout Random) -> String {
            let name = path.prefix { $0 != "." }
            // Of the buses that an alias writes to, and of instances, if there are any.
            if name == "c0" || name == "c1" {
                let value = chance(2, using: &random) ? 5 : 6
                return "links: { \(name): { attach: s3, to: \(name), onValue: \(value), emitEvent: E } }\n"
            } else if name == "call" {
                return
                    "links: { call: { attach: s4, toSystem: lamp@one, onState: B, emitEvent: { F: { n: 1 } }, loop: { limit: 3 per 1s } } }\n"
            }
            let parts = [
                "system: \(name)\nstates: { A: {}, B: {} }\nevents: { E: {} }\ninitialState: A\nfromOutside: any\n"
                    + "transitions: { A: { E: B }, B: { E: A } }\n",
                "buses: { \(name): { kind: passthrough, value: int, fromOutside: both } }\n",
                "links: { \(name): { attach: s1, toSystem: s\(Int.random(in: 0..<count, using: &random)), onState: A, "
                    + "emitEvent: E, loop: { limit: 3 per 1s } } }\n",
                "system: \(name)-2\nstates: { A: {}, B: {} }\nevents: { E: {} }\ninitialState: A\n"
                    + "transitions: { A: { E: B }, B: { E: A } }\n---\n"
                    + "links: { \(name)-in: { attach: \(name)-2, to: b0, onValue: 1, emitEvent: E }, "
                    + "\(name)-out: { attach: \(name)-2, toSystem: s0, onState: B, emitEvent: E, loop: { limit: 1 per 1s } } }\n",
            ]
            return parts.filter { _ in chance(2, using: &random) }.joined(separator: "---\n") + "# \(name)\n"
        }

        private static func buses(using random: inout Random) -> String {
            let type = chance(12, using: &random) ? "string, initial: x" : "int, initial: 0"
            let uses = ["fromOutside: both", "fromOutside: write", "fromOutside: read", "description: some"]
            let other = chance(8, using: &random) ? "string" : "int"
            return """
                buses:
                  d0: { kind: passthrough, value: \(other), fromOutside: both }
                  b0: { kind: currentValue, value: \(type), \(pick(uses, using: &random)) }
                  b1: { kind: passthrough, value: int, \(pick(uses, using: &random)) }
                \(chance(4, using: &random) ? "  a9: { kind: passthrough, value: int, fromOutside: both }\n" : "")
                """
        }

        private static func system(_ index: Int, _ isLimited: Bool, using random: inout Random) -> String {
            func target(_ random: inout Random) -> String {
                pick(
                    ["A", "B", "stay", "{ to: C, set: { n: \(Int.random(in: 0..<3, using: &random)) } }"],
                    using: &random)
            }
            var text = "system: s\(index)\nstates: { A: {}, B: {}, C: { n: int } }\n"
            text += chance(20, using: &random) ? "events: { E: {} }\n" : "events: { E: {}, F: { n: int } }\n"
            text += pick(
                [
                    "initialState: A", "initialState: B", "initialState: { C: { n: 1 } }",
                    "initialState: { C: { n: \"${now.getFullYear()}\" } }",
                ], using: &random)
            text += "\n" + pick(["fromOutside: any\n", "fromOutside: [E]\n", ""], using: &random)
            if chance(3, using: &random) {
                text +=
                    "feedbacks:\n  p: { onState: B, publish: { to: b1, value: \(Int.random(in: 0..<3, using: &random)) } }\n"
                if chance(2, using: &random) {
                    text +=
                        "  e: { onState: \(pick(["A", "B"], using: &random)), emit: E\(pick(["", ", after: 1s"], using: &random)) }\n"
                }
            }
            text += "transitions:\n"
            for state in ["A", "B", "C"] {
                let rules = ["E", "F"].compactMap { event -> String? in
                    chance(6, using: &random) ? nil : "\(event): \(target(&random))"
                }
                if !rules.isEmpty { text += "  \(state): { \(rules.joined(separator: ", ")) }\n" }
            }
            text += "---\nlinks:\n"
            for number in 0..<(isLimited ? 2 : 1) {
                let other = (index + Int.random(in: 0..<3, using: &random)) % count
                let state = pick(["A", "B", "C", "[A, B]", "any", "{ C: { n: 2 } }"], using: &random)
                let limit = !isLimited || chance(5, using: &random) ? "" : ", loop: { limit: 3 per 1s }"
                let link = pick(
                    [
                        "attach: s\(index), toSystem: s\(other), onState: \(state), emitEvent: E",
                        "attach: s\(index), toSystem: s\(other), onState: \(state), emitEvent: { F: { n: 1 } }",
                        "attach: s\(other), to: b0, onState: \(state), emitValue: \(Int.random(in: 0..<2, using: &random))",
                        "attach: s\(index), to: b0, onValue: \(Int.random(in: 0..<3, using: &random)), emitEvent: E",
                        "attach: s\(index), to: b1, when: value > \(Int.random(in: 0..<3, using: &random)), emitEvent: E",
                        "attach: s\(index), to: b0, when: \"1 == 1\", emitEvent: E",
                    ], using: &random)
                text += "  l\(index)-\(number): { \(link)\(limit) }\n"
            }
            return text
        }
    }

    @Test func `has the loops that a change of one system closes`() {
        let found = (0..<12 * soakFactor).map(Self.closedLoops)
        #expect(found.reduce(0, +) > 5)
    }

    /// How many loops a change of one system closed, in one of many random rings.
    private static func closedLoops(seed: Int) -> Int {
        var random = Random(state: UInt64(seed))
        let count = 24
        // A ring of systems, each of which goes on as a rule; half of the way it leads over buses.
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
        var continued = 0
        for round in 0..<60 {
            var files = sound ?? [ConfigurationFile(path: "wiring.yaml", text: wiring)]
            if sound == nil { for index in 0..<count { files.append(system(index, using: &random)) } }
            let index = Int.random(in: 0..<count, using: &random)
            files[index + 1] = system(index, using: &random)
            let anew = Self.compiled(files, CompiledParts())
            let again = Self.compiled(files, parts)
            #expect(again.diagnostics == anew.diagnostics, "seed \(seed), round \(round)")
            if again.parts.isContinued { continued += 1 }
            if anew.graph == nil {
                if sound != nil { loops += 1 }
            } else {
                (sound, parts) = (files, again.parts)
            }
        }
        #expect(continued > 0)
        return loops
    }

    /// A file with a system that is linked to the next of so many.
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

    /// The whole is not gone on from where that is not known to be right; nothing else says so.
    @Test func `is gone on from where few files change, come or go`() {
        let count = 200
        let files = (0..<count).map { Self.link($0, of: count) }
        let first = Self.compiled(files, CompiledParts())
        #expect(first.graph != nil)
        #expect(!first.parts.isContinued)
        // Whatever files they are in, and however many threads compile them.
        #expect(first.graph?.links.map(\.name) == (0..<count).map { "l\($0)" }.sorted())
        func outcome(_ change: (inout [ConfigurationFile]) -> Void) -> (isContinued: Bool, links: Int) {
            var changed = files
            change(&changed)
            let result = Self.compiled(changed, first.parts)
            #expect(digest(of: result.graph) == digest(of: Self.compiled(changed, CompiledParts()).graph))
            return (result.parts.isContinued, first.parts.shared(with: result.parts).links)
        }
        #expect(outcome { _ in } == (true, count))
        #expect(outcome { $0[7] = Self.link(7, of: count, note: "another") } == (true, count - 2))
        #expect(
            outcome {
                $0.append(ConfigurationFile(path: "a.yaml", text: "system: a\nstates: { A: {} }\ninitialState: A\n"))
            } == (true, count))
        #expect(
            outcome {
                $0.append(ConfigurationFile(path: "b.yaml", text: "buses: { b: { kind: passthrough, value: int } }"))
            } == (true, count))
        #expect(
            outcome { for index in 0..<25 { $0[index] = Self.link(index, of: count, note: "another") } } == (
                true, count - 26
            ))
        #expect(
            outcome { for index in 0..<50 { $0[index] = Self.link(index, of: count, note: "another") } }.isContinued
                == false)
        #expect(
            outcome { $0[7].contents += Array("---\ngroups: { g: { systems: [s0007, s0008] } }\n".utf8) } == (
                false, count - 2
            ))
    }

    private static func compiled(
        _ files: [ConfigurationFile], _ parts: CompiledParts, now: Int64 = 1, threads: Int? = nil
    ) -> CompilationResult {
        ConfigurationCompiler.compile(
            files: files, effects: EffectSchema.builtin, values: .none, unreadable: [],
            now: Timestamp(seconds: now, nanoseconds: 0),
            reusing: parts, threads: threads)
    }

    /// A change after which something is found that only the rest of the whole shows.
    struct Hidden: Sendable, CustomTestStringConvertible {
        var testDescription: String
        /// By name, what all files hold but the one that changes.
        var rest: [String: String]
        var name = "changes"
        var before: String
        var after: String
        /// What is found after the change.
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
            before: "# Nothing\n",
            after: "links: { l: { attach: src, toSystem: lamp@one, onState: B, emitEvent: F } }\n",
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

    /// A system with many states that its first event leads through, and another that leads back from the first state or any.
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

    @Test func `shows as many findings as there may be`() {
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
        #expect(again.diagnostics.contains { $0.code.rawValue == "too-many-findings" })
    }

    @Test func `costs a small part of the whole where one file has changed`() throws {
        let count = 300
        let files = (0..<count).map { Self.link($0, of: count) }
        /// The least of several times, of the processor and not of the clock, so that what else runs has no say.
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
        #expect(again.result.parts.isContinued)
        #expect(again.time * 5 < whole.time, "\(again.time) of \(whole.time) ns")
    }

    @Test func `says when a time has passed meanwhile`() {
        let timed = Self.plain + "feedbacks: { f: { onState: A, at: \"1970-01-03 00:00:00 UTC\", emit: E } }\n"
        let files = [
            ConfigurationFile(path: "bus.yaml", text: Self.bus), ConfigurationFile(path: "timed.yaml", text: timed),
        ]
        let before = Self.compiled(files, CompiledParts())
        #expect(!before.diagnostics.contains { $0.code.rawValue == "past-calendar-time" })
        // Until then nothing is compiled again, and then everything once.
        let day: Int64 = 86_400
        let sooner = Self.compiled(files, before.parts, now: 2 * day - 1)
        #expect(sooner.parts.isContinued)
        let later = Self.compiled(files, sooner.parts, now: 2 * day)
        #expect(later.diagnostics == Self.compiled(files, CompiledParts(), now: 2 * day).diagnostics)
        #expect(later.diagnostics.contains { $0.code.rawValue == "past-calendar-time" })
        #expect(Self.compiled(files, later.parts, now: 3 * day).parts.isContinued)
        // The clock has been set back.
        #expect(Self.compiled(files, later.parts, now: day).diagnostics == before.diagnostics)
    }

    @Test(arguments: 0..<20 * soakFactor)
    func `comes to the same as all compiled anew`(seed: Int) {
        var random = Random(state: UInt64(seed))
        var sound: Files?
        var parts = CompiledParts()
        var graphs = 0
        var continued = 0
        for round in 0..<100 {
            var files = sound ?? Files(isLimited: seed % 2 == 0, using: &random)
            if sound != nil { files.change(using: &random) }
            let anew = Self.compiled(files.all, CompiledParts())
            let again = Self.compiled(files.all, parts)
            let place = "seed \(seed), round \(round), continued: \(again.parts.isContinued)"
            #expect(again.diagnostics == anew.diagnostics, "\(place)")
            #expect(digest(of: again.graph) == digest(of: anew.graph), "\(place)")
            if anew.graph != nil { graphs += 1 }
            if again.parts.isContinued { continued += 1 }
            guard again.graph != nil else { continue }
            (sound, parts) = (files, again.parts)
        }
        #expect(graphs > 10)
        #expect(continued > 0)
    }
}
