import CommonExpression
import FeedbackKit
import Logging
import FeedbackKitTesting
import MediatorConfiguration
import MediatorHost
import Synchronization
import Testing
import TestSupport

/// A random configuration: sources that count ticks, and targets that each get a source's counts over at most one way.
///
/// Both look at each number they get: it must be the next. `bad` counts those that are not.
private struct RandomConfiguration {
    static let sources = (0..<4).map { "source\($0)" }
    static let targets = (0..<4).map { "target\($0)" }
    let text: String

    init(_ dice: inout Dice) {
        var documents: [String] = []
        for name in Self.sources + Self.targets where Int.random(in: 0..<8, using: &dice) > 0 {
            documents.append(Self.system(name, &dice))
        }
        let present = Set(
            documents.compactMap { $0.split(separator: "\n").first?.split(separator: " ").last.map(String.init) })
        var buses: [String] = []
        var links: [String] = []
        for (number, target) in Self.targets.enumerated() where present.contains(target) {
            let source = Self.sources[Int.random(in: 0..<2, using: &dice) + number / 2]
            guard present.contains(source) else { continue }
            let when = Bool.random(using: &dice) ? "" : "when: state.n >= 0, "
            switch Int.random(in: 0..<3, using: &dice) {
            case 0: continue
            case 1:
                links.append(
                    "  over\(number): { attach: \(source), toSystem: \(target), onState: At, \(when)emitEvent: "
                        + "{ Tick: { n: \"${state.n}\" } } }")
            default:
                let remembers = Bool.random(using: &dice)
                buses.append(
                    "  bus\(number): { kind: \(remembers ? "currentValue" : "passthrough"), value: int"
                        + (remembers ? ", initial: -1" : "") + " }")
                links.append(
                    "  up\(number): { attach: \(source), to: bus\(number), onState: At, \(when)emitValue: "
                        + "\"${state.n}\" }")
                links.append(
                    "  down\(number): { attach: \(target), to: bus\(number), emitEvent: { Tick: { n: \"${value}\" } } }"
                )
            }
        }
        documents.shuffle(using: &dice)
        buses.shuffle(using: &dice)
        links.shuffle(using: &dice)
        if !buses.isEmpty || !links.isEmpty {
            documents.append(
                (buses.isEmpty ? "" : "buses:\n" + buses.joined(separator: "\n") + "\n")
                    + (links.isEmpty ? "" : "links:\n" + links.joined(separator: "\n")))
        }
        text = documents.joined(separator: "\n---\n")
    }

    /// One of a few variants: some differ in nothing but the order of keys, some can be changed, some must be restarted.
    private static func system(_ name: String, _ dice: inout Dice) -> String {
        let states = ["At: { n: int, bad: int }", "Other: {}"].shuffled(using: &dice).joined(separator: ", ")
        let events = ["Tick: { n: int }", "Extra: {}"].shuffled(using: &dice).joined(separator: ", ")
        let isRestart = Int.random(in: 0..<8, using: &dice) == 0
        let first = name.hasPrefix("target") ? -2 : 0
        var text = """
            system: \(name)
            states: { \(states) }
            events: { \(events) }
            fromOutside: any
            mailbox: { limit: \(1_000 + (Int.random(in: 0..<4, using: &dice) == 0 ? 1 : 0)) }
            initialState: { At: { n: \(first), bad: 0 } }
            transitions:
              At:
                Extra: Other
                Tick:
                  - { when: "event.n == state.n + 1 || state.n < -1", to: At, set: { n: "${event.n}" } }
                  - { to: At, set: { n: "${event.n}", bad: "${state.bad + 1}" } }
            """
        if isRestart {
            text = text.replacing("bad: int }", with: "bad: int, more: int }").replacing(
                "bad: 0 }", with: "bad: 0, more: 1 }")
        }
        return text
    }
}

@Suite(.timeLimit(.minutes(30))) struct `A random configuration under traffic` {
    static let ticks = 60

    @Test func `changes into another without a kept system noticing`() async throws {
        var dice = Dice(state: 20_261_121)
        var actions: [Plan.SystemAction: Int] = [:]
        var keptWays = 0
        for _ in 0..<(40 * soakFactor) {
            let seed = dice.state
            let (old, new) = (RandomConfiguration(&dice).text, RandomConfiguration(&dice).text)
            let (applied, ways) = try await run(try graph(old), try graph(new), "seed \(seed)\n\(old)\n=====\n\(new)")
            for step in applied.plan.systems { actions[step.action, default: 0] += 1 }
            keptWays += ways
        }
        // The test is worth something only if all of it has come about.
        for action in Plan.SystemAction.allCases where action != .migrate {
            #expect(actions[action, default: 0] > 0, "\(action)")
        }
        #expect(keptWays > 0)
    }

    @Test func `that cannot become another goes on as if nobody had tried`() async throws {
        var dice = Dice(state: 20_261_123)
        var ways = 0
        for _ in 0..<(20 * soakFactor) {
            let seed = dice.state
            let (old, new) = (RandomConfiguration(&dice).text, RandomConfiguration(&dice).text)
            // A part that cannot begin comes first or last of all.
            let broken = """
                ---
                system: \(Bool.random(using: &dice) ? "a" : "z")
                states: { At: { n: int } }
                initialState: { At: { n: "${1 / (now.getFullYear() - 1970)}" } }
                """
            let failing = try graph(new + "\n" + broken)
            ways += try await runInVain(try graph(old), failing, "seed \(seed)\n\(old)\n=====\n\(new)")
        }
        #expect(ways > 0)
    }

    /// Has a host fail to become another, under traffic and without; how many ways of its numbers there are.
    private func runInVain(_ old: Graph, _ new: Graph, _ note: String) async throws -> Int {
        let time = HostTime.settling(ManualClock()) { Timestamp.epoch }
        let host = try Host(
            graph: old, effects: EffectCatalogue([]), time: time,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        host.start()
        @Sendable func fail() async {
            do {
                _ = try await host.apply(new)
                Issue.record("it was applied: \(note)")
            } catch ApplyError.initialState {
            } catch {
                Issue.record("\(error) \(note)")
            }
        }
        let (begun, begin) = AsyncStream<Void>.makeStream()
        await withTaskGroup(of: Void.self) { group in
            for source in RandomConfiguration.sources {
                group.addTask { await Self.send(to: source, host) { begin.finish() } }
            }
            group.addTask {
                for await _ in begun {}
                for _ in 0..<3 { await fail() }
            }
        }
        await host.settled()
        func numbers(_ name: String) throws -> [Value] {
            guard case .structure(let data) = try host.systemStatus(name).state.data else { return [] }
            return Array(data.fields.prefix(2))
        }
        let all = Int64(Self.ticks)
        let names = Set(old.systems.map(\.name))
        for source in RandomConfiguration.sources where names.contains(source) {
            #expect(try host.systemStatus(source).state.serial == UInt64(all) + 1, "\(source) \(note)")
            #expect(try numbers(source) == [.int(all), .int(0)], "\(source) \(note)")
        }
        let links = Set(old.links.map(\.name))
        var ways = 0
        for (number, target) in RandomConfiguration.targets.enumerated()
        where links.contains("over\(number)") || links.contains("up\(number)") {
            #expect(try numbers(target) == [.int(all), .int(0)], "\(target) \(note)")
            ways += 1
        }
        let before = host.digest
        await fail()
        #expect(host.digest == before, "\(note)")
        await host.stop(within: .seconds(1))
        return ways
    }

    private func run(_ old: Graph, _ new: Graph, _ note: String) async throws -> (Applied, ways: Int) {
        let time = HostTime.settling(ManualClock()) { Timestamp.epoch }
        let host = try Host(
            graph: old, effects: EffectCatalogue([]), time: time,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        host.start()
        let (begun, begin) = AsyncStream<Void>.makeStream()
        let applied = try await withThrowingTaskGroup(of: Applied?.self) { group in
            for source in RandomConfiguration.sources {
                group.addTask {
                    await Self.send(to: source, host) { begin.finish() }
                    return nil
                }
            }
            group.addTask {
                for await _ in begun {}
                return try await host.apply(new)
            }
            var applied: Applied?
            for try await result in group { applied = result ?? applied }
            return try #require(applied)
        }
        await host.settled()
        let ways = try check(host, old, applied, note)
        await host.stop(within: .seconds(1))
        return (applied, ways)
    }

    /// Sends ticks one after the other; what is refused, because the system is about to be replaced, is sent again.
    private static func send(to source: String, _ host: Host, begun: @Sendable () -> Void) async {
        for number in 1...ticks {
            if number == ticks / 3 { begun() }
            while true {
                do throws(HostError) {
                    try host.emit("Tick", to: source, fields: [.int(Int64(number))])
                    break
                } catch {
                    // It is not there, or not any more.
                    if case .noSuchSystem = error {
                        begun()
                        return
                    }
                }
                await Task.yield()
            }
            await Task.yield()
        }
    }

    private func check(_ host: Host, _ old: Graph, _ applied: Applied, _ note: String) throws -> Int {
        func numbers(_ name: String) throws -> [Value] {
            guard case .structure(let data) = try host.systemStatus(name).state.data else { return [] }
            return data.fields
        }
        let actions = Dictionary(uniqueKeysWithValues: applied.plan.systems.map { ($0.name, $0.action) })
        let kept = Set(applied.plan.links.filter { $0.action == .keep }.map(\.name))
        let all = Int64(Self.ticks)
        for source in RandomConfiguration.sources {
            switch actions[source] {
            case .keep:
                let status = try host.systemStatus(source)
                #expect(status.state.serial == UInt64(all) + 1, "\(source) \(note)")
                #expect(status.loop.counters.events == UInt64(all), "\(source) \(note)")
                #expect(try numbers(source).prefix(2) == [.int(all), .int(0)], "\(source) \(note)")
            case .change:
                // Not even that one loses anything.
                #expect(try numbers(source).prefix(2) == [.int(all), .int(0)], "\(source) \(note)")
            case .migrate, .restart, .add, .remove, nil: break
            }
        }
        var ways = 0
        let before = Dictionary(uniqueKeysWithValues: old.links.map { ($0.name, old.systems[$0.system].name) })
        let present = Dictionary(uniqueKeysWithValues: host.linkStatuses.map { ($0.definition.name, $0.system) })
        for (number, target) in RandomConfiguration.targets.enumerated() {
            let isKept =
                kept.contains("over\(number)") || (kept.contains("up\(number)") && kept.contains("down\(number)"))
            if isKept {
                ways += 1
                #expect(try numbers(target).prefix(2) == [.int(all), .int(0)], "\(target) \(note)")
            } else if let source = present["over\(number)"] ?? present["up\(number)"],
                actions[source] == .keep || actions[source] == .change,
                // Two sources know nothing of each other: the last of the one before may come after the next one's.
                source == before["over\(number)"] ?? before["up\(number)"] ?? source
            {
                // Over a new link the present state comes first, and then every later one. Only a writer that stays
                // reports nothing again to its bus, and a passthrough bus remembers nothing: a late reader gets
                // nothing.
                let mayBeLate =
                    try kept.contains("up\(number)") && host.busStatus("bus\(number)").definition.kind == .passthrough
                let last = try numbers(target).first
                #expect(last == .int(all) || (mayBeLate && last == .int(-2)), "\(target) \(note)")
            }
        }
        return ways
    }
}
