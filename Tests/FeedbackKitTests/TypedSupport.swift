import FeedbackKit
import Synchronization

/// Creates side effects that start on the loop's executor, report their start and cancellation, and emit on demand.
final class TypedProbe<E: Sendable>: Sendable {
    private struct Machine {
        var log: [String] = []
        /// An effect that has ended by itself is released and reports nothing.
        var finished: Set<String> = []
        var open: [String: (send: Send<E>, finish: @Sendable () -> Void)] = [:]
    }
    private let machine = Mutex(Machine())

    var log: [String] { machine.withLock { $0.log } }

    func effect(_ value: some Any) -> Effect<E> {
        let label = "\(value)"
        return .subscribe { send, finish in
            self.machine.withLock { machine in
                machine.log.append("start \(label)")
                machine.open[label] = (send, finish)
                machine.finished.remove(label)
            }
            return Subscription {
                self.machine.withLock { machine in
                    if !machine.finished.contains(label) { machine.log.append("cancel \(label)") }
                }
            }
        }
    }

    /// Emits from the latest effect with this label, even if it has been cancelled.
    @discardableResult
    func emit(_ event: E, from label: String) -> SendResult? {
        machine.withLock { $0.open[label]?.send }.map { $0(event) }
    }

    func finish(_ label: String) {
        machine.withLock { machine in
            machine.finished.insert(label)
            return machine.open[label]?.finish
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
