import CommonExpression
import FeedbackKit
import MediatorConfiguration

/// The transitions of a configured system, as a pure reducer. The rules are those of the definition of the state, so an
/// exchange of the state exchanges the rules.
enum RuleMachine {
    /// Applies the first rule whose condition holds. An expression that fails is a fault, and the state stays. An event
    /// that the definition does not have is not handled.
    static func reduce(
        _ state: inout SystemState, _ event: SystemEvent, now: () -> Timestamp, report: (Fault) -> Void
    ) -> Reduction {
        state.definition.hasLevels
            ? AlwaysMachine.reduce(&state, event, now: now, report: report)
            : step(&state, event, now: now, report: report)
    }

    /// Applies the first rule for an event, without the rules of `always`.
    static func step(
        _ state: inout SystemState, _ sent: SystemEvent, now: () -> Timestamp, report: (Fault) -> Void
    ) -> Reduction {
        let definition = state.definition
        guard let event = sent.worded(by: definition), event.index >= 0 else { return .unhandled }
        let rules = definition.rules[state.index][event.index]
        if rules.isEmpty { return .unhandled }
        let now = now()
        let levels = definition.hasLevels ? state.levels : nil
        if case .input(let index) = rules[0].outcome {
            return set(index, of: &state, by: event, levels, at: now)
        }
        var variables =
            definition.inputs.isEmpty
            ? Variables(state.data, event.data, .timestamp(now))
            : Variables([state.data, event.data, .timestamp(now), levels?.inputs ?? .null])
        // By index, so that no rule is copied as a whole.
        for index in rules.indices {
            do {
                if let condition = rules[index].condition, try !condition.evaluateBool(&variables) { continue }
                switch rules[index].outcome {
                case .stay: return .stay
                case .to(let program):
                    state = try enter(program, from: state, levels, at: now, on: event, &variables)
                    return .handled
                case .history(let history):
                    guard history.isPossible(levels) else { continue }
                    state = try enter(history, from: state, levels, at: now, on: event, &variables)
                    return .handled
                case .update(let program):
                    let data = try make(program, of: definition, &variables)
                    state = state.updated(
                        data, ofSize: size(of: data, in: program.state, of: definition) + (levels?.size ?? 0), at: now,
                        on: event, original: levels)
                    return .updated
                case .input: return .stay
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

    /// Returns the first rule that applies to an event. Returns `nil` without one, or if a condition fails.
    static func rule(for sent: SystemEvent, in state: SystemState, at now: Timestamp) -> WrittenPart? {
        let definition = state.definition
        guard let event = sent.worded(by: definition), event.index >= 0 else { return nil }
        let rules = definition.rules[state.index][event.index]
        let levels = definition.hasLevels ? state.levels : nil
        var variables =
            definition.inputs.isEmpty
            ? Variables(state.data, event.data, .timestamp(now))
            : Variables([state.data, event.data, .timestamp(now), levels?.inputs ?? .null])
        for index in rules.indices {
            if case .input = rules[index].outcome { return nil }
            if let condition = rules[index].condition {
                guard let holds = try? condition.evaluateBool(&variables) else { return nil }
                if !holds { continue }
            }
            if case .history(let history) = rules[index].outcome, !history.isPossible(levels) { continue }
            return .rule(
                state: definition.states[state.index].name, event: definition.events[event.index].name, index: index)
        }
        return nil
    }

    /// Returns the state to which a rule leads.
    static func enter(
        _ program: StateProgram, from state: SystemState, _ levels: Levels?, at now: Timestamp, on event: SystemEvent,
        remembered: Structure? = nil, _ variables: inout Variables
    ) throws(EvaluationError) -> SystemState {
        let definition = state.definition
        let data = try make(program, of: definition, remembered: remembered, &variables)
        let new = levels?.entering(program.state, reentered: program.enters, from: state, of: definition)
        return state.entering(
            program.state, data, ofSize: size(of: data, in: program.state, of: definition) + (new?.size ?? 0), at: now,
            on: event, original: new)
    }

    /// Returns the state inside a compound state that was left last.
    static func enter(
        _ history: HistoryProgram, from state: SystemState, _ levels: Levels?, at now: Timestamp,
        on event: SystemEvent, _ variables: inout Variables
    ) throws(EvaluationError) -> SystemState {
        let left = levels?.nest.left[history.compound]
        let program = left.flatMap { history.programs[$0.state] }
        guard let target = program ?? history.initial else { return state }
        return try enter(
            target, from: state, levels, at: now, on: event,
            remembered: program.flatMap { _ in left?.data }, &variables)
    }

    /// Sets an input.
    private static func set(
        _ index: Int, of state: inout SystemState, by event: SystemEvent, _ levels: Levels?, at now: Timestamp
    ) -> Reduction {
        guard case .structure(let input) = event.data, let new = levels?.setting(index, to: input.fields[0]) else {
            return .stay
        }
        state = state.updated(
            state.data, ofSize: size(of: state.data, in: state.index, of: state.definition) + new.size, at: now,
            on: event,
            original: new)
        return .updated
    }

    /// Resets a state to the initial one.
    static func reset(
        _ state: inout SystemState, _ event: SystemEvent, now: Timestamp
    ) throws(EvaluationError) {
        let definition = state.definition
        let data = Value.structure(try definition.initialData(now: now))
        let levels =
            definition.hasLevels
            ? state.levels.left.entering(definition.initialState.state, from: nil, of: definition) : nil
        state = state.entering(
            definition.initialState.state, data, ofSize: SystemEvent.size(of: data) + (levels?.size ?? 0), at: now,
            on: event,
            original: levels)
    }

    /// Returns the number of bytes that count in the data of a state; see ``SystemEvent/size(of:)``.
    static func size(of data: Value, in state: Int, of definition: SystemDefinition) -> Int {
        definition.mayGrow[state] ? SystemEvent.size(of: data) : 0
    }

    /// Returns the data of a state. The first variable is the data of the previous state.
    ///
    /// - Parameter remembered: The data of a state that was left before.
    static func make(
        _ program: StateProgram, of definition: SystemDefinition, remembered: Structure? = nil,
        _ variables: inout Variables
    ) throws(EvaluationError) -> Value {
        var fields: [Value]
        if program.fields.count == 1 {
            // A common case, which needs no reserved capacity.
            fields = [try make(program.fields[0], remembered, &variables)]
        } else {
            fields = []
            fields.reserveCapacity(program.fields.count)
            for field in program.fields { fields.append(try make(field, remembered, &variables)) }
        }
        return .structure(Structure(type: definition.states[program.state].type, fields: fields))
    }

    @inline(__always)
    private static func make(
        _ field: FieldProgram, _ remembered: Structure?, _ variables: inout Variables
    ) throws(EvaluationError) -> Value {
        switch field {
        case .data(let data): return try data.evaluate(&variables)
        case .keep(let index):
            guard case .structure(let structure) = variables[0] else {
                preconditionFailure("the data of a state is a structure")
            }
            return structure.fields[index]
        case .remembered(let index):
            guard let remembered else { preconditionFailure("a program for a remembered state gets its data") }
            return remembered.fields[index]
        }
    }
}

extension HistoryProgram {
    /// Returns whether the rule can apply: a state is remembered, or the initial state needs no other data.
    func isPossible(_ levels: Levels?) -> Bool { initial != nil || levels?.nest.left[compound] != nil }
}
