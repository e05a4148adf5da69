/// What became of an event that was sent.
@frozen
public enum SendResult: Sendable, Hashable {
    /// It waits in the mailbox, or has been taken already.
    case accepted
    /// It was dropped and counted.
    case dropped(DropReason)
}

/// Why an event was dropped.
@frozen
public enum DropReason: String, Sendable, Hashable, Codable {
    /// The mailbox had reached its limit.
    case mailboxFull
    /// The loop is stopping or has stopped.
    case stopped
    /// The side effect that sent it has been cancelled.
    case cancelled
    /// The loop has not started, and the sender chose not to wait for it.
    case notStarted
    /// The feedback that emitted it is disabled.
    case disabled
}

/// What a full buffer does with one more value.
@frozen
public enum Overflow: Sendable, Hashable {
    /// The oldest waiting value makes room.
    case dropOldest
    /// The new value is dropped.
    case dropNewest
    /// Everything that waits makes room: only the latest counts.
    case keepLatest
    /// The loop is cancelled: losing an event is a failure. A mediator drops the new value.
    case fail
    /// Who can wait, waits for room: async side effects, and who calls ``Loop/sendWhenRoom(_:)``. What is sent by who
    /// cannot wait is dropped, as is a mediator's new value: nobody waits for a mediator.
    case block
}

/// Whether a reducer had a rule for an event.
@frozen
public enum Reduction: Sendable, Hashable {
    /// The state it left behind is a new state, even if it equals the old one.
    case handled
    /// There is a rule, and it says that nothing changes: no new state; what it did to the state is discarded.
    case stay
    /// There is no rule; what it did to the state is discarded.
    case unhandled
}

/// Where a loop stands in its life.
@frozen
public enum LoopPhase: String, Sendable, Hashable, Codable {
    /// Not started; events wait.
    case notStarted
    /// Turning whenever there is something to do.
    case running
    /// Takes no more events, finishes what waits and what runs.
    case stopping
    /// Discards what waits and has told its side effects to end.
    case cancelling
    /// Nothing of it is left running.
    case stopped
}

/// What a loop has counted since it was made.
public struct LoopCounters: Sendable, Hashable, Codable {
    /// Events taken from the mailbox and given to the reducer.
    public var events: UInt64 = 0
    /// Events that led to a new state.
    public var transitions: UInt64 = 0
    /// Events no transition handled.
    public var unhandled: UInt64 = 0
    /// Events withdrawn because the side effect that emitted them was cancelled before they were taken.
    public var withdrawn: UInt64 = 0
    /// Events dropped because the mailbox was full.
    public var droppedByLimit: UInt64 = 0
    /// Events refused because the loop was stopping, stopped, or (where the sender chose so) not started, or because the
    /// source that brought them was disabled.
    public var refused: UInt64 = 0
    /// Side effects started.
    public var effectsStarted: UInt64 = 0
    /// Side effects cancelled by their strategy.
    public var effectsCancelled: UInt64 = 0
    /// Side effects that failed with an error nobody turned into an event.
    public var faults: UInt64 = 0

    /// Nothing counted yet.
    @inlinable
    public init() {}

    /// What two loops have counted together.
    package static func + (left: LoopCounters, right: LoopCounters) -> LoopCounters {
        var sum = left
        sum.events += right.events
        sum.transitions += right.transitions
        sum.unhandled += right.unhandled
        sum.withdrawn += right.withdrawn
        sum.droppedByLimit += right.droppedByLimit
        sum.refused += right.refused
        sum.effectsStarted += right.effectsStarted
        sum.effectsCancelled += right.effectsCancelled
        sum.faults += right.faults
        return sum
    }
}

/// A picture of a loop at one moment.
public struct LoopSnapshot: Sendable, Hashable, Codable {
    /// A feedback of the loop.
    public struct Feedback: Sendable, Hashable, Codable {
        /// Its name.
        public var name: String
        /// How many of its side effects run.
        public var running: Int

        /// A feedback with so many running side effects.
        public init(name: String, running: Int) {
            self.name = name
            self.running = running
        }
    }
    /// Where it stands in its life.
    public var phase: LoopPhase
    /// The current state, as text; of a long one the first ``stateLimit`` bytes, and an ellipsis.
    public var state: String
    /// How many events wait.
    public var waiting: Int
    /// The feedbacks in the order in which they see a state.
    public var feedbacks: [Feedback]
    /// What has been counted.
    public var counters: LoopCounters

    /// How much of the text of a state there is at most, in bytes of UTF-8.
    public static let stateLimit = 4096

    /// The beginning of a text.
    package static func beginning(of text: String) -> String {
        guard text.utf8.count > stateLimit else { return text }
        var end = text.utf8.index(text.startIndex, offsetBy: stateLimit)
        // Not within a character.
        while end.samePosition(in: text) == nil { end = text.utf8.index(before: end) }
        return text[..<end] + "…"
    }
}

/// Identifies one run of a side effect within its loop.
public struct RunID: Sendable, Hashable, Codable {
    /// Counts from 1.
    public let rawValue: UInt64

    @inlinable
    package init(rawValue: UInt64) {
        self.rawValue = rawValue
    }
}
