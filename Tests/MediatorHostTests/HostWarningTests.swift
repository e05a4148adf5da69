import CommonExpression
import FeedbackKitTesting
import Logging
import MediatorConfiguration
import MediatorHost
import Synchronization
import Testing

/// Reports each warning with its event and the number of repetitions.
private struct LineHandler: LogHandler {
    let sink: AsyncStream<String>.Continuation
    var keys = ["event", "repeated"]
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.warning

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let words = keys.compactMap { event.metadata?[$0].map { "\($0)" } }
        sink.yield(words.joined(separator: ", "))
    }
}

/// A side effect that warns of the same thing and fails, until all is well.
private final class WarnEffect: EffectImplementation, Sendable {
    private let isWell = Mutex(false)

    let schema = EffectSchema(
        name: "warn", parameters: [.init(name: "of", type: .string, required: true)], shortForm: "of",
        outcomes: ["onSuccess", "onFailure"].map {
            .init(name: $0, result: StructureType(name: "result", fields: [.init(name: "of", type: .string)]))
        })

    func become(well: Bool) { isWell.withLock { $0 = well } }

    func run(_ arguments: [String: Value], in context: EffectContext) async {
        let (thing, isWell) = (arguments["of"] ?? .string(""), isWell.withLock { $0 })
        if !isWell { context.warn("it is odd", metadata: ["thing": "\(thing.text ?? "")"]) }
        context.report(
            isWell ? "onSuccess" : "onFailure", .structure(Structure(type: schema.outcomes[0].result, fields: [thing])))
    }
}

extension `The host` {
    @Test func `of a flood of warnings the first is told at once, the others when a second is over or at the stop`()
        async throws
    {
        let (lines, sink) = AsyncStream<String>.makeStream()
        let fixture = try HostFixture(
            """
            system: door
            states: { Shut: {} }
            events: { Slam: {}, Knock: {} }
            fromOutside: any
            unhandled: warn
            initialState: Shut
            """, logger: Logger(label: "test") { _ in LineHandler(sink: sink) })
        var log = lines.makeAsyncIterator()
        func emit(_ event: String, _ count: Int) async throws {
            for _ in 0..<count { try fixture.host.emit(event, to: "door", fields: []) }
            await fixture.settle()
        }
        fixture.host.start()
        try await emit("Slam", 1)
        #expect(await log.next() == "Slam")
        try await emit("Slam", 1)
        #expect(fixture.clock.nextDeadline == .init(offset: .seconds(1)))
        fixture.clock.advance(by: .seconds(1))
        #expect(await log.next() == "Slam")
        // The second line belongs to the next second.
        try await emit("Slam", 3)
        #expect(fixture.clock.nextDeadline == .init(offset: .seconds(2)))
        fixture.clock.advance(by: .milliseconds(400))
        try await emit("Knock", 2)
        #expect(await log.next() == "Knock")
        fixture.clock.advance(by: .milliseconds(600))
        #expect(await log.next() == "Slam, 2 more after this one")
        await fixture.settle()
        #expect(fixture.clock.nextDeadline == .init(offset: .milliseconds(2_400)))
        fixture.clock.advance(by: .milliseconds(400))
        #expect(await log.next() == "Knock")
        try await emit("Knock", 5)
        await fixture.host.stop(within: .seconds(1))
        #expect(await log.next() == "Knock, 4 more after this one")
        sink.finish()
        #expect(await log.next() == nil)
    }

    @Test func `a dropped event is told with the reason in words`() async throws {
        let (lines, sink) = AsyncStream<String>.makeStream()
        let fixture = try HostFixture(
            """
            system: door
            mailbox: { limit: 2, overflow: dropOldest }
            states: { Shut: {} }
            events: { Slam: {} }
            fromOutside: any
            initialState: Shut
            transitions: { Shut: { Slam: stay } }
            """, logger: Logger(label: "test") { _ in LineHandler(sink: sink, keys: ["event", "reason"]) })
        fixture.host.start()
        _ = try fixture.host.pause("door", by: 0, named: "root")
        for _ in 0..<3 { try fixture.host.emit("Slam", to: "door", fields: []) }
        await fixture.settle()
        await fixture.host.stop(within: .seconds(1))
        sink.finish()
        var log = lines.makeAsyncIterator()
        #expect(await log.next() == "Slam, its mailbox is full")
    }

    @Test func `a flood of different faults of one place is logged a few times a second`() async throws {
        let (lines, sink) = AsyncStream<String>.makeStream()
        let fixture = try HostFixture(Self.divider, logger: Logger(label: "test") { _ in LineHandler(sink: sink) })
        let host = fixture.host
        host.start()
        for number in 0..<200 { try host.emit("Divide", to: "divider", fields: [.int(Int64(number)), .int(0)]) }
        await fixture.settle()
        #expect(try host.systemStatus("divider").faults == 200)
        await host.stop(within: .seconds(1))
        sink.finish()
        var count = 0
        for await _ in lines { count += 1 }
        #expect(count <= 5, "three, and one that tells of the others")
    }

    @Test func `a fault that recurs is logged three times, then once a minute with the number of the others`()
        async throws
    {
        let (lines, sink) = AsyncStream<String>.makeStream()
        let logger = Logger(label: "test") { _ in LineHandler(sink: sink, keys: ["reason", "repeated"]) }
        let fixture = try HostFixture(Self.divider, logger: logger)
        let host = fixture.host
        func divide(_ number: Int64) async throws {
            try host.emit("Divide", to: "divider", fields: [.int(number), .int(0)])
            await fixture.settle()
        }
        host.start()
        for second in 0..<150 {
            try await divide(1)
            // A different one is logged at once, however often another one recurs at the same place.
            if second == 30 { try await divide(2) }
            fixture.clock.advance(by: .seconds(1))
            await fixture.settle()
        }
        await host.stop(within: .seconds(1))
        sink.finish()
        var told: [String] = []
        for await line in lines { told.append(line.replacing(/"([12])x" is not an int/) { "\($0.output.1)" }) }
        #expect(
            told == [
                "1", "1", "1", "2", "1, 57 more before this one", "1, 59 more before this one",
                "1, 28 more before this one",
            ])
    }

    /// A host whose side effect warns each second, and the log of the host.
    private struct WarningFixture {
        let effect = WarnEffect()
        let clock = ManualClock()
        let host: Host
        private let lines: AsyncStream<String>
        private let sink: AsyncStream<String>.Continuation

        init(level: Logger.Level) throws {
            let (lines, sink) = AsyncStream<String>.makeStream()
            (self.lines, self.sink) = (lines, sink)
            let catalogue = EffectCatalogue([effect])
            let text = """
                system: a
                states: { Here: {} }
                events: { Never: {} }
                initialState: Here
                feedbacks: { warn: { onState: Here, every: 1s, warn: fan } }
                transitions: { Here: { Never: stay } }
                """
            host = try Host(
                graph: try graph(text, effects: catalogue.schemas), effects: catalogue,
                time: HostTime.settling(clock) { .epoch },
                logger: Logger(label: "test") { _ in
                    LineHandler(sink: sink, keys: ["thing", "repeated"], logLevel: level)
                })
            host.start()
        }

        func pass(seconds: Int) async {
            for _ in 0..<seconds {
                await host.settled()
                clock.advance(by: .seconds(1))
            }
            await host.settled()
        }

        /// The lines until the stop of the host.
        func told() async -> [String] {
            // The last lines come with the end of its loop.
            await host.stop(within: .seconds(10))
            sink.finish()
            var told: [String] = []
            for await line in lines { told.append(line) }
            return told
        }
    }

    @Test func `a warning of a side effect that recurs is logged three times, then once a minute`() async throws {
        let fixture = try WarningFixture(level: .warning)
        await fixture.pass(seconds: 70)
        let told = await fixture.told()
        // The end of the minute and the run of that second come in either order.
        let rests = [(57, 9), (58, 8)].map { ["fan, \($0) more before this one", "fan, \($1) more before this one"] }
        #expect(Array(told.prefix(3)) == ["fan", "fan", "fan"])
        #expect(rests.contains(Array(told.dropFirst(3))), "\(told)")
    }

    @Test func `a side effect that worked again and fails is news`() async throws {
        let fixture = try WarningFixture(level: .notice)
        await fixture.pass(seconds: 9)
        fixture.effect.become(well: true)
        await fixture.pass(seconds: 1)
        fixture.effect.become(well: false)
        await fixture.pass(seconds: 1)
        // The withheld lines come before the line about the end.
        let told = await fixture.told()
        #expect(told == ["fan", "fan", "fan", "fan, 6 more before this one", "", "fan"])
    }

    @Test func `a side effect that works and fails in turn is logged a few times a minute`() async throws {
        let fixture = try WarningFixture(level: .notice)
        for second in 0..<59 {
            fixture.effect.become(well: second % 2 == 1)
            await fixture.pass(seconds: 1)
        }
        let told = await fixture.told()
        let failures = told.count { $0.hasPrefix("fan") }
        #expect(failures <= 8 && told.count - failures <= 4, "\(told)")
    }

    @Test func `lines that recur are told at the end of their own minute`() async throws {
        let (lines, sink) = AsyncStream<String>.makeStream()
        let logger = Logger(label: "test") { _ in LineHandler(sink: sink, keys: ["event", "repeated"]) }
        let (clock, pool) = (ManualClock(), SettlingPool())
        let time = HostTime(clock: clock, now: { .epoch }, executor: pool)
        let log = RepeatLog(time: time, interval: .seconds(60), telling: .last)
        func tell(_ name: String) async {
            log.log(logger, .warning, "m", key: "\(name)", ["event": "\(name)"])
            await pool.settled()
        }
        var told = lines.makeAsyncIterator()
        await tell("late")
        clock.advance(by: .seconds(50))
        await tell("early")
        #expect(await told.next() == "late")
        #expect(await told.next() == "early")
        await tell("early")
        #expect(clock.nextDeadline == .init(offset: .seconds(110)))
        await tell("late")
        #expect(clock.nextDeadline == .init(offset: .seconds(60)))
        clock.advance(by: .seconds(10))
        #expect(await told.next() == "late")
        await pool.settled()
        clock.advance(by: .seconds(50))
        #expect(await told.next() == "early")
    }

    /// A system with a rule that fails for each event.
    private static var divider: String {
        """
        system: divider
        states: { Here: { sum: int } }
        events: { Divide: { number: int, by: int } }
        initialState: { Here: { sum: 0 } }
        fromOutside: any
        transitions: { Here: { Divide: { to: Here, set: { sum: "${int(string(event.number) + 'x')}" } } } }
        """
    }
}
