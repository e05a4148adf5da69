public import CommonExpression

/// How often something may be within a time.
public struct RateLimit: Sendable, Hashable {
    /// How many times, at least 1.
    public var count: Int
    /// Within which time, at least 1 ms.
    public var period: TimeSpan

    /// A limit.
    public init(count: Int, period: TimeSpan) {
        self.count = count
        self.period = period
    }

}

/// How far a link may go on as part of a loop.
public struct LoopLimit: Sendable, Hashable {
    /// The range of ``hops``.
    static let hopRange = 1...10_000

    /// How often it may fire.
    public var rate: RateLimit
    /// How many links an event may have come over since it began outside, this link included, for it to pass; nil: any number.
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

/// What is done about a system in which something has failed.
public enum FaultAction: String, Sendable, Hashable, CaseIterable {
    /// Nothing: it is degraded for a while, and goes on as it is.
    case `continue`
    /// It goes to its initial state, as by a transition.
    case reset
    /// It ends, and begins anew.
    case restart
    /// It ends.
    case stop
    /// The daemon ends, so that the service manager decides.
    case escalate
}

/// What is done about the faults of a system, and how often.
public struct SupervisionPolicy: Sendable, Hashable {
    /// What is done when there have been more faults than ``limit``.
    public enum LastResort: String, Sendable, Hashable, CaseIterable {
        /// The system ends.
        case stop
        /// The daemon ends.
        case escalate
    }

    /// What is done about a fault.
    public var onFault = FaultAction.continue
    /// How long after a fault the system begins anew, at least; each time in a row twice as long.
    public var delay = SupervisionPolicy.defaultDelay
    /// How long after a fault it begins anew at most.
    public var maxDelay = SupervisionPolicy.defaultMaxDelay
    /// How often it may begin anew or be reset.
    public var limit = SupervisionPolicy.defaultLimit
    /// What is done beyond.
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

/// How long a system may take to become ready, and what is done then.
public struct ReadinessLimit: Sendable, Hashable {
    /// How long; nil: as long as the daemon waits for all.
    public var within: TimeSpan?
    /// What is done about one that is not ready by then.
    public var otherwise = FaultAction.continue

    /// As long as the daemon waits, and then nothing.
    public init() {}
}

/// Whom what is done about one system of a group concerns.
public enum GroupStrategy: String, Sendable, Hashable, CaseIterable {
    /// That system.
    case one
    /// All systems of the group.
    case all
    /// That system and those after it.
    case rest
}

/// Systems that belong together when one of them fails.
public struct GroupDefinition: Sendable, Hashable {
    /// Its unique name.
    public var name: String
    /// Where it is written.
    public var source: SourceLocation
    /// Whom what is done about one of them concerns.
    public var strategy: GroupStrategy
    /// The systems' indices, in the order written.
    public var systems: [Int]
}

extension TimeSpan {
    /// A whole number of seconds, of which there are few.
    fileprivate init(whole seconds: Int64) {
        guard let span = TimeSpan(seconds: seconds, nanoseconds: 0) else {
            preconditionFailure("a day is a duration")
        }
        self = span
    }
}
