public import CommonExpression
import FeedbackKit
public import MediatorConfiguration

/// A step of a system, in a form for people.
public struct TraceStep: Sendable {
    /// The kind of a step.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// The system began.
        case began
        /// An event led to a new state.
        case transition
        /// An event changed the data of the state in place.
        case update
        /// An event was taken, and nothing changed.
        case stay
        /// The state has no transition for an event, or none whose condition holds.
        case unhandled
        /// An event was not taken.
        case dropped
        /// A part of the system failed.
        case fault
        /// A side effect ran.
        case run
        /// A side effect did not begin, since one ran and only one may run at a time.
        case skipped
        /// Someone paused the system.
        case paused
        /// Someone resumed the system.
        case resumed
    }

    /// A condition that was evaluated.
    public struct Guard: Sendable, Hashable {
        /// The condition as written.
        public let text: String
        /// The place of the condition.
        public let source: SourceLocation
        /// A Boolean value that indicates whether the condition held.
        public let holds: Bool
        /// The explanation of the result: the operands with their values.
        public let reason: String
    }

    /// An outcome that a side effect has reported.
    public struct Outcome: Sendable {
        /// The name of the outcome.
        public let name: String
        /// The result of the outcome.
        public let result: Value
        /// The time of the report.
        public let time: Timestamp
        /// A Boolean value that indicates whether the side effect was tried again because of it. Then it led to no
        /// event.
        public let isRetried: Bool
        /// The description of the outcome, without the time.
        public let text: String
    }

    /// The kind of the step.
    public let kind: Kind
    /// The number of the step, from 1. Steps that are left out have numbers, too.
    public internal(set) var number = 0
    /// The time of the step. For a side effect, it is the time of its start.
    public let time: Timestamp
    /// The time at which the side effect ended.
    public internal(set) var ended: Timestamp?
    /// The state of the system at that time, by name and data.
    public internal(set) var state: (name: String, data: Value)?
    /// The event, by name and data.
    public internal(set) var event: (name: String, data: Value)?
    /// The new state, by name and data.
    public internal(set) var new: (name: String, data: Value)?
    /// The conditions of the transitions that were tried, up to the transition that was taken.
    public internal(set) var guards: [Guard] = []
    /// The feedback whose side effect ran or was skipped.
    public internal(set) var feedback: String?
    /// The last outcomes that the side effect reported.
    public internal(set) var outcomes: [Outcome] = []
    /// The number of outcomes that it reported before those.
    public internal(set) var otherOutcomes = 0
    /// The failure, or the reason why an event was dropped.
    public internal(set) var reason: String?
    /// The description for people, without the time and the conditions.
    public internal(set) var text = ""

    private init(_ kind: Kind, at time: Timestamp) {
        self.kind = kind
        self.time = time
    }
}

extension Host {
    /// Returns the recent steps of a system, the oldest first. Of repetitions, it includes only the last. A side
    /// effect stands at the time of its last outcome, before the results of that outcome. Without an outcome, it
    /// stands at the time of its end.
    public func trace(_ name: String) throws(HostError) -> [TraceStep] {
        let system = try named(name)
        let machine = TraceTeller(place: system.place)
        var steps: [(number: Int, step: Trace.Step)] = []
        for entry in system.trace {
            // A run is recorded when it has ended.
            steps.insert(entry, at: steps.lastIndex { !$0.step.follows(entry.step) }.map { $0 + 1 } ?? 0)
        }
        return steps.map { entry in
            var told = machine.tell(entry.step)
            told.number = entry.number
            return told
        }
    }
}

extension Trace.Step {
    /// Returns a Boolean value that indicates whether the step belongs behind another one, a run that was recorded
    /// later.
    fileprivate func follows(_ other: Trace.Step) -> Bool {
        guard case .other(let happening) = other, case .ran(let run) = happening.kind else { return false }
        let (mine, time) = (self.time, run.told)
        guard mine == time else { return mine > time }
        // At the same time, a run belongs behind the state that asked for it, and before the results of that run.
        switch self {
        case .entered(let new, _), .carriedOver(let new, _):
            return new.serial > run.record.serial || (new.isUpdated && new.serial == run.record.serial)
        case .other(let happening):
            if case .ran = happening.kind { return false }
            return happening.before.map { $0.serial >= run.record.serial } ?? false
        }
    }

    /// The time that determines the order of the step.
    private var time: Timestamp {
        switch self {
        case .entered(let record, _): return record.time
        case .carriedOver(_, let time): return time
        case .other(let happening):
            if case .ran(let run) = happening.kind { return run.told }
            return happening.time
        }
    }
}

extension EffectRun {
    /// The time that determines the order of the run: that of its last outcome, or its end.
    fileprivate var told: Timestamp { outcomes.last?.time ?? ended }
}

/// The conversion of steps into text. It evaluates conditions again, with the recorded values.
private struct TraceTeller {
    let place: WrittenSystemPlace

    func tell(_ step: Trace.Step) -> TraceStep {
        switch step {
        case .entered(let new, let old):
            guard let old else { return began(new, at: new.time, "began in") }
            var told = TraceStep(new.isUpdated ? .update : .transition, at: new.time, of: described(old))
            told.new = described(new)
            if let event = new.event {
                told.event = (new.definition.eventName(event), event.data)
                if !old.isExcerpt, !new.isExcerpt { told.guards = guards(old, event.data, at: new.time) }
            }
            told.text =
                (new.isUpdated ? "updated to \(text(new))" : "\(text(old)) → \(text(new))") + on(told.event)
            return told
        case .carriedOver(let state, let time): return began(state, at: time, "went on after a reload in")
        case .other(let happening): return tell(happening)
        }
    }

    private func began(_ state: StateRecord, at time: Timestamp, _ verb: String) -> TraceStep {
        var told = TraceStep(.began, at: time, of: nil)
        told.new = described(state)
        told.text = "\(verb) \(text(state))"
        return told
    }

    private func tell(_ happening: Happening) -> TraceStep {
        let state = happening.before.map(described)
        let event = happening.event.map { (name: SystemEvent.name(of: $0.index, $0.data), data: $0.data) }
        let place = happening.before.map { " in \(text($0))" } ?? ""
        func step(_ kind: TraceStep.Kind, _ text: String, at time: Timestamp? = nil) -> TraceStep {
            var told = TraceStep(kind, at: time ?? happening.time, of: state)
            told.event = event
            told.text = text
            return told
        }
        func withGuards(_ told: TraceStep) -> TraceStep {
            guard let before = happening.before, let event = happening.event, !happening.isExcerpt, !before.isExcerpt
            else { return told }
            var told = told
            told.guards = guards(before, event.data, at: happening.time)
            return told
        }
        let fault = happening.fault.map { "\($0.place): \($0.message)" }
        switch happening.kind {
        case .stayed:
            var told = step(
                fault == nil ? .stay : .fault,
                fault.map { "failed\(on(event))\(place): \(Shown.cut($0))" } ?? "stayed\(place)" + on(event))
            told.reason = fault
            return withGuards(told)
        case .unhandled: return withGuards(step(.unhandled, "did not handle\(on(event, with: ""))\(place)"))
        case .dropped(let reason):
            var told = step(.dropped, "dropped\(on(event, with: "")): \(reason.explanation)")
            told.reason = reason.rawValue
            return told
        case .failed:
            var told = step(.fault, Shown.cut(fault ?? ""))
            told.reason = fault
            return told
        case .ran(let run):
            let subject = "the feedback \(run.feedback)\(place)"
            func after(_ time: Timestamp) -> String { "after \(Shown.text(time.span(since: run.begun)))" }
            let outcomes = run.outcomes.map { outcome in
                Shown.text(outcome.name, outcome.result) + (outcome.isRetried ? " and was made again" : "")
            }
            let end =
                run.outcomes.isEmpty
                ? (run.isCancelled ? "was ended" : "ended without an outcome") + " \(after(run.ended))"
                : "came \(after(run.told)) to \(outcomes.joined(separator: ", "))"
                    + (run.isCancelled && run.outcomes.last?.isRetried == true ? ", then was ended" : "")
            let more = run.others > 0 ? " (and \(run.others) before)" : ""
            var told = step(.run, "\(subject) \(end)\(more)", at: run.begun)
            told.feedback = run.feedback
            told.ended = run.ended
            told.outcomes = zip(run.outcomes, outcomes).map { outcome, text in
                TraceStep.Outcome(
                    name: outcome.name, result: outcome.result, time: outcome.time, isRetried: outcome.isRetried,
                    text: "\(subject) came \(after(outcome.time)) to \(text)")
            }
            told.otherOutcomes = run.others
            return told
        case .skipped(let feedback):
            var told = step(.skipped, "the feedback \(feedback)\(place) did not begin, since its last run goes on")
            told.feedback = feedback
            return told
        case .paused(let who): return step(.paused, "paused by \(who)")
        case .resumed(let who, let span): return step(.resumed, "resumed by \(who) after \(Shown.text(span))")
        }
    }

    /// Returns the conditions that were evaluated when an event was taken. Excerpts of the data would give wrong
    /// results.
    private func guards(_ before: StateRecord, _ data: Value, at time: Timestamp) -> [TraceStep.Guard] {
        let definition = before.definition
        guard definition.kind == nil, case .structure(let structure) = data,
            let event = definition.events.firstIndex(where: { $0.type == structure.type })
        else { return [] }
        var variables = [before.data, data, .timestamp(time)]
        if !definition.inputs.isEmpty {
            // An old record may have lost the values of the inputs.
            guard let levels = before.original as? Levels else { return [] }
            variables.append(levels.inputs)
        }
        func names(_ index: Int) -> WrittenPart {
            .rule(state: before.name, event: definition.events[event].name, index: index)
        }
        var guards: [TraceStep.Guard] = []
        for (index, rule) in definition.rules[before.index][event].enumerated() {
            guard let condition = rule.condition else { break }
            let explanation = condition.explain(variables)
            var holds = false
            if case .success(.bool(true)) = explanation.result { holds = true }
            guards.append(
                TraceStep.Guard(
                    text: condition.source, source: place.source(of: names(index)), holds: holds,
                    reason: explanation.summary))
            if holds { break }
            if case .failure = explanation.result { break }
        }
        return guards
    }

    private func on(_ event: (name: String, data: Value)?, with word: String = " on") -> String {
        event.map { "\(word) \(Shown.text($0.name, $0.data))" } ?? ""
    }

    private func described(_ record: StateRecord) -> (name: String, data: Value) {
        (record.name, record.data)
    }

    private func text(_ record: StateRecord) -> String { Shown.text(record.name, record.data) }
}

extension TraceStep {
    fileprivate init(_ kind: Kind, at time: Timestamp, of state: (name: String, data: Value)?) {
        self.init(kind, at: time)
        self.state = state
    }
}

extension DropReason {
    /// The reason in words, for the log and the trace.
    var explanation: String {
        switch self {
        case .mailboxFull: "its mailbox is full"
        case .stopped: "the system stops"
        case .cancelled: "the side effect that sent it was cancelled"
        case .notStarted: "the system has not started"
        case .disabled: "the feedback that sent it is disabled"
        }
    }
}
