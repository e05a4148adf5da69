import CommonExpression
import MediatorConfiguration

/// The cause of an event, of a value of a bus, or of the start of a system.
///
/// A cause may refer to the state that led to it. The record of that state refers to its event, and to the cause of
/// that event. So the causes form a chain, from the latest change back to the input from outside. A state, an event
/// and a value keep their own cause alive, so the chain exists as long as somebody can ask for it. Its length is
/// bounded: a chain that would reach ``longest`` states loses its far end.
package final class Cause: Sendable {
    /// The exclusive limit for the number of states in a chain, including its latest state.
    package static let longest = 64
    /// The number of states that remain of a chain that is cut.
    static let kept = 16

    /// The origin, such as a link, a feedback or a client.
    let origin: any Origin
    /// The state that led to it, or `nil` if it does not depend on a state.
    private let seen: Seen?
    /// The value of the bus, or the result of a side effect.
    let value: Value
    // The parts of the time. The shorter one is next to the value, so that there is no padding.
    private let nanoseconds: Int32
    private let seconds: Int64

    /// The time at which a link fired, a side effect reported its outcome, or a client asked. `nil` stands for the
    /// time at which the event was taken.
    var time: Timestamp? { Timestamp(seconds: seconds, nanoseconds: nanoseconds) }

    /// The number of links that the result of the cause has passed since the input from outside.
    var hops: UInt32 {
        switch seen {
        case nil: 0
        case .record(let record): origin.hops(after: record.hops)
        case .remains(let remains): origin.hops(after: remains.hops)
        }
    }

    /// The state that led to it, or `nil` if it does not depend on a state. For a chain that was cut, each access
    /// makes a new record.
    var record: StateRecord? {
        switch seen {
        case nil: nil
        case .record(let record): record
        case .remains(let remains): remains.record
        }
    }

    /// The number of states in the chain behind it.
    var length: Int {
        switch seen {
        case nil: 0
        case .record(let record): record.length
        case .remains(let remains): remains.length
        }
    }

    /// Creates a cause, with as much of the chain behind it as the limit allows.
    ///
    /// - Parameter record: The state that led to it.
    init(_ origin: any Origin, of record: StateRecord? = nil, at time: Timestamp?, value: Value = .null) {
        self.origin = origin
        self.value = value
        // No time has -1 nanoseconds.
        nanoseconds = time?.nanoseconds ?? -1
        seconds = time?.seconds ?? 0
        // The state that results counts too. A tick of the clock ends the chain.
        guard let record = record?.brief else {
            seen = nil
            return
        }
        seen =
            origin.isTick
            ? .record(record.alone)
            : record.length + 1 < Self.longest
                ? .record(record) : .remains(StateRecord.Remains(record, count: Self.kept - 1))
    }

    /// Creates a copy of a cause from the remains of its chain.
    init(_ origin: any Origin, of remains: StateRecord.Remains?, at time: Timestamp?, value: Value) {
        self.origin = origin
        self.value = value
        nanoseconds = time?.nanoseconds ?? -1
        seconds = time?.seconds ?? 0
        seen = remains.map(Seen.remains)
    }

    /// The name of the bus that it put a value on, or `nil` if it did something else.
    var bus: String? { origin.bus }
}

extension Cause {
    /// A state that led to a cause.
    private enum Seen: Sendable {
        case record(StateRecord)
        /// The remains of the state and of its chain, after the chain was cut.
        case remains(StateRecord.Remains)
    }

    /// The origin of a cause. Most origins are created once and shared by all their causes.
    protocol Origin: AnyObject, Sendable {
        /// The name of the bus that it puts values on, or `nil` if it does something else.
        var bus: String? { get }
        /// A Boolean value that indicates whether the clock triggers it, and not a state. Then the chain ends.
        var isTick: Bool { get }
        /// The log line of a request, which must come before those of its effects.
        var announcement: Announcement? { get }
        /// Returns the number of links that its result has passed, from the number that the state before has passed.
        func hops(after hops: UInt32) -> UInt32
    }

    /// A link that fires because of a state, or because the clock made a feedback due.
    final class LinkOrigin: Origin {
        let link: LinkDefinition
        let bus: String?
        let isTick: Bool

        init(_ link: LinkDefinition, bus: String?, isTick: Bool) {
            self.link = link
            self.bus = bus
            self.isTick = isTick
        }

        func hops(after hops: UInt32) -> UInt32 { isTick ? 1 : hops.oneMore }
    }

    /// A feedback that emits by itself or on an outcome, because of a state.
    final class FeedbackOrigin: Origin {
        /// The feedback, with the outcome on which it emits.
        let source: FeedbackSource
        /// The time at which its side effect began, or `nil` without a side effect.
        let begun: Timestamp?

        init(_ source: FeedbackSource, begun: Timestamp? = nil) {
            self.source = source
            self.begun = begun
        }

        var bus: String? { nil }
        var isTick: Bool { source.isTick }

        func hops(after hops: UInt32) -> UInt32 { source.isOutside ? 0 : hops }
    }

    /// A rule of `always`, because of a state.
    final class AlwaysOrigin: Origin {
        let rule: AlwaysRule
        /// A Boolean value that indicates whether the rule waited for its time.
        let isDue: Bool

        init(_ rule: AlwaysRule, isDue: Bool) {
            self.rule = rule
            self.isDue = isDue
        }

        var bus: String? { nil }
        var isTick: Bool { false }

        // The time sets a new beginning, as that of a feedback does.
        func hops(after hops: UInt32) -> UInt32 { isDue ? 0 : hops }
    }

    /// A request of a client, or of the program that contains the host.
    final class RequestOrigin: Origin {
        /// The kind of a request.
        enum Verb: String, Sendable {
            case emit, publish, restart, reset
        }

        let verb: Verb
        /// The client, or `nil` for the program that contains the host.
        let client: HostClient?
        let bus: String?
        let announcement: Announcement?

        /// - Parameters:
        ///   - bus: The bus that a value was published on.
        ///   - announcement: The log line of the request, if it has one.
        init(_ verb: Verb, _ client: HostClient?, on bus: String? = nil, announcing announcement: Announcement? = nil) {
            self.verb = verb
            self.client = client
            self.bus = bus
            self.announcement = announcement
        }

        var isTick: Bool { false }

        func hops(after hops: UInt32) -> UInt32 { 0 }
    }

    /// A fault, with the action that was taken.
    final class FaultOrigin: Origin {
        /// The action on the system: `reset` or `restart`.
        let action: String
        /// The system with the fault.
        let system: String
        /// The fault, or `nil` if it is no longer known.
        let fault: Fault?

        init(_ action: String, of system: String, on fault: Fault?) {
            self.action = action
            self.system = system
            self.fault = fault
        }

        var bus: String? { nil }
        var isTick: Bool { false }

        func hops(after hops: UInt32) -> UInt32 { 0 }
    }

    /// The reason for the first state of a system, or for the first value of a bus.
    final class BeginningOrigin: Origin {
        enum Kind: Sendable {
            /// The host was started.
            case start
            /// The host was started, and an earlier state was not used. The argument is the reason, in words.
            case startAnew(String)
            /// A reload added the system, started it again, or sent it to its initial state because its definition
            /// has changed.
            case reload
            /// A reload gave the system another definition, and the system kept its state.
            case migration
            /// The daemon was restarted, and the system or the bus continues with its saved state or value. The argument is `true`
            /// if the journal has stored it, and `false` if the previous daemon has left it.
            case restored(isStored: Bool)
            /// The first value in the definition of a bus, with the place of that value.
            case firstValue(WrittenPlace)
        }

        let kind: Kind
        let bus: String?

        init(_ kind: Kind, of bus: String? = nil) {
            self.kind = kind
            self.bus = bus
        }

        var isTick: Bool { false }

        func hops(after hops: UInt32) -> UInt32 { hops }
    }
}

extension Cause.Origin {
    var announcement: Announcement? { nil }
}

extension UInt32 {
    /// The next number, or the greatest number if no other one follows.
    var oneMore: UInt32 { self == .max ? .max : self + 1 }
}

/// A feedback that emits, with the outcome on which it emits. All events of the outcome share one object.
final class FeedbackSource: Sendable {
    /// The name of the feedback.
    let name: String
    /// The outcome, or `nil` if the feedback emits by itself.
    let outcome: String?
    /// A Boolean value that indicates whether the clock triggers it, and not a state.
    let isTick: Bool
    /// A Boolean value that indicates whether its events begin a new path: the clock triggers it, or its side effect
    /// keeps reporting changes from outside.
    let isOutside: Bool

    /// - Parameter isLasting: A Boolean value that indicates whether its side effect runs until it is ended and
    ///   reports repeatedly.
    init(_ name: String, outcome: String?, isTick: Bool, isLasting: Bool = false) {
        self.name = name
        self.outcome = outcome
        self.isTick = isTick
        isOutside = isTick || isLasting
    }
}

/// A client that the host acts for.
public struct HostClient: Sendable, Hashable {
    /// The ID of the user.
    public var userID: UInt32
    /// The ID of the process, which may have ended since.
    public var processID: Int32

    /// Creates a client from its user and its process.
    public init(userID: UInt32, processID: Int32) {
        self.userID = userID
        self.processID = processID
    }
}

extension Schedule {
    /// A Boolean value that indicates whether the clock alone triggers runs.
    var hasTicks: Bool {
        switch self {
        case .every, .at: true
        case .atOnce, .after: false
        }
    }
}
