import CommonExpression
import FeedbackKit
import FeedbackKitTesting
import MediatorConfiguration
import MediatorHost
import Testing

/// A random graph of persisted systems and buses, without a cycle.
private struct RandomGraph {
    /// A way from one system to a later one, over a bus or directly.
    struct Way {
        let from: Int
        let to: Int
        /// The field and the event of the receiver, and the name of the bus.
        let input: Int
        let isDirect: Bool
        var bus: String { "over\(from)\(to)" }
    }

    let count: Int
    let ways: [Way]
    /// The systems that write a bus on which others publish, too. Its name is that of the system.
    let published: [Int]

    init(_ dice: inout Dice) {
        let count = Int.random(in: 2...4, using: &dice)
        var ways: [Way] = []
        for to in 1..<count {
            for (input, from) in (0..<to).shuffled(using: &dice).prefix(Int.random(in: 1...2, using: &dice))
                .enumerated()
            {
                ways.append(Way(from: from, to: to, input: input, isDirect: Bool.random(using: &dice)))
            }
        }
        self.count = count
        self.ways = ways
        published = (0..<count).filter { _ in Bool.random(using: &dice) }
    }

    var systems: Set<String> { Set((0..<count).map { "s\($0)" }) }
    var buses: Set<String> { Set(ways.filter { !$0.isDirect }.map(\.bus) + published.map { "p\($0)" }) }

    /// Each state of a system has a larger number. A receiver counts the numbers that it has heard before.
    var text: String {
        var parts = (0..<count).map { system in
            """
            system: s\(system)
            states: { At: { n: int, last0: int, last1: int, doubles: int } }
            events: { Go: {}, Hear0: { n: int }, Hear1: { n: int } }
            fromOutside: any
            initialState: { At: { n: 0, last0: -2, last1: -2, doubles: 0 } }
            transitions:
              At:
                Go: { to: At, set: { n: "${state.n + 1}" } }
                Hear0:
                  - { when: event.n <= state.last0, to: At, set: { n: "${state.n + 1}", doubles: "${state.doubles + 1}" } }
                  - { to: At, set: { n: "${state.n + 1}", last0: "${event.n}" } }
                Hear1:
                  - { when: event.n <= state.last1, to: At, set: { n: "${state.n + 1}", doubles: "${state.doubles + 1}" } }
                  - { to: At, set: { n: "${state.n + 1}", last1: "${event.n}" } }

            """
        }
        var links: [String] = []
        for way in ways {
            let event = "Hear\(way.input)"
            if way.isDirect {
                links.append(
                    "d\(way.from)\(way.to): { attach: s\(way.from), toSystem: s\(way.to), onState: At, "
                        + "emitEvent: { \(event): { n: \"${state.n}\" } } }")
            } else {
                links.append(
                    "w\(way.from)\(way.to): { attach: s\(way.from), to: \(way.bus), onState: At, emitValue: \"${state.n}\" }"
                )
                links.append(
                    "r\(way.from)\(way.to): { attach: s\(way.to), to: \(way.bus), when: \"true\", "
                        + "emitEvent: { \(event): { n: \"${value}\" } } }")
            }
        }
        links += published.map { "p\($0): { attach: s\($0), to: p\($0), onState: At, emitValue: \"${state.n}\" }" }
        let buses = buses.sorted().map { "\($0): { kind: currentValue, value: int, initial: -1, fromOutside: both }" }
        if !buses.isEmpty { parts.append((["buses:"] + buses.map { "  " + $0 }).joined(separator: "\n") + "\n") }
        parts.append((["links:"] + links.map { "  " + $0 }).joined(separator: "\n") + "\n")
        return parts.joined(separator: "---\n")
    }
}

/// Random graphs whose host ends at any time, and goes on from what the disk has.
@Suite(.timeLimit(.minutes(60))) struct `A host that is cut off and goes on from its journal` {
    @Test(arguments: 0..<20) func `shows nobody a state or value twice, and overwrites nothing newer`(part: Int)
        async throws
    {
        for seed in UInt64(part * 50)..<UInt64(part * 50 + 50) { try await run(seed) }
    }

    private func run(_ seed: UInt64) async throws {
        var dice = Dice(state: seed &* 0x5851_f42d_4c95_7f2d)
        let graph = RandomGraph(&dice)
        let compiled = try PersistedFixture.graph(graph.text).persisting(graph.systems, graph.buses)
        let clock = ManualClock()
        var journal = ListedJournal(isManual: true)
        for life in 0..<3 {
            func begin(_ journal: ListedJournal) throws -> PersistedFixture {
                clock.advance(by: .seconds(1))
                return try PersistedFixture(compiled, journal: journal, continues: true, clock: clock)
            }
            let fixture = try begin(journal)
            for _ in 0..<Int.random(in: 0..<14, using: &dice) {
                switch Int.random(in: 0..<6, using: &dice) {
                case 0, 1:
                    let system = Int.random(in: 0..<graph.count, using: &dice)
                    try fixture.host.emit("Go", to: "s\(system)", fields: [])
                case 2:
                    if let bus = graph.published.randomElement(using: &dice) {
                        try fixture.host.publish(.int(Int64.random(in: 1_000...9_000, using: &dice)), on: "p\(bus)")
                    }
                default: for _ in 0..<Int.random(in: 1...4, using: &dice) { journal.complete() }
                }
                await fixture.settle()
            }
            let next = journal.cut(after: Int.random(in: 0...journal.waiting.count, using: &dice))
            await fixture.host.stop(within: .zero)
            // Another life from the same rows, in which nothing new happens.
            let quiet = try begin(next.cut(after: 0))
            quiet.journal.completeAll()
            await quiet.settle()
            try expectEnd(of: quiet, after: next, graph, "seed \(seed), life \(life)")
            await quiet.host.stop(within: .zero)
            journal = next
        }
    }

    /// Expects that each receiver has heard the last state of its origin, and none twice.
    private func expectEnd(
        of fixture: PersistedFixture, after journal: ListedJournal, _ graph: RandomGraph, _ comment: Comment
    ) throws {
        let numbers = try (0..<graph.count).map { system in
            try fixture.state("s\(system)").split(separator: " ").dropFirst().map(String.init)
        }
        for number in numbers { #expect(number[3] == "0", comment) }
        for way in graph.ways {
            #expect(numbers[way.to][1 + way.input] == numbers[way.from][0], comment)
            if !way.isDirect { #expect(try fixture.value(of: way.bus) == numbers[way.from][0], comment) }
        }
        for system in graph.published {
            // A value that came after the last state of the system stays.
            let row = journal.row("s\(system)")
            guard case .system(let state, let details)? = row?.content,
                state.fields[0].description == numbers[system][0],
                case .bus(let bus, let saved)? = journal.row(.bus, "p\(system)")?.content,
                let heard = saved.heard["p\(system)"], heard.since == state.since, heard.serial == details.serial
            else {
                #expect(try fixture.value(of: "p\(system)") == numbers[system][0], comment)
                continue
            }
            #expect(try fixture.value(of: "p\(system)") == bus.value.description, comment)
        }
    }
}
