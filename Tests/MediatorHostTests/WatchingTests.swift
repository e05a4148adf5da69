import CommonExpression
import FeedbackKitTesting
import Logging
import MediatorConfiguration
import MediatorHost
import Testing

/// Watching many parts of a host at once.
struct WatchingTests {
    private static let configuration = """
        system: door
        states: { Closed: {}, Open: { by: string } }
        events: { Push: { by: string }, Shut: {} }
        initialState: Closed
        fromOutside: any
        transitions: { Closed: { Push: { to: Open, set: { by: "${event.by}" } } }, Open: { Shut: Closed } }
        ---
        buses:
          visitor: { kind: currentValue, value: string, initial: nobody }
          bell: { kind: passthrough, value: int }
        links:
          tell: { attach: door, to: visitor, onState: Open, emitValue: "${state.by}" }
        """

    private static let gate = """

        ---
        system: gate
        states: { Down: {}, Up: {} }
        events: { Lift: {}, Drop: {} }
        initialState: Down
        fromOutside: any
        transitions: { Down: { Lift: Up }, Up: { Drop: Down } }
        """

    private static func host(_ text: String, _ clock: ManualClock) throws -> Host {
        let catalogue = EffectCatalogue([])
        return try Host(
            graph: try graph(text, effects: catalogue.schemas), effects: catalogue, time: .manual(clock),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    /// Chooses parts by their names, and all that happens to them.
    private static func parts(_ names: String...) -> @Sendable (WatchedPart) -> Host.WatchFilter? {
        { part in
            guard names.isEmpty || names.contains(part.name) else { return nil }
            return { _ in true }
        }
    }

    /// The change in a few words.
    private static func text(_ watched: WatchedHappening) -> String {
        let name = watched.part?.name ?? "none"
        let mark = watched.isReplayed ? "is " : ""
        switch watched.happening {
        case .state(let state):
            guard case .system(let system)? = watched.part else { return "wrong" }
            return "\(name) \(mark)\(system.states[state.index].name)"
        case .value(let value): return "\(name) \(mark)\(value)"
        case .fired(let value, let event): return "\(name) fired \(event ?? "") \(value)"
        case .began: return "\(name) began"
        case .ended: return "\(name) ended"
        case .leftOut(let count): return "left out \(count)"
        }
    }

    private static func next(_ happenings: Happenings, _ count: Int) async -> Set<String> {
        var seen: Set<String> = []
        for _ in 0..<count { if let happening = await happenings.next() { seen.insert(text(happening)) } }
        return seen
    }

    @Test func `present states and values come first, then what happens to each part`() async throws {
        let host = try Self.host(Self.configuration, ManualClock())
        host.start()
        let happenings = host.watch(choose: Self.parts())
        #expect(await Self.next(happenings, 2) == ["door is Closed", "visitor is \"nobody\""])
        try host.emit("Push", to: "door", fields: [.string("cat")])
        #expect(await Self.next(happenings, 3) == ["door Open", "tell fired  \"cat\"", "visitor \"cat\""])
        try host.publish(.int(7), on: "bell")
        #expect(await Self.next(happenings, 1) == ["bell 7"])
        await host.stop(within: .zero)
        #expect(await happenings.next() == nil)
    }

    @Test func `only what is chosen is told, as far as its filter lets it through`() async throws {
        let host = try Self.host(Self.configuration, ManualClock())
        host.start()
        let happenings = host.watch { part in
            guard part.name == "visitor" else { return nil }
            return { happening in
                guard case .value(.string(let value)) = happening else { return false }
                return value.hasPrefix("c")
            }
        }
        for name in ["dog", "cat", "hen", "cow"] { try host.publish(.string(name), on: "visitor") }
        #expect(await Self.next(happenings, 2) == ["visitor \"cat\"", "visitor \"cow\""])
        await host.stop(within: .zero)
    }

    @Test func `what a configuration brings, restarts and removes is followed`() async throws {
        let host = try Self.host(Self.configuration, ManualClock())
        host.start()
        let happenings = host.watch { part in
            guard case .system = part else { return nil }
            return { _ in true }
        }
        #expect(await Self.next(happenings, 1) == ["door is Closed"])
        let catalogue = EffectCatalogue([])
        try await host.apply(try graph(Self.configuration + Self.gate, effects: catalogue.schemas))
        #expect(await Self.next(happenings, 2) == ["gate began", "gate Down"])
        try host.emit("Lift", to: "gate", fields: [])
        #expect(await Self.next(happenings, 1) == ["gate Up"])
        try await host.restart("gate")
        #expect(await Self.next(happenings, 2) == ["gate began", "gate Down"])
        try await host.apply(try graph(Self.configuration, effects: catalogue.schemas))
        #expect(await Self.next(happenings, 1) == ["gate ended"])
        await host.stop(within: .zero)
        #expect(await happenings.next() == nil)
    }

    @Test func `a rate tells so many in a period, and then how many it has left out`() async throws {
        let clock = ManualClock()
        let host = try Self.host(Self.configuration, clock)
        host.start()
        let happenings = host.watch(
            rate: WatchRate(count: 2, period: .seconds(1)), choose: Self.parts("bell", "visitor"))
        #expect(await Self.next(happenings, 1) == ["visitor is \"nobody\""])
        for number in 1...5 { try host.publish(.int(Int64(number)), on: "bell") }
        #expect(await Self.next(happenings, 2) == ["bell 1", "bell 2"])
        // Changes that are left out are counted as they are read.
        async let leftOut = Self.next(happenings, 1)
        await clock.nextDeadline(in: .seconds(1))
        clock.advance(by: .seconds(1))
        #expect(await leftOut == ["left out 3"])
        for number in 6...7 { try host.publish(.int(Int64(number)), on: "bell") }
        #expect(await Self.next(happenings, 2) == ["bell 6", "bell 7"])
        await host.stop(within: .zero)
    }

    @Test func `who reads too slowly misses the oldest, and is told how many`() async throws {
        let host = try Self.host(Self.configuration, ManualClock())
        host.start()
        let happenings = host.watch(choose: Self.parts("bell"))
        let sent = Host.watchBuffer * 2
        for number in 1...sent { try host.publish(.int(Int64(number)), on: "bell") }
        var dropped = 0
        var read = 0
        while let happening = await happenings.next() {
            dropped += happening.dropped
            read += 1
            if Self.text(happening) == "bell \(sent)" { break }
        }
        #expect(read + dropped == sent && dropped >= Host.watchBuffer - host.watchedParts.count)
        await host.stop(within: .zero)
    }

    @Test func `a watch of a host that has stopped is over at once`() async throws {
        let host = try Self.host(Self.configuration, ManualClock())
        host.start()
        await host.stop(within: .zero)
        let happenings = host.watch(choose: Self.parts())
        while await happenings.next() != nil {}
    }
}
