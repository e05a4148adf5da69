import CommonExpression
import MediatorConfiguration

/// What brought an event, a value of a bus, or the beginning of a system about.
///
/// It may have seen a state. That state's record has the event that led to it, and the event its cause: so there is a chain,
/// from what has just happened back to what came from outside. What is caused holds its cause, so the chain is there as long as
/// it can be asked for, whatever else happens meanwhile. It is bounded: one that would become ``longest`` loses its far end.
package final class Cause: Sendable {
    /// A chain has fewer states than this, that with which it ends included.
    package static let longest = 64
    /// How many are left of it when it would become so long.
    static let kept = 16

    /// What did it.
    let origin: any Origin
    /// The state that was seen; nil: there was none.
    private let seen: Seen?
    /// The value of the bus, or the result of a side effect.
    let value: Value
    // The parts of the time, the shorter one beside the value, so that there is no gap.
    private let nanoseconds: Int32
    private let seconds: Int64

    /// When: a link fired, a side effect came to what it emits on, somebody asked; nil: when the event was taken.
    var time: Timestamp? { Timestamp(seconds: seconds, nanoseconds: nanoseconds) }

    /// How many links what it brings about has come over since it began outside.
    var hops: UInt32 {
        switch seen {
        case nil: 0
        case .record(let record): origin.hops(after: record.hops)
        case .remains(let remains): origin.hops(after: remains.hops)
        }
    }

    /// The state that was seen; nil: there was none. Where the chain has been cut it is made anew each time.
    var record: StateRecord? {
        switch seen {
        case nil: nil
        case .record(let record): record
        case .remains(let remains): remains.record
        }
    }

    /// How many states there are in the chain behind it.
    var length: Int {
        switch seen {
        case nil: 0
        case .record(let record): record.length
        case .remains(let remains): remains.length
        }
    }

    /// Takes of the chain behind it what there is room for.
    ///
    /// - Parameter record: the state that was seen.
    init(_ origin: any Origin, of record: StateRecord? = nil, at time: Timestamp?, value: Value = .null) {
        self.origin = origin
        self.value = value
        // There is no time with such nanoseconds.
        nanoseconds = time?.nanoseconds ?? -1
        seconds = time?.seconds ?? 0
        // The state that it leads to counts too. What the clock does is where a chain ends.
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

    /// A copy of one, of whose chain something is left.
    init(_ origin: any Origin, of remains: StateRecord.Remains?, at time: Timestamp?, value: Value) {
        self.origin = origin
        self.value = value
        nanoseconds = time?.nanoseconds ?? -1
        seconds = time?.seconds ?? 0
        seen = remains.map(Seen.remains)
    }

    /// The name of the bus on which it put a value; nil: it did something else.
    var bus: String? { origin.bus }
}

extension Cause {
    /// A state that was seen.
    private enum Seen: Sendable {
        case record(StateRecord)
        /// What is left of it, and of what led to it, where the chain was cut.
        case remains(StateRecord.Remains)
    }

    /// What can be the cause of something. An object, most of which are made once for all that they bring about.
    protocol Origin: AnyObject, Sendable {
        /// The name of the bus on which it puts values; nil: it does something else.
        var bus: String? { get }
        /// Whether it does so because of the clock, rather than because of a state: then the chain ends.
        var isTick: Bool { get }
        /// How many links what it brings about has come over, where the state that was seen had come over so many.
        func hops(after hops: UInt32) -> UInt32
    }

    /// A link that fires, since it saw a state, or since a feedback was due by the clock.
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

    /// A feedback that emits by itself, or on an outcome, since it saw a state.
    final class FeedbackOrigin: Origin {
        /// The feedback, and on which outcome it emits.
        let source: FeedbackSource
        /// When its side effect began to run; nil: there is none.
        let begun: Timestamp?

        init(_ source: FeedbackSource, begun: Timestamp? = nil) {
            self.source = source
            self.begun = begun
        }

        var bus: String? { nil }
        var isTick: Bool { source.isTick }

        func hops(after hops: UInt32) -> UInt32 { source.isOutside ? 0 : hops }
    }

    /// A client, or the program of which the host is a part.
    final class RequestOrigin: Origin {
        /// What can be asked for.
        enum Verb: String, Sendable {
            case emit, publish, restart, reset
        }

        let verb: Verb
        /// Who asked; nil: the program of which the host is a part.
        let client: HostClient?
        let bus: String?

        /// - Parameter bus: on which a value was published.
        init(_ verb: Verb, _ client: HostClient?, on bus: String? = nil) {
            self.verb = verb
            self.client = client
            self.bus = bus
        }

        var isTick: Bool { false }

        func hops(after hops: UInt32) -> UInt32 { 0 }
    }

    /// A fault, and what was done about it.
    final class FaultOrigin: Origin {
        /// What was done to the system: `reset` or `restart`.
        let action: String
        /// The system that had the fault.
        let system: String
        /// What failed; nil: that is not known any more.
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

    /// What a system, or the value of a bus, begins with.
    final class BeginningOrigin: Origin {
        enum Kind: Sendable {
            /// The host was started.
            case start
            /// A reload added the system, or began it anew since it is another one now.
            case reload
            /// A reload put the system in the place of another one, in whose state it begins.
            case migration
            /// The system, or the bus, goes on from where one of its name was when the daemon ended.
            case restored
            /// The value that a bus was given by its definition, there.
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

extension UInt32 {
    /// One more, as long as there is a number for it.
    var oneMore: UInt32 { self == .max ? .max : self + 1 }
}

/// A feedback that emits, and on which outcome. Made once for all events.
final class FeedbackSource: Sendable {
    /// The feedback's name.
    let name: String
    /// The outcome; nil: there is none, since it emits by itself.
    let outcome: String?
    /// Whether it runs because of the clock, rather than because of a state.
    let isTick: Bool
    /// Whether it tells of what happens outside, again and again: what it emits begins there.
    let isOutside: Bool

    /// - Parameter isLasting: whether its side effect goes on until it is ended, and reports again and again.
    init(_ name: String, outcome: String?, isTick: Bool, isLasting: Bool = false) {
        self.name = name
        self.outcome = outcome
        self.isTick = isTick
        isOutside = isTick || isLasting
    }
}

/// A client on whose behalf something is done.
public struct HostClient: Sendable, Hashable {
    /// The user's number.
    public var userID: UInt32
    /// The process; it may have ended since.
    public var processID: Int32

    /// A client.
    public init(userID: UInt32, processID: Int32) {
        self.userID = userID
        self.processID = processID
    }
}

extension Schedule {
    /// Whether runs come about because of the clock alone.
    var hasTicks: Bool {
        switch self {
        case .every, .at: true
        case .atOnce, .after: false
        }
    }
}
