import CommonExpression
import MediatorConfiguration
import MediatorHost
import Testing

@Suite struct `The machine of supervision` {
    private typealias Decision = SupervisionMachine.Decision

    private static func span(_ seconds: Int) -> TimeSpan {
        guard let span = TimeSpan(.seconds(seconds)) else { preconditionFailure("some seconds are a span") }
        return span
    }

    private static func policy(
        _ beyond: SupervisionPolicy.LastResort = .stop, count: Int = 2, delay: Int = 1, maxDelay: Int = 3
    ) -> SupervisionPolicy {
        var policy = SupervisionPolicy()
        policy.beyond = beyond
        policy.limit = RateLimit(count: count, period: span(10))
        policy.delay = span(delay)
        policy.maxDelay = span(maxDelay)
        return policy
    }

    /// Every action, for a loop that goes on and for one that has ended, within the limit and beyond it.
    @Test(arguments: FaultAction.allCases, [false, true])
    func `decides on every action`(action: FaultAction, isOver: Bool) {
        for beyond in [SupervisionPolicy.LastResort.stop, .escalate] {
            var machine = SupervisionMachine(Self.policy(beyond, count: 1))
            let first = machine.decide(action, at: .seconds(1), isOver: isOver)
            let second = machine.decide(action, at: .seconds(2), isOver: isOver)
            let limit: Decision = beyond == .stop ? .stop(isLimit: true) : .escalate(isLimit: true)
            switch (action, isOver) {
            case (.continue, false): #expect(first == .none && second == .none)
            case (.continue, true), (.stop, _):
                #expect(first == .stop(isLimit: false) && second == .stop(isLimit: false))
            case (.escalate, _): #expect(first == .escalate(isLimit: false) && second == .escalate(isLimit: false))
            case (.reset, false): #expect(first == .reset(attempt: 1) && second == limit)
            // A loop that has ended cannot be reset.
            case (.reset, true): #expect(first == .restart(after: .zero, attempt: 1) && second == limit)
            case (.restart, _): #expect(first == .restart(after: .seconds(1), attempt: 1) && second == limit)
            }
        }
    }

    @Test func `doubles the delay up to its limit, and begins anew after a quiet period`() {
        var machine = SupervisionMachine(Self.policy(count: 4))
        for (attempt, delay) in [(1, 1), (2, 2), (3, 3), (4, 3)] {
            let decision = machine.decide(.restart, at: .seconds(attempt))
            #expect(decision == .restart(after: .seconds(delay), attempt: attempt))
        }
        func decides(at elapsed: Duration) -> Decision { machine.decide(.restart, at: elapsed) }
        #expect(decides(at: .seconds(10.5)) == .stop(isLimit: true))
        // The first attempt is a whole period ago, so there is room for one more.
        #expect(decides(at: .seconds(11)) == .restart(after: .seconds(3), attempt: 4))
        #expect(decides(at: .seconds(100)) == .restart(after: .seconds(1), attempt: 1))
        machine.forget()
        #expect(decides(at: .seconds(101)) == .restart(after: .seconds(1), attempt: 1))
    }

    @Test func `follows another policy, and keeps its counts`() {
        var machine = SupervisionMachine(Self.policy())
        func decides(at seconds: Int) -> Decision { machine.decide(.restart, at: .seconds(seconds)) }
        #expect(decides(at: 1) == .restart(after: .seconds(1), attempt: 1))
        machine.follow(Self.policy())
        #expect(decides(at: 2) == .restart(after: .seconds(2), attempt: 2))
        machine.follow(Self.policy(count: 3, delay: 2))
        #expect(decides(at: 3) == .restart(after: .seconds(2), attempt: 3))
        #expect(decides(at: 4) == .stop(isLimit: true))
    }
}

@Suite struct `The health of a system` {
    private static func signs(
        _ phase: SystemPhase = .running, inState: Health = .healthy, isLate: Bool = false, hasFailed: Bool = false,
        isPaused: Bool = false, isReady: Bool = true, isDegraded: Bool = false
    ) -> HealthSigns {
        HealthSigns(
            phase: phase, inState: inState, isLate: isLate, hasFailed: hasFailed, isPaused: isPaused, isReady: isReady,
            isDegraded: isDegraded)
    }

    @Test func `follows from the gravest sign`() {
        #expect(Self.signs().health == .healthy)
        #expect(Self.signs(inState: .degraded).health == .degraded)
        #expect(Self.signs(inState: .failed).health == .failed)
        #expect(Self.signs(isLate: true).health == .failed)
        #expect(Self.signs(hasFailed: true).health == .failed)
        #expect(Self.signs(isPaused: true).health == .degraded)
        #expect(Self.signs(isReady: false).health == .starting)
        #expect(Self.signs(isDegraded: true).health == .degraded)
        #expect(Self.signs(isPaused: true, isReady: false).health == .degraded)
        #expect(Self.signs(isReady: false, isDegraded: true).health == .starting)
        #expect(Self.signs(isLate: true, isPaused: true, isReady: false).health == .failed)
    }

    /// Outside of `running` no sign counts.
    @Test(arguments: SystemPhase.allCases) func `is that of the phase where the system does not run`(
        phase: SystemPhase
    ) {
        let expected: Health? =
            switch phase {
            case .built: .starting
            case .restarting, .givenUp: .failed
            case .leaving: .stopped
            case .running: nil
            }
        guard let expected else { return }
        for number in 0..<32 {
            func bit(_ index: Int) -> Bool { number >> index & 1 == 1 }
            for inState in [Health.healthy, .degraded, .failed] {
                let signs = Self.signs(
                    phase, inState: inState, isLate: bit(0), hasFailed: bit(1), isPaused: bit(2), isReady: bit(3),
                    isDegraded: bit(4))
                #expect(signs.health == expected)
            }
        }
    }
}

@Suite struct `The machine that watches a loop` {
    private static let deadline = Duration.seconds(2)

    private static func sight(_ incarnation: UInt64 = 1, turns: UInt64 = 1, events: UInt64 = 0) -> LoopWatch.Sight {
        LoopWatch.Sight(incarnation: incarnation, turns: turns, events: events)
    }

    private static let lateness = LateLoop(system: "a", silence: .seconds(2), deadline: .seconds(2), isBlocked: true)

    /// One look after the question, for each kind of progress.
    @Test(arguments: [
        (Self.sight(), false, 1), (Self.sight(turns: 2), false, 0), (Self.sight(events: 1), false, 0),
        (Self.sight(2), true, 0),
    ])
    private func `asks once, and counts the time without progress`(
        second: LoopWatch.Sight, asks: Bool, silence: Int
    ) {
        var watch = LoopWatch()
        let begin = watch.look(Self.sight(), at: .seconds(5), deadline: Self.deadline)
        #expect(begin == (true, .zero))
        let next = watch.look(second, at: .seconds(6), deadline: Self.deadline)
        #expect(next == (asks, .seconds(silence)))
    }

    @Test func `counts at most half of the deadline between two looks`() {
        var watch = LoopWatch()
        func silence(at elapsed: Duration) -> Duration {
            watch.look(Self.sight(), at: elapsed, deadline: Self.deadline).silence
        }
        #expect(silence(at: .zero) == .zero)
        #expect(silence(at: .seconds(3_600)) == .seconds(1))
        #expect(silence(at: .seconds(3_601)) == .seconds(2))
    }

    @Test func `notes a late loop once, until that incarnation answers`() {
        var watch = LoopWatch()
        func isNews() -> Bool { watch.note(Self.lateness) }
        func settled(_ incarnation: UInt64?) -> LateLoop? { watch.settle(incarnation) }
        #expect(!isNews(), "it was not asked")
        #expect(watch.late == nil)
        _ = watch.look(Self.sight(), at: .zero, deadline: Self.deadline)
        #expect(isNews())
        #expect(!isNews())
        #expect(settled(7) == nil && watch.late != nil)
        #expect(settled(1) == Self.lateness && watch.late == nil)
        #expect(settled(nil) == nil)
        let look = watch.look(Self.sight(), at: .seconds(1), deadline: Self.deadline)
        #expect(look.asks)
    }
}

@Suite struct `The machine that watches the queue of waits` {
    private static let deadline = Duration.seconds(4)

    @Test func `asks again after each answer, and is late without one for the deadline`() {
        var watch = WaitWatch()
        func look(at seconds: Int) -> String {
            let (asks, lateness, isNews) = watch.look(at: .seconds(seconds), deadline: Self.deadline)
            return asks ? "asks" : lateness.map { "\($0)\(isNews ? ", news" : "")" } ?? "waits"
        }
        func answers() -> Bool { watch.answer() }
        #expect(look(at: 0) == "asks" && look(at: 2) == "waits")
        #expect(!answers(), "it was in time")
        #expect(look(at: 3) == "asks" && look(at: 5) == "waits")
        #expect(look(at: 7) == "4.0 seconds, news" && look(at: 8) == "5.0 seconds")
        #expect(answers() && !answers(), "it is told once")
        #expect(look(at: 9) == "asks" && look(at: 10) == "waits")
    }

    @Test func `counts at most half of the deadline between two looks`() {
        var watch = WaitWatch()
        func isLate(at seconds: Int) -> Bool {
            watch.look(at: .seconds(seconds), deadline: Self.deadline).lateness != nil
        }
        #expect(!isLate(at: 0) && !isLate(at: 3_600) && !isLate(at: 3_601) && isLate(at: 3_602))
    }
}
