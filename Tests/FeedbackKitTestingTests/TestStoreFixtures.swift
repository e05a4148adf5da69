import FeedbackKit
import FeedbackKitTesting

struct Counter: Sendable, Equatable {
    var count = 0
    var isRunning = false
}

enum CounterEvent: Sendable, Equatable {
    case start, stop, tick, keep, unknown
    case add(Int)
}

struct TickFailed: Error {}

/// Emits a tick each second while the stopwatch runs.
let ticking = Feedback<Counter, CounterEvent>(name: "ticking") { state, _ in
    state.isRunning ? .after(.seconds(1), .tick) : .nothing
}

let reduceCounter: @Sendable (inout Counter, CounterEvent) -> Reduction = { state, event in
    switch event {
    case .start: state.isRunning = true
    case .stop: state.isRunning = false
    case .tick: state.count += 1
    case .add(let number): state.count += number
    case .keep: return .stay
    case .unknown: return .unhandled
    }
    return .handled
}

func makeStore(_ feedbacks: [Feedback<Counter, CounterEvent>] = [ticking]) -> TestStore<Counter, CounterEvent> {
    TestStore(initial: Counter(), feedbacks: feedbacks, reduce: reduceCounter)
}

/// Answers `add(1)` with the given effect.
func answering(
    _ effect: Effect<CounterEvent>
) -> Feedback<Counter, CounterEvent> {
    Feedback(name: "answering", cancellation: .never) { _, event in event == .add(1) ? effect : .nothing }
}
