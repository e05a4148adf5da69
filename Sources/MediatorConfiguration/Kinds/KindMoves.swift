/// The transitions of an instance of a kind, for the search for loops.
///
/// They may be more than the instance makes: a rule may depend on data. The instance makes no others.
package struct KindMoves: Sendable {
    /// A rule: from a state, on an event, to a state.
    package struct Rule: Sendable, Hashable {
        /// The state in which the rule applies; nil: any.
        package var from: Int?
        /// The event; nil: any.
        package var event: Int?
        /// The new state; nil: any, or the same one for an update in place.
        package var to: Int?
        /// A Boolean value that indicates whether the rule updates its state in place.
        package var isUpdate: Bool

        /// A rule.
        package init(from: Int?, event: Int?, to: Int?, isUpdate: Bool = false) {
            self.from = from
            self.event = event
            self.to = to
            self.isUpdate = isUpdate
        }
    }

    private let states: Int
    private let rules: [Rule]
    /// The pairs of states between which a feedback of the kind may lead at once, without an event from elsewhere.
    let ownWays: Set<[Int]>
    /// By state, the states to which such feedbacks may lead on from it at once, over any number of events.
    private let onward: [Set<Int>]

    /// The transitions of an instance.
    ///
    /// - Parameters:
    ///   - states: The number of states of the kind.
    ///   - rules: The rules.
    ///   - restless: The states in which a feedback of the kind may emit an event at once. Any event may be that.
    package init(states: Int, rules: [Rule], restless: Set<Int>) {
        self.states = states
        self.rules = rules
        let edges = (0..<states).map { state in
            restless.contains(state) ? Self.targets(rules, from: state, on: nil, of: states).map(\.state) : []
        }
        ownWays = Set(edges.enumerated().flatMap { state, targets in targets.map { [state, $0] } })
        onward = edges.map { reachedNodes(from: $0, edges) }
    }

    /// The states to which an event may lead, at once or by feedbacks of the kind that follow at once.
    func targets(from state: Int, on event: Int) -> [SystemDefinition.Target] {
        var targets = Self.targets(rules, from: state, on: event, of: states)
        var entered = Set(targets.lazy.filter { !$0.isUpdate }.map(\.state))
        for first in targets.map(\.state) {
            for next in onward[first].sorted() where entered.insert(next).inserted {
                targets.append(SystemDefinition.Target(state: next, data: .nothing))
            }
        }
        return targets
    }

    /// The states to which an event, or with nil any event, leads by the rules.
    private static func targets(
        _ rules: [Rule], from state: Int, on event: Int?, of states: Int
    ) -> [SystemDefinition.Target] {
        var found: Set<[Int]> = []
        var targets: [SystemDefinition.Target] = []
        for rule in rules
        where (rule.from ?? state) == state && (event == nil || rule.event == nil || rule.event == event) {
            let reached = rule.isUpdate ? [state] : rule.to.map { [$0] } ?? Array(0..<states)
            for next in reached where found.insert([next, rule.isUpdate ? 1 : 0]).inserted {
                targets.append(SystemDefinition.Target(state: next, data: .nothing, isUpdate: rule.isUpdate))
            }
        }
        return targets
    }
}

/// A function that returns the transitions of an instance, as far as its kind knows them.
///
/// It is no part of the identity of a kind: two kinds that differ only here are equal.
package struct KindInspection: Sendable, Hashable {
    /// The function of a kind that is known by a description only.
    static let unknown = KindInspection { _ in nil }

    /// The function. It makes the instance, and starts nothing. It returns nil if the kind has no table of transitions, or
    /// refuses the parameters.
    let moves: @Sendable (KindInstance) -> KindMoves?

    /// A function of a kind.
    package init(_ moves: @escaping @Sendable (KindInstance) -> KindMoves?) {
        self.moves = moves
    }

    package static func == (left: KindInspection, right: KindInspection) -> Bool { true }

    package func hash(into hasher: inout Hasher) {}
}
