import CommonExpression
import MediatorConfiguration

extension WrittenPart {
    /// Returns the rule that added most to the data of a state, and its name for people. The rules are applied again, since
    /// this is needed only after a fault. Returns the whole system if no rule added data.
    ///
    /// - Parameters:
    ///   - before: The state before the event.
    ///   - now: The time at which the rules were applied.
    static func ofGrowth(
        of before: SystemState, on event: SystemEvent, at now: Timestamp
    ) -> (part: WrittenPart, words: String) {
        let definition = before.definition
        let transition = "transition from \(definition.states[before.index].name) on \(definition.eventName(event))"
        // The rules of a system that is written in Swift are not known.
        guard definition.kind == nil else { return (.whole, transition) }
        var found = WrittenPart.whole
        var size = before.data.heldBytes
        var most = 0
        AlwaysMachine.retrace(before, on: event, at: now) { state, rule in
            let new = state.data.heldBytes
            if let rule, new - size > most {
                found = rule
                most = new - size
            }
            size = new
        }
        if case .rule(let state, Names.always, _) = found { return (found, "always of \(state)") }
        return (found, transition)
    }
}
