import FeedbackKit
import Testing

// snippet: landing
struct Counting: State, Equatable {
    var value: Int
}
struct Finished: State, Equatable {}
struct Counted: Event {}

func makeCounter(to limit: Int) -> System {
    System {
        InitialState { Counting(value: 0) }
        Feedbacks {
            Feedback(on: Counting.self, strategy: .cancelOnNewState) { _ in Counted() }
        }
        Transitions {
            From(Counting.self) { counting in
                if counting.value < limit {
                    On(Counted.self, transitionTo: Counting(value: counting.value + 1))
                } else {
                    On(Counted.self, transitionTo: Finished())
                }
            }
        }
    }
}
// end

/// The states of a system until it has finished, as text.
private func statesUntilFinished() async -> [String] {
    var seen: [String] = []
    func print(_ state: any State) { seen.append("\(state)") }
    // snippet: landing-run
    let counter = makeCounter(to: 2)
    let states = counter.stream
    counter.start()
    for await state in states {
        print(state)
        if state is Finished { break }
    }
    await counter.stop()
    // end
    return seen
}

@Suite(.timeLimit(.minutes(5))) struct `The landing page` {
    @Test func `shows the output of the counter`() async {
        let seen = await statesUntilFinished()
        #expect(seen == ["Counting(value: 0)", "Counting(value: 1)", "Counting(value: 2)", "Finished()"])
    }
}
