import CommonExpression
import FeedbackKitTesting
import SideEffects
import Testing
import TestSupport

@Suite(.timeLimit(.minutes(5))) struct `The side effect dns` {
    private let clock = ManualClock()

    @Test(arguments: [
        ("localhost", "A", ["127.0.0.1"]), ("127.0.0.1", "any", ["127.0.0.1"]), ("::1", "AAAA", ["::1"]),
        ("::1", "any", ["::1"]),
    ]) func `returns the addresses`(name: String, type: String, expected: [String]) async {
        let lookup = Sensing(DNSEffect(), ["name": .string(name), "type": .string(type)], clock: clock)
        await lookup.until { $0.isOver }
        #expect(lookup.names == ["onSuccess"])
        #expect(lookup.value(0, "addresses") == .list(expected.map { .string($0) }))
        #expect(lookup.value(0, "took")?.type == .duration)
    }

    @Test(arguments: [
        ("127.0.0.1", "AAAA", "the name is not known, or has no IPv6 address"),
        ("::1", "A", "the name is not known, or has no IPv4 address"),
        ("nowhere.invalid", "any", "the name is not known"),
    ]) func `reports a name without addresses`(name: String, type: String, error: String) async {
        let lookup = Sensing(DNSEffect(), ["name": .string(name), "type": .string(type)], clock: clock)
        await lookup.until { $0.isOver }
        #expect(lookup.names == ["onFailure"])
        // Without a network nobody knows that the name does not exist.
        #expect([error, "no name server answers for now"].contains(lookup.text(0, "error") ?? ""))
    }

    @Test func `waits up to its limit, and lets the call continue alone`() async {
        let (begun, end) = (AsyncStream<Void>.makeStream(), ThreadSemaphore())
        let resolver = NameResolver { name, port, family in
            begun.continuation.yield()
            end.wait()
            return NameResolver.ask("127.0.0.1", port, family)
        }
        var calls = begun.stream.makeAsyncIterator()
        let late = Sensing(DNSEffect(resolver: resolver), ["name": .string("slow")], clock: clock)
        _ = await calls.next()
        await clock.nextDeadline(in: .seconds(5))
        clock.advance(by: .seconds(5))
        await late.until { $0.isOver }
        #expect(late.names == ["onFailure"] && late.text(0, "error") == "no answer within 5.0 seconds")
        #expect(late.text(0, "took") == "5s")
        let cancelled = Sensing(DNSEffect(resolver: resolver), ["name": .string("slow")], clock: clock)
        _ = await calls.next()
        await cancelled.cancel()
        #expect(cancelled.names == [] && cancelled.failures == [])
        for _ in 0..<2 { end.signal() }
    }
}
