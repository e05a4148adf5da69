public import CommonExpression
package import MediatorConfiguration

/// The state of a system, with its data and its history. It is a single reference.
public struct SystemState: Sendable {
    /// The record of the state at its entry.
    package let record: StateRecord

    /// The cause of its event, or of the beginning of the system. `nil` if it is unknown outside the system.
    package var cause: Cause? { record.cause }
    /// The index of the state in the definition of the system.
    public var index: Int { record.index }
    /// The data of the state, a structure of the state's type.
    public var data: Value { record.data }
    /// The time at which the state was entered. An update does not change it.
    public var since: Timestamp { record.since }
    /// The time at which the state was entered or last updated.
    public var changed: Timestamp { record.time }
    /// A Boolean value that indicates whether the last event updated the state in place.
    public var isUpdated: Bool { record.isUpdated }
    /// The index of the state before the last event, or `nil` if the system began in this one. After an update it is the index
    /// of the state itself.
    public var previous: Int? { record.previous }
    /// The definition with the indices of the state and of its event. A reload may give the system another one.
    package var definition: SystemDefinition { record.definition }
    /// The name of the previous state. `nil` if the system began in this one, or if its event updated it in place.
    package var nameOfPrevious: String? { record.nameOfPrevious }
    /// The event that led to the state, or `nil` if the system began in it.
    public var event: SystemEvent? { record.event }
    /// The number of the state since the start, from 1. An update does not change it.
    public var serial: UInt64 { record.serial }
    /// The approximate number of bytes in its data, at most one eighth too high. Up to 1 KiB counts as 0.
    package var size: Int { record.roughSize }
    /// The Swift value that the state was made from, if the system is written in Swift.
    var original: (any AnyObject & Sendable)? { record.original }

    private init(_ record: StateRecord) {
        self.record = record
    }

    /// Creates a state in which a system begins without an event.
    ///
    /// - Parameters:
    ///   - cause: The reason for the beginning.
    ///   - original: The Swift value that the state was made from.
    ///   - visit: The visit that goes on in this state, or `nil` if the state is entered.
    init(
        beginning definition: SystemDefinition, in index: Int, _ data: Value, since: Timestamp, serial: UInt64 = 1,
        because cause: Cause, original: (any AnyObject & Sendable)? = nil, continuing visit: StateVisit? = nil
    ) {
        record = StateRecord(
            beginning: definition, in: index, data, since: since, serial: serial, because: cause,
            aside: visit?.with(original: original) ?? original)
    }

    /// Creates the first state of a system.
    init(first: SystemBehaviour.Snapshot, of definition: SystemDefinition, since: Timestamp, cause: Cause) {
        self.init(
            beginning: definition, in: first.index, first.data, since: since, because: cause, original: first.original)
    }

    /// Returns the state that an event leads to.
    ///
    /// - Parameter size: The number of bytes of its data that count; see ``SystemEvent/size(of:)``.
    func entering(
        _ index: Int, _ data: Value, ofSize size: Int, at time: Timestamp, on event: SystemEvent,
        original: (any AnyObject & Sendable)? = nil
    ) -> SystemState {
        SystemState(StateRecord(from: record, to: index, data, ofSize: size, at: time, on: event, aside: original))
    }

    /// Returns the state after an event that changes its data in place.
    ///
    /// - Parameter size: The number of bytes of its data that count; see ``SystemEvent/size(of:)``.
    func updated(
        _ data: Value, ofSize size: Int, at time: Timestamp, on event: SystemEvent,
        original: (any AnyObject & Sendable)? = nil
    ) -> SystemState {
        SystemState(
            StateRecord(
                from: record, to: index, data, ofSize: size, at: time, on: event,
                aside: record.visit.with(original: original), isUpdate: true))
    }

    /// Returns a Boolean value that indicates whether two states belong to one entry of the system: one is an update of the
    /// other.
    func isSameVisit(as other: SystemState) -> Bool { record.visitNumber == other.record.visitNumber }

    /// Returns the same state with another Swift value.
    func with(original: any AnyObject & Sendable) -> SystemState {
        SystemState(record.with(original: original))
    }
}
