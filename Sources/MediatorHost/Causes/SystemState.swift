public import CommonExpression
import MediatorConfiguration

/// The state of a system: which, its data, and how it came about.
///
/// Two references: what it was when it was entered, and what brought it about. The former can be kept for long, since it
/// leads to nothing else.
public struct SystemState: Sendable {
    /// What it was when it was entered.
    package let record: StateRecord
    /// What its event came from, or else what made the system begin; nil: that is not known outside the system.
    package let cause: Cause?

    /// Its index in the system's definition.
    public var index: Int { record.index }
    /// Its data, a structure of the state's type.
    public var data: Value { record.data }
    /// When it was entered.
    public var since: Timestamp { record.since }
    /// The state before it; `nil` for the initial one.
    public var previous: Int? { record.previous }
    /// The event that led to it; `nil` for the initial one.
    public var event: SystemEvent? {
        record.event.map { SystemEvent(index: $0.index, data: $0.data, via: $0.via, cause: cause) }
    }
    /// Counts the states since the start, from 1.
    public var serial: UInt64 { record.serial }
    /// The Swift value of which it was made, where the system is written in Swift.
    var original: (any AnyObject & Sendable)? { record.original }

    init(record: StateRecord, cause: Cause?) {
        self.record = record
        self.cause = cause
    }

    /// The first state of a system.
    init(first: SystemBehaviour.Snapshot, of definition: SystemDefinition, since: Timestamp, cause: Cause) {
        record = StateRecord(
            definition: definition, index: first.index, data: first.data, since: since, previous: nil, event: nil,
            serial: 1, original: first.original)
        self.cause = cause
    }

    /// The state to which an event leads.
    func entering(
        _ index: Int, _ data: Value, at time: Timestamp, on event: SystemEvent,
        original: (any AnyObject & Sendable)? = nil
    ) -> SystemState {
        SystemState(
            record: StateRecord(
                definition: record.definition, index: index, data: data, since: time, previous: record.index,
                event: StateRecord.Event(index: event.index, data: event.data, via: event.via),
                serial: record.serial + 1, original: original),
            cause: event.cause)
    }

    /// The same state with another Swift value.
    func with(original: any AnyObject & Sendable) -> SystemState {
        SystemState(
            record: StateRecord(
                definition: record.definition, index: index, data: data, since: since, previous: previous,
                event: record.event, serial: serial, original: original),
            cause: cause)
    }
}

/// What a state was when it was entered. It knows nothing of what brought its event about.
package final class StateRecord: Sendable {
    /// The event that led to a state.
    struct Event: Sendable {
        let index: Int
        let data: Value
        /// The link that made it of a value of a bus.
        let via: SystemEvent.Via?
    }

    /// The system's definition, in whose words it is.
    let definition: SystemDefinition
    let index: Int
    let data: Value
    let since: Timestamp
    let previous: Int?
    let event: Event?
    let serial: UInt64
    let original: (any AnyObject & Sendable)?

    init(
        definition: SystemDefinition, index: Int, data: Value, since: Timestamp, previous: Int?, event: Event?,
        serial: UInt64, original: (any AnyObject & Sendable)?
    ) {
        self.definition = definition
        self.index = index
        self.data = data
        self.since = since
        self.previous = previous
        self.event = event
        self.serial = serial
        self.original = original
    }
}

/// An event of a system.
public struct SystemEvent: Sendable {
    /// The link that made an event of a value of a bus.
    struct Via: Sendable {
        let link: LinkDefinition
        /// Whether it was shown the value that the bus had already, as after a reload.
        let isReplay: Bool
    }

    /// All that there is of it, so that to hand it on is to hand on one reference.
    private final class Contents: Sendable {
        let index: Int
        let data: Value
        let original: (any AnyObject & Sendable)?
        let via: Via?
        let cause: Cause?

        init(index: Int, data: Value, original: (any AnyObject & Sendable)?, via: Via?, cause: Cause?) {
            self.index = index
            self.data = data
            self.original = original
            self.via = via
            self.cause = cause
        }
    }

    private let contents: Contents

    /// Its index in the system's definition; -1 for one that the definition does not have, which nothing handles; -2 for
    /// the reset by its supervisor.
    public var index: Int { contents.index }
    /// Its data, a structure of the event's type.
    public var data: Value { contents.data }
    /// The Swift value of which it was made, where a system that is written in Swift emitted it.
    var original: (any AnyObject & Sendable)? { contents.original }
    /// The link that made it of a value of a bus.
    var via: Via? { contents.via }
    /// What brought it about: of the value of a bus, what put that there; nil: that is not known outside the system.
    var cause: Cause? { contents.cause }

    init(
        index: Int, data: Value, original: (any AnyObject & Sendable)? = nil, via: Via? = nil, cause: Cause?
    ) {
        contents = Contents(index: index, data: data, original: original, via: via, cause: cause)
    }

    /// The same event with what brought it about.
    func caused(by cause: Cause) -> SystemEvent {
        SystemEvent(index: index, data: data, original: original, via: via, cause: cause)
    }

    /// Sends a system to its initial state.
    static func reset(_ cause: Cause) -> SystemEvent { SystemEvent(index: resetIndex, data: .null, cause: cause) }

    static let resetIndex = -2

    /// Whether it sends a system to its initial state.
    var isReset: Bool { index == Self.resetIndex }
}

extension SystemDefinition {
    /// What an event is called.
    package func eventName(_ event: SystemEvent) -> String { eventName(event.index) }

    func eventName(_ index: Int) -> String {
        events.indices.contains(index) ? events[index].name : index == SystemEvent.resetIndex ? "(reset)" : "unknown"
    }
}
