package import CommonExpression
import MediatorConfiguration

/// The values of the inputs of a system, its rules of `always` that wait for their time, and the compound states that it is in. A
/// state holds them beside its data.
package final class Levels: Sendable {
    /// A rule of `always` whose condition holds, and that waits for its time. It ends with its state, and when the condition
    /// ceases to hold.
    package struct Wait: Sendable, Hashable {
        /// The progress of a wait.
        package enum Phase: Sendable {
            case waits
            /// Its time has come, and the rule has yet to apply: its data could not be computed.
            case isDue
            /// The rule has updated the state in place. It applies again after a break of its condition.
            case hasApplied
        }

        /// The index of the rule among those of the state.
        package fileprivate(set) var rule: Int
        /// The number of the wait among those of the system.
        let number: UInt64
        /// The time from which on the condition has held.
        package let since: Timestamp
        /// The time for which it must hold.
        package let delay: Duration
        package fileprivate(set) var phase = Phase.waits

        /// The time at which the rule applies.
        package var due: Timestamp? { since.advanced(by: delay) }
    }

    /// The values of the inputs, a structure; `null` without inputs.
    package let inputs: Value
    /// The rules that wait, in their order.
    package let waits: [Wait]
    /// The compound states that the system is in, and the remembered states of those that it has left.
    package let nest: Nest
    /// The number of bytes that count in the values of the inputs and in the data of remembered states; see ``SystemEvent/size(of:)``.
    let size: Int
    /// The number of the next wait.
    private let next: UInt64

    private init(_ inputs: Value, _ waits: [Wait], _ nest: Nest, next: UInt64, size: Int? = nil) {
        self.inputs = inputs
        self.size = size ?? SystemEvent.size(of: inputs) + nest.size
        self.waits = waits
        self.nest = nest
        self.next = next
    }

    /// Creates the levels of a system that is in no state yet.
    convenience init(of definition: SystemDefinition) {
        self.init(definition.inputDefaults.map { .structure($0) } ?? .null, [], Nest(), next: 1)
    }

    /// The levels in another state, in which no rule waits yet.
    var left: Levels { waits.isEmpty ? self : Levels(inputs, [], nest, next: next, size: size) }

    /// Returns the levels in a state that a rule enters. A rule that is written for a compound state goes on waiting while the
    /// system stays in that.
    ///
    /// - Parameters:
    ///   - target: The index of the state.
    ///   - reentered: The index of a compound state that is entered even if the system is in it.
    ///   - before: The state that is left, or `nil` if the system begins or is reset, and so forgets.
    func entering(
        _ target: Int, reentered: Int? = nil, from before: SystemState?, of definition: SystemDefinition
    ) -> Levels {
        if definition.compounds.isEmpty { return left }
        var nest = before == nil ? Nest() : nest
        nest.enter(target, reentered: reentered, from: before, of: definition)
        var kept: [Wait] = []
        if let before, !waits.isEmpty {
            for wait in waits {
                let rule = definition.always[before.index][wait.rule]
                guard let compound = rule.compound,
                    let stay = nest.stay(in: [compound]), stay === self.nest.stay(in: [compound]),
                    let same = definition.always[target].firstIndex(where: {
                        $0.compound == compound && $0.rule.source == rule.rule.source
                    })
                else { continue }
                var wait = wait
                wait.rule = same
                kept.append(wait)
            }
        }
        return Levels(inputs, kept.sorted { $0.rule < $1.rule }, nest, next: next)
    }

    /// Returns the levels with another value of an input; `nil` if it has that value already.
    func setting(_ index: Int, to value: Value) -> Levels? {
        guard case .structure(var structure) = inputs, structure.fields[index] != value else { return nil }
        structure.fields[index] = value
        return Levels(.structure(structure), waits, nest, next: next)
    }

    /// Returns the levels after a change of a wait.
    ///
    /// - Parameter isMeant: Returns whether a wait is the one that changes.
    func marking(_ phase: Wait.Phase, _ isMeant: (Wait) -> Bool) -> Levels {
        guard let index = waits.firstIndex(where: isMeant) else { return self }
        var waits = waits
        waits[index].phase = phase
        return Levels(inputs, waits, nest, next: next, size: size)
    }

    /// Returns the levels with the rules that wait now.
    ///
    /// - Parameters:
    ///   - rules: The rules whose conditions hold, and that wait for a time.
    ///   - delay: Returns the time for which the condition of a rule must hold, or `nil` if it cannot be computed. It is called
    ///     for a rule that did not wait before.
    func waiting(for rules: [Int], at now: Timestamp, _ delay: (Int) -> Duration?) -> Levels {
        if rules.isEmpty { return left }
        if rules.count == waits.count, rules.elementsEqual(waits.map(\.rule)) { return self }
        var next = next
        var new: [Wait] = []
        for rule in rules {
            if let wait = waits.first(where: { $0.rule == rule }) {
                new.append(wait)
            } else if let delay = delay(rule) {
                new.append(Wait(rule: rule, number: next, since: now, delay: delay))
                next += 1
            }
        }
        return Levels(inputs, new, nest, next: next, size: size)
    }

    /// Returns the levels in terms of another definition. An input of the same name and type keeps its value, a rule that
    /// is written as before goes on waiting, and a stay in a compound state goes on.
    ///
    /// - Parameters:
    ///   - state: The index of the state in the old definition.
    ///   - match: The index of the same state in the new definition; `nil` if the system goes to its initial state.
    func carried(
        from old: SystemDefinition, in state: Int, to new: SystemDefinition, in match: Int?
    ) -> Levels {
        guard new.hasLevels else { return Levels(.null, [], Nest(), next: next) }
        let nest = nest.carried(from: old, to: new, in: match)
        var values = new.inputDefaults
        if case .structure(let before) = inputs {
            for (index, field) in (values?.type.fields ?? []).enumerated() {
                guard let known = before.type.index(of: field.name), before.type.fields[known].type == field.type else {
                    continue
                }
                values?.fields[index] = before.fields[known]
            }
        }
        var kept: [Wait] = []
        if let match, new.always.indices.contains(match), old.always.indices.contains(state) {
            for wait in waits {
                // Of several rules that are written alike, each is the one of its place among them.
                let text = old.always[state][wait.rule].text
                let place = old.always[state][..<wait.rule].count { $0.text == text }
                let alike = new.always[match].indices.filter { new.always[match][$0].text == text }
                guard alike.indices.contains(place) else { continue }
                var wait = wait
                wait.rule = alike[place]
                kept.append(wait)
            }
        }
        return Levels(values.map { .structure($0) } ?? .null, kept.sorted { $0.rule < $1.rule }, nest, next: next)
    }
}

extension SystemState {
    /// The values of the inputs, and the rules of `always` that wait.
    package var levels: Levels { record.original as? Levels ?? Levels(of: definition) }

    /// Returns the variables of a program of the state: `state`, `now`, and `input` if the system has inputs.
    func variables(at now: Timestamp) -> Variables {
        definition.inputs.isEmpty
            ? Variables(data, .timestamp(now)) : Variables(data, .timestamp(now), levels.inputs)
    }
}
