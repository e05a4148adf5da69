import CommonExpression
import FeedbackKit
import Glibc
import Logging
import FeedbackKitTesting
import MediatorConfiguration
import MediatorHost
import Synchronization
import Testing
import TestSupport

/// The number of reloads: two hundred, fewer under the thread sanitizer. `make nightly` makes a thousand.
private let reloads = (getenv("TSAN_OPTIONS") == nil ? 200 : 100) * soakFactor

/// The ways that numbers take from a client to a recorder.
private enum Way: String, CaseIterable, Codable {
    /// Published; one of two recorders reads the bus.
    case plain
    /// Published on a bus that has room for few.
    case tight
    /// Published; the recorder has room for few.
    case narrow
    /// Published; the text of the link never changes.
    case fixed
    /// Published on a bus whose kind and type change.
    case morph
    /// Emitted to a system that publishes the number, for another one that sends it on.
    case chain
    /// Emitted to a recorder.
    case direct

    /// The bus that a client publishes on; nil: the client emits.
    var bus: String? { self == .chain || self == .direct ? nil : rawValue }

    /// Whether a number may arrive twice: a migrated system and a bus that remembers show theirs again.
    var repeats: Bool { self == .morph || self == .chain }

    /// A Boolean value that indicates whether one recorder gets all numbers. Between several recorders there is no order.
    var isOrdered: Bool { !repeats && self != .plain }
}

private enum Recording: Codable, CaseIterable {
    case on
}

private enum Recorded: Codable, CaseIterable {
    case got(n: Int)

    static let allCases: [Recorded] = [.got(n: 0)]
}

private struct RecorderParameters: Codable {
    var way: String
    var version = 0
}

/// The numbers that have arrived, and those that were accepted from clients.
private final class Ledger: Sendable {
    struct Page {
        var accepted: [Int] = []
        var arrived: [Int: Int] = [:]
        /// The latest number of each client to arrive.
        var latest = [-1, -1]
        /// The numbers that arrived after a later one of their client.
        var late: [Int] = []

        mutating func arrive(_ number: Int) {
            arrived[number, default: 0] += 1
            if latest[number & 1] > number { late.append(number) }
            latest[number & 1] = number
        }
    }

    private let pages = Mutex<[String: Page]>([:])
    private let last = Atomic<Int>(0)

    /// A number that there was not before, of one of two clients.
    func number(of client: Int) -> Int { last.add(1, ordering: .relaxed).newValue << 1 | client }

    func accepted(_ number: Int, on way: Way) {
        pages.withLock { $0[way.rawValue, default: Page()].accepted += [number] }
    }

    func arrived(_ number: Int, on way: String) {
        // The value with which things begin is not of a client.
        guard number >= 0 else { return }
        pages.withLock { pages in
            pages[way, default: Page()].arrive(number)
        }
    }

    /// The numbers of a way.
    func read(_ way: Way) -> Page { pages.withLock { $0[way.rawValue] ?? Page() } }

    /// A kind of systems that note their events.
    func recorder() throws -> any SystemImplementation {
        try TypedKind<Recording, Recorded, RecorderParameters>.loop(
            "recorder", description: nil, parameters: RecorderParameters.self,
            defaults: RecorderParameters(way: "")
        ) { parameters in
            system(
                initial: .on,
                reduce: { [self] (_: inout Recording, event: Recorded) in
                    if case .got(let n) = event { arrived(n, on: parameters.way) }
                }, feedbacks: []
            ).makeLoop()
        }
    }
}

/// Ends the clients' work.
private final class End: Sendable {
    let hasCome = Atomic<Bool>(false)
}

/// A random configuration in which all ways are open.
private struct RandomConfiguration {
    let text: String

    init(_ dice: inout Dice) {
        var documents: [String] = []
        let limit = { (dice: inout Dice) in dice.pick("900000", "900001", "900002") }
        func recorder(_ name: String, _ way: Way, _ dice: inout Dice, mailbox: String = "limit: 1000000") {
            documents.append(
                """
                system: \(name)
                kind: recorder
                with: { way: \(way.rawValue), version: \(dice.pick("0", "0", "1")) }
                mailbox: { \(mailbox) }
                """)
        }
        let reader = dice.pick("plain-a", "plain-b")
        recorder(reader, .plain, &dice)
        if Bool.random(using: &dice) { recorder(reader == "plain-a" ? "plain-b" : "plain-a", .plain, &dice) }
        recorder("tight-r", .tight, &dice)
        recorder(
            "narrow-r", .narrow, &dice,
            mailbox: "limit: \(dice.pick("1", "2", "3")), overflow: \(dice.pick("dropOldest", "dropNewest"))")
        recorder("fixed-r", .fixed, &dice)
        recorder("morph-r", .morph, &dice)
        recorder("chain-r", .chain, &dice)
        recorder("direct-r", .direct, &dice)
        let publishes = Bool.random(using: &dice)
        let feedbacks =
            publishes ? "feedbacks: { tell: { onState: At, publish: { to: hop, value: \"${state.n}\" } } }" : ""
        documents.append(Self.passer("source", feedbacks, &dice))
        documents.append(Self.passer("relay", "", &dice))
        documents.shuffle(using: &dice)
        let morphs = Bool.random(using: &dice)
        let (type, first, number) =
            Bool.random(using: &dice) ? ("int", "-1", "${value}") : ("string", "\"-1\"", "${int(value)}")
        let guarded = dice.pick("", "when: value >= 0, ")
        documents.append(
            """
            buses:
              plain: { kind: passthrough, value: int, fromOutside: write, limit: \(limit(&dice)) }
              tight: { kind: passthrough, value: int, fromOutside: write, limit: \(dice.pick("1", "2", "3")), overflow: \
            \(dice.pick("dropOldest", "dropNewest")) }
              narrow: { kind: passthrough, value: int, fromOutside: write, limit: \(limit(&dice)) }
              fixed: { kind: passthrough, value: int, fromOutside: write, limit: \(limit(&dice)) }
              morph: { kind: \(morphs ? "currentValue, initial: \(first)" : "passthrough"), value: \(type), fromOutside: \
            write, limit: \(limit(&dice)) }
              hop: { kind: \(dice.pick("passthrough", "passthrough", "currentValue, initial: -1")), value: int, limit: \
            \(limit(&dice)) }
            links:
              plain-down: { attach: \(reader), to: plain, \(guarded)emitEvent: { got: { n: "${value}" } } }
              tight-down: { attach: tight-r, to: tight, \(guarded)emitEvent: { got: { n: "${value}" } } }
              narrow-down: { attach: narrow-r, to: narrow, emitEvent: { got: { n: "${value}" } } }
              fixed-down: { attach: fixed-r, to: fixed, emitEvent: { got: { n: "${value}" } } }
              morph-down: { attach: morph-r, to: morph, emitEvent: { got: { n: "\(number)" } } }
              chain-down: { attach: relay, to: hop, \(guarded)emitEvent: { Tick: { n: "${value}" } } }
              chain-out: { attach: relay, toSystem: chain-r, onState: At, \(dice.pick("", "when: state.n >= 0, "))\
            emitEvent: { got: { n: "${state.n}" } } }

            """
                + (publishes
                    ? "" : "  chain-up: { attach: source, to: hop, onState: At, emitValue: \"${state.n}\" }\n"))
        text = documents.joined(separator: "\n---\n")
    }

    /// A system that is in a state of each number that it gets.
    private static func passer(_ name: String, _ more: String, _ dice: inout Dice) -> String {
        let (field, value) = Int.random(in: 0..<4, using: &dice) == 0 ? (", more: int", ", more: 1") : ("", "")
        return """
            system: \(name)
            states: { At: { n: int\(field) } }
            events: { Tick: { n: int } }
            fromOutside: any
            unhandled: \(dice.pick("ignore", "warn"))
            mailbox: { limit: 1000000 }
            initialState: { At: { n: -1\(value) } }
            \(more)
            transitions: { At: { Tick: { to: At, set: { n: "${event.n}" } } } }
            """
    }
}

@Suite(.timeLimit(.minutes(30))) struct `Values and events during reloads` {
    @Test func `are all delivered in order, or counted as dropped`() async throws {
        let ledger = Ledger()
        let kinds = SystemCatalogue([try ledger.recorder()])
        var dice = Dice(state: 20_261_125)
        func next() throws -> Graph { try KindFixture.graph(RandomConfiguration(&dice).text, kinds.kinds) }
        let host = try Host(
            graph: try next(), effects: EffectCatalogue([]), kinds: kinds,
            time: HostTime.settling(ManualClock()) { Timestamp.epoch },
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        host.start()
        var actions: [Plan.SystemAction: Int] = [:]
        let batch = 25
        // Two clients fill the bus only if they meet, so a busy machine needs more rounds. Under the thread sanitizer that
        // may never come about.
        var rounds = 0
        func isEnough() throws -> Bool {
            guard rounds >= reloads / batch else { return false }
            if rounds >= 10 * reloads / batch || getenv("TSAN_OPTIONS") != nil { return true }
            return try host.busStatus("tight").mediator.dropped > 0
        }
        while try !isEnough() {
            rounds += 1
            let seed = dice.state
            let graphs = try (0..<batch).map { _ in try next() }
            for applied in try await Self.reload(host, graphs, ledger) {
                for step in applied.plan.systems { actions[step.action, default: 0] += 1 }
            }
            // Each look moves the events one hop further.
            await host.settled()
            try Self.check(host, ledger, "in the batch that begins with \(seed)")
        }
        // The test is worth something only if all of it has come about.
        for action in Plan.SystemAction.allCases { #expect(actions[action, default: 0] > 0, "\(action)") }
        for way in Way.allCases { #expect(!ledger.read(way).accepted.isEmpty, "\(way)") }
        if getenv("TSAN_OPTIONS") == nil { #expect(try host.busStatus("tight").mediator.dropped > 0) }
        await host.stop(within: .seconds(1))
    }

    /// Applies configurations one after the other while clients publish and emit.
    private static func reload(_ host: Host, _ graphs: [Graph], _ ledger: Ledger) async throws -> [Applied] {
        let end = End()
        return try await withThrowingTaskGroup(of: [Applied].self) { group in
            for (way, client) in Way.allCases.map({ ($0, 0) }) + [(.plain, 1), (.tight, 1)] {
                group.addTask {
                    while !end.hasCome.load(ordering: .relaxed) {
                        for _ in 0..<4 { send(on: way, of: client, host, ledger) }
                        await Task.yield()
                    }
                    return []
                }
            }
            group.addTask {
                defer { end.hasCome.store(true, ordering: .relaxed) }
                var all: [Applied] = []
                for graph in graphs {
                    // An ending system takes its waiting events, which needs time on a busy machine.
                    all.append(try await host.apply(graph, readyLimit: .seconds(600), stopLimit: .seconds(600)))
                }
                return all
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
    }

    /// Sends a number, and notes it if it was accepted.
    private static func send(on way: Way, of client: Int, _ host: Host, _ ledger: Ledger) {
        let number = ledger.number(of: client)
        let value = Value.int(Int64(number))
        do throws(HostError) {
            switch way {
            case .plain, .tight, .narrow, .fixed: try host.publish(value, on: way.rawValue)
            // Its type is one or the other.
            case .morph: try host.publish(number % 4 == 0 ? value : .string("\(number)"), on: "morph")
            case .chain: try host.emit("Tick", to: "source", fields: [value])
            case .direct: try host.emit("got", to: "direct-r", fields: [value])
            }
            ledger.accepted(number, on: way)
        } catch {
            switch error {
            case .wrongType, .notAccepted: break
            default: Issue.record("\(way): \(error)")
            }
        }
    }

    private static func check(_ host: Host, _ ledger: Ledger, _ note: String) throws {
        for way in Way.allCases {
            let page = ledger.read(way)
            let (accepted, arrived) = (page.accepted, page.arrived)
            var dropped: UInt64 = 0
            if let bus = way.bus {
                let mediator = try host.busStatus(bus).mediator
                dropped += mediator.dropped
                #expect(mediator.sent == UInt64(accepted.count), "sent on \(bus) \(note)")
            }
            if way == .narrow { dropped += try host.systemStatus("narrow-r").loop.counters.lost }
            let counters = host.systemStatuses.filter { $0.definition.name.hasPrefix(way.rawValue) }.map(
                \.loop.counters)
            let missing = accepted.filter { arrived[$0] == nil }
            #expect(
                UInt64(arrived.count) + dropped == UInt64(accepted.count),
                "\(way) \(note); \(missing.count) from \(missing.first ?? 0) to \(missing.last ?? 0); \(counters)")
            if !way.repeats {
                #expect(arrived.values.allSatisfy { $0 == 1 }, "\(way): something arrived twice \(note)")
            }
            if way.isOrdered { #expect(page.late.isEmpty, "\(way): out of order \(note)") }
            if dropped == 0 { #expect(accepted.allSatisfy { arrived[$0] != nil }, "\(way) \(note)") }
        }
        let fired = try host.linkStatus("fixed-down").fired
        #expect(fired == UInt64(ledger.read(.fixed).accepted.count), "fired \(note)")
        let taken = try host.systemStatus("fixed-r").loop.counters.events
        #expect(taken == fired, "taken \(note)")
    }
}

extension LoopCounters {
    /// The number of events that were sent and never taken.
    fileprivate var lost: UInt64 { droppedByLimit + refused + withdrawn }
}
