import Synchronization

/// What a loop is made of, so that another loop can be made to do the same within a larger state and event.
package struct LoopParts<State: Sendable, Event: Sendable>: Sendable {
    /// The first state.
    package let initial: State
    /// The feedbacks, in the order in which they see each state.
    package let feedbacks: [Feedback<State, Event>]
    /// Changes the state on an event.
    package let reduce: @Sendable (inout State, Event) -> Reduction
    /// Where it was to turn.
    package let executor: any LoopExecutor
}

extension Loop {
    /// What the loop is made of; `nil` if it has been started. What its feedbacks remember is not made anew, so of the loop
    /// and all that is made of its parts only one may run.
    package var parts: LoopParts<State, Event>? { core.parts }
}

extension LoopCore {
    /// What the loop is made of; `nil` if it has been started.
    var parts: LoopParts<State, Event>? {
        let (machine, surroundings) = guarded.withLock { ($0.machine, $0.surroundings) }
        guard machine.phase == .notStarted else { return nil }
        let feedbacks = zip(machine.feedbacks, machine.statuses).map { member, status in
            member.feedback(endsOnNewState: status.endsOnNewState, isBoundToState: status.isBoundToState)
        }
        return LoopParts(
            initial: machine.state, feedbacks: feedbacks, reduce: reduce,
            executor: surroundings.executor?.base ?? SendersThread())
    }
}

extension LoopMachine.Member {
    /// The feedback it was made of.
    fileprivate func feedback(endsOnNewState: Bool, isBoundToState: Bool) -> Feedback<State, Event> {
        let rule: CancellationRule<State> =
            if isBoundToState {
                .boundToState
            } else if endsOnNewState {
                .onNewState
            } else if let condition {
                .when(condition)
            } else {
                .never
            }
        switch kind {
        case .receive(let receive): return Feedback(label: label, kind: .reaction(rule, receive), executor: executor)
        case .answer(let answer): return Feedback(label: label, kind: .answer(rule, answer), executor: executor)
        case .source(let subscribe): return Feedback(label: label, kind: .source(subscribe), executor: executor)
        }
    }
}
