import FeedbackKitTesting
import MediatorHost
import Testing

/// Stories of side effects that began in a state that has been left since.
@Suite(.timeLimit(.minutes(20))) struct `The story of a side effect that outlasts its state` {
    private func host(_ strategy: String) async throws -> CauseFixture {
        let fixture = try CauseFixture(
            """
            system: a
            states: { Unknown: {}, Up: {}, Down: {} }
            events: { Rise: {}, Fall: {} }
            fromOutside: any
            initialState: Unknown
            feedbacks:
              watch: { onState: Unknown, \(strategy), look: 10s, onLost: Fall }
            transitions: { any: { Rise: Up, Fall: Down } }

            """)
        fixture.host.start()
        await fixture.settle()
        #expect(fixture.clock.nextDeadline == .init(offset: .seconds(10)))
        return fixture
    }

    @Test func `names the state that was left, and apart from it where the side effect began`() async throws {
        let fixture = try await host("strategy: continueOnNewState")
        for event in ["Rise", "Fall", "Rise"] { try fixture.host.emit(event, to: "a", fields: []) }
        fixture.clock.advance(by: .seconds(10))
        try await fixture.reach("Down", in: "a")
        #expect(
            try fixture.why("a") == [
                "a is in Down",
                "by the event Fall, which it took in Up",
                "since the feedback watch came after 10s to onLost { why: \"no answer\" }",
                "when that side effect began, a was in Unknown",
                "as it began at the start",
            ])
        #expect(try fixture.host.why("a").hops.filter { $0.kind == .state }.map(\.previous) == ["Up", nil])
        await fixture.host.stop(within: .zero)
    }

    @Test(arguments: ["strategy: continueOnNewState", "strategy: cancelOnNewState"])
    func `says nothing of that where it began in the state that was left`(strategy: String) async throws {
        let fixture = try await host(strategy)
        fixture.clock.advance(by: .seconds(10))
        try await fixture.reach("Down", in: "a")
        #expect(
            try fixture.why("a") == [
                "a is in Down",
                "by the event Fall",
                "since the feedback watch came after 10s to onLost { why: \"no answer\" }",
                "a was in Unknown",
                "as it began at the start",
            ])
        #expect(try fixture.host.why("a").hops.first?.previous == "Unknown")
        await fixture.host.stop(within: .zero)
    }
}
