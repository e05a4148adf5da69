import FeedbackKit
import Metrics

// The speaker of the Feedbacks documentation, which regulates its volume to a target: each type of state and event is one
// of the configuration.

struct VolumeState: State, Codable {
    let value: Int
}

struct IncreaseEvent: Event, Codable {}
struct DecreaseEvent: Event, Codable {}

struct SpeakerParameters: Codable {
    var target = 15
    var volume = 10
}

struct TooLoud: Error, CustomStringConvertible {
    let target: Int
    var description: String { "a target of \(target) would hurt; the loudest is 100" }
}

func makeSpeaker(_ parameters: SpeakerParameters) throws -> System {
    guard parameters.target <= 100 else { throw TooLoud(target: parameters.target) }
    // The daemon exports this counter with its own metrics.
    let steps = Counter(label: "speaker.steps", dimensions: [("target", "\(parameters.target)")])
    return System {
        InitialState {
            VolumeState(value: parameters.volume)
        }
        Feedbacks {
            Feedback(on: VolumeState.self, strategy: .continueOnNewState) { state in
                if state.value >= parameters.target {
                    return nil
                }
                steps.increment()
                return IncreaseEvent()
            }
            Feedback(on: VolumeState.self, strategy: .continueOnNewState) { state in
                if state.value <= parameters.target {
                    return nil
                }
                steps.increment()
                return DecreaseEvent()
            }
        }
        Transitions {
            From(VolumeState.self) { state in
                On(IncreaseEvent.self, transitionTo: VolumeState(value: state.value + 1))
                On(DecreaseEvent.self, transitionTo: VolumeState(value: state.value - 1))
            }
        }
    }
}
