import CommonExpression
import FeedbackKit
import Logging
import MediatorConfiguration
import Synchronization

/// What a feedback tells its system about its results.
enum FeedbackReport: Sendable {
    /// A fault, to which supervision reacts.
    case fault(Fault)
    /// A failure that no rule handles.
    case failure(Fault)
    /// Something that ends conditions.
    case ended(Conditions.Event)
}

/// What is known so far about the result of a run.
final class RunVerdict: Sendable {
    private struct Machine {
        var hasFault = false
        var isJudged = false
    }

    private let machine = Mutex(Machine())

    /// Notes a fault of the run.
    func noteFault() { machine.withLock { $0.hasFault = true } }

    /// Notes that the run has reported its success or failure.
    func noteResult() { machine.withLock { $0.isJudged = true } }

    /// Notes that a lasting side effect works.
    func noteWorks() { machine.withLock { $0.hasFault = false } }

    /// A Boolean value that indicates whether the run had a fault.
    var hasFault: Bool { machine.withLock { $0.hasFault } }

    /// A Boolean value that indicates whether the run has ended without a word: neither success, nor failure, nor a fault.
    var isSilent: Bool { machine.withLock { !$0.hasFault && !$0.isJudged } }
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
    func note(_ fault: Fault, in run: Run) {
        run.verdict.noteFault()
        note(fault, in: run.asked.stretch)
    }

    /// Notes the last result for display.
    private func note(last text: String) {
        let now = time.now()
        last.withLock { $0 = (text, now) }
    }

    /// Notes a success, or a failure that a rule has handled.
    func succeeded(_ key: Value?, in stretch: Standing.Stretch) {
        guard standing.isMarked, stretch.isPresent else { return }
        report(.ended(.succeeded(feedback: definition.name, key: key)), stretch)
    }

    /// Notes that a lasting side effect observes.
    func works(_ run: Run) {
        run.verdict.noteWorks()
        guard standing.isMarked, run.asked.stretch.isPresent else { return }
        report(.ended(.works(feedback: definition.name)), run.asked.stretch)
    }

    /// Begins the next stretch, because no state asks for the feedback any more.
    func endStretch() {
        standing.advance()
        if standing.isMarked { report(.ended(.left(feedback: definition.name)), standing.present) }
    }

    /// Judges a run by an outcome.
    ///
    /// - Parameters:
    ///   - emission: What the rules made of the outcome.
    ///   - isCounted: A Boolean value that indicates whether the outcome counts for a level that has rules.
    func judge(_ outcome: String, _ result: Value, _ emission: Emission, isCounted: Bool, _ run: Run) {
        if run.turn.isReplaced { return }
        let isTimeout = outcome == EffectSchema.timeoutOutcome.name
        guard outcome == "onFailure" || isTimeout else {
            // The other outcomes of a run come before its end. A lasting side effect has no end of its own.
            guard outcome == "onSuccess" || schema?.isLasting == true else { return }
            run.verdict.noteResult()
            if case .fault = emission { return }
            note(last: outcome)
            works(run)
            return succeeded(run.turn.key, in: run.asked.stretch)
        }
        run.verdict.noteResult()
        if case .fault = emission { return }
        let isOpen = definition.secretArguments.isEmpty
        let failure = outcome + (isOpen ? Self.told(result).map { ", \($0)" } ?? "" : "")
        note(last: failure)
        switch emission {
        case .fault: return
        case .event: return succeeded(run.turn.key, in: run.asked.stretch)
        case .noRule, .noneHolds:
            if isCounted { return succeeded(run.turn.key, in: run.asked.stretch) }
        }
        // A time limit without a rule is a fault.
        if case .noRule = emission, isTimeout { return }
        var because = "no rule handles it"
        if case .noneHolds = emission {
            because = "no rule for it holds"
            logger.warning(
                "failed, and no rule for it holds", metadata: .about(.effectFailed, ["outcome": "\(failure)"]))
        }
        report(.failure(fault(key: run.turn.key, "\(failure); \(because)")), run.asked.stretch)
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
        guard isLasting else { return succeeded(run.turn.key, in: run.asked.stretch) }
        report(.failure(fault(key: run.turn.key, "it ended, although it should go on")), run.asked.stretch)
    }

    /// Returns the reason of a failure in a few words. Nothing that a command has printed is in them.
    private static func told(_ result: Value) -> String? {
        guard case .structure(let structure) = result else { return nil }
        let fields = Dictionary(zip(structure.type.fields.map(\.name), structure.fields)) { first, _ in first }
        if case .int(let code)? = fields["exitCode"] {
            if case .string(let signal)? = fields["signal"], !signal.isEmpty { return "ended by \(signal)" }
            return code < 0 ? "not started" : "exit code \(code)"
        }
        guard case .string(let error)? = fields["error"], !error.isEmpty else { return nil }
        return String(error.prefix(200))
    }
}
