import CommonExpression
import FeedbackKit
import MediatorConfiguration
import Synchronization

/// What a system did of late: the last ``capacity`` things, and so many more from before that were no mere repetition of one
/// of the last ``memory`` things that differed. Of a row of repetitions of one thing only the last is kept, so that what one
/// does again and again neither pushes anything else out nor keeps more alive than the processor's caches hold.
///
/// A beginning and a reset are never merged with what was before, nor is the first of each that differs behind them: what one
/// does again after a restart is told again.
///
/// It holds states without what brought them about, but for the last thing, so what it keeps alive is bounded.
package struct Trace {
    /// Something that a system did.
    enum Step: Sendable {
        /// It entered a state, from another, unless it has just begun.
        case entered(StateRecord, from: StateRecord?)
        /// Anything else.
        case other(Happening)

        /// Whether it began with it, or anew.
        fileprivate var begins: Bool {
            guard case .entered(let record, let old) = self else { return false }
            return old == nil || record.isOfReset
        }

        /// The same, which does not lead to what brought its state about; nil: that is so already.
        fileprivate var alone: Step? {
            switch self {
            case .entered(let record, let old):
                record.isAlone && old?.isAlone != false ? nil : .entered(record.alone, from: old?.alone)
            case .other(let happening): happening.alone.map(Step.other)
            }
        }
    }

    /// What is no longer remembered, to be released without the lock.
    struct Forgotten {
        fileprivate var step: Step?
        /// What led on to what brought it about, and has given way to what does not.
        fileprivate var chained: Step?
    }

    /// How many of either kind are kept.
    package static let capacity = 32
    /// How many things that differed are remembered, to tell repetitions.
    package static let memory = 8

    /// How new a step is.
    private enum Novelty {
        /// Nothing like it is remembered.
        case new
        /// The like of it was before the system began, or began anew.
        case known
        /// The like of it has been since then.
        case dull
    }

    /// Things, of which the oldest gives way to a new one.
    private struct Ring {
        private var steps: [(step: Step, novelty: Novelty)] = []
        private var first = 0

        /// The oldest first.
        var all: [Step] { (steps[first...] + steps[..<first]).map(\.step) }

        var last: Step? { steps.isEmpty ? nil : steps[(first + steps.count - 1) % steps.count].step }

        /// Keeps a repetition in the place of the one before; what gave way to it.
        mutating func repeatLast(_ step: Step) -> Step {
            var old = step
            swap(&old, &steps[(first + steps.count - 1) % steps.count].step)
            return old
        }

        /// Has the last one lead to nothing else; what it was, if it did.
        mutating func settleLast() -> Step? {
            guard let alone = last?.alone else { return nil }
            return repeatLast(alone)
        }

        /// Whether the last is a repetition.
        var endsDull: Bool { !steps.isEmpty && steps[(first + steps.count - 1) % steps.count].novelty == .dull }

        /// Keeps a step; what gave way to it.
        mutating func add(_ step: Step, _ novelty: Novelty) -> (step: Step, novelty: Novelty)? {
            guard steps.count == Trace.capacity else {
                steps.append((step, novelty))
                return nil
            }
            var old = (step: step, novelty: novelty)
            swap(&old, &steps[first])
            first = first + 1 == Trace.capacity ? 0 : first + 1
            return old
        }
    }

    /// What makes one step a repetition of another.
    fileprivate struct Likeness: Equatable {
        var kind: Int
        var before: Int
        var after: Int
        var event: Int
    }

    /// The last things that differed.
    private struct Likenesses {
        private var all: [Likeness] = []
        private var next = 0
        private var last: Likeness?

        /// Whether one is among them; else it is from now on, in the place of the oldest.
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
    /// Those that are no longer among the recent ones, and no mere repetitions.
    private var kept = Ring()
    private var likenesses = Likenesses()
    /// Those since the system began, or began anew.
    private var likenessesSinceBegin = Likenesses()
    /// What the last thing is like.
    private var last: Likeness?
    /// By the name of a feedback, what the outcomes of its last run were.
    private var lastOutcomes: [String: [String]] = [:]

    /// All that is kept, the oldest first.
    var steps: [Step] { kept.all + recent.all }

    /// Remembers that a state has been entered, from another, unless the system has just begun. What mostly happens is decided here.
    @inline(__always)
    mutating func note(entered record: StateRecord, from old: StateRecord?) -> Forgotten? {
        let likeness = Likeness(
            kind: 0, before: record.previous ?? -1, after: record.index, event: record.indexOfEvent)
        guard last == likeness, recent.endsDull else {
            return note(.entered(record, from: old))
        }
        return Forgotten(step: recent.repeatLast(.entered(record, from: old)))
    }

    /// Remembers something.
    mutating func note(_ step: Step) -> Forgotten? {
        if case .other(let happening) = step, case .failed = happening.kind, repeats(happening) { return nil }
        if step.begins { likenessesSinceBegin = Likenesses() }
        let likeness = likeness(of: step)
        let novelty = novelty(of: step, likeness)
        let isLikeLast = likeness == last
        last = likeness
        // Repetitions of one and the same thing, with nothing between them.
        if novelty == .dull, recent.endsDull, isLikeLast { return Forgotten(step: recent.repeatLast(step)) }
        var forgotten = Forgotten(chained: recent.settleLast())
        if let old = recent.add(step, novelty) {
            forgotten.step = old.novelty == .new ? kept.add(old.step, .new)?.step : old.step
        }
        return forgotten
    }

    /// What kind of likeness a step has.
    private func kind(_ step: Step) -> Int {
        switch step {
        case .entered: step.begins ? -3 : 0
        case .other(let happening):
            switch happening.kind {
            case .stayed: happening.fault == nil ? 2 : 1
            case .unhandled: 3
            case .dropped: 4
            case .failed: 5
            case .paused: -1
            case .resumed: -2
            case .ran(let run): 6 &+ (run.feedback.hashValue & Int.max >> 1)
            case .skipped(let feedback): -4 &- (feedback.hashValue & Int.max >> 1)
            }
        }
    }

    /// Whether a fault is the one of the event that was taken just before.
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

    /// What makes a step like another. Runs of a feedback are alike but for what they came to, of which ``novelty(of:_:)`` tells.
    private func likeness(of step: Step) -> Likeness {
        switch step {
        case .entered(let new, _):
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

/// Something that a system did other than to enter a state.
final class Happening: Sendable {
    enum Kind: Sendable {
        /// It took an event, and nothing changed.
        case stayed
        /// It has no transition for an event.
        case unhandled
        /// It did not take an event.
        case dropped(DropReason)
        /// A part of it failed.
        case failed
        /// A side effect ran.
        case ran(EffectRun)
        /// The side effect of this feedback was not begun, since one ran, and there is to be one at a time.
        case skipped(String)
        /// Somebody paused it, whose name is told.
        case paused(by: String)
        /// Somebody let it go on, after so long.
        case resumed(by: String, after: Duration)

        fileprivate var isFailure: Bool {
            if case .failed = self { true } else { false }
        }
    }

    let kind: Kind
    /// When; of a side effect, when it had ended.
    let time: Timestamp
    /// The state in which it was.
    let before: StateRecord?
    let event: (index: Int, data: Value)?
    /// Whether the data of the event is no longer whole.
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

    /// The same, which does not lead to what brought its state about; nil: that is so already.
    fileprivate var alone: Happening? {
        // That of a run is the one before it.
        before?.isAlone == false ? Happening(alone: self) : nil
    }

    /// The same, where the system is written there.
    func written(in place: WrittenSystemPlace) -> Happening {
        guard let fault else { return self }
        return Happening(self, fault: fault.written(in: place))
    }

    /// The same without what must not be shown.
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
    /// Whether the run was made again on account of it, so that it leads to no event.
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
    /// How often it reported something before.
    let others: Int
    /// Whether it was told to end.
    let isCancelled: Bool
}

/// What a run has reported so far: the last few outcomes.
final class OutcomeLog: Sendable {
    /// How many are kept.
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
