/// The result of sending an event.
@frozen
public enum SendResult: Sendable, Hashable {
    /// The event waits in the mailbox, or has been taken already.
    case accepted
    /// The event was dropped and counted.
    case dropped(DropReason)
}

/// The reason for dropping an event.
@frozen
public enum DropReason: String, Sendable, Hashable, Codable {
    /// The mailbox had reached its limit.
    case mailboxFull
    /// The loop is stopping or has stopped.
    case stopped
    /// The side effect that sent it has been cancelled.
    case cancelled
    /// The loop has not started, and the sender chose not to wait for the start.
    case notStarted
    /// The feedback that emitted it is disabled.
    case disabled
}

/// A rule for a value that finds a buffer full.
@frozen
public enum Overflow: Sendable, Hashable {
    /// The oldest waiting value is dropped to make room. An event whose sender waits keeps its place.
    case dropOldest
    /// The new value is dropped.
    case dropNewest
    /// All waiting values are dropped to make room: only the latest counts.
    case keepLatest
    /// The loop drops the new event and is cancelled, because the loss of an event is a failure. A mediator only drops
    /// the new value.
    case fail
    /// Senders that can wait do so until the mailbox has room. These are timers, async side effects such as
    /// ``Effect/task(_:)`` and ``Effect/sequence(_:)``, and callers of ``Loop/sendWhenRoom(_:)`` and
    /// ``Send/whenRoom(_:)``. The events of other senders are dropped. A mediator drops its new value, because no
    /// sender waits for a mediator.
    case block
}

/// The result of a reducer for an event.
@frozen
public enum Reduction: Sendable, Hashable {
    /// The reducer has handled the event. Its state is a new state, even if it equals the old one.
    case handled
    /// The reducer has changed data of the state, and the loop stays in it. So no state is entered: side effects go on,
    /// and only watchers and feedbacks with ``Feedback/seeingUpdates()`` see the change.
    case updated
    /// The reducer has a rule by which nothing changes. There is no new state, and changes of the state are discarded.
    case stay
    /// The reducer has no rule for the event. Changes of the state are discarded.
    case unhandled
}

/// A phase of a loop's life.
@frozen
public enum LoopPhase: String, Sendable, Hashable, Codable {
    /// The loop has not been started. Events wait.
    case notStarted
    /// The loop runs. It takes events, unless it is paused.
    case running
    /// The loop accepts no more events. It takes the waiting events, and running side effects may finish.
    case stopping
    /// The loop has discarded the waiting events and cancelled its side effects, and waits for their end.
    case cancelling
    /// No part of the loop runs any more.
    case stopped
}

/// The counters of a loop since its creation.
public struct LoopCounters: Sendable, Hashable, Codable {
    /// The number of events that the loop took and gave to the reducer.
    public var events: UInt64 = 0
    /// The number of events that led to a new state.
    public var transitions: UInt64 = 0
    /// The number of events that changed the state in place; see ``Reduction/updated``.
    public var updates: UInt64 = 0
    /// The number of events that no transition handled.
    public var unhandled: UInt64 = 0
    /// The number of events that were withdrawn or refused, because their side effect was cancelled before they were
    /// taken.
    public var withdrawn: UInt64 = 0
    /// The number of events that were dropped because the mailbox was full.
    public var droppedByLimit: UInt64 = 0
    /// The number of events that were refused. The loop was stopping, had stopped, or had not started and the sender
    /// chose not to wait. Or the source of the event was disabled. Waiting events that the end of the loop discards
    /// count, too.
    public var refused: UInt64 = 0
    /// The number of started side effects.
    public var effectsStarted: UInt64 = 0
    /// The number of cancelled side effects, for any reason.
    public var effectsCancelled: UInt64 = 0
    /// The number of faults: errors of side effects that no rule turned into an event, and overflows under
    /// ``Overflow/fail``.
    public var faults: UInt64 = 0

    /// The number of events that led to a new state or changed one in place.
    var changes: UInt64 { transitions + updates }

    /// Creates counters that are all 0.
    @inlinable
    public init() {}

    /// Returns the sums of the counters of two loops.
    package static func + (left: LoopCounters, right: LoopCounters) -> LoopCounters {
        var sum = left
        sum.events += right.events
        sum.transitions += right.transitions
        sum.updates += right.updates
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

/// A snapshot of a loop at one moment.
public struct LoopSnapshot: Sendable, Hashable, Codable {
    /// A feedback of the loop.
    public struct Feedback: Sendable, Hashable, Codable {
        /// The name of the feedback.
        public var name: String
        /// The number of its running side effects.
        public var running: Int

        /// Creates a feedback with this number of running side effects.
        public init(name: String, running: Int) {
            self.name = name
            self.running = running
        }
    }
    /// The phase of the loop's life.
    public var phase: LoopPhase
    /// The current state, as text. A text longer than ``stateLimit`` is cut there and ends with an ellipsis.
    public var state: String
    /// The number of waiting events.
    public var waiting: Int
    /// The feedbacks, in the order in which they see each state.
    public var feedbacks: [Feedback]
    /// The counters of the loop.
    public var counters: LoopCounters

    /// The maximum length of the text of a state without the ellipsis, in bytes of UTF-8.
    public static let stateLimit = 4096

    /// Returns the beginning of a text, with an ellipsis if the text is too long.
    package static func beginning(of text: String) -> String {
        guard text.utf8.count > stateLimit else { return text }
        var end = text.utf8.index(text.startIndex, offsetBy: stateLimit)
        // The cut must not be within a character.
        while end.samePosition(in: text) == nil { end = text.utf8.index(before: end) }
        return text[..<end] + "…"
    }
}

/// The identifier of one run of a side effect within its loop.
public struct RunID: Sendable, Hashable, Codable {
    /// The number of the run in its loop, from 1.
    public let rawValue: UInt64

    @inlinable
    package init(rawValue: UInt64) {
        self.rawValue = rawValue
    }
}
