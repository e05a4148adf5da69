import CommonExpression
import FeedbackKit
import MediatorConfiguration

/// The transitions of a configured system, as a pure reducer.
struct RuleMachine: Sendable {
    let definition: SystemDefinition

    /// Finds the first rule that holds. An expression that errs is a fault, and nothing changes.
    func reduce(
        _ state: inout SystemState, _ event: SystemEvent, now: () -> Timestamp, report: (Fault) -> Void
    ) -> Reduction {
        let rules = definition.rules[state.index][event.index]
        if rules.isEmpty { return .unhandled }
        let now = now()
        let variables = [state.data, event.data, .timestamp(now)]
        // By index, so that no rule is copied as a whole.
        for index in rules.indices {
            do {
                if let condition = rules[index].condition, try !condition.evaluateBool(variables) { continue }
                switch rules[index].outcome {
                case .stay: return .stay
                case .to(let program):
                    let data = try make(program, from: state.data, variables)
                    state = state.entering(program.state, data, at: now, on: event)
                    return .handled
                }
            } catch {
                let names = (definition.states[state.index].name, definition.events[event.index].name)
                let part = "transition from \(names.0) on \(names.1)"
                let rule = WrittenPart.rule(state: names.0, event: names.1, index: index)
                report(Fault(part, in: rule, message: error.message))
                return .stay
            }
        }
        return .unhandled
    }

    private func make(
        _ program: StateProgram, from old: Value, _ variables: [Value]
    ) throws(EvaluationError) -> Value {
        var fields: [Value] = []
        fields.reserveCapacity(program.fields.count)
        for field in program.fields {
            switch field {
            case .data(let data): fields.append(try data.evaluate(variables))
            case .keep(let index):
                guard case .structure(let structure) = old else {
                    preconditionFailure("the data of a state is a structure")
                }
                fields.append(structure.fields[index])
            }
        }
        return .structure(Structure(type: definition.states[program.state].type, fields: fields))
    }
}
