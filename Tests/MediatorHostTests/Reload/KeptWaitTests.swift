import FeedbackKitTesting
import MediatorConfiguration
import MediatorHost
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(20))) struct `A wait of an unchanged feedback` {
    private static func job(_ schedule: String) -> String {
        """
        system: job
        states: { Off: {}, On: { late: int } }
        events: { Go: {}, Late: {} }
        initialState: { On: { late: 0 } }
        feedbacks:
          tell: { onState: On, strategy: continueOnNewState, \(schedule), emit: Late }
          other: { onState: Off, after: 30m, emit: Go }
        transitions:
          On: { Late: { to: On, set: { late: "${state.late + 1}" } } }
          Off: { Go: { to: On, set: { late: 0 } } }
        """
    }

    /// `every` and `throttle` have one run at the start.
    @Test(arguments: [
        ("after: 30s", 0, 30), ("debounce: 30s", 0, 30), ("throttle: 30s", 1, 30), ("every: 30s", 1, 30),
        ("at: \"*:14:00\"", 0, 40),
    ])
    func `goes on over a reload to its time`(schedule: String, runs: Int, due: Int) async throws {
        let fixture = try ApplyFixture(Self.job(schedule))
        fixture.host.start()
        try await suspend(while: fixture.state("job") != "On \(runs)")
        await fixture.settle()
        #expect(fixture.clock.nextDeadline == .init(offset: .seconds(due)))
        fixture.clock.advance(by: .seconds(due - 1))
        let changed = Self.job(schedule).replacing("30m", with: "31m")
        let plan = try fixture.host.plan(for: graph(changed, effects: EffectCatalogue([fixture.effect]).schemas))
        #expect(plan.systems.map(\.feedbacks.goingOn) == [["tell"]])
        _ = try await fixture.apply(changed)
        await fixture.settle()
        #expect(try fixture.state("job") == "On \(runs)")
        #expect(fixture.clock.nextDeadline == .init(offset: .seconds(due)))
        fixture.clock.advance(by: .seconds(1))
        try await suspend(while: fixture.state("job") == "On \(runs)")
        #expect(try fixture.state("job") == "On \(runs + 1)")
        await fixture.host.stop(within: .zero)
    }
}
