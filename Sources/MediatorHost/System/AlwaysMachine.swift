import CommonExpression
import FeedbackKit
import MediatorConfiguration

/// The reducer of a system with inputs or rules of `always`. After each event that changes something, it applies rules of
/// `always` until none holds. Side effects, links and watchers see only the state at the end.
enum AlwaysMachine {
    /// The maximum number of rules of `always` that one event may set off.
    static let mostSteps = 100

    /// Applies an event, and then the rules of `always`.
    static func reduce(
        _ state: inout SystemState, _ event: SystemEvent, now: () -> Timestamp, report: (Fault) -> Void
    ) -> Reduction {
        let before = state
        var time: Timestamp?
        // One time for all steps.
        func once() -> Timestamp {
            if let time { return time }
            let taken = now()
            time = taken
            return taken
        }
        if event.index == SystemEvent.dueIndex {
            guard apply(due: event, to: &state, once, report) else { return .stay }
        } else {
            let reduction = RuleMachine.step(&state, event, now: once, report: report)
            guard reduction == .handled || reduction == .updated else { return reduction }
        }
        settle(&state, now: once, report: report)
        if state.record === before.record { return .stay }
        return state.isSameVisit(as: before) ? .updated : .handled
    }

    /// Returns the state in which a system begins, with the present values of its inputs.
    ///
    /// - Parameter inputs: The events that set the inputs.
    static func begin(
        _ state: SystemState, _ inputs: [SystemEvent], now: () -> Timestamp, report: (Fault) -> Void
    ) -> SystemState {
        var levels = set(inputs, in: state)
        // A state that a reload carried over has its compound states already.
        if levels.nest.compounds != state.definition.states[state.index].compounds {
            levels = levels.entering(state.index, from: nil, of: state.definition)
        }
        var state = state.with(original: levels)
        settle(&state, now: now, report: report)
        return state
    }

    /// Returns a state that a reload carried over, with the present values of new inputs and with the rules that wait now.
    /// Rules that apply at once are left to the event ``SystemEvent/recheck``.
    ///
    /// - Parameters:
    ///   - old: The definition before. Its inputs have been carried over, and keep their values.
    ///   - inputs: The events that set the inputs.
    static func goOn(
        _ state: SystemState, from old: SystemDefinition, _ inputs: [SystemEvent], now: () -> Timestamp,
        report: (Fault) -> Void
    ) -> SystemState {
        let known = Set(old.inputs.map { old.events[$0.event].type })
        let new = inputs.filter { event in
            guard case .structure(let data) = event.data else { return false }
            return !known.contains(data.type)
        }
        var state = state.with(original: set(new, in: state))
        _ = next(&state, now, report)
        return state
    }

    private static func set(_ inputs: [SystemEvent], in state: SystemState) -> Levels {
        var levels = state.levels
        for event in inputs {
            guard let event = event.worded(by: state.definition), event.index >= state.definition.ownEvents,
                case .structure(let data) = event.data
            else { continue }
            levels = levels.setting(event.index - state.definition.ownEvents, to: data.fields[0]) ?? levels
        }
        return levels
    }

    /// Applies the rule that has waited for its time, or checks all rules after a reload. Returns `false` if it
    /// changes nothing.
    private static func apply(
        due event: SystemEvent, to state: inout SystemState, _ now: () -> Timestamp, _ report: (Fault) -> Void
    ) -> Bool {
        guard case .uint(let number) = event.data, number > 0 else {
            var probe = state
            return next(&probe, now, report) != nil
        }
        let levels = state.levels
        guard levels.waits.contains(where: { $0.number == number && $0.phase == .waits }) else { return false }
        // The rule now applies like one without a time.
        state = state.with(original: levels.marking(.isDue) { $0.number == number })
        return true
    }

    /// Applies rules that hold, one after the other, until none holds.
    static func settle(_ state: inout SystemState, now: () -> Timestamp, report: (Fault) -> Void) {
        guard !state.definition.always.isEmpty else { return }
        let first = state
        for _ in 0..<mostSteps {
            guard let rule = next(&state, now, report), apply(rule, to: &state, now(), report) else { return }
        }
        guard let rule = next(&state, now, report) else { return }
        let name = state.record.name
        // The conditions may have changed between, so the next event starts all waits from zero.
        state = first.with(original: first.levels.left)
        report(
            Fault(
                "always of \(name)", in: .rule(state: name, event: Names.always, index: rule),
                message: "more than \(mostSteps) rules of 'always' apply one after the other; none was applied"))
    }

    /// Returns the first rule that applies now. If no rule applies, notes the waiting rules in the state.
    private static func next(
        _ state: inout SystemState, _ now: () -> Timestamp, _ report: (Fault) -> Void
    ) -> Int? {
        let definition = state.definition
        guard !definition.always.isEmpty else { return nil }
        let rules = definition.always[state.index]
        let levels = state.levels
        if rules.isEmpty, levels.waits.isEmpty { return nil }
        var variables = variables(state, levels)
        var waiting: [Int] = []
        scan: for index in rules.indices {
            do throws(EvaluationError) {
                if let condition = rules[index].rule.condition, try !condition.evaluateBool(&variables) { continue }
            } catch {
                // No later rule is tried, so none of them goes on waiting.
                report(fault(error.message, of: index, in: state))
                break
            }
            if case .history(let history) = rules[index].rule.outcome, !history.isPossible(levels) { continue }
            if rules[index].hold != nil {
                if levels.waits.contains(where: { $0.rule == index && $0.phase == .isDue }) { return index }
                waiting.append(index)
                continue
            }
            if case .stay = rules[index].rule.outcome { break scan }
            return index
        }
        if waiting.isEmpty, levels.waits.isEmpty { return nil }
        var faults: [Fault] = []
        let new = levels.waiting(for: waiting, at: now()) { rule in
            do throws(EvaluationError) {
                guard case .duration(let span)? = try rules[rule].hold?.evaluate(&variables) else { return nil }
                // An expression may give zero or less.
                return max(span.swiftDuration, .milliseconds(1))
            } catch {
                faults.append(fault(error.message, of: rule, in: state))
                return nil
            }
        }
        faults.forEach(report)
        if new !== levels { state = state.with(original: new) }
        return nil
    }

    /// Applies a rule. Returns `false` if it changes nothing, or fails.
    private static func apply(
        _ index: Int, to state: inout SystemState, _ now: Timestamp, _ report: (Fault) -> Void
    ) -> Bool {
        let definition = state.definition
        let rule = definition.always[state.index][index]
        // A rule for a compound state may lead to a state inside. It applies again after a break of its condition.
        let levels = rule.hold == nil ? state.levels : state.levels.marking(.hasApplied) { $0.rule == index }
        var variables = variables(state, levels)
        let origin = Cause.AlwaysOrigin(rule, isDue: rule.hold != nil)
        let event = SystemEvent.always(Cause(origin, of: state.record, at: now))
        do throws(EvaluationError) {
            switch rule.rule.outcome {
            case .stay, .input: return false
            case .to(let program):
                state = try RuleMachine.enter(program, from: state, levels, at: now, on: event, &variables)
            case .history(let history):
                state = try RuleMachine.enter(history, from: state, levels, at: now, on: event, &variables)
            case .update(let program):
                let data = try RuleMachine.make(program, of: definition, &variables)
                state = state.updated(
                    data, ofSize: RuleMachine.size(of: data, in: program.state, of: definition) + levels.size, at: now,
                    on: event, original: levels)
            }
            return true
        } catch {
            report(fault(error.message, of: index, in: state))
            return false
        }
    }

    /// Applies the rules for an event and those of `always` again.
    ///
    /// - Parameter visit: Receives the state after each rule, and the rule.
    static func retrace(
        _ before: SystemState, on event: SystemEvent, at now: Timestamp, _ visit: (SystemState, WrittenPart?) -> Void
    ) {
        var state = before
        if event.index == SystemEvent.dueIndex {
            guard apply(due: event, to: &state, { now }, { _ in }) else { return }
        } else {
            let rule = RuleMachine.rule(for: event, in: before, at: now)
            let reduction = RuleMachine.step(&state, event, now: { now }, report: { _ in })
            guard reduction == .handled || reduction == .updated else { return }
            visit(state, rule)
        }
        for _ in 0..<mostSteps {
            guard let index = next(&state, { now }, { _ in }) else { return }
            let rule = WrittenPart.rule(state: state.record.name, event: Names.always, index: index)
            guard apply(index, to: &state, now, { _ in }) else { return }
            visit(state, rule)
        }
    }

    /// The variables of rules of `always`.
    private static func variables(_ state: SystemState, _ levels: Levels) -> Variables {
        state.definition.inputs.isEmpty ? Variables([state.data]) : Variables(state.data, levels.inputs)
    }

    private static func fault(_ message: String, of rule: Int, in state: SystemState) -> Fault {
        let name = state.record.name
        return Fault(
            "always of \(name)", in: .rule(state: name, event: Names.always, index: rule), message: message)
    }
}
