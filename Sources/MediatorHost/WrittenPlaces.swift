import MediatorConfiguration
import Synchronization

/// What is written of something now. A reload keeps a system, a link or a bus that still says the same, with the definition
/// with which it runs; but its file may have been edited around it.
final class Latest<Written: Sendable>: Sendable {
    private let value: Mutex<Written>

    init(_ value: Written) { self.value = Mutex(value) }

    /// What is written now.
    var now: Written { value.withLock { $0 } }

    /// Takes note of what is written from now on.
    func become(_ written: Written) {
        var written = written
        // What was there before is let go of without the lock.
        value.withLock { swap(&$0, &written) }
    }
}

/// Where a link or a bus is written.
typealias WrittenPlace = Latest<SourceLocation>

/// Where a system is written, with its parts.
typealias WrittenSystemPlace = Latest<SystemDefinition>

/// A part of a system, by names: states and events may have another order in what is written now.
enum WrittenPart: Sendable, Hashable {
    /// All of it.
    case whole
    /// A feedback.
    case feedback(String)
    /// A rule among those of a state on an event.
    case rule(state: String, event: String, index: Int)
    /// A rule among those of a feedback for an outcome in a state.
    case outcome(feedback: String, state: String, outcome: String, index: Int)
}

extension WrittenSystemPlace {
    /// Where a part of the system is written now.
    func source(of part: WrittenPart) -> SourceLocation {
        let definition = now
        switch part {
        case .whole: return definition.source
        case .feedback(let name):
            return definition.feedbacks.first { $0.name == name }?.source ?? definition.source
        case .rule(let state, let event, let index):
            guard let state = definition.states.firstIndex(where: { $0.name == state }),
                let event = definition.events.firstIndex(where: { $0.name == event }),
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
