public import CommonExpression
import FeedbackKit
public import MediatorConfiguration

/// What stands in the way of an event, and of what would send it.
public struct WhyNot: Sendable {
    /// The system's definition.
    public let definition: SystemDefinition
    /// Its state, for which all this is told.
    public let state: SystemState
    /// Why it takes no events at all, if so.
    public let obstacle: String?
    /// The transitions that there are for the event in this state, in the order in which they are tried.
    public let transitions: [Candidate]
    /// The other states in which there are some.
    public let otherStates: [String]
    /// Whether nothing is known of its transitions, since it is written in Swift and does not list them.
    public let isOpaque: Bool
    /// What would send the event.
    public let senders: [Sender]
    /// The feedbacks that are written in Swift and have not sent the event since the system began: whether they may is not known.
    public let unknownSenders: [String]

    /// A transition.
    public struct Candidate: Sendable, Hashable {
        /// The state as written, or `any`.
        public let from: String
        /// The event as written, or `any`.
        public let event: String
        /// The new state, or `stay`.
        public let to: String
        /// The condition as written.
        public let condition: String?
        /// Where it is written.
        public let source: SourceLocation
        /// Whether the condition holds; nil: that cannot be told, or does not matter.
        public let holds: Bool?
        /// Whether it fails, or the `set` of ``field`` does, which is a fault: the event changes nothing, and what comes
        /// behind is not tried.
        public let fails: Bool
        /// Why, if there is a condition.
        public let reason: String?
        /// The field of the new state whose `set` fails; or, where it does not fail, one of which that cannot be told.
        public let field: String?
        /// What its `set` came to, or what it depends on.
        public let fieldReason: String?
    }

    /// A link or a feedback that would send the event.
    public struct Sender: Sendable, Hashable {
        /// Whether it is a link, or else a feedback of the system.
        public let isLink: Bool
        /// Its name.
        public let name: String
        /// What it does in a line.
        public let summary: String
        /// Where it is written.
        public let source: SourceLocation
        /// What stands in its way; none: it waits for nothing but what ``waits`` says.
        public let reasons: [String]
        /// What it waits for, or what it did last.
        public let waits: String
    }
}

extension Host {
    /// What stands in the way of an event of a system, and of what would send it.
    ///
    /// - Parameter fields: the event's, in the order of its definition, nil for each that is not known; nil: none is.
    public func whyNot(_ name: String, event: String, fields: [Value?]? = nil) throws(HostError) -> WhyNot {
        let set = current
        let number = try set.systemNumber(name)
        let definition = set.systems[number].definition
        let index = try Self.eventNumber(event, of: definition)
        let type = definition.events[index].type
        let fields = fields ?? type.fields.map { _ in nil }
        try Self.check(fields, of: definition.events[index])
        let sketch = EventSketch(fields, of: type)
        try Self.check(sketch.data, of: definition.events[index])
        return set.whyNot(number, index, sketch, now: time.now())
    }
}

/// The data of an event, of which some fields may not be known.
private struct EventSketch {
    /// A structure in which the fields are not that are not known, so that what reads one fails.
    let data: Value
    /// Those that are not known.
    private let unknown: Set<String>

    init(_ fields: [Value?], of type: StructureType) {
        let all = zip(type.fields, fields)
        unknown = Set(all.filter { $0.1 == nil }.map(\.0.name))
        let known = all.compactMap { field, value in value.map { (field, $0) } }
        let shape =
            known.count == type.fields.count ? type : StructureType(name: type.name, fields: known.map { $0.0 })
        data = .structure(Structure(type: shape, fields: known.map { $0.1 }))
    }

    /// What an expression reads of that which is not known, as it is written.
    func unknown(in references: Set<[String]>) -> [String] {
        guard !unknown.isEmpty else { return [] }
        return references.filter { reference in
            reference.first == "event" && (reference.count == 1 || unknown.contains(reference[1]))
        }.map { $0.joined(separator: ".") }.sorted()
    }
}

extension HostedSet {
    fileprivate func whyNot(_ number: Int, _ event: Int, _ sketch: EventSketch, now: Timestamp) -> WhyNot {
        let system = systems[number]
        let definition = system.definition
        let state = system.presentState
        let behaviour = system.behaviour
        let isSwift = definition.kind != nil
        let variables = [state.data, sketch.data, .timestamp(now)]
        let names = (state: definition.states[state.index].name, event: definition.events[event].name)
        let known = behaviour.transitions.filter { $0.event == names.event || $0.event == WhyNot.any }
        let transitions =
            isSwift
            ? known.filter { $0.from == names.state || $0.from == WhyNot.any }.map {
                WhyNot.Candidate(writtenInSwift: $0, at: system.place.source(of: .whole))
            }
            : WhyNot.Candidate.all(
                definition.rules[state.index][event], of: system, state.index, event, variables, sketch)
        let handling = definition.states.indices.filter { other in
            guard other != state.index else { return false }
            return isSwift
                ? known.contains { $0.from == definition.states[other].name }
                : !definition.rules[other][event].isEmpty
        }
        let own = behaviour.outlines.filter { behaviour.emitted.contains(event, by: $0.name) }
        return WhyNot(
            definition: definition, state: state,
            obstacle: system.phase == .running
                ? system.reluctance(ofSize: SystemEvent.size(of: sketch.data)) : Host.obstacle(to: system).text,
            transitions: transitions,
            otherStates: handling.map { definition.states[$0].name },
            isOpaque: isSwift && behaviour.transitions.isEmpty,
            senders: links(sending: event, to: number, now)
                + own.map { WhyNot.Sender(writtenInSwift: $0, sending: names.event, of: system) }
                + feedbacks(sending: event, of: system, state, now),
            unknownSenders: behaviour.outlines.map(\.name).filter { name in !own.contains { $0.name == name } })
    }

    /// The links that would send an event.
    private func links(sending event: Int, to number: Int, _ now: Timestamp) -> [WhyNot.Sender] {
        zip(graph.links, links).compactMap { definition, link in
            var reasons: [String] = []
            var waits = ""
            let last = link.fired.last.map { "; it fired last at \($0)" } ?? "; it has not fired yet"
            switch definition.form {
            case .systemToBus: return nil
            case .busToSystem(let index, let filter, let program):
                guard definition.system == number, program.event == event else { return nil }
                let bus = buses[index]
                if let value = bus.current.value {
                    reasons += filter.obstacles(to: value, now)
                    waits = "it fires at each value of the bus \(bus.definition.name)" + last
                } else {
                    waits = "it waits for a value of the bus \(bus.definition.name)"
                    waits += definition.conditionText.map { " for which \($0)" } ?? ""
                    if let since = bus.current.since {
                        waits += "; the last value came at \(since)"
                        if link.fired.last.map({ $0 < since }) ?? true { waits += ", and it did not fire at that" }
                    } else {
                        waits += ", on which none has come yet"
                    }
                    waits += last
                }
            case .systemToSystem(let target, let selector, let programs):
                let matching = programs.filter { $0.value.event == event }
                guard target == number, !matching.isEmpty else { return nil }
                let source = systems[definition.system]
                reasons += source.obstacles(to: selector, only: Set(matching.keys), now)
                waits = "it fires when such a state of \(source.definition.name) is entered" + last
            }
            if let why = link.held.why { reasons.append("it is held back, since \(why)") }
            return WhyNot.Sender(
                isLink: true, name: definition.name, summary: definition.summary, source: definition.source,
                reasons: reasons, waits: waits)
        }
    }

    /// The feedbacks of a system that would send it an event.
    private func feedbacks(
        sending event: Int, of system: HostedSystem, _ state: SystemState, _ now: Timestamp
    ) -> [WhyNot.Sender] {
        let runs = system.runs
        let next = system.nextRuns
        let (faults, levels) = (system.faults, system.incarnation.reportedLevels)
        return system.definition.feedbacks.compactMap { feedback in
            let matching = feedback.outcomes.filter { _, outcomes in
                outcomes.values.contains { $0.contains { $0.event.event == event } }
            }
            guard !matching.isEmpty else { return nil }
            var reasons = system.obstacles(to: feedback.selector, only: Set(matching.keys), now)
            let run = runs.first { $0.feedback == feedback.name }
            let isAtWork = (run?.running ?? 0) + (run?.waiting ?? 0) > 0 || next[feedback.name] != nil
            if reasons.isEmpty, !isAtWork, let fault = faults.last, let time = faults.time, time >= state.since,
                fault.part == "feedback \(feedback.name)"
            {
                reasons.append("it failed at \(time): \(fault.message)")
            }
            // What it has to come to, in this state or else in any.
            let leading = (matching[state.index] ?? matching.values.first ?? [:]).filter { _, rules in
                rules.contains { $0.event.event == event }
            }
            if reasons.isEmpty, let level = levels[feedback.name], leading.keys.allSatisfy({ $0 == level }) {
                reasons.append(
                    "it has reported \(level) already, and reports it again only after"
                        + " \(level == "onDown" ? "onUp" : "onDown"), or after a state that does not ask for it")
            }
            let outcomes = leading.flatMap { name, rules in
                rules.filter { $0.event.event == event }.map { rule in
                    name == EffectSchema.emit.name
                        ? rule.condition.map { "if \($0.source)" } ?? ""
                        : name + (rule.condition.map { " with \($0.source)" } ?? "")
                }
            }.filter { !$0.isEmpty }.sorted()
            var waits = "it emits \(system.definition.events[event].name)"
            if !outcomes.isEmpty { waits += " on \(outcomes.joined(separator: ", "))" }
            if let run, run.running > 0 { waits += "; it runs now" }
            if let time = next[feedback.name] { waits += "; its time is at \(time)" }
            return WhyNot.Sender(
                isLink: false, name: feedback.name, summary: feedback.summary,
                source: system.place.source(of: .feedback(feedback.name)),
                reasons: reasons, waits: waits)
        }
    }
}

extension HostedSystem {
    /// Why what looks at a system's states does not fire at the present one.
    ///
    /// - Parameter only: the states in which it does what is asked for.
    fileprivate func obstacles(to selector: StateSelector, only: Set<Int>, _ now: Timestamp) -> [String] {
        var reasons: [String] = []
        if phase != .running { reasons.append("\(definition.name) does not run: \(Host.obstacle(to: self).text)") }
        let state = presentState
        let name = definition.states[state.index].name
        guard selector.states.contains(state.index), only.contains(state.index) else {
            return reasons + ["it acts only in \(selector.text), and \(definition.name) is in \(name)"]
        }
        if case .structure(let data) = state.data {
            for (field, value) in selector.equals where data.fields[field] != value {
                let shown = value.description(longest: Shown.longestValue)
                let found = data.fields[field].description(longest: Shown.longestValue)
                let name = data.type.fields[field].name
                reasons.append("it acts only where \(name) is \(shown), and that is \(found)")
            }
        }
        if let condition = selector.conditions[state.index] {
            let explanation = condition.explain([state.data, .timestamp(now)])
            if explanation.value != true { reasons.append(explanation.summary) }
        }
        return reasons
    }
}

extension ValueFilter {
    /// Why it does not let a value through.
    fileprivate func obstacles(to value: Value, _ now: Timestamp) -> [String] {
        switch self {
        case .all: return []
        case .equals(let expected):
            guard value != expected else { return [] }
            let texts = [expected, value].map { $0.description(longest: Shown.longestValue) }
            return ["it wants the value \(texts[0]), and the bus has \(texts[1])"]
        case .condition(let condition):
            let explanation = condition.explain([value, .timestamp(now)])
            return explanation.value == true ? [] : [explanation.summary]
        }
    }
}

extension Explanation {
    /// What a condition came to; nil: it failed.
    fileprivate var value: Bool? {
        if case .success(.bool(let value)) = result { return value }
        return nil
    }
}

extension WhyNot.Candidate {
    /// The transitions of a state on an event.
    fileprivate static func all(
        _ rules: [TransitionRule], of system: HostedSystem, _ state: Int, _ event: Int, _ variables: [Value],
        _ sketch: EventSketch
    ) -> [WhyNot.Candidate] {
        let definition = system.definition
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
                    // One that fails is a fault, and none behind it is tried.
                    fails = explanation.value == nil
                    holds = explanation.value ?? false
                    reason = explanation.summary
                } else {
                    reason = "it depends on \(reads.joined(separator: ", "))"
                }
            } else {
                holds = true
            }
            let to: String
            switch rule.outcome {
            case .stay: to = "stay"
            case .to(let program):
                to = definition.states[program.state].name
                guard holds == true else { break }
                let names = definition.states[program.state].type.fields.map(\.name)
                for case (let name, .data(let data)) in zip(names, program.fields) {
                    guard let doubt = data.doubt(variables, sketch) else { continue }
                    // The first that fails is the fault.
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
                event: written?.event ?? names.1, to: to, condition: rule.condition?.source,
                source: system.place.source(of: .rule(state: names.0, event: names.1, index: index)), holds: holds,
                fails: fails, reason: reason,
                field: setting?.field,
                fieldReason: setting?.reason)
        }
    }
}

extension DataProgram {
    /// Why it has no value, or that this cannot be told, if so.
    fileprivate func doubt(_ variables: [Value], _ sketch: EventSketch) -> (isFailure: Bool, reason: String)? {
        switch self {
        case .constant: return nil
        case .template(let program): return program.doubt(variables, sketch)
        case .structure(_, let parts), .list(let parts): return Self.first(parts, variables, sketch)
        case .map(let entries): return Self.first(entries.map(\.value), variables, sketch)
        case .optional(let part): return part.doubt(variables, sketch)
        }
    }

    /// The first failure, or else the first doubt.
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
        // What only hands on a field has a value whatever that is.
        let doubtful = failures.first { failure in !unknown.contains { $0 == failure.parts.first?.text } }
        guard unknown.isEmpty else {
            return doubtful == nil && !failures.isEmpty
                ? nil : (false, "it depends on \(unknown.joined(separator: ", "))")
        }
        // Parts that all have values may be no text together.
        return (true, doubtful?.summary ?? failure.message)
    }
}
