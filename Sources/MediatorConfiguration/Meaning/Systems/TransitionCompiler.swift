import CommonExpression

/// Compiles a system's transitions and its rules of `always`. It writes out wildcards and the rules of compound states for each
/// state inside.
struct TransitionCompiler {
    private let lists: [WrittenTransitionList]
    private let scope: SystemScope
    private let lookup: Lookup
    /// The final states.
    private let finals: Set<Int>

    /// A compiler of one system's transitions.
    init(_ lists: [WrittenTransitionList], finals: Set<Int>, _ scope: SystemScope, _ lookup: Lookup) {
        self.lists = lists
        self.finals = finals
        self.scope = scope
        self.lookup = lookup
    }

    /// Rules by state and event, with one event more that stands for any; of one level of precision.
    private struct Level {
        private let events: Int
        private var cells: [[TransitionRule]]

        init(_ scope: SystemScope) {
            events = scope.ownEvents
            cells = Array(repeating: [], count: scope.states.count * (events + 1))
        }

        subscript(state: Int, event: Int?) -> [TransitionRule] {
            get { cells[state * (events + 1) + (event ?? events)] }
            _modify { yield &cells[state * (events + 1) + (event ?? events)] }
        }
    }

    /// A state for which a list of rules is written, or that lies in such a state.
    private struct Place {
        var state: Int
        /// The level of precision: 0 for any state, and one more for each step inwards.
        var level: Int
        /// The compound state for which it is written.
        var compound: Int?
    }

    /// The table being made.
    private struct Tables {
        /// By level of precision.
        var rules: [Level]
        /// By level of precision and state.
        var always: [[[AlwaysRule]]]
    }

    /// Compiles all; nil if anything is wrong.
    func compile() -> (rules: [[[TransitionRule]]], always: [[AlwaysRule]], written: [WrittenTransition])? {
        let levels = 2 + (scope.compounds.around.map(\.count).max() ?? 0)
        var tables = Tables(
            rules: Array(repeating: Level(scope), count: levels),
            always: Array(repeating: Array(repeating: [], count: scope.states.count), count: levels))
        var written: [WrittenTransition] = []
        var isWhole = true
        // The keys of final states with rules that have been reported.
        var told: Set<Int> = []
        for list in lists {
            let isAnyEvent = list.event.text == Names.any
            let places = places(of: list)
            if list.rules.isEmpty, list.event.span == list.from.span {
                isWhole = isWhole && places != nil
                continue
            }
            if places == nil, scope.eventNames.index(of: list.from.text) != nil {
                // The event stands above the state: what is below is upside down as well.
                isWhole = false
                continue
            }
            let isAlways = list.isAlways
            let event = isAnyEvent || isAlways ? nil : lookup.event(list.event, of: scope)
            checkOrder(list.rules)
            guard let places, isAnyEvent || isAlways || event != nil,
                let meant = list.event.text == Names.always || !isAlways ? places : done(list, places)
            else {
                isWhole = false
                for rule in list.rules { RuleCompiler(rule, scope, lookup, event: nil, hasLabels: false).check() }
                continue
            }
            isWhole = isFree(list, places, &told) && compile(list, meant, on: event, into: &tables) && isWhole
            for rule in list.rules {
                written.append(
                    WrittenTransition(
                        from: list.states.isEmpty
                            ? list.from.text : list.states.map(\.text).joined(separator: ", "),
                        event: list.event.text,
                        to: rule.isUpdate ? WrittenTransition.inPlace : rule.target?.text ?? "",
                        condition: rule.condition?.text, hold: rule.hold.map { $0.scalar?.text ?? FlowText.of($0) },
                        source: lookup.source.location(at: rule.span.start)))
            }
        }
        guard isWhole else { return nil }
        let always = scope.states.indices.map { state in tables.always.reversed().flatMap { $0[state] } }
        return expand(tables.rules).map { ($0, always, written) }
    }

    /// The states for which a list of rules is; nil after reporting, or if the states are unknown.
    private func places(of list: WrittenTransitionList) -> [Place]? {
        if list.from.text == Names.any { return scope.states.indices.map { Place(state: $0, level: 0) } }
        var places: [Place] = []
        var isWhole = true
        for name in list.states.isEmpty ? [list.from] : list.states {
            guard name.text != Names.any else {
                lookup.report(
                    .conflictingKeys, at: name.span, "'any' stands alone", hint: "write any: without the list")
                isWhole = false
                continue
            }
            guard let found = lookup.states(name, of: scope) else {
                isWhole = false
                continue
            }
            let level = scope.depth(of: name.text) + 1
            let more = found.states.map { Place(state: $0, level: level, compound: found.compound) }
            if more.contains(where: { new in places.contains { $0.state == new.state && $0.level == new.level } }) {
                lookup.report(.duplicateName, at: name.span, "the state '\(name.text)' stands twice in this list")
                isWhole = false
            }
            places += more
        }
        return isWhole ? places : nil
    }

    /// Of the states for which a list of rules is, the final ones directly inside the compound state that it names: `done.Running`.
    /// Nil after reporting.
    private func done(_ list: WrittenTransitionList, _ places: [Place]) -> [Place]? {
        let name = String(list.event.text.dropFirst(Names.done.count + 1))
        guard let compound = scope.compounds.names.index(of: name) else {
            guard scope.knowsStates else { return nil }
            guard !name.isEmpty else {
                lookup.report(
                    .unknownState, at: list.event.span, "'\(list.event.text)' needs the name of a state behind the dot",
                    hint: Names.hint(for: name, among: scope.compounds.names.names))
                return nil
            }
            lookup.report(
                .unknownState, at: list.event.span, "'\(scope.name)' has no state '\(name)' with states inside",
                hint: Names.hint(for: name, among: scope.compounds.names.names))
            return nil
        }
        let meant = places.filter { finals.contains($0.state) && scope.compounds.around[$0.state].last == compound }
        guard meant.isEmpty else { return meant }
        let isFinal = finals.contains { scope.compounds.around[$0].last == compound }
        lookup.report(
            .unknownEvent, at: list.event.span,
            isFinal
                ? "no final state directly inside '\(name)' lies in '\(list.from.text)'"
                : "'\(name)' has no final state, so '\(list.event.text)' never comes",
            hint: isFinal ? "write it below '\(name)'" : "write final: [\(name).\(Self.sample)] beside 'states'")
        return nil
    }

    private static let sample = "Done"

    /// Reports rules of a final state. Only rules of the states around it lead on.
    private func isFree(_ list: WrittenTransitionList, _ places: [Place], _ told: inout Set<Int>) -> Bool {
        guard let final = places.first(where: { $0.level > 0 && $0.compound == nil && finals.contains($0.state) })
        else {
            return true
        }
        // A rule with `stay` does not lead out of the final state.
        guard list.rules.contains(where: { !$0.isStay }) else { return true }
        guard told.insert(list.from.span.start).inserted else { return false }
        let name = scope.states[final.state].name
        let outer = Names.around(name)
        lookup.report(
            .conflictingKeys, at: list.from.span, "'\(name)' is final, so no rule of its own leads on",
            hint: outer.map { "write the rule below '\($0)', such as \($0): { \(Names.done).\($0): … }" }
                ?? "take it out of 'final'")
        return false
    }

    /// Reports the first rule of a list that comes after one without a condition.
    private func checkOrder(_ rules: [WrittenRule]) {
        guard let last = rules.firstIndex(where: \.isUnconditional), last + 1 < rules.count else { return }
        lookup.report(
            .unreachableRule, at: rules[last + 1].span, "this rule is never reached: the one before it always holds",
            hint: "give the one before a 'when', or move it to the end")
    }

    /// Compiles one list of rules for some states; false if any is wrong.
    private func compile(
        _ list: WrittenTransitionList, _ places: [Place], on event: Int?, into tables: inout Tables
    ) -> Bool {
        var isWhole = list.isAlways || isReached(list, places, on: event, in: tables)
        for rule in list.rules {
            var compiler = RuleCompiler(
                rule, scope, lookup, event: event, hasLabels: places.count > 1, isAlways: list.isAlways)
            for place in places {
                if list.isAlways {
                    guard var compiled = compiler.always(from: place.state) else {
                        isWhole = false
                        break
                    }
                    compiled.compound = place.compound
                    tables.always[place.level][place.state].append(compiled)
                } else {
                    guard let compiled = compiler.rule(from: place.state) else {
                        isWhole = false
                        break
                    }
                    tables.rules[place.level][place.state, event].append(compiled)
                }
            }
        }
        return isWhole
    }

    /// Reports a list of rules that comes after another for the same state and event which always holds. A state may stand in several
    /// lists.
    private func isReached(
        _ list: WrittenTransitionList, _ places: [Place], on event: Int?, in tables: Tables
    ) -> Bool {
        for place in places {
            guard let rule = tables.rules[place.level][place.state, event].last, rule.condition == nil,
                !rule.outcome.needsMemory
            else { continue }
            lookup.context.diagnostics.report(
                .unreachableRule, in: lookup.source, at: list.event.span,
                "for '\(scope.states[place.state].name)' this is never reached: a rule before it for the same event always holds",
                hint: "let the state stand in one of the keys only, or give the rule before it a 'when'",
                notes: [Diagnostic.Note(location: rule.source, message: "this rule always holds")])
            return false
        }
        return true
    }

    /// Puts the rules of each pair in the order in which they are tried, up to the first that always holds.
    private func expand(_ levels: [Level]) -> [[[TransitionRule]]]? {
        var count = 0
        var table: [[[TransitionRule]]] = []
        table.reserveCapacity(scope.states.count)
        for state in scope.states.indices {
            var row: [[TransitionRule]] = []
            row.reserveCapacity(scope.events.count)
            for event in 0..<scope.ownEvents {
                var rules: [TransitionRule] = []
                func add(_ more: [TransitionRule]) {
                    if more.isEmpty { return }
                    if rules.isEmpty {
                        rules = more
                    } else if let last = rules.last, last.condition != nil || last.outcome.needsMemory {
                        rules += more
                    }
                }
                for level in levels.indices.reversed() {
                    add(levels[level][state, event])
                    add(levels[level][state, nil])
                }
                count += rules.count
                row.append(rules)
            }
            let source = lookup.source.location(at: scope.nameSpan.start)
            for input in 0..<(scope.events.count - scope.ownEvents) {
                row.append([TransitionRule(condition: nil, outcome: .input(input), source: source)])
            }
            table.append(row)
            guard count <= ConfigurationLimits.expandedRules else {
                lookup.report(
                    .tooLarge, at: scope.nameSpan,
                    "'\(scope.name)' has more than \(ConfigurationLimits.expandedRules) rules "
                        + "once 'any' is written out", hint: "make several systems of it")
                return nil
            }
        }
        return table
    }
}
