import CommonExpression

/// Checks the whole: finds parts that are never reached, caused, handled, read or written, and loops.
struct GraphAnalysis {
    let whole: AnalysedConfiguration
    let joints: Joints
    private let outer: DiagnosticsCollector
    /// The diagnostics of the analysis.
    private let diagnostics: DiagnosticsCollector
    private let warnings: InstanceWarnings
    let suppression: WarningSuppression
    /// The default of `persist`; nil: not written.
    let store: Persistence?

    /// A check of everything.
    init(
        _ whole: AnalysedConfiguration, _ joints: Joints, _ diagnostics: DiagnosticsCollector,
        _ suppression: WarningSuppression, store: Persistence?
    ) {
        self.store = store
        self.whole = whole
        self.joints = joints
        warnings = InstanceWarnings(whole)
        outer = diagnostics
        self.diagnostics = DiagnosticsCollector(continuing: diagnostics.part, isOncePerPlace: true)
        self.suppression = suppression
    }

    /// Reports everything. Errors are reported in any case, since no other part can undo them. A warning is reported
    /// only if no error may be its cause.
    ///
    /// - Parameters:
    ///   - now: The time at which initial states are computed; nil: they are not computed.
    ///   - threads: The number of threads that may work at once.
    func run(now: Timestamp?, threads: Int) {
        let aside = DiagnosticsCollector(continuing: outer.part, isOncePerPlace: true)
        let loops = { LoopFinder(whole, joints, aside).reportLoops() }
        let others = {
            for system in whole.systems.indices {
                if let now { checkInitialState(system, now) }
                checkNesting(system)
                checkSystem(system)
            }
            checkEarlierNames()
            for link in whole.links { check(link) }
            for bus in whole.buses.indices {
                checkBus(bus)
            }
        }
        let (limited, _) = Concurrency.both(threads, loops, others)
        // An error in any part may hide a loop.
        if suppression.isNone { checkLimits(limited) }
        // The author decides about persistence when everything else is right.
        if suppression.isNone, !diagnostics.hasErrors, !aside.hasErrors { checkPersistence() }
        outer.add(diagnostics.part)
        outer.add(aside.part)
    }

    private func checkSystem(_ index: Int) {
        guard !isSuppressed(index) else { return }
        checkFeedbacks(index)
        checkHaste(index)
        checkStates(index)
        checkEvents(index)
        checkInputs(index)
        checkAlways(index)
        checkPassing(index)
        checkFailures(index)
        checkWaysOut(index)
    }

    /// Returns whether a system may be another than it looks.
    func isSuppressed(_ index: Int) -> Bool {
        whole.systems[index].written.map(suppression.isAbout) ?? true
    }

    /// Warns of a part of a definition. For a template, the warning is shown if it holds for each instance.
    func warn(
        _ code: Diagnostic.Code, about subject: InstanceWarnings.Subject, in source: SourceText, at span: Span,
        _ message: String, hint: String? = nil, notes: [Diagnostic.Note] = []
    ) {
        warnings.add(code, about: subject, in: source, at: span) { [diagnostics] in
            diagnostics.report(code, in: source, at: span, message, hint: hint, severity: .warning, notes: notes)
        }
    }

    func report(_ code: Diagnostic.Code, in source: SourceText, at span: Span, _ message: String, hint: String) {
        diagnostics.report(code, in: source, at: span, message, hint: hint)
    }

    // Systems

    private func checkInitialState(_ index: Int, _ now: Timestamp) {
        let system = whole.systems[index]
        guard let definition = system.definition, let written = system.written, let initial = written.initialState,
            system.initialOrigin != .missing
        else { return }
        do throws(EvaluationError) {
            _ = try definition.initialData(now: now)
        } catch {
            diagnostics.report(
                .initialState, in: written.source, at: initial.name.span,
                system.initialOrigin == .written
                    ? "the initial state of '\(definition.name)' cannot be computed: \(error.message)"
                    : "the initial state of '\(definition.name)' cannot be computed from values that are not in the files"
            )
        }
    }

    private func checkStates(_ index: Int) {
        let system = whole.systems[index]
        guard let definition = system.definition, let written = system.written, let states = written.states
        else { return }
        let places = Dictionary(
            definition.states.enumerated().map { ($1.name, $0) }, uniquingKeysWith: { first, _ in first })
        for record in states {
            // A compound state is reached where a state inside is.
            guard let state = places[record.name.text], !whole.systems[index].reachable[state] else { continue }
            let hint =
                definition.transitions.isEmpty
                ? "the system has no transitions" : "add a transition that leads to it, or leave it out"
            warn(
                .unreachableState, about: .system(index), in: written.source, at: record.name.span,
                "the state '\(record.name.text)' is never reached", hint: hint,
                notes: bystanders(of: state, in: index))
        }
    }

    /// Feedbacks and links that look only at states that are never reached, of which this is the first.
    private func bystanders(of state: Int, in system: Int) -> [Diagnostic.Note] {
        func waits(_ selector: StateSelector) -> Bool {
            selector.states.first == state && !selector.states.contains { whole.systems[system].reachable[$0] }
        }
        let feedbacks = whole.systems[system].definition?.feedbacks.filter { waits($0.selector) } ?? []
        var notes = feedbacks.map {
            Diagnostic.Note(location: $0.source, message: "so the feedback '\($0.name)' never runs")
        }
        for link in joints.attached[system].map({ whole.links[$0] }) where link.definition.trigger == nil {
            guard let selector = link.definition.selector, waits(selector) else { continue }
            let message = "so the link '\(link.definition.name)' never fires"
            notes.append(Diagnostic.Note(location: link.definition.source, message: message))
        }
        return Array(notes.prefix(8))
    }

    /// Reports feedbacks that are certain to keep their system going without end. In each state of a circle exactly one
    /// feedback emits at once, and its event leads on, whatever the data is.
    private func checkFeedbacks(_ index: Int) {
        let system = whole.systems[index]
        guard let definition = system.definition, let written = system.written, definition.kind == nil else { return }
        var next: [Int: (feedback: Int, state: Int)] = [:]
        for state in definition.states.indices where whole.systems[index].reachable[state] {
            let feedbacks = definition.feedbacks.indices.filter {
                definition.feedbacks[$0].emitsAtOnce && definition.feedbacks[$0].selector.states.contains(state)
            }
            guard feedbacks.count == 1, let feedback = feedbacks.first else { continue }
            let definition = definition
            let emission = definition.feedbacks[feedback]
            guard emission.selector.equals.isEmpty, emission.selector.conditions[state] == nil,
                emission.selector.compounds.isEmpty,
                let rule = emission.outcomes[state]?[emission.effect]?.first, rule.condition == nil,
                let first = definition.rules[state][rule.event.event].first, first.condition == nil,
                case .to(let program) = first.outcome,
                // A rule of `always` may lead on before the feedback of the new state begins.
                definition.always.isEmpty || definition.always[program.state].allSatisfy({ $0.hold != nil })
            else { continue }
            next[state] = (feedback, program.state)
        }
        var done: Set<Int> = []
        for start in next.keys.sorted() where !done.contains(start) {
            var way: [Int] = []
            var state = start
            while let step = next[state], done.insert(state).inserted {
                way.append(state)
                state = step.state
            }
            guard let begin = way.firstIndex(of: state) else { continue }
            let circle = Array(way[begin...])
            let feedbacks = Set(circle.compactMap { next[$0]?.feedback }).sorted()
            let names = feedbacks.map { "'\(definition.feedbacks[$0].name)'" }
            let states = (circle.prefix(8) + [circle[0]]).map { "'\(definition.states[$0].name)'" }
            guard let first = feedbacks.first else { continue }
            diagnostics.report(
                .feedbackLoop, in: written.source, at: written.feedbacks[first].name.span,
                names.count == 1
                    ? "the feedback \(names[0]) of '\(definition.name)' sets itself off without end"
                    : "the feedbacks \(names.dropLast().joined(separator: ", ")) and \(names[names.count - 1]) of "
                        + "'\(definition.name)' set each other off without end",
                hint: "it goes \(states.joined(separator: " → ")); let one of them wait, such as after: 1s")
        }
    }

    /// Warns of side effects in states that are left as soon as they are entered: there is no time for them.
    ///
    /// `emit`, `publish` and `log` are certain, so they are left out.
    private func checkHaste(_ index: Int) {
        let system = whole.systems[index]
        guard let definition = system.definition, let written = system.written, definition.kind == nil else { return }
        let hasty = definition.states.indices.reduce(into: [Int: (feedback: Int, event: Int)]()) { hasty, state in
            guard system.reachable[state] else { return }
            for (index, feedback) in definition.feedbacks.enumerated() {
                guard let event = feedback.certainEvent(in: state), definition.isLeft(state, on: event) else {
                    continue
                }
                hasty[state] = (index, event)
                return
            }
        }
        guard !hasty.isEmpty else { return }
        for (number, feedback) in definition.feedbacks.enumerated() where feedback.needsTime {
            let states = feedback.selector.states.filter { system.reachable[$0] }
            guard states.allSatisfy({ hasty[$0].map { $0.feedback != number } ?? false }), let state = states.first,
                let (cause, event) = hasty[state]
            else { continue }
            let name = definition.events[event].name
            warn(
                .cutShort, about: .system(index), in: written.source, at: written.feedbacks[number].name.span,
                "'\(definition.states[state].name)' is left as soon as it is entered, so that '\(feedback.effect)' may be "
                    + "cancelled before it begins",
                hint: "write strategy: continueOnNewState, or emit '\(name)' by an outcome of the side effect",
                notes: [
                    Diagnostic.Note(
                        location: definition.feedbacks[cause].source,
                        message: "the feedback '\(definition.feedbacks[cause].name)' emits '\(name)' at once")
                ])
        }
    }

    /// By event, whether feedbacks, links or the outside cause it.
    private func caused(_ index: Int) -> [Bool] {
        var caused = whole.systems[index].caused
        // A system with a mistake has no events here.
        func cause(_ event: Int) { if caused.indices.contains(event) { caused[event] = true } }
        for link in joints.attached[index] {
            if case .busToSystem(_, _, let event) = whole.links[link].definition.form { cause(event.event) }
        }
        for link in joints.targeting[index] {
            guard case .systemToSystem(_, _, let events) = whole.links[link].definition.form else { continue }
            for event in events.values { cause(event.event) }
        }
        return caused
    }

    /// The states in which an event may arrive; nil: in any.
    ///
    /// A side effect that ends with its state reports in that state only: later reports are withdrawn.
    private func arrivals(of event: Int, at index: Int) -> Set<Int>? {
        let system = whole.systems[index]
        guard let definition = system.definition else { return nil }
        switch system.written?.fromOutside {
        case .any: return nil
        case .events(let names) where names.contains { $0.text == definition.events[event].name }: return nil
        default: break
        }
        for link in joints.attached[index] {
            if case .busToSystem(_, _, let made) = whole.links[link].definition.form, made.event == event { return nil }
        }
        for link in joints.targeting[index] {
            guard case .systemToSystem(_, _, let events) = whole.links[link].definition.form else { continue }
            if events.values.contains(where: { $0.event == event }) { return nil }
        }
        var states: Set<Int> = []
        for feedback in definition.feedbacks {
            let emitting = feedback.outcomes.filter { $0.value.values.joined().contains { $0.event.event == event } }
            guard !emitting.isEmpty else { continue }
            guard feedback.strategy == .cancelOnNewState else { return nil }
            states.formUnion(emitting.keys)
        }
        return states
    }

    private func checkEvents(_ index: Int) {
        let system = whole.systems[index]
        // The kind decides about the events of its instances, which are not written here.
        guard let definition = system.definition, let written = system.written, let events = written.events else {
            return
        }
        let caused = caused(index)
        for (event, record) in events.enumerated() {
            let name = record.name.text
            guard caused[event] else {
                guard !suppression.mayConcern(definition.name) else { continue }
                warn(
                    .uncausedEvent, about: .system(index), in: written.source, at: record.name.span,
                    "nothing causes the event '\(name)': no feedback and no link emits it",
                    hint: "if it comes from outside, such as by mediatorctl emit, add fromOutside: [\(name)]")
                continue
            }
            let isDeaf = system.deaf[event].count == system.reachable.count { $0 }
            let arrivals = isDeaf ? nil : arrivals(of: event, at: index)
            let deaf = system.deaf[event].filter { arrivals?.contains($0) ?? true }
            guard isDeaf || (!deaf.isEmpty && definition.unhandled == .warn) else { continue }
            let shown = deaf.prefix(8).map { "'\(definition.states[$0].name)'" }.joined(separator: ", ")
            let place = isDeaf ? "in no state" : "in \(shown)\(deaf.count > 8 ? ", …" : "")"
            warn(
                .unhandledEvent, about: .system(index), in: written.source, at: record.name.span,
                isDeaf ? "the event '\(name)' is handled \(place)" : "the event '\(name)' is not handled \(place)",
                hint: "where nothing is to change write \(name): stay")
        }
    }

    // Links

    /// Warns of limits on links that are part of no loop.
    ///
    /// - Parameter looping: The names of the links with a limit that are part of a circle.
    private func checkLimits(_ looping: Set<String>) {
        for link in joints.limited.map({ whole.links[$0] }) where !looping.contains(link.definition.name) {
            guard let key = link.written.loopKey else { continue }
            warn(
                .needlessLoop, about: .link(link), in: link.written.source, at: key.span,
                "the link '\(link.definition.name)' is part of no loop", hint: "leave 'loop' out")
        }
    }

    private func check(_ link: AnalysedLink) {
        if link.isConstant || suppression.isAbout(link.written.source) { return }
        let system = link.definition.system
        guard let selector = link.definition.selector, let definition = whole.systems[system].definition else { return }
        let states = selector.states.filter { whole.systems[system].reachable[$0] }
        // If no state is reached, each state is reported, with its links.
        guard !states.isEmpty, !selector.equals.isEmpty || !selector.conditions.isEmpty else { return }
        // Updates in place are not looked at.
        guard !isSuppressed(system), !link.definition.firesOnChange else { return }
        let known = whole.systems[system].entries
        let isPossible = states.contains { state in known[state].contains { selector.picks(state, $0) != false } }
        if isPossible { return }
        let names = states.prefix(8).map { "'\(definition.states[$0].name)'" }.joined(separator: ", ")
        warn(
            .unreachableLink, about: .link(link), in: link.written.source, at: link.written.name.span,
            "the link '\(link.definition.name)' never fires: \(names) never has the data it looks for"
                + (definition.hasUpdates(of: states) ? " when it is entered" : ""),
            hint: definition.hasUpdates(of: states) ? "to fire at updates in place, too, write on: change" : nil)
    }
}

extension LinkDefinition {
    /// The states that it selects; nil for a link from a bus.
    var selector: StateSelector? {
        switch form {
        case .busToSystem: nil
        case .systemToBus(_, let selector, _), .systemToSystem(_, let selector, _): selector
        }
    }
}
