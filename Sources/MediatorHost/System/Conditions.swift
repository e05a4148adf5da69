package import CommonExpression
import MediatorConfiguration

/// The conditions for which a running system is degraded, apart from its state and a pause. A value without clock and lock.
///
/// A condition begins with a fault or with a failure that no rule handles. No clock ends it, only an event that shows that its
/// source works again, or that nobody asks for the source any more: see ``Event/ends(_:)``.
package struct Conditions: Sendable {
    /// The part of a system that does not work.
    package indirect enum Source: Sendable, Hashable {
        /// The last result of a feedback for a key. Without a key, any success of the feedback follows it.
        case result(feedback: String, key: Value? = nil)
        /// The last results of a feedback for keys beyond the first ``Conditions/mostKeys`` that fail.
        case furtherKeys(feedback: String)
        /// A side effect that observes until it is ended.
        case observation(feedback: String)
        /// A run that takes too long.
        case overdue(feedback: String, run: UInt64)
        /// The rules for an event or for `always`, or an own feedback of a system written in Swift.
        case rule(String)
        /// A link, by the identity of its figures.
        case link(ObjectIdentifier)
        /// The store, which has not taken a new state of the system.
        case store
        /// The store, which refuses the states of the system, so that the system goes on in memory.
        case refusal
        /// The system as a whole.
        case whole

        /// The beginning of the name of an own feedback of a system written in Swift. No event has such a name.
        static let ownFeedback = "feedback "

        /// The feedback whose runs begin and end the condition.
        var feedback: String? {
            switch self {
            case .result(let name, _), .furtherKeys(let name), .observation(let name), .overdue(let name, _): name
            case .rule, .link, .store, .refusal, .whole: nil
            }
        }
    }

    /// Something that may end conditions.
    package enum Event: Sendable {
        /// A run of a feedback has succeeded.
        case succeeded(feedback: String, key: Value? = nil)
        /// A rule has handled the failure of a run.
        case handled(feedback: String, key: Value? = nil)
        /// A side effect observes again.
        case works(feedback: String)
        /// A run of a feedback has ended.
        case ended(feedback: String, run: UInt64)
        /// The system has entered a state that does not ask for a feedback, or not with a key, or a reload has removed the
        /// feedback.
        case left(feedback: String, key: Value? = nil)
        /// The system has taken an event without a fault of the rules for it, in the same state.
        ///
        /// - Parameter settled: A Boolean value that indicates whether the rules of `always` were tried as well.
        case took(String, settled: Bool)
        /// The system has entered a state, possibly the same one again.
        case entered
        /// A link has fired without a fault.
        case fired(ObjectIdentifier)
        /// A reload has left only these links.
        case kept(links: Set<ObjectIdentifier>)
        /// The system was reset to its initial state.
        case reset
        /// The store has taken a new state of the system.
        case stored
        /// The store has all states of the system.
        case accepted

        /// The feedback that the event is about.
        var feedback: String? {
            switch self {
            case .succeeded(let name, _), .handled(let name, _), .works(let name), .ended(let name, _),
                .left(let name, _):
                name
            case .took, .entered, .fired, .kept, .reset, .stored, .accepted: nil
            }
        }

        /// A Boolean value that indicates whether the event is a result of a run.
        var isResult: Bool {
            switch self {
            case .succeeded, .handled, .works: true
            case .ended, .left, .took, .entered, .fired, .kept, .reset, .stored, .accepted: false
            }
        }

        /// A Boolean value that indicates whether the event shows that a side effect has done its work.
        var isRecovery: Bool {
            switch self {
            case .succeeded, .works: true
            case .handled, .ended, .left, .took, .entered, .fired, .kept, .reset, .stored, .accepted: false
            }
        }

        /// A Boolean value that indicates whether the store has taken a new state.
        var isStored: Bool { if case .stored = self { true } else { false } }

        /// Returns a Boolean value that indicates whether the event ends a condition of a source.
        ///
        /// This is the table in `Documentation/Explanation/Supervision.md`. A restart ends all conditions
        /// except that of a ``Source/refusal``.
        package func ends(_ source: Source) -> Bool {
            switch (self, source) {
            case (.succeeded(let name, let key), .result(let feedback, let failed)),
                (.handled(let name, let key), .result(let feedback, let failed)):
                name == feedback && (failed == nil || failed == key)
            case (.works(let name), .observation(let feedback)): name == feedback
            case (.ended(let name, let ended), .overdue(let feedback, let run)): name == feedback && ended == run
            case (.left(let name, let key), .result(let feedback, let failed)):
                name == feedback && (key == nil || failed == key)
            case (.left(let name, nil), .furtherKeys(let feedback)), (.left(let name, nil), .observation(let feedback)):
                name == feedback
            case (.took(let event, let settled), .rule(let rule)):
                // The own feedbacks of a kind are asked at each change.
                rule == event || settled && (rule == Names.always || rule.hasPrefix(Source.ownFeedback))
            case (.entered, .rule), (.entered, .link), (.stored, .store),
                (.accepted, .refusal):
                true
            case (.fired(let link), .link(let failed)): link == failed
            case (.kept(let links), .link(let failed)): !links.contains(failed)
            case (.reset, .result), (.reset, .furtherKeys), (.reset, .rule), (.reset, .link), (.reset, .whole): true
            default: false
            }
        }
    }

    /// Something that does not work.
    package struct Condition: Sendable {
        /// The part that does not work.
        package let source: Source
        /// The last failure of the part.
        package fileprivate(set) var fault: Fault
        /// The beginning of the condition.
        package let since: Timestamp
        fileprivate let number: UInt64
    }

    /// The maximum number of keys of a feedback with a condition of their own.
    package static let mostKeys = 64

    private var bySource: [Source: Condition] = [:]
    private var next: UInt64 = 0
    /// A Boolean value that indicates whether there is a condition. It is read at each event.
    package private(set) var isDegraded = false

    /// No conditions.
    package init() {}

    /// The number of conditions.
    package var count: Int { bySource.count }

    /// The condition that has lasted longest.
    package var oldest: Condition? { bySource.values.min { $0.number < $1.number } }

    /// The conditions, the oldest first.
    package var all: [Condition] { bySource.values.sorted { $0.number < $1.number } }

    /// Returns a Boolean value that indicates whether a feedback has a condition.
    package func hasCondition(of feedback: String) -> Bool {
        isDegraded && bySource.keys.contains { $0.feedback == feedback }
    }

    /// A Boolean value that indicates whether rules or links have a condition.
    package var hasConditionOfState: Bool {
        isDegraded
            && bySource.keys.contains {
                switch $0 {
                case .rule, .link: true
                default: false
                }
            }
    }

    /// Notes a failure. A condition of the same source goes on with the new failure.
    ///
    /// - Returns: `true` if the condition is new.
    package mutating func begin(_ source: Source, _ fault: Fault, at time: Timestamp) -> Bool {
        var source = source
        if case .result(let name, _?) = source, bySource[source] == nil, keys(of: name) >= Self.mostKeys {
            source = .furtherKeys(feedback: name)
        }
        let isNew = bySource[source] == nil
        if isNew { next += 1 }
        bySource[source, default: Condition(source: source, fault: fault, since: time, number: next)].fault = fault
        isDegraded = true
        return isNew
    }

    /// Ends all conditions except a refusal of the store, which is about the system and not about its incarnation.
    package mutating func restart() {
        bySource = bySource.filter { $0.key == .refusal }
        isDegraded = !bySource.isEmpty
    }

    /// Ends the conditions that an event ends, and returns them, the oldest first.
    ///
    /// - Parameter again: The sources that have failed at the same time, whose conditions go on.
    package mutating func end(by event: Event, unless again: Set<Source> = []) -> [Condition] {
        func isOver(_ source: Source) -> Bool { event.ends(source) && !again.contains(source) }
        guard isDegraded, bySource.keys.contains(where: isOver) else { return [] }
        let ended = bySource.values.filter { isOver($0.source) }
        for condition in ended { bySource[condition.source] = nil }
        isDegraded = !bySource.isEmpty
        return ended.sorted { $0.number < $1.number }
    }

    private func keys(of feedback: String) -> Int {
        bySource.keys.count { if case .result(feedback, _?) = $0 { true } else { false } }
    }
}
