import CommonExpression
import MediatorConfiguration

/// A feedback in terms of one definition of its system.
///
/// After a reload that does not change the feedback, the same runner goes on with another program, because the indices of
/// states and events may differ.
final class FeedbackProgram: Sendable {
    let system: SystemDefinition
    /// The index of the feedback in the definition of the system.
    private let index: Int

    /// The feedback. It is read in its place, because a copy is large.
    var feedback: FeedbackDefinition {
        @inline(__always)
        _read { yield system.feedbacks[index] }
    }

    /// A Boolean value that indicates whether the feedback names a compound state.
    var isOverCompound: Bool { !feedback.selector.compounds.isEmpty }

    /// A Boolean value that indicates whether the runner ends side effects of earlier states, because not every new state does.
    var endsByItself: Bool { isOverCompound && feedback.strategy == .cancelOnNewState }

    /// - Parameter index: The index of the feedback in the definition of the system.
    init(_ index: Int, of system: SystemDefinition) {
        self.system = system
        self.index = index
    }

    /// Returns the rules for an outcome of a run that a state has asked for, or `nil` without rules.
    func rules(for outcome: String, in state: SystemState) -> [EmissionRule]? {
        system.index(of: state.index, in: state.definition).flatMap { feedback.outcomes[$0]?[outcome] }
    }
}

extension StateSelector {
    /// Returns a Boolean value that indicates whether the selector includes a state.
    ///
    /// - Parameters:
    ///   - index: The index of the state in the definition of the selector.
    ///   - data: The data of the state.
    ///   - variables: The variables of conditions: the data of the state and the time.
    func matches(_ index: Int, _ data: Value, _ variables: inout Variables) throws(EvaluationError) -> Bool {
        guard states.contains(index) else { return false }
        if !equals.isEmpty {
            guard case .structure(let data) = data else { return false }
            for (field, value) in equals where data.fields[field] != value { return false }
        }
        guard let condition = conditions[index] else { return true }
        return try condition.evaluateBool(&variables)
    }
}
