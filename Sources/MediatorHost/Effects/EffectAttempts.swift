import CommonExpression
import FeedbackKit
import Logging
import MediatorConfiguration
import Synchronization

// The attempts of a run, and their time limit.
extension EffectRunner {
    /// Runs the body within its time limit. Repeats it after a failure or a timeout, as often as the configuration allows.
    /// Delivers a failure or timeout of the last attempt only.
    func attempts(
        _ limit: Duration?, _ run: Run, _ arguments: [String: Value],
        _ body: @escaping @Sendable (EffectContext) async -> Void
    ) async {
        var delay = definition.retry?.delay.swiftDuration ?? .zero
        var left = definition.retry?.times ?? 0
        while true {
            let attempt = Attempt(mayFail: left > 0)
            let further = left - 1
            let context = context(of: run, arguments) { [self] outcome, result in
                switch attempt.take(outcome) {
                case .tell: return hear(outcome, result, run)
                case .retry:
                    run.outcomes.note(outcome, told(result), at: time.now(), isRetried: true)
                    note(retried: outcome, result, left: further)
                case .keep: break
                }
                return true
            }
            run.verdict.beginAttempt()
            let number = beginAttempt(limit, arguments, run.asked, key: run.turn.key)
            let isInTime = await finishes(within: limit, attempt) { await body(context) }
            endAttempt(number, run.asked)
            guard !Task.isCancelled else { return }
            if left > 0, attempt.hasFailed || !isInTime, let retry = definition.retry {
                left -= 1
                if !isInTime, let limit {
                    run.outcomes.note(
                        EffectSchema.timeoutOutcome.name, Self.timeoutResult(limit), at: time.now(), isRetried: true)
                    note(retried: EffectSchema.timeoutOutcome.name, Self.timeoutResult(limit), left: further)
                }
                let pause = delay * (1 + retry.jitter * (2 * time.random() - 1))
                delay = min(delay + delay, max(retry.maxDelay, retry.delay).swiftDuration)
                logger.debug("failed; it is tried again", metadata: ["delay": "\(pause)", "left": "\(left)"])
                guard await passes(pause, run) else { return }
                figures.retry()
                continue
            }
            if !isInTime, let limit { tellTimeout(limit, run) } else { ended(run) }
            return
        }
    }

    /// Waits for the time of the next attempt. Returns `false` if the run ends before.
    private func passes(_ pause: Duration, _ run: Run) async -> Bool {
        let end = time.elapsed() + pause
        let number = book.withLock { $0.wait(RunBook.Wait(key: run.turn.key, due: end, isRetry: true)) }
        defer { book.withLock { $0.end(number) } }
        return await waits.wait(until: end)
    }

    /// Delivers the timeout of a run. Notes a fault if the configuration has no rule for it.
    private func tellTimeout(_ limit: Duration, _ run: Run) {
        let result = Self.timeoutResult(limit)
        let message = "its time was up, after \(limit)"
        var level: Emission?
        // A probe counts a timeout as a failure.
        if let report = probe?.count("onFailure", of: run.asked.stretch.number, run.thresholds), !run.turn.isReplaced,
            let type = schema?.outcomes.first(where: { $0.name == report.outcome })?.result
        {
            let fields = type.fields.map { field in
                field.name == "error"
                    ? .string(message) : field.name == "took" ? .duration(after: limit) : field.type.blank
            }
            level = tell(report, .structure(Structure(type: type, fields: fields)), run)
        }
        let isTold = deliver(EffectSchema.timeoutOutcome.name, result, run, level: level)
        if !isTold { note(fault(key: run.turn.key, message), in: run) }
    }

    /// Returns the result of the outcome `onTimeout`.
    private static func timeoutResult(_ limit: Duration) -> Value {
        .structure(Structure(type: EffectSchema.timeoutOutcome.result, fields: [.duration(after: limit)]))
    }

    /// Returns a Boolean value that indicates whether the body ends, or reports success or failure, within the limit. At the
    /// limit, cancels a body that has done neither, and waits for its end. Without a limit, returns `true`.
    private func finishes(
        within limit: Duration?, _ attempt: Attempt, _ body: @escaping @Sendable () async -> Void
    ) async -> Bool {
        guard let limit else {
            await body()
            return true
        }
        let (time, end) = (time, time.elapsed() + limit)
        return await withTaskGroup(of: Bool?.self) { group in
            group.addTask {
                await body()
                return attempt.finish()
            }
            group.addTask {
                guard (try? await time.sleep(end)) != nil else { return nil }
                return attempt.end() ? false : nil
            }
            // A body that has reported its outcome in time may end later.
            for await isInTime in group {
                guard let isInTime else { continue }
                group.cancelAll()
                return isInTime
            }
            return true
        }
    }
}

/// The progress of one attempt, which decides about its outcomes.
private final class Attempt: Sendable {
    enum Verdict {
        case tell
        /// The outcome is a failure, and another attempt follows.
        case retry
        /// The outcome comes after the time limit and is dropped.
        case keep
    }

    private struct Machine {
        var hasFailed = false
        /// A Boolean value that indicates whether the attempt has ended, or has reported success or failure.
        var isFinished = false
        /// A Boolean value that indicates whether the attempt exceeded its time limit.
        var isOver = false
    }

    private let machine = Mutex(Machine())
    private let mayFail: Bool

    /// - Parameter mayFail: A Boolean value that indicates whether another attempt follows a failure.
    init(mayFail: Bool) { self.mayFail = mayFail }

    var hasFailed: Bool { machine.withLock { $0.hasFailed } }

    /// Notes the end of the attempt. Returns `true` if it ended in time.
    func finish() -> Bool {
        machine.withLock { machine in
            machine.isFinished = true
            return !machine.isOver
        }
    }

    /// Notes that the time limit has passed, so that later outcomes are dropped. Returns `false` if the attempt has already
    /// ended, or reported success or failure.
    func end() -> Bool {
        machine.withLock { machine in
            machine.isOver = !machine.isFinished
            return machine.isOver
        }
    }

    func take(_ outcome: String) -> Verdict {
        machine.withLock { machine in
            if machine.isOver { return .keep }
            guard outcome == "onFailure" || outcome == "onSuccess" else { return .tell }
            machine.isFinished = true
            guard outcome == "onFailure", mayFail else { return .tell }
            machine.hasFailed = true
            return .retry
        }
    }
}

extension Value {
    /// Returns a duration value for a time limit, or `null` if it is out of range.
    fileprivate static func duration(after limit: Duration) -> Value {
        let (seconds, attoseconds) = limit.components
        return TimeSpan(seconds: seconds, nanoseconds: Int32(attoseconds / 1_000_000_000)).map { .duration($0) }
            ?? .null
    }
}
