import CommonExpression
import FeedbackKit
import FeedbackKitTesting
import Logging
import MediatorConfiguration
import MediatorHost
import Testing

private let hog = """
    system: hog
    states: { A: { texts: list(string) } }
    events: { Add: { text: string }, Double: {}, Clear: {}, Note: {} }
    initialState: { A: { texts: [] } }
    fromOutside: any
    transitions:
      A:
        Add: { to: A, set: { texts: "${state.texts + [event.text]}" } }
        Double: { to: A, set: { texts: "${state.texts + state.texts}" } }
        Clear: { to: A, set: { texts: [] } }
        Note: stay
    ---
    system: next
    states: { B: { taken: int } }
    events: { Took: { texts: list(string) } }
    initialState: { B: { taken: 0 } }
    transitions: { B: { Took: { to: B, set: { taken: "${state.taken + 1}" } } } }
    ---
    buses: { copies: { kind: currentValue, value: list(string), initial: [], fromOutside: write } }
    links:
      copy: { attach: hog, to: copies, onState: A, emitValue: "${state.texts + state.texts}" }
      hand: { attach: next, to: copies, emitEvent: { Took: { texts: "${value + value}" } } }

    """

private struct Fixture: HostedFixture {
    let host: Host

    init(_ text: String = hog, limits: String = "") throws {
        let catalogue = EffectCatalogue([])
        host = try Host(
            graph: try graph(text + (limits.isEmpty ? "" : "---\nlimits: \(limits)\n"), effects: catalogue.schemas),
            effects: catalogue, time: .manual(ManualClock()),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        host.start()
    }

    func add(_ bytes: Int) async throws {
        try host.emit("Add", to: "hog", fields: [.string(String(repeating: "x", count: bytes))])
        await settle()
    }

    /// The number of texts in the state of the hog.
    var texts: Int? {
        get throws {
            guard case .structure(let data) = try host.systemStatus("hog").state.data,
                case .list(let texts) = data.fields[0]
            else { return nil }
            return texts.count
        }
    }

    func fault(_ system: String) throws -> String? {
        try host.systemStatus(system).lastFault.map { "\("\($0.place)".prefix { $0 != "," }): \($0.message)" }
    }
}

@Suite(.timeLimit(.minutes(20))) struct `The room of a host` {
    @Test func `a state that would hold more than the limit is a fault, and the old one stays`() async throws {
        let fixture = try Fixture(limits: "{ value: 64KiB }")
        try await fixture.add(30_000)
        try await fixture.add(30_000)
        #expect(try fixture.texts == 2)
        let other = try fixture.fault("hog")
        #expect(
            other == "link copy: the value would hold 117.5 KiB of data, more than the limit of 64 KiB; the limit is "
                + "'value' of 'limits' in the configuration")
        try await fixture.add(30_000)
        #expect(try fixture.texts == 2)
        #expect(
            try fixture.fault("hog")
                == "transition from A on Add: the state 'A' would hold 88.2 KiB of data, more than the "
                + "limit of 64 KiB; the limit is 'value' of 'limits' in the configuration")
        try fixture.host.emit("Clear", to: "hog", fields: [])
        await fixture.settle()
        #expect(try fixture.texts == 0)
    }

    @Test func `a state that grows beyond the limit is told at the rule that lets it grow`() async throws {
        let fixture = try Fixture(limits: "{ value: 64KiB }")
        func place() throws -> String? { try fixture.host.systemStatus("hog").lastFault.map { "\($0.place)" } }
        try await fixture.add(30_000)
        try await fixture.add(30_000)
        try await fixture.add(30_000)
        #expect(try place()?.hasPrefix("transition from A on Add, test0.yaml:8:") == true)
        try fixture.host.emit("Double", to: "hog", fields: [])
        await fixture.settle()
        #expect(try place()?.hasPrefix("transition from A on Double, test0.yaml:9:") == true)
    }

    @Test func `a state that grows by a rule of always is told at that rule`() async throws {
        let text = """
            system: hog
            states: { Low: { texts: list(string) }, High: { texts: list(string) } }
            events: { Add: { text: string } }
            initialState: { Low: { texts: [] } }
            fromOutside: any
            transitions:
              Low:
                Add: { to: Low, set: { texts: "${state.texts + [event.text]}" } }
                always: [{ when: state.texts.size() == 2, to: High, set: { texts: "${state.texts + state.texts}" } }]
              High: { Add: stay }

            """
        let fixture = try Fixture(text, limits: "{ value: 64KiB }")
        try await fixture.add(20_000)
        #expect(try fixture.texts == 1)
        try await fixture.add(20_000)
        #expect(try fixture.texts == 1)
        let place = try fixture.host.systemStatus("hog").lastFault?.place
        #expect(place?.hasPrefix("always of Low, test0.yaml:9:") == true, "\(place ?? "none")")
    }

    @Test func `an event that holds more than the limit is refused, and one that a link makes is a fault`() async throws
    {
        let fixture = try Fixture(limits: "{ value: 64KiB }")
        let reason =
            "the event 'Add' would hold 68.5 KiB of data, more than the limit of 64 KiB; the limit is 'value' of 'limits' in "
            + "the configuration"
        #expect(throws: HostError.notAccepted(system: "hog", obstacle: .tooLarge, reason: reason)) {
            try fixture.host.emit("Add", to: "hog", fields: [.string(String(repeating: "x", count: 70_000))])
        }
        await fixture.settle()
        let before = try fixture.host.systemStatus("next").loop.counters.events
        try fixture.host.publish(.list([.string(String(repeating: "x", count: 40_000))]), on: "copies")
        await fixture.settle()
        let fault = try #require(try fixture.fault("next"))
        #expect(fault.hasPrefix("link hand: the event 'Took' would hold 78."), "\(fault)")
        #expect(try fixture.host.systemStatus("next").loop.counters.events == before)
    }

    @Test func `a value that holds more than the limit is not published`() async throws {
        let fixture = try Fixture(limits: "{ value: 4KiB }")
        await fixture.settle()
        let before = try fixture.host.busStatus("copies").mediator.sent
        #expect(throws: HostError.self) {
            try fixture.host.publish(.list(Array(repeating: .int(1), count: 1_000)), on: "copies")
        }
        #expect(throws: HostError.self) {
            try fixture.host.publish(.list([.string(String(repeating: "x", count: 5_000))]), on: "copies")
        }
        #expect(try fixture.host.busStatus("copies").mediator.sent == before)
    }

    @Test func `all states together have a limit, and what shrinks gives room to others`() async throws {
        let many = (0..<20).map {
            "---\n" + hog.split(separator: "---")[0].replacing("system: hog", with: "system: hog\($0)")
        }
        let text = many.joined().dropFirst(4)
        let fixture = try Fixture(String(text), limits: "{ value: 2MiB, states: 16MiB }")
        let large = Value.string(String(repeating: "x", count: 1 << 20))
        for number in 0..<20 { try fixture.host.emit("Add", to: "hog\(number)", fields: [large]) }
        await fixture.settle()
        let faults = try (0..<20).compactMap { try fixture.host.systemStatus("hog\($0)").lastFault?.message }
        // Sizes are rounded up by an eighth at most.
        #expect((4...7).contains(faults.count), "\(faults.count)")
        #expect(
            faults.allSatisfy { $0.hasPrefix("there is no room for the state 'A' with 1.") && $0.contains("of 16 MiB") }
        )
        let holders = try (0..<20).filter { try fixture.host.systemStatus("hog\($0)").lastFault == nil }
        try fixture.host.emit("Clear", to: "hog\(try #require(holders.first))", fields: [])
        await fixture.settle()
        let refused = try #require((0..<20).first { !holders.contains($0) })
        try fixture.host.emit("Add", to: "hog\(refused)", fields: [large])
        await fixture.settle()
        #expect(try fixture.host.systemStatus("hog\(refused)").faults == 1)
        await fixture.host.stop(within: .seconds(60))
    }

    @Test func `what waits in all mailboxes together has a limit`() throws {
        let text = (0..<3).map {
            "---\n" + hog.split(separator: "---")[0].replacing("system: hog", with: "system: hog\($0)")
        }
        let fixture = try Fixture(String(text.joined().dropFirst(4)), limits: "{ mailboxes: 16MiB }")
        for number in 0..<3 { _ = try fixture.host.pause("hog\(number)", by: 0, named: nil) }
        let large = Value.string(String(repeating: "x", count: 1_000_000))
        var accepted = 0
        var reasons: Set<String> = []
        for number in 0..<30 {
            do throws(HostError) {
                try fixture.host.emit("Add", to: "hog\(number % 3)", fields: [large])
                accepted += 1
            } catch {
                reasons.insert(error.description)
            }
        }
        #expect(accepted == 16)
        let reason = "what waits in all mailboxes holds 15.3 MiB of data, of 16 MiB that it may (mailboxes of limits)"
        #expect(reasons == Set((0..<3).map { "'hog\($0)' did not accept it: \(reason)" }))
        for number in 0..<3 { _ = try fixture.host.resume("hog\(number)", by: 0, named: nil) {} }
    }

    @Test func `other limits come with a reload, and are told by its plan`() async throws {
        let fixture = try Fixture(limits: "{ value: 64KiB }")
        try await fixture.add(60_000)
        #expect(try fixture.texts == 1)
        let other = try graph(hog + "---\nlimits: { value: 128KiB, mailboxes: 32MiB }\n")
        let applied = try await fixture.host.apply(other)
        #expect(applied.plan.summary == "2 kept; limits changed")
        #expect(applied.plan.limits?.reason == "value: 128 KiB instead of 64 KiB, mailboxes: 32 MiB instead of 128 MiB")
        try await fixture.add(60_000)
        #expect(try fixture.texts == 2)
    }

    @Test func `what is kept of the past holds no more than an excerpt of much data`() async throws {
        let fixture = try Fixture()
        for _ in 0..<10 {
            try await fixture.add(50_000)
            try fixture.host.emit("Note", to: "hog", fields: [])
            await fixture.settle()
        }
        #expect(try fixture.texts == 10)
        // The present state is there as a whole, everything else is cut.
        let traced = try fixture.host.trace("hog").flatMap { [$0.state?.data, $0.event?.data].compactMap(\.self) }
        #expect(traced.count > 20 && traced.allSatisfy { $0.heldBytes < 600_000 })
        #expect(traced.count { $0.heldBytes > 8_000 } <= 1)
        let hops = try fixture.host.why("next").hops
        #expect(hops.contains { $0.system == "hog" })
        let kept = hops.compactMap(\.data) + hops.compactMap(\.value)
        #expect(kept.allSatisfy { (value: Value) in value.heldBytes < 8_000 })
    }

    @Test func `a watcher that does not read holds little of what is large, and gets the newest`() async throws {
        let fixture = try Fixture()
        await fixture.settle()
        let changes = try fixture.host.watchBus("copies")
        let everything: Host.WatchFilter = { _ in true }
        let happenings = fixture.host.watch { (part: WatchedPart) in part.name == "copies" ? everything : nil }
        for number in 0..<40 {
            let text = String(repeating: "x", count: 500_000) + "\(number)"
            try fixture.host.publish(.list([.string(text)]), on: "copies")
        }
        // 4 MiB are 8 of them.
        let first = try #require(await changes.next())
        // Small data is not counted, and so is still there.
        #expect(first.subject == .list([]) && first.isReplayed)
        let second = try #require(await changes.next())
        #expect(second.dropped == 32)
        #expect("\(second.subject)".hasSuffix("32\"]"))
        for _ in 0..<6 { _ = await changes.next() }
        let last = try #require(await changes.next())
        #expect(last.dropped == 0)
        #expect("\(last.subject)".hasSuffix("39\"]"))
        var (seen, dropped) = (0, 0)
        while seen < 8, let happening = await happenings.next() {
            dropped += happening.dropped
            guard case .value(let value) = happening.happening, value != Value.list([]) else { continue }
            seen += 1
        }
        #expect(dropped == 32)
    }

    @Test func `sizes in a byte are no smaller, and larger by an eighth at most`() {
        for size in [0, 1, 1_023] { #expect(SizeCode.code(of: size) == 0) }
        for shift in 10...35 {
            for size in [1 << shift, (1 << shift) + 1, (1 << shift) / 2 * 3, (2 << shift) - 1] {
                let rough = SizeCode.size(of: SizeCode.code(of: size))
                #expect(rough >= size && rough <= size + size / 8 + 1, "\(size): \(rough)")
            }
        }
    }
}
