import CommonExpression

// The checks of inputs and of rules of `always`.
extension GraphAnalysis {
    /// Reports inputs that no link sets, and those that may have no value at the start.
    func checkInputs(_ index: Int) {
        let system = whole.systems[index]
        guard let definition = system.definition, let written = system.written, let inputs = written.inputs else {
            return
        }
        for (input, record) in zip(definition.inputs, inputs) {
            let links = joints.attached[index] + joints.targeting[index]
            let isSet = links.contains { sets(input.event, of: index, whole.links[$0]) != nil }
            let isSure = links.contains { sets(input.event, of: index, whole.links[$0]) == true }
            if input.initial == nil, !isSure {
                guard !suppression.mayConcern(definition.name) || isSet else { continue }
                report(
                    .missingKey, in: written.source, at: record.name.span,
                    isSet
                        ? "the input '\(input.name)' may have no value at the start"
                        : "no link sets the input '\(input.name)', and it has no default",
                    hint:
                        "write \(input.name): { type: \(input.type), default: … }, or set it to the value of a currentValue bus, "
                        + "without a condition")
            } else if !isSet, !suppression.mayConcern(definition.name) {
                warn(
                    .unsetInput, about: .system(index), in: written.source, at: record.name.span,
                    "no link sets the input '\(input.name)': it keeps its default",
                    hint: "add a link: { attach: \(definition.name), from: BUS, setInput: \(input.name) }")
            }
        }
    }

    /// Returns whether a link sets an input at the start in any case; nil: it does not set it.
    private func sets(_ event: Int, of system: Int, _ analysed: AnalysedLink) -> Bool? {
        let link = analysed.definition
        var isCertain = false
        if case .busToSystem(_, _, let written) = analysed.written.form {
            let value = written.fields?.first?.value.scalar?.text
            isCertain = value.map { $0 == "${value}" || !$0.contains("${") } ?? false
        }
        switch link.form {
        case .busToSystem(let bus, let filter, let program):
            guard link.system == system, program.event == event else { return nil }
            // An expression may fail, and then sets nothing.
            guard case .all = filter, isCertain else { return false }
            return whole.buses[bus].definition?.kind == .currentValue
        case .systemToBus, .systemToSystem: return link.sends(event, to: system) ? false : nil
        }
    }

    /// Reports rules of `always` that are certain to lead from state to state without end: see
    /// ``circle(from:under:of:)``.
    func checkAlways(_ index: Int) {
        let system = whole.systems[index]
        guard let definition = system.definition, let written = system.written, !definition.always.isEmpty else {
            return
        }
        var told: Set<Int> = []
        for start in definition.states.indices where system.reachable[start] && !told.contains(start) {
            for first in definition.always[start] where first.hold == nil {
                guard let circle = circle(from: start, under: first.rule.condition?.source, of: definition) else {
                    continue
                }
                guard told.isDisjoint(with: circle) else { continue }
                told.formUnion(circle)
                let states = (circle.prefix(8) + [circle[0]]).map { "'\(definition.states[$0].name)'" }
                let place = written.transitions.lazy.filter(\.isAlways).flatMap(\.rules).first {
                    written.source.location(at: $0.span.start) == first.rule.source
                }
                report(
                    .alwaysLoop, in: written.source, at: place?.span ?? written.name.span,
                    circle.count == 1
                        ? "this rule leads from \(states[0]) to \(states[0]) again, without end"
                        : "the rules of 'always' lead round without end: \(states.joined(separator: " → "))",
                    hint: circle.count == 1
                        ? "let it lead to another state, or wait, such as for: 1s"
                        : "give them conditions that exclude each other, or let one wait, such as for: 1s")
            }
        }
    }

    /// Warns of feedbacks and links that look only at states which a rule of `always` leaves in the step of the entry.
    func checkPassing(_ index: Int) {
        let system = whole.systems[index]
        guard let definition = system.definition, let written = system.written, !definition.always.isEmpty else {
            return
        }
        /// The first of such states that a selector picks; nil: it picks others, too.
        func passing(_ selector: StateSelector) -> Int? {
            let states = selector.states.filter { system.reachable[$0] }
            return selector.compounds.isEmpty && states.allSatisfy(definition.isTransient) ? states.first : nil
        }
        func tell(
            _ code: Diagnostic.Code, _ subject: InstanceWarnings.Subject, _ source: SourceText, _ span: Span,
            _ state: Int,
            _ message: String
        ) {
            warn(
                code, about: subject, in: source, at: span,
                "'\(definition.states[state].name)' is left in the step in which it is entered, so \(message)",
                hint: "name the state to which the rule leads, or let the rule wait, such as for: 1s",
                notes: definition.always[state].prefix(1).map {
                    Diagnostic.Note(location: $0.rule.source, message: "this rule leaves it")
                })
        }
        for (feedback, name) in zip(definition.feedbacks, written.feedbacks.map(\.name)) {
            guard let state = passing(feedback.selector) else { continue }
            tell(
                .cutShort, .system(index), written.source, name.span, state,
                "the feedback '\(feedback.name)' never runs")
        }
        for link in joints.attached[index].map({ whole.links[$0] }) where link.definition.trigger == nil {
            guard let selector = link.definition.selector, let state = passing(selector) else { continue }
            tell(
                .unreachableLink, .link(link), link.written.source, link.written.name.span, state,
                "the link '\(link.definition.name)' never fires")
        }
    }

    /// The states of a circle of rules through a state; nil if it is not certain that the rules go round.
    ///
    /// In each state the first rule decides. It has no condition or the given one, waits for no time and sets no data.
    private func circle(from start: Int, under condition: String?, of definition: SystemDefinition) -> [Int]? {
        var way: [Int] = []
        var state = start
        while !way.contains(state) {
            way.append(state)
            // The first rule that holds decides. Another condition may hold or not.
            guard let rule = definition.always[state].first, rule.hold == nil,
                rule.rule.condition == nil || rule.rule.condition?.source == condition,
                case .to(let program) = rule.rule.outcome, program.keepsAll
            else { return nil }
            state = program.state
        }
        return state == start ? way : nil
    }
}

extension StateProgram {
    /// A Boolean value that indicates whether no field gets a new value, so that a condition holds as before.
    fileprivate var keepsAll: Bool {
        fields.allSatisfy { if case .keep = $0 { true } else { false } }
    }
}
