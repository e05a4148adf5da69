import MediatorConfiguration

/// Files whose contents change at random, and sometimes the names in them.
struct ChangingFiles {
    static let count = 7
    var texts: [String] = []
    /// A Boolean value that indicates whether most links have a limit.
    let isLimited: Bool
    /// Files that are added and removed, by path.
    var guests: [String: String] = [:]

    init(isLimited: Bool, using random: inout Random) {
        self.isLimited = isLimited
        for index in 0..<Self.count { texts.append(Self.system(index, isLimited, using: &random)) }
        texts.append(Self.buses(using: &random))
        if Self.chance(3, using: &random) {
            texts.append("access: { inject: [{ users: root, systems: [s1, \"nothing*\"], buses: [b*] }] }\n")
        }
        if Self.chance(3, using: &random) {
            // A template without instances: its body and its links are checked.
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
            // An alias gives two links the same place in the file.
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

    /// Changes one or two files.
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
        // Readers of the buses to which an alias writes, and a link to an instance.
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
