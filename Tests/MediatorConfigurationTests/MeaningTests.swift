import CommonExpression
import MediatorConfiguration
import Testing

@Suite struct `What a graph means` {
    private let now: Timestamp
    private let later: Timestamp

    init() throws {
        now = try #require(Timestamp(rfc3339: "2026-11-21T10:00:00Z"))
        later = try #require(Timestamp(rfc3339: "2026-11-21T10:00:05Z"))
    }

    @Test func `the uplink degrades, goes offline and comes back`() throws {
        let uplink = try system(`The format's sketch`.uplink)
        #expect(uplink.initialState.state == 0)
        #expect(uplink.initialState.fields.isEmpty)
        var state = try uplink.value("Unknown")
        for failures in 1...3 {
            state = try #require(try uplink.next(state, on: "ProbeFailed", .string("timeout"), now: now))
            #expect(try state == uplink.value("Degraded", .int(Int64(failures))))
        }
        state = try #require(try uplink.next(state, on: "ProbeFailed", .string("timeout"), now: now))
        #expect(try state == uplink.value("Offline", .timestamp(now)))
        let same = try uplink.next(state, on: "ProbeFailed", .string("timeout"), now: later)
        #expect(same == state)
        state = try #require(try uplink.next(state, on: "ProbeSucceeded", now: later))
        #expect(try state == uplink.value("Online"))
    }

    static let levels = #"""
        system: levels
        states: { A: { n: int }, B: { n: int }, C: { n: int, from: string } }
        events: { Go: { n: int }, Stop: {} }
        initialState: { A: { n: 0 } }
        transitions:
          any:
            any: { when: state.n > 100, to: C, set: { from: any any } }
            Go: { when: event.n > 10, to: C, set: { from: "any Go ${event.n}" } }
          A:
            any: { when: state.n > 50, to: C, set: { n: 0, from: A any } }
            Go:
              - { when: event.n == 1, to: B, set: { n: "${state.n + event.n}" } }
              - { when: event.n == 2, to: B }
              - { when: event.n == 3, to: stay }
        """#

    @Test(
        arguments: [
            (0, 1, "B", [.int(1)]), (7, 1, "B", [.int(8)]), (7, 2, "B", [.int(7)]), (7, 3, "A", [.int(7)]),
            (7, 4, nil, []),
            (51, 1, "B", [.int(52)]), (51, 4, "C", [.int(0), .string("A any")]),
            (7, 11, "C", [.int(7), .string("any Go 11")]), (101, 4, "C", [.int(0), .string("A any")]),
        ] as [(Int64, Int64, String?, [Value])])
    func `rules are tried from the most specific level on`(n: Int64, sent: Int64, to: String?, fields: [Value]) throws {
        let levels = try system(Self.levels)
        let next = try levels.next(try levels.value("A", .int(n)), on: "Go", .int(sent), now: now)
        #expect(next?.type.name == to)
        #expect(next?.fields ?? [] == fields)
    }

    @Test func `wildcards alone apply where nothing else is written`() throws {
        let levels = try system(Self.levels)
        #expect(try levels.next(try levels.value("B", .int(3)), on: "Stop", now: now) == nil)
        let next = try levels.next(try levels.value("B", .int(101)), on: "Stop", now: now)
        #expect(try next == levels.value("C", .int(101), .string("any any")))
        let over = try levels.next(try levels.value("B", .int(101)), on: "Go", .int(11), now: now)
        #expect(try over == levels.value("C", .int(101), .string("any Go 11")))
    }

    @Test func `a rule without a condition ends the list of a pair`() throws {
        let system = try system(
            """
            system: a
            states: { A: {}, B: {} }
            events: { E: {} }
            initialState: A
            transitions: { any: { any: stay, E: A }, A: { E: B } }
            """)
        #expect(system.rules[0][0].count == 1)
        #expect(system.rules[1][0].count == 1)
        #expect(try system.next(try system.value("A"), on: "E", now: now)?.type.name == "B")
        #expect(try system.next(try system.value("B"), on: "E", now: now)?.type.name == "A")
    }

    @Test func `transitions are kept as written for drawing`() throws {
        let written = try system(Self.levels).transitions
        #expect(
            written.map { "\($0.from) \($0.event) \($0.to) \($0.condition ?? "-")" } == [
                "any any C state.n > 100", "any Go C event.n > 10", "A any C state.n > 50", "A Go B event.n == 1",
                "A Go B event.n == 2", "A Go stay event.n == 3",
            ])
        #expect(written[3].source == SourceLocation(file: "a.yaml", line: 12, column: 9))
    }

    @Test func `an initial state has its data, from the clock too`() throws {
        let system = try system(
            """
            system: a
            states: { A: { n: double, at: timestamp, tags: list(string) } }
            initialState: { A: { tags: [x, "${'y'}"], n: 1, at: "${now}" } }
            """)
        let values = try system.initialState.fields.map { field -> Value in
            guard case .data(let data) = field else { return .null }
            return try data.evaluate([.timestamp(now)])
        }
        #expect(values == [.double(1), .timestamp(now), .list([.string("x"), .string("y")])])
    }

    @Test func `what is not written has its default`() throws {
        let system = try system("system: a\nstates: { A: }\ninitialState: A\nevents:\nfeedbacks:\ntransitions:")
        #expect(system.mailbox == .mailboxDefault)
        #expect(system.readyStates.isEmpty)
        #expect(system.description == nil)
        #expect(system.events.isEmpty)
        #expect(system.rules.count == 1)
        #expect(system.rules[0].isEmpty)
        let bus = try graph("buses: { b: { kind: passthrough, value: int } }").buses[0]
        #expect(bus.buffer == .busDefault)
        #expect(bus.initial == nil)
    }

    @Test func `what is written is there`() throws {
        let system = try system(
            """
            system: a
            description: One
            states: { A: {}, B: {} }
            initialState: A
            ready: [B]
            mailbox: { limit: 7, overflow: dropOldest }
            """)
        #expect(system.description == "One")
        #expect(system.readyStates == [1])
        #expect(system.mailbox == BufferPolicy(limit: 7, overflow: .dropOldest))
    }

    @Test func `on, off, yes and no can name states`() throws {
        let system = try system("system: a\nstates: { on: {}, off: {}, yes: {}, no: {} }\ninitialState: off")
        #expect(system.states.map(\.name) == ["on", "off", "yes", "no"])
        #expect(system.initialState.state == 1)
    }

    @Test func `an alias stands for what its anchor holds`() throws {
        let system = try system(
            """
            system: a
            states: { A: &fields { n: int }, B: *fields }
            events: { E: {} }
            initialState: { A: &data { n: 3 } }
            transitions: { A: { E: { to: B, set: *data } } }
            """)
        #expect(try system.next(try system.value("A", .int(1)), on: "E", now: now) == system.value("B", .int(3)))
    }
}
