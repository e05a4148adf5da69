import FeedbackKit
import MediatorConfiguration
import Synchronization

/// The events that the feedbacks of a system's Swift code have emitted. Only that code determines the events that
/// they may emit.
final class EmittedEvents: Sendable {
    private let events = Mutex<[String: Set<Int>]>([:])

    /// Records an event that a feedback has emitted, by its index.
    func note(_ event: Int, by feedback: String) {
        events.withLock { _ = $0[feedback, default: []].insert(event) }
    }

    /// Returns a Boolean value that indicates whether a feedback has emitted an event.
    func contains(_ event: Int, by feedback: String) -> Bool {
        events.withLock { $0[feedback]?.contains(event) ?? false }
    }
}

extension Feedback where S == SystemState, E == SystemEvent {
    /// Returns a feedback of Swift code whose events have the state that led to them as their cause. The events of a
    /// source have no cause, since a source sees no states.
    ///
    /// - Parameter emitted: The record of the emitted events.
    func tellingCauses(_ emitted: EmittedEvents) -> Feedback {
        var copy = self
        let origin = Cause.FeedbackOrigin(FeedbackSource(name, outcome: nil, isTick: false))
        @Sendable func told(_ event: SystemEvent, _ state: SystemState) -> SystemEvent {
            emitted.note(event.index, by: origin.source.name)
            // The time of the emission is unknown, since a side effect may have run first.
            return event.caused(by: Cause(origin, of: state.record, at: nil))
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
        case .group(let feedbacks): copy.kind = .group(feedbacks.map { $0.tellingCauses(emitted) })
        }
        return copy
    }
}

extension WhyNot {
    /// The wildcard in the transitions of a system that is written in Swift.
    static let any = "any"
}

extension WhyNot.Sender {
    /// Creates a sender from a feedback that is written in Swift and has sent the event.
    init(writtenInSwift outline: SystemBehaviour.Outline, sending event: String, of system: HostedSystem) {
        let runs = system.runs.first { $0.feedback == outline.name }
        self.init(
            isLink: false, name: outline.name, summary: "\(outline.onState), written in Swift",
            source: system.place.source(of: .whole), reasons: [],
            waits: "it has sent \(event) since the system began" + ((runs?.running ?? 0) > 0 ? "; it runs now" : ""))
    }
}

extension WhyNot.Candidate {
    /// Creates a candidate from a transition whose rule is written in Swift.
    init(writtenInSwift transition: (from: String, event: String, to: String), at source: SourceLocation) {
        self.init(
            from: transition.from, event: transition.event, to: transition.to, condition: nil, source: source,
            holds: nil, fails: false, reason: "written in Swift, which may decide otherwise when the event comes",
            field: nil, fieldReason: nil, due: nil)
    }
}
