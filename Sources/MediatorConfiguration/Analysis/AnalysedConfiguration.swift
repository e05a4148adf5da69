import Synchronization

/// All compiled parts with their definitions as written: the input of the checks of the whole.
struct AnalysedConfiguration: Sendable {
    /// By the index that links use.
    var systems: [AnalysedSystem] = []
    /// By the index that links use.
    var buses: [AnalysedBus] = []
    /// Those without a mistake.
    var links: [AnalysedLink] = []
}

/// A system, compiled and as written.
final class AnalysedSystem: Sendable {
    /// Nil if something is wrong with it.
    let definition: SystemDefinition?
    /// Of an instance, its template; nil if that is not there.
    let written: WrittenSystem?
    let scope: SystemScope
    /// The origin of the data of its initial state.
    let initialOrigin: ValueOrigin
    /// By state, whether it can be reached; empty if the system has a mistake.
    let reachable: [Bool]
    /// By event, whether its own feedbacks or the outside cause it; empty if something is wrong with it.
    let caused: [Bool]
    /// By event, in which of the states that can be reached nothing handles it; empty if something is wrong with it.
    let deaf: [[Int]]
    /// A Boolean value that indicates whether feedbacks that emit at once may keep it going by themselves.
    let isRestless: Bool
    private let known: Mutex<[[Known]]?>
    /// The number of rules up to which ``entries`` is computed at once.
    private static let fewRules = 64

    /// A system.
    init(
        definition: SystemDefinition?, written: WrittenSystem?, scope: SystemScope,
        initialOrigin: ValueOrigin = .written
    ) {
        self.initialOrigin = initialOrigin
        self.definition = definition
        self.written = written
        self.scope = scope
        let reachable = definition?.reachableStates() ?? []
        self.reachable = reachable
        let rules = definition?.rules.reduce(0) { $1.reduce($0) { $0 + $1.count } } ?? 0
        known = Mutex(rules <= Self.fewRules ? definition?.entries(reachable) : nil)
        isRestless = definition?.isRestless(reachable) ?? false
        caused = definition.map { Self.caused($0, written, scope) } ?? []
        deaf =
            definition.map { definition in
                guard definition.kind == nil else { return [] }
                return definition.events.indices.map { event in
                    definition.states.indices.filter { reachable[$0] && definition.rules[$0][event].isEmpty }
                }
            } ?? []
    }

    private static func caused(
        _ definition: SystemDefinition, _ written: WrittenSystem?, _ scope: SystemScope
    ) -> [Bool] {
        var caused = Array(repeating: false, count: definition.events.count)
        for feedback in definition.feedbacks {
            for rules in feedback.outcomes.values {
                for rule in rules.values.joined() { caused[rule.event.event] = true }
            }
        }
        switch written?.fromOutside {
        case nil: break
        case .any: return caused.map { _ in true }
        case .events(let names):
            for name in names {
                if let event = scope.eventNames.index(of: name.text) { caused[event] = true }
            }
        }
        return caused
    }

    /// By state, what is known of its data, worked out when first asked for; empty if something is wrong with it.
    var entries: [[Known]] {
        if let known = known.withLock({ $0 }) { return known }
        let entries = definition?.entries(reachable) ?? []
        known.withLock { $0 = entries }
        return entries
    }
}

/// A bus, compiled and as written.
struct AnalysedBus: Sendable {
    /// Nil if something is wrong with it.
    let definition: BusDefinition?
    let written: WrittenBus
}

/// A link, compiled and as written.
final class AnalysedLink: Sendable {
    let definition: LinkDefinition
    let written: WrittenLink
    /// A Boolean value that indicates whether its condition is constant. That has been reported, so its consequences
    /// are not.
    let isConstant: Bool

    /// A link.
    init(definition: LinkDefinition, written: WrittenLink, isConstant: Bool) {
        self.definition = definition
        self.written = written
        self.isConstant = isConstant
    }
}
