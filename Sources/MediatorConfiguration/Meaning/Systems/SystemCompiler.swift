import CommonExpression

/// Gives a system as written its meaning.
struct SystemCompiler {
    private let scope: SystemScope
    private let written: WrittenSystem
    private let context: CompilationContext
    private let lookup: Lookup

    private let origin: SourceLocation
    private let instance: TemplateInstance?

    /// A compiler of one system.
    ///
    /// - Parameters:
    ///   - origin: The place of the definition; by default that of the written system.
    ///   - instance: The template and parameters, if it is an instance.
    init(
        _ scope: SystemScope, _ written: WrittenSystem, _ context: CompilationContext, origin: SourceLocation? = nil,
        instance: TemplateInstance? = nil
    ) {
        self.instance = instance
        self.origin = origin ?? written.source.location(at: written.name.span.start)
        self.scope = scope
        self.written = written
        self.context = context
        lookup = Lookup(context: context, source: written.source)
    }

    /// Compiles the system; nil after reporting.
    func system() -> SystemDefinition? {
        context.begin()
        guard isWithinLimits() else { return nil }
        var kind: KindInstance?
        var initial: StateProgram? = StateProgram(state: 0, fields: [])
        if let written = written.kind {
            kind = KindCompiler(written, scope, lookup).instance()
        } else {
            initial = initialState()
        }
        checkUnique(written.ready, "state")
        let ready = written.ready.compactMap(readyState)
        let health = written.health.compactMap { each in
            stateOfHealth(each.state).map { (states: $0, depth: scope.depth(of: each.state.text), health: each.health) }
        }
        let finals = finals()
        let feedbacks = written.feedbacks.compactMap { FeedbackCompiler($0, scope, lookup).feedback() }
        // The final and initial states decide the ends of rules.
        let transitions = finals.flatMap { finals in
            written.kind == nil
                ? TransitionCompiler(written.transitions, finals: finals, scope, lookup).compile() : ([], [], [])
        }
        let inputs = written.kind == nil ? inputs() : []
        let origins = OriginCompiler(scope, written, context).origins()
        let isWhole =
            feedbacks.count == written.feedbacks.count && ready.count == written.ready.count
            && health.count == written.health.count
        if case .events(let names) = written.fromOutside {
            checkUnique(names, "event")
            for name in names { _ = lookup.event(name, of: scope) }
        }
        guard let initial, let transitions, let inputs, let finals, let origins, isWhole,
            (kind != nil) == (written.kind != nil)
        else {
            return nil
        }
        return SystemDefinition(
            name: scope.name, description: written.description ?? scope.kind?.description,
            source: origin,
            states: scope.states.enumerated().map { index, state in
                StateDefinition(
                    name: state.name, type: state.type,
                    compounds: scope.compounds.around.isEmpty ? [] : scope.compounds.around[index],
                    isFinal: finals.contains(index), origin: origins[index])
            },
            compounds: scope.compounds.definitions,
            events: scope.events.enumerated().map { index, event in
                EventDefinition(name: event.name, type: event.type, rule: scope.kind?.events[index].rule)
            }, inputs: inputs, inputDefaults: defaults(inputs), always: transitions.always, initialState: initial,
            feedbacks: feedbacks, rules: transitions.rules, transitions: transitions.written,
            mailbox: written.mailbox,
            readyStates: ready.reduce(into: []) { all, more in all += more.filter { !all.contains($0) } },
            readinessLimit: written.readinessLimit,
            stateHealth: Self.byState(health), unhandled: written.unhandled,
            supervision: written.supervision, watchdog: written.watchdog, persistence: written.persistence ?? .none,
            was: earlierName, kind: kind, instance: instance,
            fingerprint: Fingerprinter.of(written, kind, context).persisted(written.persistence == .state))
    }

    /// The earlier name; that of an instance follows from that of its template.
    private var earlierName: String? {
        guard let was = written.was?.text, written.isTemplate else { return written.was?.text }
        return InstanceName(scope.name).map { was + $0.instance }
    }

    /// The inputs; nil after reporting.
    private func inputs() -> [InputDefinition]? {
        let written = Dictionary(
            (self.written.inputs ?? []).map { ($0.name.text, $0) }, uniquingKeysWith: { first, _ in first })
        var inputs: [InputDefinition] = []
        let fields = scope.inputType?.fields ?? []
        for (index, field) in fields.enumerated() {
            var initial: Value?
            if let node = written[field.name]?.initial {
                guard field.type != .dyn else { continue }
                initial = DataCompiler(context, self.written.source).constant(
                    node, as: field.type, Subject("the default of the input", field.name))
                if initial == nil { continue }
            }
            guard field.type != .dyn else { continue }
            inputs.append(
                InputDefinition(name: field.name, type: field.type, initial: initial, event: scope.ownEvents + index))
        }
        return inputs.count == fields.count && self.written.inputs != nil ? inputs : nil
    }

    /// The values of the inputs without a link. An input whose value always comes from a link has the blank of its type.
    private func defaults(_ inputs: [InputDefinition]) -> Structure? {
        scope.inputType.map { Structure(type: $0, fields: inputs.map { $0.initial ?? $0.type.blank }) }
    }

    private func isWithinLimits() -> Bool {
        func complain(_ what: String) -> Bool {
            lookup.report(
                .tooLarge, at: written.name.span, "'\(scope.name)' has more than \(what)",
                hint: "make several systems of it")
            return false
        }
        if scope.states.count > ConfigurationLimits.states { return complain("\(ConfigurationLimits.states) states") }
        if scope.events.count > ConfigurationLimits.events { return complain("\(ConfigurationLimits.events) events") }
        if scope.states.count * scope.events.count > ConfigurationLimits.expandedRules {
            return complain("\(ConfigurationLimits.expandedRules) pairs of state and event")
        }
        return true
    }

    /// Reports names that stand in a list again.
    private func checkUnique(_ names: [Scalar], _ what: String) {
        var seen: Set<String> = []
        for name in names where !seen.insert(name.text).inserted {
            lookup.report(.duplicateName, at: name.span, "the \(what) '\(name.text)' stands twice in this list")
        }
    }

    /// The health by state. The entry of a state counts more than the entries of the states around it.
    private static func byState(_ health: [(states: [Int], depth: Int, health: StateHealth)]) -> [Int: StateHealth] {
        var known: [Int: (depth: Int, health: StateHealth)] = [:]
        for each in health {
            for state in each.states where known[state].map({ $0.depth < each.depth }) ?? true {
                known[state] = (each.depth, each.health)
            }
        }
        return known.mapValues(\.health)
    }

    /// The final states; nil after reporting.
    private func finals() -> Set<Int>? {
        checkUnique(written.finals, "state")
        var finals: Set<Int> = []
        var isWhole = true
        for name in written.finals {
            guard let found = lookup.states(name, of: scope) else {
                isWhole = false
                continue
            }
            guard found.compound == nil else {
                lookup.report(
                    .conflictingKeys, at: name.span, "'\(name.text)' has states inside, so it cannot be final",
                    hint: "name the state inside in which it ends")
                isWhole = false
                continue
            }
            finals.formUnion(found.states)
        }
        guard let initials = written.initials else { return nil }
        for (key, child) in initials {
            let isHistory = key.text.hasSuffix(".\(Names.history)")
            let name = isHistory ? String(key.text.dropLast(Names.history.count + 1)) : key.text
            let compound = Scalar(text: name, style: key.style, span: key.span)
            isWhole = isInitial(child, of: compound, isHistory: isHistory) && isWhole
        }
        return isWhole ? finals : nil
    }

    /// Checks the state that is entered first in a compound state. A history may lead to a state at any depth.
    private func isInitial(_ child: Scalar, of compound: Scalar, isHistory: Bool) -> Bool {
        guard let found = lookup.states(compound, of: scope) else { return false }
        guard found.compound != nil else {
            lookup.report(
                .conflictingKeys, at: compound.span, "'\(compound.text)' has no states inside",
                hint: "leave it out: 'initial' is for states with states inside")
            return false
        }
        let inside = scope.allStateNames.filter {
            isHistory ? $0.hasPrefix("\(compound.text).") : Names.around($0) == compound.text
        }
        if inside.contains("\(compound.text).\(child.text)") { return true }
        let names = inside.map { String($0.dropFirst(compound.text.count + 1)) }
        lookup.report(
            .unknownState, at: child.span,
            "'\(compound.text)' has no state '\(child.text)' \(isHistory ? "" : "directly ")inside",
            hint: names.contains(where: { "\(compound.text).\($0)" == child.text })
                ? "leave the name of the state around it out: \(child.text.dropFirst(compound.text.count + 1))"
                : Names.hint(for: child.text, among: names))
        return false
    }

    private func readyState(_ name: Scalar) -> [Int]? {
        guard name.text != Names.any else {
            lookup.report(
                .reservedName, at: name.span, "'any' is not a state", hint: "without 'ready' a system is ready at once")
            return nil
        }
        return lookup.states(name, of: scope)?.states
    }

    private func stateOfHealth(_ name: Scalar) -> [Int]? {
        guard name.text != Names.any else {
            lookup.report(
                .reservedName, at: name.span, "'any' is not a state",
                hint: "in states that are not named here the system is healthy")
            return nil
        }
        return lookup.states(name, of: scope)?.states
    }

    private func initialState() -> StateProgram? {
        guard let construct = written.initialState, let index = lookup.state(construct.name, of: scope),
            !scope.states[index].isBroken
        else { return nil }
        let type = scope.states[index].type
        let program = DataCompiler(context, written.source).structure(
            construct.fields ?? [], as: type, Subject("the initial state", construct.name.text),
            at: construct.name.span, .initial, bare: construct.fields == nil ? construct.name.text : nil)
        switch program {
        case .constant(.structure(let value)):
            return StateProgram(state: index, fields: value.fields.map { .data(.constant($0)) })
        case .structure(_, let fields):
            return StateProgram(state: index, fields: fields.map { .data($0) })
        default: return nil
        }
    }
}
