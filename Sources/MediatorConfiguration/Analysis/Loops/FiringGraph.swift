import CommonExpression

/// The graph of firings, and of the firings that each can cause at once.
///
/// A firing is a link or a feedback that emits at once, in a state or for a value of a bus. It leads to an event, the
/// event to transitions, and each transition to the firings in the new state.
struct FiringGraph {
    /// What fires.
    struct Firing {
        /// The link; nil: a feedback.
        var link: Int?
        /// The system that is, and the state it enters; nil for a link from a bus.
        var state: Int?
        var system: Int
        /// The feedback's index, and the event that it emits; nil: a link.
        var emission: (feedback: Int, event: Int)?
        var source: SourceLocation
    }

    typealias Step = LoopSearch.Step

    /// The largest number of steps. There are more only if hundreds of states are linked to hundreds.
    static let budget = 4_000_000

    private let whole: AnalysedConfiguration
    /// The systems that are looked at.
    private let systems: Set<Int>
    /// A Boolean value that indicates whether feedbacks that wait or run something count like those that emit at once.
    private let waits: Bool
    /// By system, the transitions of instances of kinds. A system of a kind that is not here may go to any state.
    private let moves: [Int: KindMoves]
    /// What fires.
    private(set) var firings: [Firing] = []
    /// By firing, its effects.
    private(set) var steps: [[Step]] = []
    /// By system and state, what may fire when it is entered, with its selector.
    private var inState: [Int: [Int: [(firing: Int, selector: StateSelector)]]] = [:]
    /// By bus, what its values make fire.
    private var onBus: [Int: [(firing: Int, filter: ValueFilter)]] = [:]

    /// The graph of some systems, with the links attached to them. Nil if it is too large.
    ///
    /// - Parameters:
    ///   - moves: By system, the transitions of instances of kinds, as far as they are known.
    ///   - waits: Whether feedbacks that wait or run something count.
    init?(
        _ systems: Set<Int>, _ links: [Int], of whole: AnalysedConfiguration, moves: [Int: KindMoves] = [:],
        waits: Bool = false
    ) {
        self.whole = whole
        self.systems = systems
        self.moves = moves
        self.waits = waits
        for link in links { addFirings(of: whole.links[link], link) }
        let emissions = addEmissions()
        steps = Array(repeating: [], count: firings.count)
        var budget = Self.budget
        for firing in firings.indices {
            guard let link = firings[firing].link else { continue }
            switch whole.links[link].definition.form {
            case .systemToBus(let bus, _, let programs):
                guard let state = firings[firing].state, let program = programs[state] else { continue }
                let value = Known(program)
                let next = onBus[bus, default: []].filter { $0.filter.admits(value) != false }.map(\.firing)
                steps[firing].append(Step(system: -1, from: nil, to: nil, next: next))
                budget -= next.count
            case .busToSystem(_, _, let event):
                addSteps(firing, event, to: firings[firing].system, only: nil, &budget)
            case .systemToSystem(let target, _, let events):
                guard let state = firings[firing].state, let event = events[state], systems.contains(target) else {
                    continue
                }
                addSteps(firing, event, to: target, only: nil, &budget)
            }
            guard budget > 0 else { return nil }
        }
        for emission in emissions {
            addSteps(
                emission.firing, emission.event, to: firings[emission.firing].system,
                only: emission.staysInState ? firings[emission.firing].state : nil, &budget)
            guard budget > 0 else { return nil }
        }
    }

    // What fires

    private mutating func add(_ firing: Firing, _ selector: StateSelector?) -> Int {
        firings.append(firing)
        if let state = firing.state, let selector {
            inState[firing.system, default: [:]][state, default: []].append((firings.count - 1, selector))
        }
        return firings.count - 1
    }

    private mutating func addFirings(of link: AnalysedLink, _ index: Int) {
        let definition = link.definition
        let system = definition.system
        guard whole.systems[system].definition != nil, waits || definition.trigger?.waits != true else { return }
        switch definition.form {
        case .systemToSystem(let target, _, _) where whole.systems[target].definition == nil: return
        case .systemToBus(_, let selector, _), .systemToSystem(_, let selector, _):
            for state in selector.states
            where whole.systems[system].reachable[state] && selector.picks(state, .nothing) != false {
                _ = add(Firing(link: index, state: state, system: system, source: definition.source), selector)
            }
        case .busToSystem(let bus, let filter, _):
            let firing = add(Firing(link: index, state: nil, system: system, source: definition.source), nil)
            onBus[bus, default: []].append((firing, filter))
        }
    }

    /// The pairs of states between which a system may go at once, without an event from elsewhere.
    func ownWays(of system: Int) -> Set<[Int]> { moves[system]?.ownWays ?? [] }

    private func firesOnChange(_ firing: Int) -> Bool {
        firings[firing].link.map { whole.links[$0].definition.firesOnChange } ?? false
    }

    /// The effect of a firing, in words.
    func label(of firing: Int) -> String {
        let firing = firings[firing]
        guard let owner = whole.systems[firing.system].definition else { return "" }
        let state = firing.state.map { "'\(owner.name)' is '\(owner.states[$0].name)': " } ?? ""
        if let (index, event) = firing.emission {
            return "\(state)its feedback '\(owner.feedbacks[index].name)' emits '\(owner.events[event].name)'"
        }
        guard let link = firing.link else { return "" }
        let definition = whole.links[link].definition
        switch definition.form {
        case .systemToBus(let bus, _, _):
            let name = whole.buses[bus].written.name.text
            if let trigger = definition.trigger {
                return "\(state)its feedback '\(trigger.feedback)' puts \(definition.emits) on the bus '\(name)'"
            }
            return "\(state)'\(definition.name)' puts \(definition.emits) on the bus '\(name)'"
        case .systemToSystem(let target, _, let events):
            guard let receiver = whole.systems[target].definition else { return "" }
            let event = firing.state.flatMap { events[$0] }.map { receiver.events[$0.event].name } ?? ""
            return "\(state)'\(definition.name)' sends '\(event)' to '\(receiver.name)'"
        case .busToSystem(let bus, _, let event):
            let name = whole.buses[bus].written.name.text
            return "the bus '\(name)' has a value: '\(definition.name)' sends '\(owner.events[event.event].name)' "
                + "to '\(owner.name)'"
        }
    }

    /// An event that a feedback emits.
    private struct Emission {
        var firing: Int
        var event: EventProgram
        /// A Boolean value that indicates whether it is withdrawn when the state is left.
        var staysInState: Bool
    }

    private mutating func addEmissions() -> [Emission] {
        var emissions: [Emission] = []
        for system in systems.sorted() {
            guard let definition = whole.systems[system].definition else { continue }
            for (index, feedback) in definition.feedbacks.enumerated() where waits || feedback.emitsAtOnce {
                for state in feedback.selector.states where whole.systems[system].reachable[state] {
                    for rule in (feedback.outcomes[state] ?? [:]).values.joined() {
                        let firing = add(
                            Firing(
                                link: nil, state: state, system: system, emission: (index, rule.event.event),
                                source: feedback.source),
                            feedback.selector)
                        emissions.append(
                            Emission(
                                firing: firing, event: rule.event,
                                // A side effect over a compound state outlasts the states inside.
                                staysInState: feedback.strategy == .cancelOnNewState
                                    && feedback.selector.compounds.isEmpty))
                    }
                }
            }
        }
        return emissions
    }

    /// Notes each transition that an event may cause, and what fires then.
    private mutating func addSteps(
        _ firing: Int, _ event: EventProgram, to system: Int, only state: Int?, _ budget: inout Int
    ) {
        guard let definition = whole.systems[system].definition else { return }
        let data = Known(event.data)
        for from in definition.states.indices where whole.systems[system].reachable[from] && (state ?? from) == from {
            guard budget > 0 else { return }
            let targets =
                moves[system]?.targets(from: from, on: event.event)
                ?? definition.targets(from: from, on: event.event, data)
            for target in targets {
                budget -= 1
                // An update in place makes only links with `on: change` fire.
                let next = inState[system]?[target.state, default: []].filter {
                    (!target.isUpdate && !$0.selector.isInside(target) || firesOnChange($0.firing))
                        && $0.selector.picks(target.state, target.data) != false
                }
                steps[firing].append(
                    Step(system: system, from: from, to: target.state, next: next?.map(\.firing) ?? []))
                budget -= next?.count ?? 0
            }
            guard event.event >= definition.ownEvents else { continue }
            // A change of an input is an update in place, which may change what such a link makes of the input.
            let next = inState[system]?[from, default: []].map(\.firing).filter { firesOnChange($0) && readsInput($0) }
            if let next, !next.isEmpty { steps[firing].append(Step(system: system, from: from, to: from, next: next)) }
            budget -= next?.count ?? 0
        }
    }

    /// Returns whether a link from a system reads an input of the system.
    private func readsInput(_ firing: Int) -> Bool {
        guard let link = firings[firing].link, let state = firings[firing].state else { return false }
        let (selector, data): (StateSelector, DataProgram?) =
            switch whole.links[link].definition.form {
            case .systemToBus(_, let selector, let programs): (selector, programs[state])
            case .systemToSystem(_, let selector, let events): (selector, events[state]?.data)
            case .busToSystem: (StateSelector(states: [], equals: [], conditions: [:], text: ""), nil)
            }
        return selector.conditions[state]?.references.contains { $0.first == Names.input } ?? false
            || data?.readsInput ?? false
    }
}

extension StateSelector {
    /// Returns whether it selects a state only as part of a compound state that is not entered. A condition may begin to hold inside.
    func isInside(_ target: SystemDefinition.Target) -> Bool {
        equals.isEmpty && conditions.isEmpty && !target.staysIn.isDisjoint(with: compounds)
    }
}

extension FeedbackDefinition {
    /// A Boolean value that indicates whether it emits an event as soon as a state is entered. A feedback that waits or
    /// runs a command depends on the clock or the world.
    var emitsAtOnce: Bool {
        guard case .atOnce = schedule, pace == nil else { return false }
        return effect == EffectSchema.emit.name
    }
}

extension FeedbackDefinition {
    /// The event that it emits at each entry of a state, whatever the data are; nil if that is not certain.
    func certainEvent(in state: Int) -> Int? {
        guard emitsAtOnce, selector.states.contains(state), selector.equals.isEmpty, selector.conditions[state] == nil,
            selector.compounds.isEmpty,
            let rule = outcomes[state]?[effect]?.first, rule.condition == nil
        else { return nil }
        return rule.event.event
    }

    /// A Boolean value that indicates whether a new state can cancel its side effect before that has ended.
    var needsTime: Bool {
        guard selector.compounds.isEmpty else { return false }
        let instant = [EffectSchema.emit.name, EffectSchema.publish.name, EffectSchema.log.name]
        if case .atOnce = schedule, pace == nil {
            return strategy == .cancelOnNewState && !instant.contains(effect)
        }
        // Leaving a state ends waiting for it.
        if case .every = schedule { return strategy == .cancelOnNewState && !instant.contains(effect) }
        return true
    }
}

extension SystemDefinition {
    /// Returns whether an event leads from a state to another, whatever the data are.
    func isLeft(_ state: Int, on event: Int) -> Bool {
        for rule in rules[state][event] {
            guard case .to(let program) = rule.outcome, program.state != state else { return false }
            if rule.condition == nil { return true }
        }
        return false
    }

    /// Returns whether feedbacks that emit at once may keep it going by themselves.
    ///
    /// - Parameter reachable: By state, whether it can be reached.
    func isRestless(_ reachable: [Bool]) -> Bool {
        let feedbacks = feedbacks.filter(\.emitsAtOnce)
        guard !feedbacks.isEmpty else { return false }
        var emitted: Set<Int> = []
        for feedback in feedbacks {
            for rules in feedback.outcomes.values {
                for rule in rules.values.joined() { emitted.insert(rule.event.event) }
            }
        }
        let edges = states.indices.map { state in
            reachable[state]
                ? emitted.flatMap { targets(from: state, on: $0).filter { !$0.isUpdate }.map(\.state) } : []
        }
        return !cyclicComponents(edges).isEmpty
    }
}
