import CommonExpression
import FeedbackKitTesting
import Logging
import MediatorHost
import Testing

/// Reports each warning with its event and the number of repetitions.
private struct LineHandler: LogHandler {
    let sink: AsyncStream<String>.Continuation
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.warning

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let words = ["event", "repeated"].compactMap { event.metadata?[$0].map { "\($0)" } }
        sink.yield(words.joined(separator: ", "))
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

    @Test func `faults of one place are logged a few times a second, whatever they say`() async throws {
        let (lines, sink) = AsyncStream<String>.makeStream()
        let fixture = try HostFixture(
            """
            system: divider
            states: { Here: { sum: int } }
            events: { Divide: { number: int, by: int } }
            initialState: { Here: { sum: 0 } }
            fromOutside: any
            transitions: { Here: { Divide: { to: Here, set: { sum: "${int(string(event.number) + 'x')}" } } } }
            """, logger: Logger(label: "test") { _ in LineHandler(sink: sink) })
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
}
