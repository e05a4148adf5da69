public import CommonExpression
import FeedbackKit
public import MediatorConfiguration

/// The obstacles to an event, and to the links and feedbacks that would send it.
public struct WhyNot: Sendable {
    /// The definition of the system.
    public let definition: SystemDefinition
    /// The state of the system that the obstacles apply to.
    public let state: SystemState
    /// The reason why the system does not take the event now, or `nil` if it does.
    public let obstacle: String?
    /// The transitions for the event in this state, in the order of evaluation.
    public let transitions: [Candidate]
    /// The names of the other states that have transitions for the event.
    public let otherStates: [String]
    /// A Boolean value that indicates whether the transitions are unknown, since the system is written in Swift and
    /// does not list them.
    public let isOpaque: Bool
    /// The links and feedbacks that would send the event.
    public let senders: [Sender]
    /// The feedbacks that are written in Swift and have not sent the event since the system began. It is unknown
    /// whether they can send it.
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
        /// The place of the transition.
        public let source: SourceLocation
        /// A Boolean value that indicates whether the condition holds. `nil` if that is unknown or does not matter.
        public let holds: Bool?
        /// A Boolean value that indicates whether the condition or the `set` of ``field`` fails. That is a fault: the
        /// event changes nothing, and no later transition is tried.
        public let fails: Bool
        /// The explanation of the condition's result, or the reason why the transition was not tried.
        public let reason: String?
        /// The field of the new state whose `set` fails. If none fails, it is a field whose `set` has an unknown
        /// result.
        public let field: String?
        /// The failure of its `set`, or the unknown fields that the `set` depends on.
        public let fieldReason: String?
        /// The time at which a rule of `always` applies whose condition must hold for a time. `nil` if it does not hold.
        public let due: Timestamp?
    }

    /// A link or a feedback that would send the event.
    public struct Sender: Sendable, Hashable {
        /// A Boolean value that indicates whether it is a link and not a feedback of the system.
        public let isLink: Bool
        /// The name of the link or feedback.
        public let name: String
        /// The description in one line.
        public let summary: String
        /// The place of the definition.
        public let source: SourceLocation
        /// The obstacles. If the list is empty, it only waits for the condition in ``waits``.
        public let reasons: [String]
        /// The condition that it waits for, with its last activity.
        public let waits: String
    }
}

extension Host {
    /// Returns the obstacles to an event of a system, and to the links and feedbacks that would send it. For the event `always`
    /// they are those of the rules of `always`, and the links are those that set the inputs that these rules read.
    ///
    /// - Parameter fields: The fields of the event in the order of its definition, with `nil` for each unknown one.
    ///   `nil` if all are unknown.
    public func whyNot(_ name: String, event: String, fields: [Value?]? = nil) throws(HostError) -> WhyNot {
        let set = current
        let number = try set.systemNumber(name)
        let definition = set.graph.systems[number]
        if event == Names.always, fields == nil, definition.kind == nil {
            return set.whyNotAlways(number, now: time.now())
        }
        let index = try Self.eventNumber(event, of: definition)
        let type = definition.events[index].type
        let fields = fields ?? type.fields.map { _ in nil }
        try Self.check(fields, of: definition.events[index])
        let sketch = EventSketch(fields, of: type)
        try Self.check(sketch.data, of: definition.events[index])
        return set.whyNot(number, index, sketch, now: time.now())
    }
}

extension HostedSet {
    fileprivate func whyNot(_ number: Int, _ event: Int, _ sketch: EventSketch, now: Timestamp) -> WhyNot {
        let (system, definition) = (systems[number], graph.systems[number])
        let state = system.presentState(in: definition)
        let behaviour = system.behaviour
        let isSwift = definition.kind != nil
        let inputs = definition.inputs.isEmpty ? [] : [state.levels.inputs]
        let variables = [state.data, sketch.data, .timestamp(now)] + inputs
        let names = (state: definition.states[state.index].name, event: definition.events[event].name)
        let known = behaviour.transitions.filter { $0.event == names.event || $0.event == WhyNot.any }
        let transitions =
            isSwift
            ? known.filter { $0.from == names.state || $0.from == WhyNot.any }.map {
                WhyNot.Candidate(writtenInSwift: $0, at: system.place.source(of: .whole))
            }
            : WhyNot.Candidate.all(
                definition.rules[state.index][event], of: definition, at: system.place, state.index, event,
                state.levels,
                variables, sketch)
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
                + feedbacks(sending: event, of: system, definition, state, now),
            unknownSenders: behaviour.outlines.map(\.name).filter { name in !own.contains { $0.name == name } })
    }

    /// Returns the links that would send an event.
    func links(sending event: Int, to number: Int, _ now: Timestamp) -> [WhyNot.Sender] {
        zip(graph.links, links).compactMap { definition, link in
            var reasons: [String] = []
            var waits = ""
            let last = link.fired.last.map { "; it fired last at \($0)" } ?? "; it has not fired yet"
            switch definition.form {
            case .systemToBus: return nil
            case .busToSystem(let index, let filter, let program):
                guard definition.system == number, program.event == event else { return nil }
                let bus = buses[index]
                let values = "value of the bus \(bus.definition.name)\(definition.valueCondition)"
                if let value = bus.current.value {
                    reasons += filter.obstacles(to: value, now)
                    waits = "it fires at each \(values)" + last
                } else {
                    waits = "it waits for a \(values)"
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
                let words = graph.systems[definition.system]
                reasons += source.obstacles(to: selector, only: Set(matching.keys), in: words, now)
                if reasons.isEmpty, !definition.firesOnChange, link.goesOn(in: source.presentState) {
                    reasons.append("it has fired in this stay of \(source.definition.name) in \(selector.text)")
                }
                let more = definition.firesOnChange ? ", or when an update changes its event" : ""
                waits = "it fires when such a state of \(source.definition.name) is entered" + more + last
            }
            if let why = link.held.why { reasons.append("it is held back, since \(why)") }
            return WhyNot.Sender(
                isLink: true, name: definition.name, summary: definition.summary, source: definition.source,
                reasons: reasons, waits: waits)
        }
    }

    /// Returns the feedbacks of a system that would send it an event.
    private func feedbacks(
        sending event: Int, of system: HostedSystem, _ definition: SystemDefinition, _ state: SystemState,
        _ now: Timestamp
    ) -> [WhyNot.Sender] {
        let runs = system.runs
        let pending = Dictionary(grouping: system.pendingWaits) { $0.feedback ?? "" }
        let (faults, levels) = (system.faults, system.incarnation.reportedLevels)
        let progress = system.progress
        return definition.feedbacks.compactMap { feedback in
            let matching = feedback.outcomes.filter { _, outcomes in
                outcomes.values.contains { $0.contains { $0.event.event == event } }
            }
            guard !matching.isEmpty else { return nil }
            var reasons = system.obstacles(
                to: feedback.selector, only: Set(matching.keys), in: definition, now)
            let run = runs.first { $0.feedback == feedback.name }
            let own = pending[feedback.name] ?? []
            let isAtWork = (run?.running ?? 0) + (run?.waiting ?? 0) > 0 || !own.isEmpty
            if reasons.isEmpty, !isAtWork, let fault = faults.last, let time = faults.time, time >= state.since,
                fault.part == "feedback \(feedback.name)"
            {
                reasons.append("it failed at \(time): \(fault.message)")
            }
            // The outcomes that lead to the event in this state, or else in another one.
            let leading = (matching[state.index] ?? matching.values.first ?? [:]).filter { _, rules in
                rules.contains { $0.event.event == event }
            }
            if reasons.isEmpty, let level = levels[feedback.name], leading.keys.allSatisfy({ $0 == level }) {
                reasons.append(
                    "it has reported \(level) already, and reports it again only after"
                        + " \(level == "onDown" ? "onUp" : "onDown"), or after a state that does not ask for it")
            }
            // Another failure than one on which it emits the event.
            if reasons.isEmpty, !isAtWork, let last = progress[feedback.name], let failure = last.lastFailure,
                leading[failure] == nil, let result = last.lastResult, let time = last.lastTime, time >= state.since
            {
                reasons.append("it ended with \(result), at \(time)")
            }
            let outcomes = leading.flatMap { name, rules in
                rules.filter { $0.event.event == event }.map { rule in
                    name == EffectSchema.emit.name
                        ? rule.condition.map { "if \($0.source)" } ?? ""
                        : name + (rule.condition.map { " with \($0.source)" } ?? "")
                }
            }.filter { !$0.isEmpty }.sorted()
            var waits = "it emits \(definition.events[event].name)"
            if !outcomes.isEmpty { waits += " on \(outcomes.joined(separator: ", "))" }
            let attempt = own.first { $0.kind == .retry }
            if let attempt {
                waits += "; it failed, and its next attempt is at \(attempt.due)"
            } else if let run, run.running > 0 {
                waits += progress[feedback.name]?.runningSince.map { "; it has run since \($0)" } ?? "; it runs now"
            }
            if let wait = own.first(where: \.kind.isOfSchedule) { waits += "; its time is at \(wait.due)" }
            return WhyNot.Sender(
                isLink: false, name: feedback.name, summary: feedback.summary,
                source: system.place.source(of: .feedback(feedback.name)),
                reasons: reasons, waits: waits)
        }
    }
}

extension HostedSystem {
    /// Returns the reasons why a link or a feedback of the system does not act in the present state.
    ///
    /// - Parameter only: The states in which it would send the event.
    fileprivate func obstacles(
        to selector: StateSelector, only: Set<Int>, in definition: SystemDefinition, _ now: Timestamp
    ) -> [String] {
        var reasons: [String] = []
        if phase != .running { reasons.append("\(definition.name) does not run: \(Host.obstacle(to: self).text)") }
        let state = presentState(in: definition)
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
            let inputs = state.definition.inputs.isEmpty ? [] : [state.levels.inputs]
            let explanation = condition.explain([state.data, .timestamp(now)] + inputs)
            if explanation.value != true { reasons.append(explanation.summary) }
        }
        return reasons
    }
}

extension LinkDefinition {
    /// The condition of a link from a bus, as the end of a sentence. It is empty if the link has no condition.
    fileprivate var valueCondition: String {
        guard let text = conditionText else { return "" }
        let key = "onValue: "
        return text.hasPrefix(key) ? " equal to \(text.dropFirst(key.count))" : " for which \(text)"
    }
}

extension ValueFilter {
    /// Returns the reasons why the filter rejects a value.
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
