import CommonExpression

// The checks of what survives the end of the process.
extension GraphAnalysis {
    /// Reports a persisted system with data that is nested too deeply to be stored. Only kinds have such data.
    func checkNesting(_ index: Int) {
        let system = whole.systems[index]
        guard let written = system.written, let definition = system.definition(store: store),
            definition.persistence == .state
        else { return }
        for state in definition.states {
            // A field lies one level below its state.
            guard let field = state.type.fields.first(where: { $0.type.levels >= ConfigurationLimits.storedNesting })
            else { continue }
            report(
                .tooDeep, in: written.source, at: written.name.span,
                "'\(definition.name)' cannot be stored: '\(field.name)' of its state '\(state.name)' is nested more than "
                    + "\(ConfigurationLimits.storedNesting) levels deep",
                hint: "write persist: none, or give the kind a flatter state")
        }
    }

    /// Checks the systems and buses of a configuration without errors.
    func checkPersistence() {
        for system in whole.systems.indices where !isSuppressed(system) { checkPersistence(system) }
        for bus in whole.buses.indices { checkPersistence(ofBus: bus) }
    }

    /// Warns of a system that events from outside can set, if it has no key `persist`. Also warns of a value from outside
    /// the configuration, if the state of the system stores it.
    private func checkPersistence(_ index: Int) {
        let system = whole.systems[index]
        guard let written = system.written, let definition = system.definition(store: store) else { return }
        let span = written.name.span
        if definition.persistence == .state {
            guard let place = storedSecret(system, definition, written) else { return }
            warn(
                .persistedSecret, about: .system(index), in: written.source, at: place,
                "a value from outside the configuration is stored on the disk, in the state of '\(definition.name)'",
                hint: "if it is a secret, give it to a side effect instead, or write persist: none")
            return
        }
        guard written.persistence == nil, store == nil else { return }
        let events = eventsThatSet(system, definition, written)
        guard !events.isEmpty else { return }
        let shown = events.prefix(3).map { "'\(definition.events[$0].name)'" }
        let names = events.count > 3 ? shown.joined(separator: ", ") + " and others" : Self.list(shown)
        warn(
            .undecidedPersistence, about: .system(index), in: written.source, at: span,
            "a crash or a reboot forgets what \(names) set\(events.count == 1 ? "s" : "") in '\(definition.name)'",
            hint: "add persist: state to keep it, or persist: none if it may be lost")
    }

    /// The same checks for a bus.
    private func checkPersistence(ofBus index: Int) {
        let bus = whole.buses[index]
        guard let definition = bus.definition(store: store), definition.kind == .currentValue,
            !suppression.isAbout(bus.written.source)
        else { return }
        if definition.isPersisted {
            guard let initial = bus.written.initial, initial.holdsExternal else { return }
            warn(
                .persistedSecret, about: .bus(index), in: bus.written.source,
                at: bus.written.initialKey?.span ?? bus.written.name.span,
                "a value from outside the configuration is stored on the disk, as value of the bus '\(definition.name)'",
                hint: "if it is a secret, give it to a side effect instead, or write persist: false")
            return
        }
        let isSet = definition.fromOutside == .write || definition.fromOutside == .both
        guard isSet, bus.written.isPersisted == nil, store == nil else { return }
        warn(
            .undecidedPersistence, about: .bus(index), in: bus.written.source, at: bus.written.name.span,
            "a crash or a reboot forgets the value that is put on the bus '\(definition.name)' from outside",
            hint: "add persist: true to keep it, or persist: false if it may be lost")
    }

    /// The events from outside that lead a system to another state or change its data, in the order of their definition.
    private func eventsThatSet(
        _ system: AnalysedSystem, _ definition: SystemDefinition, _ written: WrittenSystem
    ) -> [Int] {
        let outside: [Int] =
            switch written.fromOutside {
            case .any: Array(0..<definition.ownEvents)
            case .events(let names): names.compactMap { system.scope.eventNames.index(of: $0.text) }.sorted()
            }
        guard definition.kind == nil else {
            // A kind decides about its states. A single state without data has nothing to keep.
            let hasChoice = definition.states.count > 1 || definition.states.contains { !$0.type.fields.isEmpty }
            return hasChoice ? outside : []
        }
        return outside.filter { event in
            definition.states.indices.contains { state in
                system.reachable[state] && definition.rules[state][event].contains { $0.outcome.sets(in: state) }
            }
        }
    }

    /// The place of a value from outside the configuration that the state of a persisted system may hold, if any.
    private func storedSecret(
        _ system: AnalysedSystem, _ definition: SystemDefinition, _ written: WrittenSystem
    ) -> Span? {
        if let kind = definition.kind {
            // A kind probably keeps a parameter in the field of the same name.
            let fields = Set(definition.states.flatMap { $0.type.fields.map(\.name) })
            return kind.concealed.isDisjoint(with: fields) ? nil : written.kind?.name?.span
        }
        // The environment of a check is not that of the daemon, so a default counts as well.
        if let initial = written.initialState, system.initialOrigin != .written || initial.node.holdsExternal {
            return initial.name.span
        }
        for rule in written.transitions.lazy.flatMap(\.rules) {
            if let entry = rule.set.first(where: { $0.value.holdsExternal }) { return entry.key.span }
        }
        return nil
    }

    private static func list(_ words: [String]) -> String {
        words.count < 2 ? words.joined() : words.dropLast().joined(separator: ", ") + " and " + words[words.count - 1]
    }
}

extension AnalysedSystem {
    /// The definition, with the default of the configuration if the system has no key `persist`.
    func definition(store: Persistence?) -> SystemDefinition? {
        guard store == .state, let definition, let written, written.persistence == nil else { return definition }
        return definition.persisted()
    }
}

extension AnalysedBus {
    /// The definition, with the default of the configuration if the bus has no key `persist`.
    func definition(store: Persistence?) -> BusDefinition? {
        guard store == .state, var definition, written.isPersisted == nil, definition.kind == .currentValue else {
            return definition
        }
        definition.isPersisted = true
        definition.lazyFingerprint = definition.lazyFingerprint.persisted(true)
        return definition
    }
}

extension TransitionRule.Outcome {
    /// Returns whether it leads from a state to another one, or changes its data.
    fileprivate func sets(in state: Int) -> Bool {
        switch self {
        case .to(let program):
            program.state != state || program.fields.contains { if case .data = $0 { true } else { false } }
        case .history, .update: true
        case .stay, .input: false
        }
    }
}

extension Node {
    /// A Boolean value that indicates whether a value from elsewhere is somewhere in it.
    fileprivate var holdsExternal: Bool {
        switch content {
        case .scalar: false
        case .external: true
        case .sequence(let items): items.contains(where: \.holdsExternal)
        case .mapping(let entries): entries.contains { $0.value.holdsExternal }
        }
    }
}

extension ValueType {
    /// The number of levels: that of `int` is 1, that of `list(int)` 2.
    fileprivate var levels: Int {
        switch self {
        case .list(let element): 1 + element.levels
        case .optional(let wrapped): 1 + wrapped.levels
        case .map(let key, let value): 1 + max(key.levels, value.levels)
        case .structure(let structure): 1 + (structure.fields.map(\.type.levels).max() ?? 0)
        case .dyn, .null, .bool, .int, .uint, .double, .string, .bytes, .timestamp, .duration, .type: 1
        }
    }
}
