import FeedbackKit
import Measuring

/// The declarative dialect: two states, one event, feedbacks that look at one of the states.
enum SystemLines {
    struct Idle: State { let total: Int }
    struct Busy: State { let total: Int }
    struct Step: Event { let by: Int }

    static let lines = [
        Line("system-1", turns: 600_000) { send($0, feedbacks: 1) },
        Line("system-10", turns: 300_000) { send($0, feedbacks: 10) },
        Line("bus-system", turns: 600_000) { bus($0) },
        Line("bus-system-pool", turns: 600_000, concurrently: { await busToPool($0) }),
    ]

    /// A system that goes from one state to the other and counts with every event. When it is busy at `goal`, which
    /// must be odd, its feedbacks call `reached`.
    static func make(
        feedbacks: Int, goal: Int = .max, reached: @escaping @Sendable () -> Void = {}
    ) -> System {
        System {
            InitialState { Idle(total: 0) }
            Feedbacks {
                for _ in 0..<feedbacks {
                    Feedback(on: Busy.self, strategy: .cancelOnNewState) { state in
                        if state.total == goal { reached() }
                        return nil
                    }
                }
            }
            Transitions {
                From(Idle.self) { state in
                    On(Step.self, transitionTo: Busy.self) { event in Busy(total: state.total + event.by) }
                }
                From(Busy.self) { state in
                    On(Step.self, transitionTo: Idle.self) { event in Idle(total: state.total + event.by) }
                }
            }
        }
    }

    private static func total(of system: System) -> Int? {
        switch system.state {
        case let state as Idle: state.total
        case let state as Busy: state.total
        default: nil
        }
    }

    private static func send(_ turns: Int, feedbacks: Int) -> Sample {
        let system = make(feedbacks: feedbacks).execute(on: .sendersThread)
        system.start()
        let sample = Sample.timing(turns) {
            for _ in 0..<turns { system.send(Step(by: 1)) }
        }
        precondition(total(of: system) == turns)
        return sample
    }

    private static func bus(_ turns: Int) -> Sample {
        let bus = PassthroughMediator<Int>()
        let system = make(feedbacks: 1).execute(on: .sendersThread).attach(to: bus) { Step(by: $0) }
        system.start()
        let sample = Sample.timing(turns) {
            for _ in 0..<turns { bus.send(1) }
        }
        precondition(total(of: system) == turns)
        return sample
    }

    /// The same with the system on the shared pool; over when it has taken the last event.
    private static func busToPool(_ turns: Int) async -> Sample {
        let turns = turns | 1
        let bus = PassthroughMediator<Int>()
        let over = Latch()
        let system = make(feedbacks: 1, goal: turns) { over.count() }
            .attach(to: bus) { Step(by: $0) }
        system.start()
        while bus.snapshot.subscribers == 0 { await Task.yield() }
        let sample = await Sample.timing(turns) {
            for _ in 0..<turns { bus.send(1) }
            await over.wait()
        }
        precondition(total(of: system) == turns)
        return sample
    }
}
