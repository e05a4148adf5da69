import CommonExpression
import FeedbackKit
import FeedbackKitTesting
import Logging
import MediatorConfiguration
import MediatorHost
import Synchronization
import Testing
import TestSupport

/// Reports its argument at once.
private struct EchoEffect: EffectImplementation {
    var schema: EffectSchema {
        EffectSchema(
            name: "echo", parameters: [.init(name: "text", type: .string, required: true)], shortForm: "text",
            outcomes: [
                .init(
                    name: "onDone", result: StructureType(name: "result", fields: [.init(name: "text", type: .string)]))
            ])
    }

    func run(_ arguments: [String: Value], in context: EffectContext) async {
        context.report(
            "onDone", .structure(Structure(type: schema.outcomes[0].result, fields: [arguments["text"] ?? .null])))
    }
}

/// A random configuration that keeps its own record: each state, event and value has a field in which is written by which
/// way it came about. What an event has come through is written by the very link or feedback that emits it, and each
/// transition adds the state. Numbers that grow smaller see to it that everything comes to rest.
private struct RecordingConfiguration {
    static let count = 5
    let text: String

    init(_ dice: inout Dice) {
        let systems = (0..<Self.count).map { Self.system("s\($0)", &dice) }
        var buses: [String] = []
        var links: [String] = []
        func join(_ name: String, _ from: Int, _ to: Int, less: String, on state: String, _ dice: inout Dice) {
            let when = "when: \"state.n > 0\""
            switch Int.random(in: 0..<3, using: &dice) {
            case 0:
                links.append(
                    "  \(name): { attach: s\(from), toSystem: s\(to), onState: \(state), \(when), emitEvent: "
                        + "{ E: { n: \"${\(less)}\", path: \"${state.path}>\(name)\" } } }")
            case let kind:
                let initial = kind == 1 ? "" : ", initial: { n: 0, path: 'first@b\(name)' }"
                buses.append(
                    "  b\(name): { kind: \(kind == 1 ? "passthrough" : "currentValue"), value: { n: int, path: string }"
                        + "\(initial) }")
                links.append(
                    "  \(name)up: { attach: s\(from), to: b\(name), onState: \(state), \(when), emitValue: "
                        + "{ n: \"${\(less)}\", path: \"${state.path}>\(name)up@b\(name)\" } }")
                links.append(
                    "  \(name)down: { attach: s\(to), to: b\(name), emitEvent: "
                        + "{ E: { n: \"${value.n}\", path: \"${value.path}>\(name)down\" } } }")
            }
        }
        // One way that goes round, and others that soon come to an end.
        for number in 0..<Self.count {
            join("r\(number)", number, (number + 1) % Self.count, less: "state.n - 1", on: "any", &dice)
        }
        for number in 0..<Int.random(in: 0..<5, using: &dice) {
            let (from, to) = (
                Int.random(in: 0..<Self.count, using: &dice), Int.random(in: 0..<Self.count, using: &dice)
            )
            let state = Bool.random(using: &dice) ? "A" : "any"
            join("x\(number)", from, from == to ? (to + 1) % Self.count : to, less: "state.n / 16", on: state, &dice)
        }
        let wiring =
            (buses.isEmpty ? "" : "buses:\n" + buses.joined(separator: "\n") + "\n")
            + "loop: { limit: 100000 per 1s }\n"
            + "links:\n" + links.joined(separator: "\n")
        text = (systems + [wiring]).joined(separator: "\n---\n")
    }

    private static func system(_ name: String, _ dice: inout Dice) -> String {
        func emission(_ feedback: String, _ less: String) -> String {
            "{ E: { n: \"${\(less)}\", path: \"${state.path}>\(name):\(feedback)\" } }"
        }
        var feedbacks: [String] = []
        let going = "strategy: continueOnNewState"
        if Bool.random(using: &dice) {
            feedbacks.append(
                "  again: { onState: B, \(going), when: \"state.n > 3\", emit: \(emission("again", "state.n / 16")) }")
        }
        if Bool.random(using: &dice) {
            feedbacks.append(
                "  later: { onState: any, \(going), when: \"state.n > 3\", after: 1s, emit: "
                    + "\(emission("later", "state.n / 16")) }")
        }
        if Bool.random(using: &dice) {
            let echoed = "{ E: { n: \"${state.n / 16}\", path: \"${result.text}>\(name):echo.onDone\" } }"
            feedbacks.append(
                "  echo: { onState: A, \(going), when: \"state.n > 3\", echo: \"${state.path}\", onDone: \(echoed) }")
        }
        if Int.random(in: 0..<6, using: &dice) == 0 {
            feedbacks.append(
                "  clock: { onState: A, every: 10s, emit: "
                    + "{ E: { n: 20, path: \"tick:\(name).A>\(name):clock\" } } }")
        }
        let divisor = Int.random(in: 1...3, using: &dice)
        func entering(_ state: String) -> String {
            "to: \(state), set: { n: \"${event.n}\", path: \"${event.path}/\(name).\(state)\" }"
        }
        return """
            system: \(name)
            states: { A: { n: int, path: string }, B: { n: int, path: string } }
            events: { E: { n: int, path: string } }
            fromOutside: any
            initialState: { A: { n: 0, path: "start/\(name).A" } }
            feedbacks:\(feedbacks.isEmpty ? " {}" : "\n" + feedbacks.joined(separator: "\n"))
            transitions:
              any:
                E:
                  - { when: "event.n % \(divisor) == 0", \(entering("A")) }
                  - { \(entering("B")) }
            """
    }

    /// The rest of a recorded chain by the documented rule: of a chain with 64 states, the last 16.
    static func kept(_ path: String) -> (path: String, isCut: Bool) {
        var states = 0
        for character in path where character == "/" {
            states += 1
            if states == 64 { states = 16 }
        }
        let all = path.count { $0 == "/" }
        guard states < all else { return (path, false) }
        var rest = path[...]
        for _ in 0..<(all - states) {
            guard let slash = rest.firstIndex(of: "/") else { break }
            rest = rest[rest.index(after: slash)...]
        }
        guard let slash = rest.firstIndex(of: "/") else { return (String(rest), true) }
        return (String(rest[slash...]), true)
    }
}

extension CauseChain {
    /// The chain in the notation of the record.
    fileprivate var path: String {
        hops.reversed().map { hop in
            switch hop.kind {
            case .state: "/\(hop.system ?? "").\(hop.state ?? "")"
            case .event: ""
            case .link: ">\(hop.link ?? "")"
            case .value: "@\(hop.bus ?? "")"
            case .feedback: ">\(hop.system ?? ""):\(hop.feedback ?? "")" + (hop.outcome.map { ".\($0)" } ?? "")
            case .tick: "tick:\(hop.system ?? "").\(hop.state ?? "")"
            case .client: "client\(hop.client?.processID ?? 0)"
            case .firstValue: "first"
            default: hop.kind.rawValue
            }
        }.joined()
    }
}

@Suite(.timeLimit(.minutes(30))) struct `The chain of causes in a random configuration` {
    @Test func `is the one that the data itself has recorded`() async throws {
        var dice = Dice(state: 20_261_122)
        var kinds: [CauseHop.Kind: Int] = [:]
        var cut = 0
        for _ in 0..<(4 * soakFactor) {
            let seed = dice.state
            let text = RecordingConfiguration(&dice).text
            for chain in try await run(text, "seed \(seed)\n\(text)", &dice) {
                for hop in chain.hops { kinds[hop.kind, default: 0] += 1 }
                if chain.isCut { cut += 1 }
            }
        }
        // The test is worth something only if all of it has come about.
        for kind in [CauseHop.Kind.state, .event, .link, .value, .feedback, .tick, .client, .start, .firstValue] {
            #expect(kinds[kind, default: 0] > 0, "\(kind)")
        }
        #expect(cut > 0)
    }

    private func run(_ text: String, _ note: String, _ dice: inout Dice) async throws -> [CauseChain] {
        let effects = EffectCatalogue([EchoEffect()])
        let clock = ManualClock()
        let host = try Host(
            graph: try graph(text, effects: effects.schemas), effects: effects, time: .manual(clock),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        host.start()
        var chains = try check(host, note)
        await host.settled()
        chains += try check(host, note)
        for round in 0..<12 {
            for sender in 0..<Int.random(in: 0..<3, using: &dice) {
                let client = Int32(100 * round + sender)
                let event = [
                    Value.int(Int64.random(in: 0..<120, using: &dice)), .string("client\(client)"),
                ]
                let system = "s\(Int.random(in: 0..<RecordingConfiguration.count, using: &dice))"
                try host.emit("E", to: system, fields: event, by: HostClient(userID: 0, processID: client))
            }
            // In the middle of it as well as at rest: what a state holds is always its own.
            chains += try check(host, note)
            await host.settled()
            chains += try check(host, note)
            clock.advance(by: .seconds(Int64.random(in: 0..<6, using: &dice)))
        }
        await host.stop(within: .seconds(1))
        return chains
    }

    private func check(_ host: Host, _ note: String) throws -> [CauseChain] {
        try (0..<RecordingConfiguration.count).map { number in
            let chain = try host.why("s\(number)")
            guard case .structure(let data)? = chain.hops.first?.data, case .string(let path) = data.fields[1] else {
                throw ChainError()
            }
            let expected = RecordingConfiguration.kept(path)
            #expect(chain.path == expected.path, "\(path)\n\(note)")
            #expect(chain.isCut == expected.isCut, "\(note)")
            return chain
        }
    }

    private struct ChainError: Error {}
}
