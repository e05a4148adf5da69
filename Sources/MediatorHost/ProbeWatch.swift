import CommonExpression
import MediatorConfiguration
import Synchronization

/// How many failures or successes it takes for a probe to count as down or up.
package struct Thresholds: Sendable {
    /// How many failures.
    package var failures = 1
    /// Among how many of the last outcomes; at least as many.
    package var window = 1
    /// How many successes in a row.
    package var successes = 1

    /// Thresholds; without a window, failures in a row.
    package init(failures: Int = 1, window: Int? = nil, successes: Int = 1) {
        self.failures = failures
        self.window = window ?? failures
        self.successes = successes
    }

    /// Those among the arguments of a side effect.
    init(_ arguments: [String: Value]) {
        func number(_ name: String) -> Int? {
            if case .int(let number)? = arguments[name] { Int(number) } else { nil }
        }
        self.init(
            failures: number("failureThreshold") ?? 1, window: number("failureWindow"),
            successes: number("successThreshold") ?? 1)
    }
}

/// Whether what is probed is up or down, from the outcomes of single runs.
package struct LevelCounter: Sendable {
    /// How it is.
    package enum Level: Sendable {
        case up
        case down
    }

    /// Which it is; `nil` until one threshold has been reached.
    package private(set) var level: Level?
    /// The last outcomes since the level changed, the newest in the lowest bit; set: it failed.
    private var failures: UInt64 = 0
    /// How many successes there have been since the last failure.
    private var successes = 0

    /// Nothing is known.
    package init() {}

    /// Counts one outcome; whether the level is another one now.
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

/// What the runs of a feedback that probes have shown so far.
///
/// It belongs to the feedback, not to a run or a state: it reports a change of the level once, whatever states follow. A
/// state that does not ask for the side effect resets it.
final class ProbeWatch: Sendable {
    /// A change of the level.
    struct Report: Sendable {
        /// The outcome that tells it.
        let outcome: String
        fileprivate let period: UInt64
    }

    private struct Machine {
        var counter = LevelCounter()
        /// Counts the times in which states ask for the side effect, one after the other.
        var period: UInt64 = 0
        /// The stretch of the system's life of which runs count.
        var stretch: UInt64 = 0
    }

    private let machine = Mutex(Machine())

    /// The system has entered a state. Answers the number of the stretch to which a run that begins now belongs.
    ///
    /// - Parameters:
    ///   - isAsked: whether the state asks for the side effect.
    ///   - endsRuns: whether a new state ends the runs of the one before.
    func enter(isAsked: Bool, endsRuns: Bool) -> UInt64 {
        machine.withLock { machine in
            if !isAsked {
                machine.counter = LevelCounter()
                machine.period += 1
            }
            if !isAsked || endsRuns { machine.stretch += 1 }
            return machine.stretch
        }
    }

    /// The outcome that reported the present level; nil: none has.
    var reported: String? {
        machine.withLock { machine in machine.counter.level.map { $0 == .down ? "onDown" : "onUp" } }
    }

    /// Counts an outcome of a run, and returns the change of the level that it brings about. Outcomes of a stretch that is
    /// over do not count.
    func count(_ outcome: String, of stretch: UInt64, _ thresholds: Thresholds) -> Report? {
        guard outcome == "onSuccess" || outcome == "onFailure" else { return nil }
        let hasFailed = outcome == "onFailure"
        return machine.withLock { machine in
            guard stretch == machine.stretch, machine.counter.count(hasFailed: hasFailed, thresholds) else {
                return nil
            }
            return Report(outcome: hasFailed ? "onDown" : "onUp", period: machine.period)
        }
    }

    /// Whether a change still says something: no state has been entered since that does not ask for the side effect.
    func holds(_ report: Report) -> Bool { machine.withLock { $0.period == report.period } }
}
