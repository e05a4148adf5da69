import FeedbackKit
import MediatorConfiguration

extension TypedKind {
    /// Returns the transitions of an instance, by its own table. Returns `nil` if it has no complete table, or refuses its
    /// parameters.
    ///
    /// A feedback that computes its event on the loop's turn counts as one that emits at once. Side effects take time, like
    /// the commands of a configured system.
    func moves(of instance: KindInstance) -> KindMoves? {
        guard let made = try? parts(of: instance), made.isTable else { return nil }
        let (states, events) = (numbers(of: plain.states), numbers(of: plain.events))
        var restless: Set<Int> = []
        for feedback in made.loop.feedbacks {
            if case .answer = feedback.kind {} else if !feedback.answersAtOnce { continue }
            guard let state = feedback.stateIdentity else {
                restless.formUnion(states.values)
                continue
            }
            if let number = states[name(state)] { restless.insert(number) }
        }
        // A state or an event that was not registered is a fault, and changes nothing.
        let rules = made.transitions.compactMap { transition -> KindMoves.Rule? in
            guard let from = place(transition.from, AnyState.identity, states),
                let event = place(transition.event, AnyEvent.identity, events),
                let to = place(transition.to, AnyState.identity, states)
            else { return nil }
            return KindMoves.Rule(from: from.number, event: event.number, to: to.number, isUpdate: transition.isUpdate)
        }
        return KindMoves(states: plain.states.count, rules: rules, restless: restless)
    }

    private func numbers(of records: [SystemKind.Record]) -> [String: Int] {
        Dictionary(records.enumerated().map { ($1.name, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// A state or event of a rule; without a number it is any.
    private struct Place {
        var number: Int?
    }

    /// Returns the place of an identity. Returns `nil` if the kind does not have it.
    private func place(_ identity: String, _ wildcard: String, _ numbers: [String: Int]) -> Place? {
        if identity == wildcard { return Place(number: nil) }
        return numbers[name(identity)].map { Place(number: $0) }
    }
}
