import FeedbackKit
import Synchronization

/// Creates side effects that start on the loop's executor, report their start and cancellation, and emit on demand.
final class TypedProbe<E: Sendable>: Sendable {
    private struct State {
        var log: [String] = []
        /// An effect that has ended by itself is released and reports nothing.
        var finished: Set<String> = []
        var open: [String: (send: Send<E>, finish: @Sendable () -> Void)] = [:]
    }
    private let state = Mutex(State())

    var log: [String] { state.withLock { $0.log } }

    func effect(_ value: some Any) -> Effect<E> {
        let label = "\(value)"
        return .subscribe { send, finish in
            self.state.withLock { state in
                state.log.append("start \(label)")
                state.open[label] = (send, finish)
                state.finished.remove(label)
            }
            return Subscription {
                self.state.withLock { state in
                    if !state.finished.contains(label) { state.log.append("cancel \(label)") }
                }
            }
        }
    }

    /// Emits from the latest effect with this label, even if it has been cancelled.
    @discardableResult
    func emit(_ event: E, from label: String) -> SendResult? {
        state.withLock { $0.open[label]?.send }.map { $0(event) }
    }

    func finish(_ label: String) {
        state.withLock { state in
            state.finished.insert(label)
            return state.open[label]?.finish
        }?()
    }
}

/// A state with a part that controls side effects.
struct Knob: Sendable, Equatable {
    var control: Int?
    var other = 0
    var received: [String] = []
}

enum KnobEvent: Sendable, Equatable {
    case turn(Int?)
    case other
    case got(String)

    static func reduce(_ knob: inout Knob, _ event: KnobEvent) {
        switch event {
        case .turn(let control): knob.control = control
        case .other: knob.other += 1
        case .got(let text): knob.received.append(text)
        }
    }
}

typealias KnobFeedback = Feedback<Knob, KnobEvent>

/// A loop on the sender's thread.
func knobLoop(_ control: Int?, _ feedbacks: KnobFeedback...) -> Loop<Knob, KnobEvent> {
    let loop = system(
        initial: Knob(control: control), reduce: KnobEvent.reduce, feedbacks: feedbacks, executor: .sendersThread
    ).makeLoop()
    loop.start()
    return loop
}
