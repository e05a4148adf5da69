import MediatorConfiguration
import Synchronization

/// A shared variable with the latest value of something, such as the source location of a part. A reload keeps a part that
/// means the same, with the definition with which it runs. But edits may have moved the part within its file.
final class Latest<Written: Sendable>: Sendable {
    private let value: Mutex<Written>

    init(_ value: Written) { self.value = Mutex(value) }

    /// The latest value.
    var now: Written { value.withLock { $0 } }

    /// Replaces the latest value.
    func become(_ written: Written) {
        var written = written
        // The earlier value leaves the lock before its release.
        value.withLock { swap(&$0, &written) }
    }
}

/// The source location of a link or a bus.
typealias WrittenPlace = Latest<SourceLocation>

/// The definition of a system, with the source locations of its parts.
typealias WrittenSystemPlace = Latest<SystemDefinition>

/// A part of a system, by names, because a newer definition may have its states and events in another order.
enum WrittenPart: Sendable, Hashable {
    /// The whole system.
    case whole
    /// A feedback.
    case feedback(String)
    /// A rule of a state for an event, or for `always`.
    case rule(state: String, event: String, index: Int)
    /// A rule of a feedback for an outcome in a state.
    case outcome(feedback: String, state: String, outcome: String, index: Int)

    /// The source of the condition that a fault of the part begins.
    var condition: Conditions.Source {
        switch self {
        case .whole: .whole
        case .feedback(let name), .outcome(let name, _, _, _): .result(feedback: name)
        case .rule(_, let event, _): .rule(event)
        }
    }
}

extension WrittenSystemPlace {
    /// Returns the present source location of a part of the system.
    func source(of part: WrittenPart) -> SourceLocation {
        let definition = now
        switch part {
        case .whole: return definition.source
        case .feedback(let name):
            return definition.feedbacks.first { $0.name == name }?.source ?? definition.source
        case .rule(let state, let event, let index):
            guard let state = definition.states.firstIndex(where: { $0.name == state }) else {
                return definition.source
            }
            if event == Names.always {
                guard definition.always.indices.contains(state), definition.always[state].indices.contains(index) else {
                    return definition.source
                }
                return definition.always[state][index].rule.source
            }
            guard let event = definition.events.firstIndex(where: { $0.name == event }),
                definition.rules[state][event].indices.contains(index)
            else { return definition.source }
            return definition.rules[state][event][index].source
        case .outcome(let name, let state, let outcome, let index):
            guard let feedback = definition.feedbacks.first(where: { $0.name == name }) else {
                return definition.source
            }
            let rules =
                definition.states.firstIndex { $0.name == state }.flatMap { feedback.outcomes[$0]?[outcome] } ?? []
            return rules.indices.contains(index) ? rules[index].source ?? feedback.source : feedback.source
        }
    }
}
