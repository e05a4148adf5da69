import CommonExpression
import FeedbackKit
import Logging
import MediatorConfiguration
import Synchronization

/// A report of a feedback to its system about its results.
enum FeedbackReport: Sendable {
    /// A fault, to which supervision reacts.
    case fault(Fault)
    /// A failure that no rule handles.
    case failure(Fault)
    /// A fault that was reported before, and that lasts in a later stretch.
    case lasts(Fault)
    /// Something that ends conditions.
    case ended(Conditions.Event)
}

// The results of a feedback, as its system counts them for its health.
extension EffectRunner {
    /// Notes a fault outside of a run.
    func note(_ fault: Fault) { note(fault, in: standing.present) }

    /// Notes a fault in a stretch.
    func note(_ fault: Fault, in stretch: Standing.Stretch) {
        note(last: "fault: \(fault.message)")
        report(.fault(fault), stretch)
    }

    /// Notes a fault of a run.
    func note(_ fault: Fault, in run: Run, isStubborn: Bool = false) {
        run.verdict.note(fault, isStubborn: isStubborn)
        note(fault, in: run.verdict.stretch)
    }

    /// Lets a run count for a state that has asked for another one, because only one may go on.
    func adopt(_ key: Value?, for asked: Asked) {
        guard let verdict = verdicts.withLock({ $0.first { $0.key == key }?.verdict }) else { return }
        for fault in verdict.adopt(asked.stretch) { report(.lasts(fault), asked.stretch) }
    }

    /// Notes the last result for display.
    ///
    /// - Parameter failure: The outcome, if it is a failure or a passed time limit.
    private func note(last text: String, failure: String? = nil) {
        let now = time.now()
        last.withLock { $0 = (text, now, failure) }
    }

    /// Notes a failed attempt for display. A further one follows.
    ///
    /// - Parameter left: The number of attempts after that one.
    func note(retried outcome: String, _ result: Value, left: Int) {
        let cause = definition.secretArguments.isEmpty ? Self.told(result).map { ", \($0)" } ?? "" : ""
        note(last: "\(outcome)\(cause); it is tried again, \(left) left")
    }

    /// Notes a success.
    func succeeded(_ key: Value?, in stretch: Standing.Stretch) {
        if standing.isMarked { report(.ended(.succeeded(feedback: definition.name, key: key)), stretch) }
    }

    /// Notes a failure that a rule has handled.
    private func handled(_ run: Run) {
        guard standing.isMarked, !run.verdict.hasFault else { return }
        report(.ended(.handled(feedback: definition.name, key: run.turn.key)), run.verdict.stretch)
    }

    /// Notes that a lasting side effect observes.
    func works(_ run: Run) {
        guard schema?.isLasting == true else { return }
        run.verdict.noteWorks()
        if standing.isMarked { report(.ended(.works(feedback: definition.name)), run.verdict.stretch) }
    }

    /// Begins the next stretch, because no state asks for the feedback any more.
    func endStretch() {
        standing.advance()
        if standing.isMarked { report(.ended(.left(feedback: definition.name)), standing.present) }
    }

    /// Judges a run by an outcome.
    ///
    /// - Parameters:
    ///   - emission: The reaction of the rules to the outcome.
    ///   - level: The reaction of the rules to the change of level that the outcome caused.
    ///   - isCounted: A Boolean value that indicates whether the outcome counts for a level that has rules.
    func judge(
        _ outcome: String, _ result: Value, _ emission: Emission, level: Emission?, isCounted: Bool, _ run: Run
    ) {
        if run.turn.isReplaced { return }
        let isTimeout = outcome == EffectSchema.timeoutOutcome.name
        let isFailure = isTimeout || outcome == "onFailure"
        guard isFailure || outcome == "onSuccess" else {
            // The other outcomes of a run come before its end. A lasting side effect has no end of its own.
            guard schema?.isLasting == true, !emission.isFault else { return }
            note(last: outcome)
            succeeded(run.turn.key, in: run.verdict.stretch)
            if run.verdict.noteOutcome() { works(run) }
            return
        }
        run.verdict.noteResult()
        let cause = isFailure && definition.secretArguments.isEmpty ? Self.told(result).map { ", \($0)" } ?? "" : ""
        if let level { isLevelUnheard.store(level.isUnheard, ordering: .relaxed) }
        // A fault of the rules is noted already.
        if emission.isFault || level?.isFault == true { return }
        note(last: outcome + cause, failure: isFailure ? outcome : nil)
        guard isFailure else {
            if !run.verdict.hasFault { succeeded(run.turn.key, in: run.verdict.stretch) }
            return
        }
        if emission.event != nil || isCounted && !isLevelUnheard.load(ordering: .relaxed) { return handled(run) }
        if definition.failureReactions[outcome] == .log {
            log(.notice, "failed", ["outcome": "\(outcome)\(cause)"])
            return handled(run)
        }
        // A time limit without a rule is a fault.
        if isTimeout, !emission.hasRule, !isCounted { return }
        let hasRule = emission.hasRule || isCounted
        let isMeant = definition.failureReactions[outcome] == .degrade
        let reason = isMeant ? "" : hasRule ? "; no rule for it holds" : "; no rule handles it"
        if hasRule, !isMeant {
            log(.warning, "failed, and no rule for it holds", .about(.effectFailed, ["outcome": "\(outcome)\(cause)"]))
        }
        report(.failure(fault(key: run.turn.key, "\(outcome)\(cause)\(reason)")), run.verdict.stretch)
    }

    /// Logs a message, and withholds most repetitions.
    ///
    /// - Parameter own: The logger of a run, whose lines name the state that asked for it.
    func log(_ level: Logger.Level, _ message: String, _ metadata: Logger.Metadata, by own: Logger? = nil) {
        repeats.log(
            own ?? logger, level, kind: "\(definition.name): \(message)",
            detail: metadata.map { "\($0): \($1)" }.sorted().joined(separator: "\n")
        ) { (message, metadata) }
    }

    /// The source of the conditions of a run.
    func condition(of key: Value?) -> Conditions.Source {
        schema?.isLasting == true
            ? .observation(feedback: definition.name) : .result(feedback: definition.name, key: key)
    }

    /// Notes the end of a run that was not cancelled.
    func ended(_ run: Run) {
        let isLasting = schema?.isLasting == true
        guard isLasting ? !run.verdict.hasFault : run.verdict.isSilent, !run.turn.isReplaced else { return }
        note(last: "ended")
        guard isLasting else { return succeeded(run.turn.key, in: run.verdict.stretch) }
        report(.failure(fault(key: run.turn.key, "it ended, although it should go on")), run.verdict.stretch)
    }

    /// Returns the reason of a failure in a few words. Nothing that a command has printed is in them.
    private static func told(_ result: Value) -> String? {
        guard case .structure(let structure) = result else { return nil }
        let fields = Dictionary(zip(structure.type.fields.map(\.name), structure.fields)) { first, _ in first }
        if case .int(let code)? = fields["exitCode"] {
            // The signal is a consequence of the limit. Only the fixed words are shown, because output may follow them.
            if case .string(let error)? = fields["error"], error.hasPrefix(EffectSchema.timeLimitPassed) {
                return EffectSchema.timeLimitPassed
            }
            if case .string(let signal)? = fields["signal"], !signal.isEmpty { return "ended by \(signal)" }
            return code < 0 ? "not started" : "exit code \(code)"
        }
        guard case .string(let error)? = fields["error"], !error.isEmpty else { return nil }
        return error
    }
}
