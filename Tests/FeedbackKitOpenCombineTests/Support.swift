import FeedbackKit
import Synchronization

/// Collects values in order, from any thread.
final class Log<Entry: Sendable>: Sendable {
    private let guarded = Mutex<[Entry]>([])

    func add(_ entry: Entry) { guarded.withLock { $0.append(entry) } }

    var entries: [Entry] { guarded.withLock { $0 } }
}

struct CountState: State, Equatable {
    let value: Int
}

struct DoneState: State {}

struct AddEvent: Event, Equatable {
    let amount: Int
}

struct FinishEvent: Event {}

extension System {
    /// Returns a loop that counts, with the given feedbacks, on the sender's thread.
    static func counter(_ feedbacks: Feedback<any State, any Event>...) -> System {
        System {
            InitialState { CountState(value: 0) }
            Feedbacks { feedbacks }
            Transitions {
                From(CountState.self) { state in
                    On(AddEvent.self, transitionTo: CountState.self) { event in
                        CountState(value: state.value + event.amount)
                    }
                    On(FinishEvent.self, transitionTo: DoneState())
                }
            }
        }.execute(on: .sendersThread)
    }

    /// The current count.
    var count: Int? { (state as? CountState)?.value }
}

extension Loop where State == Int, Event == Int {
    /// Returns a loop that adds, with the given feedbacks, on the sender's thread.
    static func adder(
        _ feedbacks: Feedback<Int, Int>..., mailboxLimit: Int = .max, overflow: Overflow = .dropNewest
    ) -> Loop<Int, Int> {
        Loop(
            initial: 0, feedbacks: feedbacks, executor: .sendersThread, mailboxLimit: mailboxLimit, overflow: overflow
        ) { state, event in
            state += event
            return .handled
        }
    }
}
