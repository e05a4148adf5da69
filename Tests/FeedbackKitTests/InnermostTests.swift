import FeedbackKit
import Testing

private struct Idle: State {}
private struct Busy: State {}
private struct Go: Event {}

/// An executor that records its use and runs jobs at once.
private struct Named: LoopExecutor {
    let name: String
    let used: Record<String>
    var eventsPerTurn: Int { .max }

    func enqueue(_ turn: @escaping @Sendable () -> Void) {
        used.add(name)
        turn()
    }
}

/// If `execute(on:)` is used several times, the innermost wins, as in the originals.
@Suite struct `The innermost executor` {
    private let used = Record<String>()

    private func on(_ name: String) -> Named { Named(name: name, used: used) }

    private func answer(on name: String? = nil) -> Feedback<any State, any Event> {
        let feedback = Feedback(on: Idle.self, strategy: .continueOnNewState) { _ in Go() }
        return name.map { feedback.execute(on: on($0)) } ?? feedback
    }

    private func transitions() -> Transitions {
        Transitions { From(Idle.self) { On(Go.self, transitionTo: Busy()) } }
    }

    private func run(_ transitions: Transitions, _ feedbacks: Feedbacks, _ change: (System) -> System) -> [String] {
        let system = change(
            System {
                InitialState { Idle() }
                feedbacks
                transitions
            })
        system.start()
        #expect(system.state is Busy)
        return used.values.reduce(into: []) { names, name in if !names.contains(name) { names.append(name) } }
    }

    @Test func `of a feedback`() {
        let feedbacks = Feedbacks { answer(on: "inner").execute(on: on("outer")) }.execute(on: on("outermost"))
        #expect(run(transitions(), feedbacks) { $0.execute(on: .sendersThread) } == ["inner"])
    }

    @Test func `of several feedbacks`() {
        let feedbacks = Feedbacks { answer() }.execute(on: on("inner")).execute(on: on("outer"))
        #expect(run(transitions(), feedbacks) { $0.execute(on: .sendersThread) } == ["inner"])
    }

    @Test func `of feedbacks that were put together`() {
        let both = Feedback.combine(answer(on: "own"), answer()).execute(on: on("inner")).execute(on: on("outer"))
        #expect(run(transitions(), Feedbacks { both }) { $0.execute(on: .sendersThread) } == ["own", "inner"])
    }

    @Test func `of transitions`() {
        let transitions = transitions().execute(on: on("inner")).execute(on: on("outer"))
        let names = run(transitions, Feedbacks { answer(on: "feedback") }) { $0.execute(on: on("system")) }
        #expect(Set(names) == ["inner", "feedback"])
    }

    @Test func `of a system`() {
        let names = run(transitions(), Feedbacks { answer() }) {
            $0.execute(on: on("inner")).execute(on: on("outer"))
        }
        #expect(Set(names) == ["inner"])
    }

    @Test func `a system's executor is that of its feedbacks where the transitions have their own`() {
        let mediator = PassthroughMediator<Int>()
        let names = run(transitions().execute(on: on("transitions")), Feedbacks { answer() }) {
            $0.attach(to: mediator) { $0 is Idle ? 1 : nil }.execute(on: on("system")).execute(on: on("outer"))
        }
        // The link runs in an activation of the loop, which ends before the answer arrives; another activation takes
        // the answer.
        #expect(names == ["transitions", "system"])
    }
}
