public import CommonExpression
import MediatorConfiguration
import Synchronization

/// A wait of a system that is pending.
public struct PendingWait: Sendable, Hashable {
    /// The reason of a wait, in the words of the configuration.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// A run of a feedback is due after a delay.
        case after
        /// The next tick of a feedback is due.
        case every, at
        /// A run of a feedback keeps its distance from other requests or runs.
        case debounce, throttle
        /// The time of a run will be up.
        case timeout
        /// The next attempt of a run that has failed is due.
        case retry
        /// The condition of a rule of `always` must hold until then.
        case `for`
        /// The system must be ready by then.
        case ready
        /// The system restarts after a fault.
        case restart
        /// The system stops, and waits for a side effect to end.
        case stop

        /// A Boolean value that indicates whether the schedule or the pace of a feedback is the reason.
        var isOfSchedule: Bool {
            switch self {
            case .after, .every, .at, .debounce, .throttle: true
            case .timeout, .retry, .for, .ready, .restart, .stop: false
            }
        }
    }

    /// The name of the system.
    public let system: String
    /// The reason of the wait.
    public let kind: Kind
    /// The name of the feedback; `nil` for a wait of the system itself.
    public let feedback: String?
    /// The key of the run; `nil` without one.
    public let key: Value?
    /// The end of the wait, as the calendar stands now.
    public let due: Timestamp
    /// The consequence, in words.
    public let action: String
}

extension PendingWait: Comparable {
    /// Returns whether one wait ends before another. The names decide between waits that end together.
    public static func < (left: PendingWait, right: PendingWait) -> Bool {
        func names(_ wait: PendingWait) -> (String, String, String, String) {
            (wait.system, wait.feedback ?? "", wait.kind.rawValue, wait.key.map { "\($0)" } ?? "")
        }
        return left.due == right.due ? names(left) < names(right) : left.due < right.due
    }
}

extension Host {
    /// The pending waits of all systems, the first to end first.
    ///
    /// - Complexity: O(n log n) for n waits.
    public var pendingWaits: [PendingWait] { all.flatMap(\.pendingWaits).sorted() }

    /// The waits of systems that stop, for the ends of their side effects, the first to end first.
    public var stopWaits: [PendingWait] {
        all.lazy.filter { $0.phase == .leaving }.flatMap(\.pendingWaits).sorted()
    }

    /// The present systems, and those that a reload has removed or replaced and that have not ended.
    private var all: [HostedSystem] { machine.withLock { $0.set.systems + $0.retiring } }

    /// Returns the pending waits of a system, the first to end first.
    public func pendingWaits(of system: String) throws(HostError) -> [PendingWait] {
        let present = try named(system)
        return all.filter { $0 === present || $0.definition.name == system }.flatMap(\.pendingWaits).sorted()
    }
}
