import CommonExpression
import MediatorConfiguration

/// The data of an event, which may have unknown fields.
struct EventSketch {
    /// A structure without the unknown fields, so that an expression fails if it reads one of them.
    let data: Value
    /// The names of the unknown fields.
    private let unknown: Set<String>

    init(_ fields: [Value?], of type: StructureType) {
        let all = zip(type.fields, fields)
        unknown = Set(all.filter { $0.1 == nil }.map(\.0.name))
        let known = all.compactMap { field, value in value.map { (field, $0) } }
        let shape =
            known.count == type.fields.count ? type : StructureType(name: type.name, fields: known.map { $0.0 })
        data = .structure(Structure(type: shape, fields: known.map { $0.1 }))
    }

    /// Returns the references of an expression to unknown fields, as written.
    func unknown(in references: Set<[String]>) -> [String] {
        guard !unknown.isEmpty else { return [] }
        return references.filter { reference in
            reference.first == "event" && (reference.count == 1 || unknown.contains(reference[1]))
        }.map { $0.joined(separator: ".") }.sorted()
    }
}

extension Explanation {
    /// The result of a condition, or `nil` if the condition failed.
    var value: Bool? {
        if case .success(.bool(let value)) = result { return value }
        return nil
    }
}

extension WhyNot.Candidate {
    /// Returns the transitions of a state for an event.
    static func all(
        _ rules: [TransitionRule], of definition: SystemDefinition, at place: WrittenSystemPlace, _ state: Int,
        _ event: Int, _ levels: Levels, _ variables: [Value], _ sketch: EventSketch
    ) -> [WhyNot.Candidate] {
        var isDecided = false
        var hasFailed = false
        let names = (definition.states[state].name, definition.events[event].name)
        return rules.enumerated().map { index, rule in
            let written = definition.transitions.first { $0.source == rule.source }
            var holds: Bool?
            var reason: String?
            var fails = false
            var setting: (field: String, reason: String)?
            if isDecided {
                reason = "not tried, since one before it \(hasFailed ? "fails" : "holds")"
            } else if let condition = rule.condition {
                let explanation = condition.explain(variables)
                let reads = sketch.unknown(in: condition.references)
                if reads.isEmpty || (explanation.value != nil && !condition.source.contains("has(")) {
                    // A failed condition is a fault, and no later transition is tried.
                    fails = explanation.value == nil
                    holds = explanation.value ?? false
                    reason = explanation.summary
                } else {
                    reason = "it depends on \(reads.joined(separator: ", "))"
                }
            } else {
                holds = true
            }
            if holds == true, case .history(let history) = rule.outcome, let lack = history.lack(levels, definition) {
                (holds, reason) = (false, lack)
            }
            switch rule.outcome {
            case .stay, .input: break
            case .to, .update, .history:
                guard holds == true, let program = rule.outcome.setting else { break }
                let names = definition.states[program.state].type.fields.map(\.name)
                for case (let name, .data(let data)) in zip(names, program.fields) {
                    guard let doubt = data.doubt(variables, sketch) else { continue }
                    // The first field that fails is the fault.
                    if doubt.isFailure || setting == nil { setting = (name, doubt.reason) }
                    if doubt.isFailure {
                        fails = true
                        break
                    }
                }
            }
            if holds == true || fails { isDecided = true }
            if fails { hasFailed = true }
            return WhyNot.Candidate(
                from: written?.from ?? names.0,
                event: written?.event ?? names.1, to: definition.target(of: rule), condition: rule.condition?.source,
                source: place.source(of: .rule(state: names.0, event: names.1, index: index)), holds: holds,
                fails: fails, reason: reason,
                field: setting?.field,
                fieldReason: setting?.reason, due: nil)
        }
    }
}

extension DataProgram {
    /// Returns the reason why the program has no value, or why its value is unknown. Returns `nil` if it has a value.
    fileprivate func doubt(_ variables: [Value], _ sketch: EventSketch) -> (isFailure: Bool, reason: String)? {
        switch self {
        case .constant: return nil
        case .template(let program): return program.doubt(variables, sketch)
        case .structure(_, let parts), .list(let parts): return Self.first(parts, variables, sketch)
        case .map(let entries): return Self.first(entries.map(\.value), variables, sketch)
        case .optional(let part): return part.doubt(variables, sketch)
        }
    }

    /// Returns the first failure, or else the first doubt.
    private static func first(
        _ parts: [DataProgram], _ variables: [Value], _ sketch: EventSketch
    ) -> (isFailure: Bool, reason: String)? {
        let doubts = parts.compactMap { $0.doubt(variables, sketch) }
        return doubts.first { $0.isFailure } ?? doubts.first
    }
}

extension TemplateProgram {
    fileprivate func doubt(_ variables: [Value], _ sketch: EventSketch) -> (isFailure: Bool, reason: String)? {
        let failure: EvaluationError
        do {
            _ = try evaluate(variables)
            return nil
        } catch {
            failure = error
        }
        let failures = explain(variables).filter { (try? $0.result.get()) == nil }
        let unknown = sketch.unknown(in: references)
        // A part that only passes on a field has a value, whatever the field contains.
        let doubtful = failures.first { failure in !unknown.contains { $0 == failure.parts.first?.text } }
        guard unknown.isEmpty else {
            return doubtful == nil && !failures.isEmpty
                ? nil : (false, "it depends on \(unknown.joined(separator: ", "))")
        }
        // Parts that each have a value may still not form a text.
        return (true, doubtful?.summary ?? failure.message)
    }
}

extension HistoryProgram {
    /// Returns the reason for which the rule cannot apply; `nil` if it can.
    func lack(_ levels: Levels, _ definition: SystemDefinition) -> String? {
        guard !isPossible(levels) else { return nil }
        let compound = definition.compounds[compound]
        return
            "no state in \(compound.name) has been left yet, and \(definition.states[compound.historyInitial].name) needs data that "
            + "the rule does not set"
    }
}
