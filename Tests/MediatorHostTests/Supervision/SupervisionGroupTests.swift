import CommonExpression
import FeedbackKit
import FeedbackKitTesting
import MediatorConfiguration
import MediatorHost
import Testing

extension `Supervision` {
    private static func group(_ strategy: String, _ policy: String) -> String {
        let systems = ["a", "b", "c"].map {
            system(
                "supervision: \(policy)", name: $0,
                more: "feedbacks: { go: { onState: any, strategy: continueOnNewState, mode: single, work: \($0) } }")
        }
        return systems.joined(separator: "\n---\n") + "\n---\n" + """
            groups:
              letters: { strategy: \(strategy), systems: [a, b, c] }
            """
    }

    @Test(arguments: [("one", ["b"]), ("all", ["a", "b", "c"]), ("rest", ["b", "c"])])
    func `restarts those of its group that its strategy names, in their order`(
        _ strategy: String, _ concerned: [String]
    ) async throws {
        let fixture = try Fixture(Self.group(strategy, "{ onFault: restart, delay: 2s }")).start()
        await fixture.works.began.wait { $0.count >= 3 }
        try await fixture.breakIt("b")
        for name in concerned { try await fixture.until(name) { $0.health == .failed } }
        await fixture.works.ended.wait { $0.count >= concerned.count }
        await fixture.host.settled()
        #expect(fixture.clock.nextDeadline == .init(offset: .seconds(2)))
        for name in ["a", "b", "c"] where !concerned.contains(name) {
            #expect(try fixture.status(name).health == .healthy)
        }
        for name in concerned where name != "b" {
            #expect(try fixture.status(name).healthReason == "being restarted with 'b'")
        }
        fixture.clock.advance(by: .seconds(2))
        await fixture.works.began.wait { $0.count >= 3 + concerned.count }
        for name in ["a", "b", "c"] {
            try await fixture.until(name) { $0.restarts == (concerned.contains(name) ? 1 : 0) }
            #expect(try fixture.status(name).health == .healthy)
        }
        await fixture.host.stop(within: .zero)
    }

    @Test func `ends and resets those of its group too`() async throws {
        let fixture = try Fixture(Self.group("rest", "stop")).start()
        try await fixture.breakIt("b")
        for name in ["b", "c"] { try await fixture.until(name) { $0.loop.phase == .stopped } }
        #expect(try fixture.status("c").healthReason == "ended with 'b'")
        #expect(try fixture.status("a").health == .healthy)
        await fixture.host.stop(within: .zero)

        let other = try Fixture(Self.group("all", "reset")).start()
        try other.divide("c", by: 2)
        try await other.until("c") { $0.state.serial == 2 }
        try await other.breakIt("b")
        try await other.until("c") { $0.resets == 1 && $0.state.serial == 3 }
        #expect(try other.quotient("c") == .int(100))
        await other.host.stop(within: .zero)
    }
}
