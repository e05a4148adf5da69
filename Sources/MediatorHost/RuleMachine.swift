import CommonExpression
import FeedbackKit
import MediatorConfiguration

/// The transitions of a configured system, as a pure reducer.
struct RuleMachine: Sendable {
    let definition: SystemDefinition
    private let rules: [[[TransitionRule]]]
    /// By the index of a state, whether its data may hold more than a fixed number of bytes, so that it must be measured.
    private let mayGrow: [Bool]

    init(definition: SystemDefinition) {
        self.definition = definition
        mayGrow = definition.states.map { ValueType.structure($0.type).mayGrow }
        rules = definition.rules
    }

    /// Finds the first rule that holds. An expression that errs is a fault, and nothing changes.
    func reduce(
        _ state: inout SystemState, _ event: SystemEvent, now: () -> Timestamp, report: (Fault) -> Void
    ) -> Reduction {
        let rules = rules[state.index][event.index]
        if rules.isEmpty { return .unhandled }
        let now = now()
        var variables = Variables(state.data, event.data, .timestamp(now))
        // By index, so that no rule is copied as a whole.
        for index in rules.indices {
            do {
                if let condition = rules[index].condition, try !condition.evaluateBool(&variables) { continue }
                switch rules[index].outcome {
                case .stay: return .stay
                case .to(let program):
                    let data = try make(program, &variables)
                    let size = mayGrow[program.state] ? SystemEvent.size(of: data) : 0
                    state = state.entering(program.state, data, ofSize: size, at: now, on: event)
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

    /// The data of a state. `variables`: the first is the data of the state before.
    private func make(_ program: StateProgram, _ variables: inout Variables) throws(EvaluationError) -> Value {
        var fields: [Value]
        if program.fields.count == 1 {
            // That is many a state, for which room need not be made first.
            fields = [try make(program.fields[0], &variables)]
        } else {
            fields = []
            fields.reserveCapacity(program.fields.count)
            for field in program.fields { fields.append(try make(field, &variables)) }
        }
        return .structure(Structure(type: definition.states[program.state].type, fields: fields))
    }

    @inline(__always)
    private func make(_ field: FieldProgram, _ variables: inout Variables) throws(EvaluationError) -> Value {
        switch field {
        case .data(let data): return try data.evaluate(&variables)
        case .keep(let index):
            guard case .structure(let structure) = variables[0] else {
                preconditionFailure("the data of a state is a structure")
            }
            return structure.fields[index]
        }
    }
}
