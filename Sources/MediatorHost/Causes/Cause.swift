import CommonExpression
import MediatorConfiguration

/// What brought an event, a value of a bus, or the beginning of a system about, and what brought that about in turn: a chain
/// that goes from what has just happened back to what came from outside.
///
/// Who is caused holds its cause, so it is there as long as it can be asked for, whatever else happens meanwhile. A chain is
/// bounded: one that would become ``longest`` loses its far end.
package final class Cause: Sendable {
    /// What happened.
    enum Kind: Sendable {
        /// A link fired, since it saw a state.
        case link(LinkDefinition, StateRecord)
        /// A feedback emitted, since it saw a state, or a publication of it was due; when its side effect began to run.
        case feedback(FeedbackSource, StateRecord, begun: Timestamp?)
        /// A link fired, since a feedback was due by the clock while its system was in a state: where the chain ends.
        case tick(LinkDefinition, StateRecord)
        /// A client, or the program of which the host is a part.
        case outside(Request)
        /// The host was started.
        case start
        /// A reload added the system, or began it anew since it is another one now.
        case reload
        /// A reload put the system in the place of another one, in whose state it begins.
        case migration(StateRecord)
        /// The system, or the bus, goes on from where one of its name was when the daemon ended.
        case restored
        /// What is done about a fault.
        case fault(Treatment)
        /// The value that the bus was given by its definition.
        case firstValue(SourceLocation)
    }

    /// How many states a chain may have that ends with a state, that one included.
    package static let longest = 48
    /// How many are left of it when it would become so long.
    static let kept = 16

    let kind: Kind
    /// When: a link fired, a side effect came to what it emits on, somebody asked; nil: when the event was taken.
    let time: Timestamp?
    /// The name of the bus on which it put a value; nil: it did something else.
    let bus: String?
    /// The value of the bus, or the result of a side effect.
    let value: Value
    /// What brought the state about that is in its kind; nil: there is none, or the chain ends here.
    package let next: Cause?
    /// How many states there are in the chain.
    package let length: Int
    /// Whether there was more of the chain.
    let isCut: Bool

    /// - Parameter next: what brought the state about that is in the kind.
    init(_ kind: Kind, at time: Timestamp?, bus: String? = nil, value: Value = .null, next: Cause? = nil) {
        self.kind = kind
        self.time = time
        self.bus = bus
        self.value = value
        // The state that it leads to, and the one in its kind, count too.
        let next = next.map { $0.length + 2 < Self.longest ? $0 : $0.shortened(to: Self.kept - 2) }
        self.next = next
        length = (kind.record == nil ? 0 : 1) + (next?.length ?? 0)
        isCut = false
    }

    /// A copy with another end.
    private init(_ cause: Cause, next: Cause?) {
        kind = cause.kind
        time = cause.time
        bus = cause.bus
        value = cause.value
        self.next = next
        length = 1 + (next?.length ?? 0)
        isCut = next == nil
    }

    /// A copy of the near end of the chain, with so many states. There must be more.
    private func shortened(to count: Int) -> Cause {
        var causes: [Cause] = []
        causes.reserveCapacity(count)
        var current: Cause? = self
        while let cause = current, causes.count < count {
            causes.append(cause)
            current = cause.next
        }
        var copy: Cause?
        for cause in causes.reversed() { copy = Cause(cause, next: copy) }
        return copy ?? self
    }

    /// What a feedback that saw a state brings about.
    ///
    /// - Parameter begun: when its side effect began to run; nil: there is none.
    convenience init(
        _ source: FeedbackSource, of state: SystemState, at time: Timestamp, begun: Timestamp? = nil,
        value: Value = .null
    ) {
        self.init(
            .feedback(source, state.record, begun: begun), at: time, value: value,
            next: source.isTick ? nil : state.cause)
    }
}

extension Cause.Kind {
    /// The state that it saw.
    var record: StateRecord? {
        switch self {
        case .link(_, let record), .feedback(_, let record, _), .tick(_, let record), .migration(let record): record
        case .outside, .start, .reload, .restored, .fault, .firstValue: nil
        }
    }
}

/// A feedback that emits, and on which outcome. Made once for all events.
final class FeedbackSource: Sendable {
    /// The feedback's name.
    let name: String
    /// The outcome; nil: there is none, since it emits by itself.
    let outcome: String?
    /// Whether it runs because of the clock, rather than because of a state.
    let isTick: Bool

    init(_ name: String, outcome: String?, isTick: Bool) {
        self.name = name
        self.outcome = outcome
        self.isTick = isTick
    }
}

/// Something that was asked for from outside.
final class Request: Sendable {
    /// What was asked for.
    enum Verb: String, Sendable {
        case emit, publish, restart, reset
    }

    let verb: Verb
    /// Who asked; nil: the program of which the host is a part.
    let client: HostClient?

    init(_ verb: Verb, _ client: HostClient?) {
        self.verb = verb
        self.client = client
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

/// A fault, and what was done about it.
final class Treatment: Sendable {
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
