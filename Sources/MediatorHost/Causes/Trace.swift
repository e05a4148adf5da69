import CommonExpression
import FeedbackKit
import MediatorConfiguration
import Synchronization

/// The recent steps of a system: the last ``capacity`` steps, and as many older ones that were new.
///
/// An older step is kept only if it did not repeat one of the last ``memory`` different steps. Of a row of
/// repetitions of one step, only the last is kept. So a frequent step displaces no other step. It also keeps no more
/// memory alive than the caches of the processor hold.
///
/// A beginning and a reset are never merged with earlier steps. The first step of each sort after them is not merged
/// either, so steps that repeat after a restart are shown again.
///
/// All steps but the last one are kept without their causes, so the trace keeps a bounded amount of memory alive.
package struct Trace {
    /// A step of a system.
    enum Step: Sendable {
        /// The system entered a state from another one, or began in it.
        case entered(StateRecord, from: StateRecord?)
        /// A state in which a reload gave the system another definition, and the time of the reload.
        case carriedOver(StateRecord, at: Timestamp)
        /// Any other step.
        case other(Happening)

        /// A Boolean value that indicates whether the step is the beginning or a reset of the system.
        fileprivate var begins: Bool {
            switch self {
            case .entered(let record, let old): old == nil || record.isOfReset
            case .carriedOver: true
            case .other: false
            }
        }

        /// The same step without the causes of its state, or `nil` if it has none already.
        fileprivate var alone: Step? {
            switch self {
            case .entered(let record, let old):
                record.isAlone && old?.isAlone != false ? nil : .entered(record.alone, from: old?.alone)
            case .carriedOver(let record, let time): record.isAlone ? nil : .carriedOver(record.alone, at: time)
            case .other(let happening): happening.alone.map(Step.other)
            }
        }
    }

    /// The steps that the trace no longer holds. They are released outside the lock.
    struct Forgotten {
        fileprivate var step: Step?
        /// The step whose causes were removed, with these causes.
        fileprivate var chained: Step?
    }

    /// The maximum number of recent steps, and of older steps.
    package static let capacity = 32
    /// The number of different steps that are remembered to recognize repetitions.
    package static let memory = 8

    /// The novelty of a step.
    private enum Novelty {
        /// No remembered step is like it.
        case new
        /// A step like it happened before the system began or was reset, but not since.
        case known
        /// A step like it has happened since then.
        case dull
    }

    /// A step, with its number among all steps of the system.
    private struct Entry {
        var step: Step
        var novelty: Novelty
        var number: Int
    }

    /// A ring of steps, in which a new step replaces the oldest.
    private struct Ring {
        private var steps: [Entry] = []
        private var first = 0

        /// The steps with their numbers, the oldest first.
        var all: [(number: Int, step: Step)] { (steps[first...] + steps[..<first]).map { ($0.number, $0.step) } }

        var last: Step? { steps.isEmpty ? nil : steps[(first + steps.count - 1) % steps.count].step }

        /// Replaces the last step with a repetition, which has another number. Returns the replaced step.
        mutating func repeatLast(_ step: Step, _ number: Int) -> Step {
            let index = (first + steps.count - 1) % steps.count
            steps[index].number = number
            var old = step
            swap(&old, &steps[index].step)
            return old
        }

        /// Removes the causes of the last step. Returns the step with its causes, or `nil` if it had none.
        mutating func settleLast() -> Step? {
            guard let alone = last?.alone else { return nil }
            return repeatLast(alone, steps[(first + steps.count - 1) % steps.count].number)
        }

        /// A Boolean value that indicates whether the last step is a repetition.
        var endsDull: Bool { !steps.isEmpty && steps[(first + steps.count - 1) % steps.count].novelty == .dull }

        /// Adds a step. Returns the step that it replaced.
        mutating func add(_ entry: Entry) -> Entry? {
            guard steps.count == Trace.capacity else {
                steps.append(entry)
                return nil
            }
            var old = entry
            swap(&old, &steps[first])
            first = first + 1 == Trace.capacity ? 0 : first + 1
            return old
        }
    }

    /// The features that make one step a repetition of another.
    fileprivate struct Likeness: Equatable {
        var kind: Int
        var before: Int
        var after: Int
        var event: Int
    }

    /// The last different steps.
    private struct Likenesses {
        private var all: [Likeness] = []
        private var next = 0
        private var last: Likeness?

        /// Returns a Boolean value that indicates whether a step is among them. If not, it replaces the oldest one.
        mutating func holds(_ likeness: Likeness) -> Bool {
            if last == likeness { return true }
            last = likeness
            if all.contains(likeness) { return true }
            if all.count < Trace.memory {
                all.append(likeness)
            } else {
                all[next] = likeness
                next = (next + 1) % Trace.memory
            }
            return false
        }
    }

    private var recent = Ring()
    /// The older steps that were new.
    private var kept = Ring()
    private var likenesses = Likenesses()
    /// The last different steps since the system began or was reset.
    private var likenessesSinceBegin = Likenesses()
    /// The likeness of the last step.
    private var last: Likeness?
    /// The outcomes of the last run of each feedback, by the name of the feedback.
    private var lastOutcomes: [String: [String]] = [:]

    /// The number of steps that were recorded so far. Each step has the next number, from 1.
    private var count = 0

    /// All kept steps with their numbers, the oldest first. A number that is missing is that of a step that was left out.
    var steps: [(number: Int, step: Step)] { kept.all + recent.all }

    /// Records the entry of a state from another one, or without one if the system has just begun. The most frequent
    /// case is handled here.
    @inline(__always)
    mutating func note(entered record: StateRecord, from old: StateRecord?) -> Forgotten? {
        let likeness = Likeness(
            kind: record.isUpdated ? 6 : 0, before: record.previous ?? -1, after: record.index,
            event: record.indexOfEvent)
        guard last == likeness, recent.endsDull else {
            if old == nil, record.isCarriedOver, let time = record.cause?.time {
                return note(.carriedOver(record, at: time))
            }
            return note(.entered(record, from: old))
        }
        count += 1
        return Forgotten(step: recent.repeatLast(.entered(record, from: old), count))
    }

    /// Forgets which steps repeat others, because states and events have other indices from now on.
    mutating func forgetLikenesses() {
        (likenesses, likenessesSinceBegin, last) = (Likenesses(), Likenesses(), nil)
    }

    /// Records a step. Returns the steps that the trace no longer holds.
    mutating func note(_ step: Step) -> Forgotten? {
        if case .other(let happening) = step, case .failed = happening.kind, repeats(happening) { return nil }
        count += 1
        if step.begins { likenessesSinceBegin = Likenesses() }
        let likeness = likeness(of: step)
        let novelty = novelty(of: step, likeness)
        let isLikeLast = likeness == last
        last = likeness
        // Repetitions of one step, with no other step between them.
        if novelty == .dull, recent.endsDull, isLikeLast { return Forgotten(step: recent.repeatLast(step, count)) }
        var forgotten = Forgotten(chained: recent.settleLast())
        if let old = recent.add(Entry(step: step, novelty: novelty, number: count)) {
            forgotten.step = old.novelty == .new ? kept.add(old)?.step : old.step
        }
        return forgotten
    }

    /// Returns the kind in the likeness of a step.
    private func kind(_ step: Step) -> Int {
        switch step {
        case .entered(let record, _), .carriedOver(let record, _): step.begins ? -3 : record.isUpdated ? 6 : 0
        case .other(let happening):
            switch happening.kind {
            case .stayed: happening.fault == nil ? 2 : 1
            case .unhandled: 3
            case .dropped: 4
            case .failed: 5
            case .paused: -1
            case .resumed: -2
            case .ran(let run): 7 &+ (run.feedback.hashValue & Int.max >> 1)
            case .skipped(let feedback): -4 &- (feedback.hashValue & Int.max >> 1)
            }
        }
    }

    /// Returns a Boolean value that indicates whether a fault is that of the event that was taken just before.
    private func repeats(_ failure: Happening) -> Bool {
        guard case .other(let before)? = recent.last, case .stayed = before.kind else { return false }
        return before.fault == failure.fault
    }

    private mutating func novelty(of step: Step, _ likeness: Likeness) -> Novelty {
        if case .other(let happening) = step, case .ran(let run) = happening.kind {
            let outcomes = run.outcomes.map(\.name)
            return lastOutcomes.updateValue(outcomes, forKey: run.feedback) == outcomes ? .dull : .new
        }
        let isDull = likenessesSinceBegin.holds(likeness)
        return likenesses.holds(likeness) ? isDull ? .dull : .known : .new
    }

    /// Returns the likeness of a step. All runs of a feedback have the same one; ``novelty(of:_:)`` compares their
    /// outcomes.
    private func likeness(of step: Step) -> Likeness {
        switch step {
        case .entered(let new, _), .carriedOver(let new, _):
            Likeness(kind: kind(step), before: new.previous ?? -1, after: new.index, event: new.indexOfEvent)
        case .other(let happening):
            happening.likeness(kind(step), happening.kind.isFailure ? happening.fault?.hashValue ?? 0 : -1)
        }
    }
}

extension Happening {
    fileprivate func likeness(_ kind: Int, _ what: Int) -> Trace.Likeness {
        Trace.Likeness(kind: kind, before: before?.index ?? -1, after: what, event: event?.index ?? -1)
    }
}

/// A step of a system that is not the entry of a state.
final class Happening: Sendable {
    enum Kind: Sendable {
        /// The system took an event, and nothing changed.
        case stayed
        /// The state has no transition for an event, or none whose condition holds.
        case unhandled
        /// The system did not take an event.
        case dropped(DropReason)
        /// A part of the system failed.
        case failed
        /// A side effect ran.
        case ran(EffectRun)
        /// The side effect of this feedback did not begin, since one ran and only one may run at a time.
        case skipped(String)
        /// Someone with this name paused the system.
        case paused(by: String)
        /// Someone with this name resumed the system after a pause of this length.
        case resumed(by: String, after: Duration)

        fileprivate var isFailure: Bool {
            if case .failed = self { true } else { false }
        }
    }

    let kind: Kind
    /// The time of the step. For a side effect, it is the time of its end.
    let time: Timestamp
    /// The state of the system at that time.
    let before: StateRecord?
    let event: (index: Int, data: Value)?
    /// A Boolean value that indicates whether the data of the event is an excerpt.
    let isExcerpt: Bool
    let fault: Fault?

    init(_ kind: Kind, _ before: StateRecord?, _ event: SystemEvent?, at time: Timestamp, _ fault: Fault? = nil) {
        self.kind = kind
        self.time = time
        self.before = before
        isExcerpt = event.map { $0.size > StateRecord.longestKept } ?? false
        let isCut = isExcerpt
        self.event = event.map { ($0.index, isCut ? Excerpt.of($0.data) : $0.data) }
        self.fault = fault
    }

    convenience init(_ run: EffectRun) {
        self.init(.ran(run), run.record, nil, at: run.ended)
    }

    private init(_ other: Happening, fault: Fault) {
        kind = other.kind
        time = other.time
        before = other.before
        event = other.event
        isExcerpt = other.isExcerpt
        self.fault = fault
    }

    private init(alone other: Happening) {
        if case .ran(var run) = other.kind {
            run.record = run.record.alone
            kind = .ran(run)
        } else {
            kind = other.kind
        }
        time = other.time
        before = other.before?.alone
        event = other.event
        isExcerpt = other.isExcerpt
        fault = other.fault
    }

    /// The same step without the causes of its state, or `nil` if it has none already.
    fileprivate var alone: Happening? {
        // The state of a run is also the state before.
        before?.isAlone == false ? Happening(alone: self) : nil
    }

    /// Returns the same step, with the place of the system in its fault.
    func written(in place: WrittenSystemPlace) -> Happening {
        guard let fault else { return self }
        return Happening(self, fault: fault.written(in: place))
    }

    /// Returns the same step, without confidential values in its fault.
    func concealed(by concealment: Concealment) -> Happening {
        guard let fault else { return self }
        return Happening(self, fault: fault.concealed(by: concealment))
    }
}

/// An outcome that a run has reported.
struct RunOutcome: Sendable {
    let name: String
    let result: Value
    let time: Timestamp
    /// A Boolean value that indicates whether the run was tried again because of it. Then it leads to no event.
    let isRetried: Bool
}

/// A run of a side effect.
struct EffectRun: Sendable {
    let feedback: String
    /// The state that asked for it.
    var record: StateRecord
    let begun: Timestamp
    let ended: Timestamp
    /// The last few outcomes that it reported.
    let outcomes: [RunOutcome]
    /// The number of outcomes that it reported before those.
    let others: Int
    /// A Boolean value that indicates whether it was cancelled.
    let isCancelled: Bool
}

/// The last few outcomes that a run has reported so far.
final class OutcomeLog: Sendable {
    /// The maximum number of kept outcomes.
    static let capacity = 4

    private let outcomes = Mutex<(last: [RunOutcome], others: Int)>(([], 0))

    func note(_ name: String, _ result: Value, at time: Timestamp, isRetried: Bool = false) {
        let forgotten = outcomes.withLock { outcomes -> Value? in
            outcomes.last.append(RunOutcome(name: name, result: result, time: time, isRetried: isRetried))
            guard outcomes.last.count > Self.capacity else { return nil }
            outcomes.others += 1
            return outcomes.last.removeFirst().result
        }
        withExtendedLifetime(forgotten) {}
    }

    var all: (last: [RunOutcome], others: Int) { outcomes.withLock { $0 } }
}
