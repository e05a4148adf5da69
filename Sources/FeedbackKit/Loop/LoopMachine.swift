public import DequeModule
public import Synchronization

/// The state and the decisions of a loop, as a plain value. It has no lock, no task and no clock. It calls no feedback,
/// no watcher and no observer.
///
/// For each event of its life, the ``Loop`` around it calls one function, under its lock. After the release of the
/// lock, the loop carries out the result.
///
///     notStarted ──start──▶ running ──beginStop──▶ stopping ──(quiet)──▶ stopped
///          │                   └──────cancel──────▶ cancelling ──(quiet)──▶ stopped
///          └──────────────beginStop or cancel─────────────────────────────▶ stopped
///
/// A loop is quiet when it is not turning, its mailbox is empty, it holds no transition, and none of its side effects
/// runs.
/// `Handle` is the type of a value that can end a side effect. The machine only keeps it.
///
/// The machine is inlinable throughout. A loop over the caller's own types must be compiled for these types, or each
/// event would cost twenty times as much.
@usableFromInline
package struct LoopMachine<State: Sendable, Event: Sendable, Handle: Sendable>: Sendable {
    /// The source of an event: the feedback, the state, and the run (0: none). It decides whether the machine withdraws the
    /// event.
    @usableFromInline
    package struct Origin: Sendable {
        @usableFromInline let feedback: Int
        @usableFromInline let serial: UInt64
        @usableFromInline let run: UInt64
        /// A Boolean value that indicates whether the run can be cancelled by itself. The loop accepts no event from
        /// such a run after it has forgotten the run.
        @usableFromInline let isApart: Bool

        @inlinable
        init(feedback: Int, serial: UInt64, run: UInt64, isApart: Bool) {
            self.feedback = feedback
            self.serial = serial
            self.run = run
            self.isApart = isApart
        }
    }

    /// A watcher, which sees each state before the feedbacks do.
    @usableFromInline
    package final class Watcher: Sendable {
        @usableFromInline package let id: UInt64
        @usableFromInline package let see: @Sendable (State) -> Void
        @usableFromInline package let finish: @Sendable () -> Void
        /// A Boolean value that indicates whether the watcher has left. A running turn then skips it.
        @usableFromInline package let hasLeft = Atomic<Bool>(false)

        @inlinable
        init(id: UInt64, see: @escaping @Sendable (State) -> Void, finish: @escaping @Sendable () -> Void) {
            self.id = id
            self.see = see
            self.finish = finish
        }
    }

    /// A side effect that runs, or whose waiting events may still be withdrawn.
    ///
    /// An effect of several parts is a run with runs *within* it. It is over when all of them are over. Only the
    /// outermost run is an effect for observers, counters and snapshots.
    @usableFromInline
    struct Run: Sendable {
        @usableFromInline let feedback: Int
        @usableFromInline let endsAtStop: Bool
        @usableFromInline let id: EffectID?
        /// The enclosing run.
        @usableFromInline let outer: RunID?
        /// A Boolean value that indicates whether the run only guards its enclosing run. A guard ends when the other
        /// parts of the enclosing run have ended.
        @usableFromInline let isGuard: Bool
        @usableFromInline var handle: Handle?
        @usableFromInline var isCancelled = false
        /// A Boolean value that indicates whether its waiting events are withdrawn.
        @usableFromInline var isWithdrawn = false
        /// A Boolean value that indicates whether its own part has ended. The runs within it may go on.
        @usableFromInline var hasEnded = false
        @usableFromInline var isOver = false
        /// The number of pieces that keep the run from being over: its own part, the runs within it, and a pending
        /// report of its cancellation to the observer.
        @usableFromInline var pieces = 1
        /// The number of guards among the pieces.
        @usableFromInline var guards = 0
        /// A Boolean value that indicates whether the run is in the list of running effects of its feedback.
        @usableFromInline var isListed = true
        /// A Boolean value that indicates whether the observer knows of the start.
        @usableFromInline var isAnnounced = true
        /// The number of its waiting events.
        @usableFromInline var waiting = 0
        /// The runs within it that are not forgotten.
        @usableFromInline var inner: [RunID] = []

        @inlinable
        init(feedback: Int, endsAtStop: Bool, id: EffectID?, outer: RunID?, isGuard: Bool) {
            self.feedback = feedback
            self.endsAtStop = endsAtStop
            self.id = id
            self.outer = outer
            self.isGuard = isGuard
        }
    }

    /// A feedback of the loop, in the form for its calls: one reference, and nothing to copy.
    @usableFromInline
    package final class Member: Sendable {
        @usableFromInline let label: FeedbackLabel
        @usableFromInline let kind: Kind
        @usableFromInline let condition: (@Sendable (State) -> Bool)?
        @usableFromInline let executor: ExecutorBox?
        /// A Boolean value that indicates whether the feedback also sees updates.
        @usableFromInline let seesUpdates: Bool
        /// The number of its status. An exchange of feedbacks does not change it, so the source of an event stays valid.
        @usableFromInline let slot: Int

        /// The function of the feedback.
        @usableFromInline
        enum Kind: Sendable {
            case receive(Feedback<State, Event>.Receive)
            case answer(@Sendable (State, Event?) -> Event?)
            case source(@Sendable (Send<Event>) -> Subscription)
        }

        @usableFromInline
        init?(_ feedback: Feedback<State, Event>, slot: Int) {
            self.slot = slot
            label = feedback.label
            executor = feedback.executor
            seesUpdates = feedback.seesUpdates
            let rule: CancellationRule<State>?
            switch feedback.kind {
            case .reaction(let cancellation, let receive): (rule, kind) = (cancellation, .receive(receive))
            case .answer(let cancellation, let answer): (rule, kind) = (cancellation, .answer(answer))
            case .source(let subscribe): (rule, kind) = (nil, .source(subscribe))
            case .memory, .group: return nil  // A loop takes these apart before it adds them.
            }
            if case .when(let condition) = rule { self.condition = condition } else { condition = nil }
        }

        /// Creates a copy of a feedback with an executor.
        init(_ other: Member, on executor: ExecutorBox) {
            label = other.label
            kind = other.kind
            condition = other.condition
            slot = other.slot
            seesUpdates = other.seesUpdates
            self.executor = executor
        }

        /// The name of the feedback, for observers and snapshots.
        @usableFromInline var name: String { label.text }
    }

    /// The part of a feedback that changes while the loop runs.
    @usableFromInline
    struct FeedbackStatus: Sendable {
        /// The first state whose effects may still send events. The effects of earlier states have been cancelled.
        @usableFromInline var validFrom: UInt64 = 0
        /// The running effects that ``cancelRuns(of:)`` has not cancelled.
        @usableFromInline var running: [RunID] = []
        /// The number of effects that ``cancelRuns(of:)`` has cancelled and that have not ended. Later states ignore
        /// them.
        @usableFromInline var ending: Int32 = 0
        /// A Boolean value that indicates whether every new state ends the running effects.
        @usableFromInline let endsOnNewState: Bool
        /// A Boolean value that indicates whether the end of running effects also withdraws the events of effects that
        /// have ended.
        @usableFromInline let isBoundToState: Bool

        @inlinable
        init(endsOnNewState: Bool, isBoundToState: Bool) {
            self.endsOnNewState = endsOnNewState
            self.isBoundToState = isBoundToState
        }
    }

    /// An item of the mailbox.
    @usableFromInline
    enum Item: Sendable {
        case event(Event, Origin?)
        case control(Control)
    }

    /// An item of the mailbox other than an ordinary event. It is boxed, so that an item is not larger than an event.
    @usableFromInline
    indirect enum Control: Sendable {
        case introduce(Feedback<State, Event>)
        case watch(Watcher)
        case marker(@Sendable () -> Void)
        /// An event with more than its origin.
        case letter(Event, Origin?, Letter)
        /// An event that goes before the others and does not count against the limit.
        case first(Event, Baggage?)
        /// A decision of the turn. It keeps its place among the events, and does not count against the limit.
        case due(Due)
        /// Other feedbacks and another state.
        case exchange(Exchanging)
        /// The completion of the transition that the loop holds.
        case complete(Completion)
    }

    /// The parts of an event in the mailbox that most events do not have.
    @usableFromInline
    package struct Letter: Sendable {
        /// The task-local values of the sender.
        @usableFromInline let baggage: Baggage?
        /// A function that reports the result to a sender who waits. Such an event has a place beyond the limit.
        @usableFromInline let tell: (@Sendable (SendResult) -> Void)?

        @usableFromInline
        init(baggage: Baggage?, tell: (@Sendable (SendResult) -> Void)? = nil) {
            self.baggage = baggage
            self.tell = tell
        }
    }

    /// A decision that the turn makes when all earlier events have been taken.
    @usableFromInline
    package struct Due: Sendable {
        /// A function that returns the event to take at once, or `nil`.
        @usableFromInline let body: @Sendable () -> Event?
        /// A function that is called instead if the loop ends before.
        @usableFromInline let ended: @Sendable () -> Void
        /// The task-local values of the caller, for the function and its event.
        @usableFromInline let baggage: Baggage?

        @usableFromInline
        init(
            body: @escaping @Sendable () -> Event?, ended: @escaping @Sendable () -> Void, baggage: Baggage? = nil
        ) {
            self.body = body
            self.ended = ended
            self.baggage = baggage
        }

        /// Makes the decision.
        @usableFromInline
        func decide() -> Event? {
            guard let baggage else { return body() }
            var event: Event?
            baggage.bind { event = body() }
            return event
        }
    }

    /// The mailbox.
    @usableFromInline var mailbox = Deque<Item>()
    /// The items that left the mailbox while the loop takes no events, in their order. They go back into the mailbox
    /// later. It is `nil` while the loop takes events. Events in here count as waiting.
    @usableFromInline var held: Deque<Item>?
    /// A Boolean value that indicates whether the loop is paused, and so takes no events.
    @usableFromInline package internal(set) var isPaused = false
    /// The transition that the loop holds, or `nil`. Until its completion, the loop takes no events.
    @usableFromInline var commit: Commit?
    /// The number of exchanges that must come before the loop takes events.
    @usableFromInline var awaitedExchanges = 0
    /// The number of events among the items. Only events count against the limit.
    @usableFromInline var waitingEvents = 0
    /// The number of these events that have a place beyond the limit, because their senders wait.
    @usableFromInline var waitingSenders = 0
    @usableFromInline var runs = RunTable<Run>()
    /// The number of effects that are not over, plus the number of calls of the observer that must come before the end.
    @usableFromInline var openRuns = 0
    /// The latest run of each name, by the hash value of the name. The machine does not compare names, because that is
    /// the caller's code.
    @usableFromInline var named: [Int: [RunID]] = [:]
    /// The names of forgotten runs. They are released after the release of the lock.
    @usableFromInline var forgottenNames: [EffectID] = []
    /// A Boolean value that indicates whether the loop has an observer.
    @usableFromInline package var isObserved = false
    /// A Boolean value that indicates whether a turn has begun with the initial state.
    @usableFromInline package internal(set) var hasBegun = false
    /// The changing part of each feedback, by its slot.
    @usableFromInline var statuses: [FeedbackStatus] = []
    /// A Boolean value that indicates whether the next step shows the initial state.
    @usableFromInline var mustBegin = false
    /// A Boolean value that indicates whether a stopping loop takes the events of running side effects.
    @usableFromInline var takesOutcomes = false
    @usableFromInline var nextRun: UInt64 = 1
    @usableFromInline var nextWatcher: UInt64 = 1
    @usableFromInline var isTurning = false

    /// A counter of the states, from 1 for the initial one. It also counts the replacements of running effects by their
    /// feedback, and the exchanges.
    @usableFromInline var serial: UInt64 = 1
    @usableFromInline package internal(set) var phase = LoopPhase.notStarted
    @usableFromInline package internal(set) var state: State
    @usableFromInline package internal(set) var counters = LoopCounters()
    /// The fault that cancelled the loop, or `nil`.
    @usableFromInline package var fault: LoopFault? { failure?.fault }
    /// The fault in a box, because most loops never fail.
    @usableFromInline var failure: Failure?

    /// A box for a fault.
    @usableFromInline
    final class Failure: Sendable {
        let fault: LoopFault
        init(_ fault: LoopFault) { self.fault = fault }
    }

    /// The feedbacks, in the order in which they see each state.
    @usableFromInline package internal(set) var feedbacks: [Member] = []
    /// The feedbacks that an exchange has removed and whose side effects have not all ended.
    @usableFromInline var leaving: [Member] = []
    @usableFromInline package internal(set) var watchers: [Watcher] = []
    @usableFromInline var limit: Int
    @usableFromInline var overflow: Overflow
    /// The limit on the bytes of waiting events, or `nil` if bytes are not counted.
    @usableFromInline let size: MailboxSize<Event>?
    /// The number of bytes of waiting events.
    @usableFromInline var waitingBytes = 0

    @inlinable
    package init(state: State, limit: Int, overflow: Overflow, size: MailboxSize<Event>? = nil) {
        precondition(limit >= 1, "a mailbox needs room for at least one event, not \(limit)")
        self.state = state
        self.limit = limit
        self.overflow = overflow
        self.size = size
    }
}
