import CommonExpression

/// Checks of the whole, when every part is known: what is never reached, caused, handled, read or written, and what
/// goes round in circles.
struct GraphAnalysis {
    private let whole: AnalysedConfiguration
    private let joints: Joints
    private let findings: Findings
    private let doubt: Doubt

    /// A check of everything.
    init(_ whole: AnalysedConfiguration, _ joints: Joints, _ findings: Findings, _ doubt: Doubt) {
        self.whole = whole
        self.joints = joints
        self.findings = findings
        self.doubt = doubt
    }

    /// Reports everything. Errors are told whatever is wrong elsewhere, since no other part can undo them; warnings only where
    /// nothing that is wrong may have to do with them.
    ///
    /// - Parameters:
    ///   - now: The time at which initial states are computed; nil: they are not.
    ///   - threads: How many threads may work at once.
    /// - Returns: What was looked at to find loops.
    func run(now: Timestamp?, threads: Int) -> LoopFinder.Survey {
        findings.saysOnce = true
        defer { findings.saysOnce = false }
        let aside = Findings(continuing: findings.part)
        aside.saysOnce = true
        let loops = { aside.about(.loops) { LoopFinder(whole, joints, aside).survey() } }
        let others = {
            for system in whole.systems.indices {
                findings.about(.system(system)) {
                    if let now { checkInitialState(system, now) }
                    checkSystem(system)
                }
            }
            for link in whole.links { findings.about(.link(link.definition.name)) { check(link) } }
            for bus in whole.buses.indices { findings.about(.bus(bus)) { checkBus(bus) } }
        }
        let (survey, _) = Concurrency.both(threads, loops, others)
        findings.add(aside.part)
        // A loop may lead through anything.
        if doubt.isNone { checkLimits(survey) }
        return survey
    }

    /// Reports what has changed since a check that found no error. What was found then, and is no concern of what has
    /// changed, is not reported.
    ///
    /// - Parameters:
    ///   - survey: What was looked at then to find loops.
    ///   - changes: What has changed.
    ///   - now: The time at which initial states are computed; nil: they are not.
    /// - Returns: What was looked at to find loops.
    func run(since survey: LoopFinder.Survey, _ changes: Changes, now: Timestamp?) -> LoopFinder.Survey {
        findings.saysOnce = true
        defer { findings.saysOnce = false }
        if let now {
            for (index, system) in whole.systems.enumerated()
            where !system.beginsAlike || changes.systems.contains(index) {
                findings.about(.system(index)) { checkInitialState(index, now) }
            }
        }
        for system in changes.systems.sorted() { findings.about(.system(system)) { checkSystem(system) } }
        for link in changes.links.sorted() {
            findings.about(.link(whole.links[link].definition.name)) { check(whole.links[link]) }
        }
        for bus in changes.buses.sorted() { findings.about(.bus(bus)) { checkBus(bus) } }
        let survey = findings.about(.loops) {
            LoopFinder(whole, joints, findings).survey(since: (survey, changes))
        }
        checkLimits(survey)
        return survey
    }

    private func checkSystem(_ index: Int) {
        guard !isInDoubt(index) else { return }
        checkFeedbacks(index)
        checkHaste(index)
        checkStates(index)
        checkEvents(index)
    }

    /// Whether a system may be another than it looks.
    private func isInDoubt(_ index: Int) -> Bool {
        whole.systems[index].written.map(doubt.isAbout) ?? true
    }

    private func warn(
        _ code: Diagnostic.Code, in source: SourceText, at span: Span, _ message: String, hint: String? = nil
    ) {
        findings.report(code, in: source, at: span, message, hint: hint, severity: .warning)
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
            findings.report(
                .initialState, in: written.source, at: initial.name.span,
                system.initialOrigin == .written
                    ? "the initial state of '\(definition.name)' cannot be computed: \(error.message)"
                    : "the initial state of '\(definition.name)' cannot be computed of what comes from elsewhere")
        }
    }

    private func checkStates(_ index: Int) {
        let system = whole.systems[index]
        guard let definition = system.definition, let written = system.written, let states = written.states
        else { return }
        for (state, record) in states.enumerated() where !whole.systems[index].reachable[state] {
            let hint =
                definition.transitions.isEmpty
                ? "the system has no transitions" : "add a transition that leads to it, or leave it out"
            findings.report(
                .unreachableState, in: written.source, at: record.name.span,
                "the state '\(record.name.text)' is never reached", hint: hint, severity: .warning,
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

    /// Reports feedbacks that, as sure as anything, keep their system going round without end: each state has just one that
    /// emits at once, and its event leads on, whatever the data are.
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
                let rule = emission.outcomes[state]?[emission.effect]?.first, rule.condition == nil,
                let first = definition.rules[state][rule.event.event].first, first.condition == nil,
                case .to(let program) = first.outcome
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
            findings.report(
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
        for (index, feedback) in definition.feedbacks.enumerated() where feedback.needsTime {
            let states = feedback.selector.states.filter { system.reachable[$0] }
            guard states.allSatisfy({ hasty[$0].map { $0.feedback != index } ?? false }), let state = states.first,
                let (cause, event) = hasty[state]
            else { continue }
            let name = definition.events[event].name
            findings.report(
                .cutShort, in: written.source, at: written.feedbacks[index].name.span,
                "'\(definition.states[state].name)' is left as soon as it is entered, so that '\(feedback.effect)' may be "
                    + "cancelled before it begins",
                hint: "write strategy: continueOnNewState, or emit '\(name)' by an outcome of the side effect",
                severity: .warning,
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
        // Of a system with a mistake nothing is known.
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
        // What an instance of a kind emits and handles is the kind's matter; its events are not written.
        guard let definition = system.definition, let written = system.written, let events = written.events else {
            return
        }
        let caused = caused(index)
        for (event, record) in events.enumerated() {
            let name = record.name.text
            guard caused[event] else {
                guard !doubt.mayConcern(definition.name) else { continue }
                warn(
                    .uncausedEvent, in: written.source, at: record.name.span,
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
                .unhandledEvent, in: written.source, at: record.name.span,
                isDeaf ? "the event '\(name)' is handled \(place)" : "the event '\(name)' is not handled \(place)",
                hint: "where nothing is to change write \(name): stay")
        }
    }

    // Links

    /// Warns of limits on links that are part of no loop.
    private func checkLimits(_ survey: LoopFinder.Survey) {
        guard !joints.limited.isEmpty else { return }
        let looping = survey.limited
        for link in joints.limited.map({ whole.links[$0] }) where !looping.contains(link.definition.name) {
            guard let key = link.written.loopKey else { continue }
            findings.about(.loops) {
                warn(
                    .needlessLoop, in: link.written.source, at: key.span,
                    "the link '\(link.definition.name)' is part of no loop", hint: "leave 'loop' out")
            }
        }
    }

    private func check(_ link: AnalysedLink) {
        if link.isConstant || doubt.isAbout(link.written.source) { return }
        let system = link.definition.system
        guard let selector = link.definition.selector, let definition = whole.systems[system].definition else { return }
        let states = selector.states.filter { whole.systems[system].reachable[$0] }
        // Where no state is reached, each state is told, and its links with it.
        guard !states.isEmpty, !selector.equals.isEmpty || !selector.conditions.isEmpty else { return }
        guard !isInDoubt(system) else { return }
        let known = whole.systems[system].entries
        let isPossible = states.contains { state in known[state].contains { selector.picks(state, $0) != false } }
        if isPossible { return }
        let names = states.prefix(8).map { "'\(definition.states[$0].name)'" }.joined(separator: ", ")
        warn(
            .unreachableLink, in: link.written.source, at: link.written.name.span,
            "the link '\(link.definition.name)' never fires: \(names) never has the data it looks for")
    }

    // Buses

    private func checkBus(_ index: Int) {
        let bus = whole.buses[index]
        guard let definition = bus.definition, !doubt.isAbout(bus.written.source), !doubt.mayConcern(definition.name)
        else { return }
        let writers = joints.writers[index].map { whole.links[$0] }
        let readers = joints.readers[index].map { whole.links[$0] }
        let use = bus.written.fromOutside
        let isWritten = !writers.isEmpty || use == .write || use == .both
        let isRead = !readers.isEmpty || use == .read || use == .both
        let source = bus.written.source
        let span = bus.written.name.span
        if !isWritten {
            warn(
                .unwrittenBus, in: source, at: span,
                isRead
                    ? "nothing puts a value on the bus '\(definition.name)'"
                    : "nothing uses the bus '\(definition.name)'",
                hint: isRead
                    ? "if values come from outside, such as by mediatorctl publish, add fromOutside: write"
                    : "add links, or fromOutside: both if other programs use it")
        } else if !isRead {
            warn(
                .unreadBus, in: source, at: span, "nobody takes the values of the bus '\(definition.name)'",
                hint: "if other programs watch it, add fromOutside: read")
        }
        if isWritten, isRead { checkMatches(definition, use, writers, readers) }
    }

    /// Whether another link puts a value on a bus that a reader lets through, or the bus begins with one.
    private func replaces(
        _ link: AnalysedLink, _ bus: BusDefinition, _ writers: [AnalysedLink], _ filters: [ValueFilter]
    ) -> Bool {
        func isWanted(_ value: Known) -> Bool { filters.contains { $0.admits(value) != false } }
        if let initial = bus.initial, isWanted(.whole(initial)) { return true }
        return writers.contains { writer in
            guard writer !== link, case .systemToBus(_, let selector, let programs) = writer.definition.form else {
                return false
            }
            return selector.states.contains { state in programs[state].map { isWanted(Known($0)) } ?? false }
        }
    }

    /// Values that nobody takes, and conditions that no value fulfils.
    private func checkMatches(
        _ bus: BusDefinition, _ use: ExternalUse?, _ writers: [AnalysedLink], _ readers: [AnalysedLink]
    ) {
        let filters = readers.compactMap { reader -> ValueFilter? in
            if case .busToSystem(_, let filter, _) = reader.definition.form { filter } else { nil }
        }
        // A value that somebody else puts there is not what this one was meant to be.
        let given = writers.compactMap { writer -> String? in
            if case .systemToBus(_, _, let node) = writer.written.form { node.scalar?.text } else { nil }
        }
        let wanted = filters.compactMap { filter -> String? in
            guard case .equals(.string(let text)) = filter, !given.contains(text) else { return nil }
            return text
        }
        var written: [Known] = bus.initial.map { [.whole($0)] } ?? []
        var isMatched = true
        for writer in writers {
            guard case .systemToBus(_, let selector, let programs) = writer.definition.form,
                case .systemToBus(_, _, let node) = writer.written.form
            else { continue }
            let values = selector.states.compactMap { programs[$0].map { Known($0) } }
            written += values
            guard use != .read, use != .both, !values.isEmpty else { continue }
            let isTaken =
                readers.contains(where: \.isConstant)
                || values.contains { value in filters.contains { $0.admits(value) != false } }
            guard !isTaken else { continue }
            isMatched = false
            // A value that nobody looks for may be there to take the place of one that somebody does.
            if bus.kind == .currentValue, replaces(writer, bus, writers, filters),
                node.scalar.flatMap({ nearestName(to: $0.text, among: wanted) }) == nil
            {
                continue
            }
            let near = node.scalar.flatMap { nearestName(to: $0.text, among: wanted) }
            warn(
                .unmatchedValue, in: writer.written.source, at: node.mark,
                "no reader of the bus '\(bus.name)' lets this value through",
                hint: near.map { "did you mean '\($0)'?" } ?? "its readers are "
                    + readers.prefix(8).map { "'\($0.definition.name)'" }.joined(separator: ", "))
        }
        guard isMatched, use != .write, use != .both else { return }
        for reader in readers where !reader.isConstant {
            guard case .busToSystem(_, let filter, _) = reader.definition.form,
                !written.contains(where: { filter.admits($0) != false }),
                case .busToSystem(_, let value, _) = reader.written.form
            else { continue }
            let texts = written.compactMap { known -> String? in
                if case .whole(.string(let text)) = known { text } else { nil }
            }
            let near = value?.scalar.flatMap { nearestName(to: $0.text, among: texts) }
            warn(
                .unmatchedCondition, in: reader.written.source,
                at: value?.mark ?? reader.written.condition?.span ?? reader.written.name.span,
                "no value that is put on the bus '\(bus.name)' fulfils this",
                hint: near.map { "did you mean '\($0)'?" }
                    ?? "if values come from outside too, add fromOutside: write to the bus")
        }
    }
}

extension LinkDefinition {
    /// Which states it looks at; nil for a link from a bus.
    fileprivate var selector: StateSelector? {
        switch form {
        case .busToSystem: nil
        case .systemToBus(_, let selector, _), .systemToSystem(_, let selector, _): selector
        }
    }
}
