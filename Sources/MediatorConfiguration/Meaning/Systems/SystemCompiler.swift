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
        let health = written.health.compactMap { each in stateOfHealth(each.state).map { ($0, each.health) } }
        let feedbacks = written.feedbacks.compactMap { FeedbackCompiler($0, scope, lookup).feedback() }
        let transitions =
            written.kind == nil ? TransitionCompiler(written.transitions, scope, lookup).compile() : ([], [])
        let isWhole =
            feedbacks.count == written.feedbacks.count && ready.count == written.ready.count
            && health.count == written.health.count
        if case .events(let names) = written.fromOutside {
            checkUnique(names, "event")
            for name in names { _ = lookup.event(name, of: scope) }
        }
        guard let initial, let transitions, isWhole, (kind != nil) == (written.kind != nil) else { return nil }
        return SystemDefinition(
            name: scope.name, description: written.description ?? scope.kind?.description,
            source: origin,
            states: scope.states.map { StateDefinition(name: $0.name, type: $0.type) },
            events: scope.events.enumerated().map { index, event in
                EventDefinition(name: event.name, type: event.type, rule: scope.kind?.events[index].rule)
            }, initialState: initial,
            feedbacks: feedbacks, rules: transitions.rules, transitions: transitions.written,
            mailbox: written.mailbox, readyStates: ready, readinessLimit: written.readinessLimit,
            stateHealth: Dictionary(health, uniquingKeysWith: { first, _ in first }), unhandled: written.unhandled,
            supervision: written.supervision, watchdog: written.watchdog, kind: kind,
            instance: instance, fingerprint: Fingerprinter.of(written, kind, context))
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

    private func readyState(_ name: Scalar) -> Int? {
        guard name.text != Names.any else {
            lookup.report(
                .reservedName, at: name.span, "'any' is not a state", hint: "without 'ready' a system is ready at once")
            return nil
        }
        return lookup.state(name, of: scope)
    }

    private func stateOfHealth(_ name: Scalar) -> Int? {
        guard name.text != Names.any else {
            lookup.report(
                .reservedName, at: name.span, "'any' is not a state",
                hint: "in states that are not named here the system is healthy")
            return nil
        }
        return lookup.state(name, of: scope)
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
