public import CommonExpression
import FeedbackKit
public import MediatorConfiguration

/// Something that a system did, as it is told.
public struct TraceStep: Sendable {
    /// What it is.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// It began.
        case began
        /// An event led to a new state.
        case transition
        /// An event was taken, and nothing changed.
        case stay
        /// An event has no transition in the state.
        case unhandled
        /// An event was not taken.
        case dropped
        /// Something failed.
        case fault
        /// A side effect ran.
        case run
        /// A side effect was not begun, since one ran, and there is to be one at a time.
        case skipped
        /// Somebody paused it.
        case paused
        /// Somebody let it go on.
        case resumed
    }

    /// A condition that was looked at.
    public struct Guard: Sendable, Hashable {
        /// As written.
        public let text: String
        /// Where.
        public let source: SourceLocation
        /// Whether it held.
        public let holds: Bool
        /// Why: its operands with their values.
        public let reason: String
    }

    /// What a side effect has reported.
    public struct Outcome: Sendable {
        /// The outcome.
        public let name: String
        /// Its result.
        public let result: Value
        /// When it was reported.
        public let time: Timestamp
        /// Whether the side effect was made again on account of it, so that it led to no event.
        public let isRetried: Bool
        /// The same in words, without the time.
        public let text: String
    }

    /// What it is.
    public let kind: Kind
    /// When; of a side effect, when it began.
    public let time: Timestamp
    /// When a side effect had ended.
    public internal(set) var ended: Timestamp?
    /// The name of the state in which that was, and its data.
    public internal(set) var state: (name: String, data: Value)?
    /// The name of the event, and its data.
    public internal(set) var event: (name: String, data: Value)?
    /// The name of the new state, and its data.
    public internal(set) var new: (name: String, data: Value)?
    /// The conditions of the transitions that were tried, up to the one that was taken.
    public internal(set) var guards: [Guard] = []
    /// The feedback whose side effect ran.
    public internal(set) var feedback: String?
    /// What it reported, the last of it.
    public internal(set) var outcomes: [Outcome] = []
    /// How often it reported something before.
    public internal(set) var otherOutcomes = 0
    /// Why: what failed, or why an event was dropped.
    public internal(set) var reason: String?
    /// The same in words, for people; without the time and the guards.
    public internal(set) var text = ""

    private init(_ kind: Kind, at time: Timestamp) {
        self.kind = kind
        self.time = time
    }
}

extension Host {
    /// What a system did of late, the oldest first; of what repeats itself only the last. A side effect stands where it
    /// came to its last outcome, before what that led to; without one, where it ended.
    public func trace(_ name: String) throws(HostError) -> [TraceStep] {
        let system = try named(name)
        let machine = TraceTeller(definition: system.definition, place: system.place)
        var steps: [Trace.Step] = []
        for step in system.trace {
            // A run is noted when it has ended.
            steps.insert(step, at: steps.lastIndex { !$0.follows(step) }.map { $0 + 1 } ?? 0)
        }
        return steps.map(machine.tell)
    }
}

extension Trace.Step {
    /// Whether it is to be told behind another one, a run that was noted later.
    fileprivate func follows(_ other: Trace.Step) -> Bool {
        guard case .other(let happening) = other, case .ran(let run) = happening.kind else { return false }
        let (mine, time) = (self.time, run.told)
        guard mine == time else { return mine > time }
        // At the same time it follows the state that asked for it, and is followed by what came of that.
        switch self {
        case .entered(let new, _): return new.serial > run.record.serial
        case .other(let happening):
            if case .ran = happening.kind { return false }
            return happening.before.map { $0.serial >= run.record.serial } ?? false
        }
    }

    /// When what it tells of happened.
    private var time: Timestamp {
        switch self {
        case .entered(let record, _): return record.since
        case .other(let happening):
            if case .ran(let run) = happening.kind { return run.told }
            return happening.time
        }
    }
}

extension EffectRun {
    /// When what is told of it happened: its last outcome, or its end.
    fileprivate var told: Timestamp { outcomes.last?.time ?? ended }
}

/// Puts what a system did into words. Conditions are evaluated anew, from what they were evaluated with.
private struct TraceTeller {
    let definition: SystemDefinition
    let place: WrittenSystemPlace

    func tell(_ step: Trace.Step) -> TraceStep {
        switch step {
        case .entered(let new, let old):
            guard let old else {
                var told = TraceStep(.began, at: new.since, of: nil)
                told.new = described(new)
                told.text = "began in \(text(new))"
                return told
            }
            var told = TraceStep(.transition, at: new.since, of: described(old))
            told.new = described(new)
            if let event = new.event {
                told.event = (definition.eventName(event.index), event.data)
                if !old.isExcerpt, !new.isExcerpt {
                    told.guards = guards(old.index, old.data, event.index, event.data, at: new.since)
                }
            }
            told.text = "\(text(old)) → \(text(new))" + on(told.event)
            return told
        case .other(let happening): return tell(happening)
        }
    }

    private func tell(_ happening: Happening) -> TraceStep {
        let state = happening.before.map(described)
        let event = happening.event.map { (name: definition.eventName($0.index), data: $0.data) }
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
            told.guards = guards(before.index, before.data, event.index, event.data, at: happening.time)
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
            var told = step(.dropped, "dropped\(on(event, with: "")): \(reason.rawValue)")
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
                ? (run.isCancelled ? "was ended" : "ended without a word") + " \(after(run.ended))"
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

    /// The conditions that were looked at when an event was taken. Where not all data has been kept, nobody knows any more.
    private func guards(
        _ state: Int, _ before: Value, _ event: Int, _ data: Value, at time: Timestamp
    ) -> [TraceStep.Guard] {
        guard definition.kind == nil, definition.events.indices.contains(event) else { return [] }
        let variables = [before, data, .timestamp(time)]
        func names(_ index: Int) -> WrittenPart {
            .rule(state: definition.states[state].name, event: definition.events[event].name, index: index)
        }
        var guards: [TraceStep.Guard] = []
        for (index, rule) in definition.rules[state][event].enumerated() {
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
        (definition.states[record.index].name, record.data)
    }

    private func text(_ record: StateRecord) -> String { Shown.text(definition.states[record.index].name, record.data) }
}

extension TraceStep {
    fileprivate init(_ kind: Kind, at time: Timestamp, of state: (name: String, data: Value)?) {
        self.init(kind, at: time)
        self.state = state
    }
}
