public import CommonExpression

/// A number of times within a period.
public struct RateLimit: Sendable, Hashable {
    /// The number of times, at least 1.
    public var count: Int
    /// The period, at least 1 ms.
    public var period: TimeSpan

    /// A limit.
    public init(count: Int, period: TimeSpan) {
        self.count = count
        self.period = period
    }

}

/// A limit of a link that is part of a loop.
public struct LoopLimit: Sendable, Hashable {
    /// The range of ``hops``.
    static let hopRange = 1...10_000

    /// The largest rate at which the link may fire.
    public var rate: RateLimit
    /// The largest number of links that an event may have passed since its cause outside, this link included; nil: any
    /// number.
    public var hops: Int?

    /// A limit.
    public init(rate: RateLimit, hops: Int? = nil) {
        self.rate = rate
        self.hops = hops
    }

    /// In the place of one that cannot be read, which has been reported.
    static let unreadable = TimeSpan(seconds: 1, nanoseconds: 0).map {
        LoopLimit(rate: RateLimit(count: 1, period: $0))
    }
}

extension RateLimit: CustomStringConvertible {
    /// As it is written: `10 per 1s`.
    public var description: String { "\(count) per \(period.brief)" }
}

/// The reaction to a fault of a system.
public enum FaultAction: String, Sendable, Hashable, CaseIterable {
    /// Nothing: it is degraded for a while, and goes on as it is.
    case `continue`
    /// It goes to its initial state, as by a transition.
    case reset
    /// The system ends and starts again.
    case restart
    /// It ends.
    case stop
    /// The daemon ends, so that the service manager decides.
    case escalate
}

/// The reactions to the faults of a system, and their limit.
public struct SupervisionPolicy: Sendable, Hashable {
    /// The reaction to more faults than ``limit``.
    public enum LastResort: String, Sendable, Hashable, CaseIterable {
        /// The system ends.
        case stop
        /// The daemon ends.
        case escalate
    }

    /// The reaction to a fault.
    public var onFault = FaultAction.continue
    /// The delay before a restart. It doubles with each fault in a row.
    public var delay = SupervisionPolicy.defaultDelay
    /// The longest delay before a restart.
    public var maxDelay = SupervisionPolicy.defaultMaxDelay
    /// The largest rate of restarts and resets.
    public var limit = SupervisionPolicy.defaultLimit
    /// The reaction beyond the limit.
    public var beyond = LastResort.stop

    /// A policy that does nothing about faults.
    public init() {}

    /// One second.
    public static let defaultDelay = TimeSpan(whole: 1)
    /// One minute.
    public static let defaultMaxDelay = TimeSpan(whole: 60)
    /// Ten times in ten minutes.
    public static let defaultLimit = RateLimit(count: 10, period: TimeSpan(whole: 600))
    /// The longest delay: a day.
    public static let longestDelay = TimeSpan(whole: 86_400)
}

/// The time in which a system must become ready, and the reaction if it does not.
public struct ReadinessLimit: Sendable, Hashable {
    /// The time; nil: as long as the daemon waits for all systems.
    public var within: TimeSpan?
    /// The reaction if the system is not ready in time.
    public var otherwise = FaultAction.continue

    /// As long as the daemon waits, and then nothing.
    public init() {}
}

/// The systems of a group that a reaction to a fault of one of them includes.
public enum GroupStrategy: String, Sendable, Hashable, CaseIterable {
    /// That system.
    case one
    /// All systems of the group.
    case all
    /// The system and those after it.
    case rest
}

/// Systems that belong together when one of them fails.
public struct GroupDefinition: Sendable, Hashable {
    /// Its unique name.
    public var name: String
    /// The place of the definition.
    public var source: SourceLocation
    /// The systems that a reaction to a fault of one of them includes.
    public var strategy: GroupStrategy
    /// The systems' indices, in the order written.
    public var systems: [Int]
}

extension TimeSpan {
    /// A small whole number of seconds.
    fileprivate init(whole seconds: Int64) {
        guard let span = TimeSpan(seconds: seconds, nanoseconds: 0) else {
            preconditionFailure("a day is a duration")
        }
        self = span
    }
}
