public import CommonExpression
public import FeedbackKit
public import MediatorConfiguration

/// The status of a system.
public struct SystemStatus: Sendable {
    /// The configuration of the system.
    public let definition: SystemDefinition
    /// The health of the system.
    public let health: Health
    /// The time since which the system has this health, or `nil` if the system is stopped.
    public let healthSince: Timestamp?
    /// The reason why the system is not healthy, in one line.
    public let healthReason: String?
    /// The time since which the reason holds. The system may have had the same health before, for another reason.
    public let healthReasonSince: Timestamp?
    /// The name of the system with the part that keeps it degraded, such as `disk: feedback watch`.
    public let failingPart: String?
    /// The state of the system.
    public let state: SystemState
    /// The phase, the counters and the running side effects of the system's loop. The counters begin when the host gets the
    /// system, and restarts do not reset them.
    public let loop: LoopSnapshot
    /// The bytes of data of the events that wait in the mailbox. Events of up to 1 KiB do not count.
    public let waitingBytes: Int
    /// The number of restarts, after faults or on request.
    public let restarts: UInt64
    /// The number of resets.
    public let resets: UInt64
    /// The number of faults of parts of the system.
    public let faults: UInt64
    /// The number of failures of side effects that no rule handled.
    public let failures: UInt64
    /// The last fault.
    public let lastFault: Fault?
    /// The time of the last fault.
    public let lastFaultTime: Timestamp?
    /// The names of the links of the system, sorted.
    public let links: [String]
    /// The times of the next scheduled runs, by the names of the feedbacks. Only waiting feedbacks are included.
    public let nextRuns: [String: Timestamp]

    /// The numbers of running and waiting side effects of each feedback.
    public let runs: [FeedbackRuns]
    /// The last results of the feedbacks, and their present runs, by the names of the feedbacks.
    public let progress: [String: FeedbackProgress]
    /// The time of the next restart, if the system waits for it.
    public let begins: Timestamp?
    /// The present pause, if the system is paused.
    public let pause: Pause?
    /// The group of the system, if any.
    public let group: GroupDefinition?
    /// The names of the systems of the group, in its order.
    public let groupSystems: [String]
    /// The inputs of the system, in the order of its definition.
    public let inputs: [InputStatus]

    /// Returns the numbers of running and waiting side effects of a feedback.
    public func runs(of feedback: String) -> FeedbackRuns {
        runs.first { $0.feedback == feedback } ?? FeedbackRuns(feedback: feedback)
    }
}

/// An input of a system, with its present value.
public struct InputStatus: Sendable {
    /// The name of the input.
    public let name: String
    /// The type of its values.
    public let type: ValueType
    /// The present value.
    public let value: Value
    /// The names of the links that set it.
    public let links: [String]
}

/// The numbers of running and waiting side effects of a feedback.
public struct FeedbackRuns: Sendable, Hashable {
    /// The name of the feedback.
    public var feedback: String
    /// The number of running side effects, including those that pause between attempts.
    public var running = 0
    /// The number of side effects that wait for their time or their turn.
    public var waiting = 0

    /// Creates the numbers of a feedback.
    public init(feedback: String, running: Int = 0, waiting: Int = 0) {
        self.feedback = feedback
        self.running = running
        self.waiting = waiting
    }
}

/// The last result of a feedback, and its present run.
public struct FeedbackProgress: Sendable, Hashable {
    /// The last result, in a few words, without output of commands; `nil` before the first one.
    public var lastResult: String?
    /// The time of the last result.
    public var lastTime: Timestamp?
    /// The outcome of the last result, if that is a failure or a passed time limit.
    public var lastFailure: String?
    /// The beginning of the run that has lasted longest, or `nil` if none is at work.
    public var runningSince: Timestamp?
    /// The number of ticks of `every` or `at` that came during that run.
    public var missedTicks = 0
}

/// The status of a bus.
public struct BusStatus: Sendable {
    /// The configuration of the bus.
    public let definition: BusDefinition
    /// The value of a current-value bus.
    public let value: Value?
    /// The time at which a current-value bus received its value. For a passthrough bus, the time of the last value.
    public let since: Timestamp?
    /// The counters of the bus.
    public let mediator: MediatorSnapshot
    /// The names of the links that read the bus, sorted.
    public let readers: [String]
    /// The names of the links that write to the bus, sorted.
    public let writers: [String]
}

/// The status of a link.
public struct LinkStatus: Sendable {
    /// The configuration of the link.
    public let definition: LinkDefinition
    /// The name of the system to which the link belongs.
    public let system: String
    /// The name of the bus at the other end, if any.
    public let bus: String?
    /// The name of the system at the other end, if any.
    public let target: String?
    /// The number of times that the link fired.
    public let fired: UInt64
    /// The time at which the link fired last.
    public let lastFired: Timestamp?
    /// The number of attempts to fire that were faults.
    public let faults: UInt64
    /// The time of the last of these faults.
    public let lastFault: Timestamp?
    /// The reason why the loop limit holds the link back, as a clause, or `nil` if the limit does not hold it back.
    ///
    /// Either the link would fire more often than the limit allows, or its cause has come over too many links.
    public let whyOpen: String?
    /// The number of times that the loop limit held the link back.
    public let dropped: UInt64

    /// A Boolean value that indicates whether the loop limit holds the link back.
    public var isOpen: Bool { whyOpen != nil }
}
