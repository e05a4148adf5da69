import Synchronization

/// The parts of a loop, for another loop that does the same within a larger state and event.
package struct LoopParts<State: Sendable, Event: Sendable>: Sendable {
    /// The first state.
    package let initial: State
    /// The feedbacks, in the order in which they see each state.
    package let feedbacks: [Feedback<State, Event>]
    /// A function that changes the state on an event.
    package let reduce: @Sendable (inout State, Event) -> Reduction
    /// The executor of the loop's turns.
    package let executor: any LoopExecutor
}

extension Loop {
    /// The parts of the loop, or `nil` if it has been started. The parts share the memories of its feedbacks. So only
    /// one loop may run: this one, or one that is made of the parts.
    package var parts: LoopParts<State, Event>? { core.parts }
}

extension LoopCore {
    /// The parts of the loop, or `nil` if it has been started.
    var parts: LoopParts<State, Event>? {
        let (machine, surroundings) = guarded.withLock { ($0.machine, $0.surroundings) }
        guard machine.phase == .notStarted else { return nil }
        let feedbacks = machine.feedbacks.map { member in
            let status = machine.statuses[member.slot]
            return member.feedback(endsOnNewState: status.endsOnNewState, isBoundToState: status.isBoundToState)
        }
        return LoopParts(
            initial: machine.state, feedbacks: feedbacks, reduce: reduce,
            executor: surroundings.executor?.base ?? SendersThread())
    }
}

extension LoopMachine.Member {
    /// Returns the feedback that the member was made of.
    fileprivate func feedback(endsOnNewState: Bool, isBoundToState: Bool) -> Feedback<State, Event> {
        let rule: CancellationRule<State> =
            if endsOnNewState {
                isBoundToState ? .boundToState : .onNewState
            } else if let condition {
                .when(condition)
            } else {
                .never
            }
        let copy: Feedback<State, Event>.Kind =
            switch kind {
            case .receive(let receive): .reaction(rule, receive)
            case .answer(let answer): .answer(rule, answer)
            case .source(let subscribe): .source(subscribe)
            }
        var feedback = Feedback(label: label, kind: copy, executor: executor)
        feedback.seesUpdates = seesUpdates
        feedback.withdrawsEnded = isBoundToState
        return feedback
    }
}
