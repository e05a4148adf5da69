import MediatorConfiguration

extension Graph {
    /// Returns the same graph, in which the kept systems have the definitions with which they run.
    ///
    /// Definitions that mean the same may list states and events in another order, and links refer to these by index. The links
    /// of the result use the order of the running definitions. Source locations and descriptions come from the new graph.
    ///
    /// - Parameter matching: The parts with the same names in both graphs.
    func rebased(onto old: Graph, _ matching: Matching, keeping plan: Plan) -> Graph {
        var graph = self
        var changes: [Int: IndexChange] = [:]
        for (pair, step) in zip(matching.systems.all, plan.systems) where step.action == .keep {
            guard let index = pair.new, let definition = pair.old.map({ old.systems[$0] }) else { continue }
            let system = systems[index]
            if definition === system { continue }
            let change = IndexChange(from: system, to: definition)
            if !change.isIdentity { changes[index] = change }
            graph.systems[index] = definition.replacing(
                description: system.description, source: system.source, writtenAs: system,
                transitions: system.transitions)
        }
        guard !changes.isEmpty else { return graph }
        graph.links = links.map { link in
            let form: LinkDefinition.Form
            switch link.form {
            case .systemToBus(let bus, let selector, let value):
                guard let change = changes[link.system] else { return link }
                form = .systemToBus(bus: bus, selector: change.states(selector), value: change.byState(value))
            case .busToSystem(let bus, let filter, let event):
                guard let change = changes[link.system] else { return link }
                form = .busToSystem(bus: bus, filter: filter, event: change.event(event))
            case .systemToSystem(let target, var selector, var event):
                if let change = changes[link.system] {
                    selector = change.states(selector)
                    event = change.byState(event)
                }
                if let change = changes[target] { event = event.mapValues(change.event) }
                form = .systemToSystem(target: target, selector: selector, event: event)
            }
            return link.replacing(system: link.system, form: form)
        }
        return graph
    }
}

/// The map from the indices of one definition to those of another one with the same states and events.
private struct IndexChange {
    private let states: [Int]
    private let compounds: [Int]
    private let events: [Int]

    init(from new: SystemDefinition, to old: SystemDefinition) {
        func indices(_ from: [String], _ to: [String]) -> [Int] {
            let index = Dictionary(uniqueKeysWithValues: to.enumerated().map { ($1, $0) })
            // Both lists have the same names, because the fingerprints are the same.
            return from.enumerated().map { index[$1] ?? $0 }
        }
        states = indices(new.states.map(\.name), old.states.map(\.name))
        compounds = indices(new.compounds.map(\.name), old.compounds.map(\.name))
        events = indices(new.events.map(\.name), old.events.map(\.name))
    }

    var isIdentity: Bool {
        states == Array(states.indices) && compounds == Array(compounds.indices) && events == Array(events.indices)
    }

    func states(_ selector: StateSelector) -> StateSelector {
        var selector = selector
        selector.states = selector.states.map { states[$0] }
        selector.compounds = selector.compounds.map { compounds[$0] }
        selector.conditions = byState(selector.conditions)
        return selector
    }

    func byState<Part>(_ parts: [Int: Part]) -> [Int: Part] {
        Dictionary(uniqueKeysWithValues: parts.map { (states[$0], $1) })
    }

    func event(_ program: EventProgram) -> EventProgram {
        var program = program
        program.event = events[program.event]
        return program
    }
}
