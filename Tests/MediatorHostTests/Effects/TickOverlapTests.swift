import MediatorHost
import Testing

@Suite(.timeLimit(.minutes(20))) struct `Ticks never overlap` {
    private static func system(_ schedule: String, _ mode: String) -> String {
        """
        system: s
        states: { S: {}, T: {}, Idle: {} }
        events: { Flip: {}, Rest: {} }
        fromOutside: any
        initialState: S
        feedbacks:
          slow:
            onState: [S, T]
            strategy: continueOnNewState
            \(mode)
            \(schedule)
            act: a
            timeout: 20s
            onTimeout: log
        transitions:
          S: { Flip: T, Rest: Idle }
          T: { Flip: S, Rest: Idle }
          Idle: { Flip: S, Rest: stay }
        """
    }

    /// The begins since the last call, and the largest number of runs at one time.
    private static func count(_ fixture: ConditionFixture, _ active: inout Int) -> (begun: Int, most: Int) {
        var (begun, most) = (0, active)
        for (_, deed) in fixture.acts.takeDeeds() {
            switch deed {
            case .began: (begun, active) = (begun + 1, active + 1)
            case .ended: active -= 1
            case .did: break
            }
            most = max(most, active)
        }
        return (begun, most)
    }

    @Test(
        arguments: ["every: 1s", "at: \"*:*:*\""], ["mode: parallel", "mode: queued", "mode: single", "mode: restart"])
    func `though the state changes during a run`(schedule: String, mode: String) async throws {
        let fixture = try ConditionFixture(Self.system(schedule, mode))
        fixture.acts["a"] = .hangs
        var active = 0
        await fixture.start()
        for _ in 0..<8 {
            await fixture.pass()
            try await fixture.emit("Flip")
        }
        let (begun, most) = Self.count(fixture, &active)
        #expect(most == 1)
        if mode != "mode: restart" { #expect(begun == 1) }
        // A state that does not ask for it, and then one that does again.
        try await fixture.emit("Rest")
        await fixture.pass(3)
        try await fixture.emit("Flip")
        await fixture.pass(3)
        #expect(Self.count(fixture, &active).most <= 1)
        // The next run begins when that one has ended.
        fixture.acts["a"] = .succeeds
        await fixture.pass(30)
        let later = Self.count(fixture, &active)
        #expect(later.begun >= 10 && later.most == 1 && active == 0)
        await fixture.host.stop(within: .zero)
    }
}
