import FeedbackKit

extension Feedback where S == SystemState, E == SystemEvent {
    /// A feedback of a system's own whose events say which state they come from. What comes from a source, which sees no
    /// states, has no cause.
    func tellingCauses() -> Feedback {
        var copy = self
        let origin = Cause.FeedbackOrigin(FeedbackSource(name, outcome: nil, isTick: false))
        @Sendable func told(_ event: SystemEvent, _ state: SystemState) -> SystemEvent {
            // When it was emitted is not known: a side effect may have taken its time.
            event.caused(by: Cause(origin, of: state.record, at: nil))
        }
        switch kind {
        case .answer(let rule, let answer):
            copy.kind = .answer(rule) { state, event in answer(state, event).map { told($0, state) } }
        case .reaction(let rule, let receive):
            copy.kind = .reaction(rule) { state, event in receive(state, event).map { told($0, state) } }
        case .memory(let rule, let make):
            copy.kind = .memory(rule) {
                let receive = make()
                return { state, event in receive(state, event).map { told($0, state) } }
            }
        case .source: break
        case .group(let feedbacks): copy.kind = .group(feedbacks.map { $0.tellingCauses() })
        }
        return copy
    }
}
