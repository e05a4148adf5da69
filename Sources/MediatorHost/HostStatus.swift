public import CommonExpression
public import FeedbackKit
public import MediatorConfiguration

/// How a system stands.
public struct SystemStatus: Sendable {
    /// How it was configured.
    public let definition: SystemDefinition
    /// How it is.
    public let health: Health
    /// Since when; nil if it is stopped.
    public let healthSince: Timestamp?
    /// Why it is not healthy, in a line.
    public let healthReason: String?
    /// Since when that is the reason: it may have been as unwell before for another one.
    public let healthReasonSince: Timestamp?
    /// Its state.
    public let state: SystemState
    /// Where its loop stands in its life, what has been counted, and which side effects run. What has been counted is
    /// since the host has the system, however often it has been restarted.
    public let loop: LoopSnapshot
    /// How many bytes of data the events hold that wait in its mailbox; those of up to 1 KiB are not counted.
    public let waitingBytes: Int
    /// How often it has been restarted, on account of faults or as asked.
    public let restarts: UInt64
    /// How often it has been reset.
    public let resets: UInt64
    /// How often a part of it has failed.
    public let faults: UInt64
    /// What failed last.
    public let lastFault: Fault?
    /// When that was.
    public let lastFaultTime: Timestamp?
    /// The names of the links it takes part in, sorted.
    public let links: [String]
    /// By the name of a feedback, when its side effect runs next by its schedule, where that is waited for.
    public let nextRuns: [String: Timestamp]

    /// How many of the side effects of each feedback are at work, or wait.
    public let runs: [FeedbackRuns]
    /// When it begins anew, if it waits for that.
    public let begins: Timestamp?
    /// That it is paused.
    public let pause: Pause?
    /// The group of systems it belongs to.
    public let group: GroupDefinition?
    /// The names of the group's systems, in its order.
    public let groupSystems: [String]

    /// How many side effects of a feedback are at work, or wait.
    public func runs(of feedback: String) -> FeedbackRuns {
        runs.first { $0.feedback == feedback } ?? FeedbackRuns(feedback: feedback)
    }
}

/// How many side effects of a feedback there are.
public struct FeedbackRuns: Sendable, Hashable {
    /// The feedback's name.
    public var feedback: String
    /// How many are at work, pauses between attempts included.
    public var running = 0
    /// How many wait for their time or their turn.
    public var waiting = 0

    /// A feedback with so many.
    public init(feedback: String, running: Int = 0, waiting: Int = 0) {
        self.feedback = feedback
        self.running = running
        self.waiting = waiting
    }
}

/// How a bus stands.
public struct BusStatus: Sendable {
    /// How it was configured.
    public let definition: BusDefinition
    /// The value of a current-value bus.
    public let value: Value?
    /// Since when it has the value; for a passthrough bus, when a value came last.
    public let since: Timestamp?
    /// What has been counted.
    public let mediator: MediatorSnapshot
    /// The names of the links that read it, sorted.
    public let readers: [String]
    /// The names of the links that write it, sorted.
    public let writers: [String]
}

/// How a link stands.
public struct LinkStatus: Sendable {
    /// How it was configured.
    public let definition: LinkDefinition
    /// The system it is attached to.
    public let system: String
    /// The bus it joins, if any.
    public let bus: String?
    /// The other system it joins, if any.
    public let target: String?
    /// How often it has fired.
    public let fired: UInt64
    /// When it fired last.
    public let lastFired: Timestamp?
    /// Why it is held back, as a clause: it would fire more often than its loop may, or for what has come over too many links;
    /// nil: it is not.
    public let whyOpen: String?
    /// How often it was held back.
    public let dropped: UInt64

    /// Whether it is held back.
    public var isOpen: Bool { whyOpen != nil }
}
