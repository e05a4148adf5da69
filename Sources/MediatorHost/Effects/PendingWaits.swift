import CommonExpression
import FeedbackKit
import MediatorConfiguration
import Synchronization

// The waits of a system that are pending.

extension EffectRunner {
    /// A pending wait of the feedback.
    struct Pending {
        let kind: PendingWait.Kind
        let key: Value?
        let due: Timestamp
    }

    /// The pending waits of the feedback.
    var pending: [Pending] {
        var pending: [Pending] = []
        func add(_ kind: PendingWait.Kind, _ key: Value?, at due: Duration) {
            if let moment = time.moment(at: due) { pending.append(Pending(kind: kind, key: key, due: moment)) }
        }
        if let tick = ticker?.next { pending.append(Pending(kind: kindOfSchedule, key: nil, due: tick)) }
        for run in pacer?.pending ?? [] { add(kindOfSchedule, run.key, at: run.due) }
        guard !waits.isClosed else { return pending }
        for wait in book.withLock({ $0.waits }) { add(wait.isRetry ? .retry : .timeout, wait.key, at: wait.due) }
        return pending
    }

    /// The kind of the waits for runs.
    private var kindOfSchedule: PendingWait.Kind {
        switch (definition.schedule, definition.pace) {
        case (.every, _): .every
        case (.at, _): .at
        case (.atOnce, .debounce?): .debounce
        case (.atOnce, .throttle?): .throttle
        default: .after
        }
    }
}

extension HostedSystem {
    /// Returns the end of a wait of a rule of `always`.
    func end(of wait: Levels.Wait) -> Timestamp? {
        incarnation.holds.end(of: wait).map(time.moment) ?? wait.due
    }

    /// The pending waits, the first to end first.
    ///
    /// - Complexity: O(n log n) for n waits.
    var pendingWaits: [PendingWait] {
        let (phase, incarnation, begins, ready, stopWait) = status.withLock {
            ($0.phase, $0.incarnation, $0.begins, $0.readiness?.end, $0.stopWait)
        }
        let name = definition.name
        var waits: [PendingWait] = []
        func add(
            _ kind: PendingWait.Kind, _ due: Timestamp?, _ action: String, feedback: String? = nil, key: Value? = nil
        ) {
            guard let due else { return }
            waits.append(
                PendingWait(system: name, kind: kind, feedback: feedback, key: key, due: due, action: action))
        }
        switch phase {
        case .restarting: add(.restart, begins.flatMap(time.moment), "begin anew")
        case .running:
            let otherwise = definition.readinessLimit.otherwise.rawValue
            add(.ready, ready.flatMap(time.moment), "if it is not ready: \(otherwise)")
            for (runner, _) in incarnation.runners.withLock({ $0.all }) {
                let effect = runner.present.now.feedback.summary
                for wait in runner.pending {
                    let action = wait.kind == .timeout ? "end what runs too long: \(effect)" : effect
                    add(wait.kind, wait.due, action, feedback: runner.definition.name, key: wait.key)
                }
            }
            let state = incarnation.loop.state
            let rules = state.definition.always
            for wait in state.levels.waits where wait.phase == .waits && rules.indices.contains(state.index) {
                add(
                    .for, end(of: wait),
                    "apply the rule '\(rules[state.index][wait.rule].condition)'")
            }
        case .leaving:
            let effects = Dictionary(definition.feedbacks.map { ($0.name, $0.summary) }) { first, _ in first }
            guard let stopWait else { break }
            for feedback in stopWait.feedbacks {
                let action = stopWait.isCancelled ? "leave it behind" : "cancel it"
                add(
                    .stop, time.moment(at: stopWait.until), action + (effects[feedback].map { ": \($0)" } ?? ""),
                    feedback: feedback)
            }
        default: break
        }
        return waits.sorted()
    }
}
