import CommonExpression
import MediatorConfiguration
import Synchronization

/// The numbers of failures and successes after which a probe counts as down or up.
package struct Thresholds: Sendable {
    /// The number of failures for the level down.
    package var failures = 1
    /// The number of last outcomes among which failures count. It is at least ``failures``.
    package var window = 1
    /// The number of successes in a row for the level up.
    package var successes = 1

    /// Creates thresholds. Without a window, the failures must be in a row.
    package init(failures: Int = 1, window: Int? = nil, successes: Int = 1) {
        self.failures = failures
        self.window = window ?? failures
        self.successes = successes
    }

    /// The thresholds among the arguments of a side effect.
    init(_ arguments: [String: Value]) {
        func number(_ name: String) -> Int? {
            if case .int(let number)? = arguments[name] { Int(number) } else { nil }
        }
        self.init(
            failures: number("failureThreshold") ?? 1, window: number("failureWindow"),
            successes: number("successThreshold") ?? 1)
    }
}

/// A counter that derives the level of a probe, up or down, from the outcomes of single runs.
package struct LevelCounter: Sendable {
    /// The level of a probe.
    package enum Level: Sendable {
        /// Enough successes in a row.
        case up
        /// Enough failures among the last outcomes.
        case down
    }

    /// The present level, or `nil` until a threshold is reached.
    package private(set) var level: Level?
    /// The last outcomes since the level changed, the newest in the lowest bit. A set bit is a failure.
    private var failures: UInt64 = 0
    /// The number of successes since the last failure, up to ``EffectSchema/longestThreshold``.
    private var successes = 0

    /// Creates a counter without outcomes.
    package init() {}

    /// Counts one outcome. Returns `true` if the level has changed.
    package mutating func count(hasFailed: Bool, _ thresholds: Thresholds) -> Bool {
        failures = failures << 1 | (hasFailed ? 1 : 0)
        successes = hasFailed ? 0 : min(successes + 1, EffectSchema.longestThreshold)
        let window = thresholds.window < UInt64.bitWidth ? (1 << UInt64(thresholds.window)) - 1 : UInt64.max
        let next: Level
        if hasFailed, (failures & window).nonzeroBitCount >= thresholds.failures {
            next = .down
        } else if !hasFailed, successes >= thresholds.successes {
            next = .up
        } else {
            return false
        }
        guard next != level else { return false }
        level = next
        failures = 0
        return true
    }
}

/// The results so far of the runs of a feedback that probes.
///
/// The watch belongs to the feedback, not to a run or a state. It reports each change of the level once, for any states
/// that follow, and the level again if a state asks for that. A state that does not ask for the side effect resets the watch.
final class ProbeWatch: Sendable {
    /// A change of the level.
    struct Report: Sendable {
        /// The outcome that reports the change.
        let outcome: String
        fileprivate let period: UInt64
    }

    private struct Machine {
        var counter = LevelCounter()
        /// The number of the present period. A state that does not ask for the side effect ends a period.
        var period: UInt64 = 0
        /// The number of the stretch of the system's life whose runs count.
        var stretch: UInt64 = 0
        /// A Boolean value that indicates whether the next result at the present level reports the level again.
        var repeats = false
    }

    private let machine = Mutex(Machine())

    /// Notes that the system has entered a state.
    ///
    /// - Parameters:
    ///   - isAsked: A Boolean value that indicates whether the state asks for the side effect.
    ///   - stretch: The number of the stretch for runs that begin now.
    ///   - repeats: A Boolean value that indicates whether the level is to be reported again.
    func enter(isAsked: Bool, stretch: UInt64, repeats: Bool = false) {
        machine.withLock { machine in
            machine.repeats = repeats
            if !isAsked {
                machine.counter = LevelCounter()
                machine.period += 1
            }
            machine.stretch = stretch
        }
    }

    /// The outcome that reported the present level, or `nil` if the next result may report the level.
    var reported: String? {
        machine.withLock { machine in
            machine.repeats ? nil : machine.counter.level.map { $0 == .down ? "onDown" : "onUp" }
        }
    }

    /// Counts an outcome of a run, and returns the resulting change of the level. Outcomes of an earlier stretch do not
    /// count.
    func count(_ outcome: String, of stretch: UInt64, _ thresholds: Thresholds) -> Report? {
        guard outcome == "onSuccess" || outcome == "onFailure" else { return nil }
        let hasFailed = outcome == "onFailure"
        return machine.withLock { machine in
            guard stretch == machine.stretch else { return nil }
            let hasChanged = machine.counter.count(hasFailed: hasFailed, thresholds)
            let isSame = machine.counter.level == (hasFailed ? .down : .up)
            guard hasChanged || machine.repeats && isSame else { return nil }
            machine.repeats = false
            return Report(outcome: hasFailed ? "onDown" : "onUp", period: machine.period)
        }
    }

    /// Returns a Boolean value that indicates whether a report is still valid. A later state that does not ask for the
    /// side effect makes it invalid.
    func holds(_ report: Report) -> Bool { machine.withLock { $0.period == report.period } }
}
