public import CommonExpression
import MediatorConfiguration

/// The state of a system: which, its data, and how it came about. One reference.
public struct SystemState: Sendable {
    /// What it was when it was entered.
    package let record: StateRecord

    /// What its event came from, or else what made the system begin; nil: that is not known outside the system.
    package var cause: Cause? { record.cause }
    /// Its index in the system's definition.
    public var index: Int { record.index }
    /// Its data, a structure of the state's type.
    public var data: Value { record.data }
    /// When it was entered.
    public var since: Timestamp { record.since }
    /// The state before it; `nil` for the initial one.
    public var previous: Int? { record.previous }
    /// The event that led to it; `nil` for the initial one.
    public var event: SystemEvent? { record.event }
    /// Counts the states since the start, from 1.
    public var serial: UInt64 { record.serial }
    /// The Swift value of which it was made, where the system is written in Swift.
    var original: (any AnyObject & Sendable)? { record.original }

    private init(_ record: StateRecord) {
        self.record = record
    }

    /// A state in which a system begins, by no event.
    ///
    /// - Parameters:
    ///   - cause: why it begins there.
    ///   - original: the Swift value of which it was made.
    init(
        beginning definition: SystemDefinition, in index: Int, _ data: Value, since: Timestamp, serial: UInt64 = 1,
        because cause: Cause, original: (any AnyObject & Sendable)? = nil
    ) {
        record = StateRecord(
            definition: definition, index: index, data: data, since: since, from: nil, origin: .beginning(cause),
            serial: serial, original: original)
    }

    /// The first state of a system.
    init(first: SystemBehaviour.Snapshot, of definition: SystemDefinition, since: Timestamp, cause: Cause) {
        self.init(
            beginning: definition, in: first.index, first.data, since: since, because: cause, original: first.original)
    }

    /// The state to which an event leads.
    func entering(
        _ index: Int, _ data: Value, at time: Timestamp, on event: SystemEvent,
        original: (any AnyObject & Sendable)? = nil
    ) -> SystemState {
        SystemState(
            StateRecord(
                definition: record.definition, index: index, data: data, since: time, from: record,
                origin: event.told, serial: record.serial + 1, original: original))
    }

    /// The same state with another Swift value.
    func with(original: any AnyObject & Sendable) -> SystemState {
        SystemState(StateRecord(record, origin: record.origin, original: original))
    }
}

/// What a state was when it was entered, and what led to it.
package final class StateRecord: Sendable {
    /// The system's definition, in whose words it is.
    let definition: SystemDefinition
    let index: Int
    let data: Value
    let since: Timestamp
    /// The state before it; nil: a system begins in it.
    let previous: Int?
    let serial: UInt64
    let original: (any AnyObject & Sendable)?
    /// The event that led to it; of a state in which a system begins, one that says why; nil: that is not kept.
    fileprivate let origin: SystemEvent?
    /// How many states there are in the chain of causes that ends with it, at least 1.
    let length: Int
    /// How many links its event had come over since it began outside.
    let hops: UInt32
    /// Whether there was more of the chain, of which it is the far end.
    let isCut: Bool

    fileprivate init(
        definition: SystemDefinition, index: Int, data: Value, since: Timestamp, from before: StateRecord?,
        origin: SystemEvent?, serial: UInt64, original: (any AnyObject & Sendable)?
    ) {
        self.definition = definition
        self.index = index
        self.data = data
        self.since = since
        previous = before?.index
        self.origin = origin
        self.serial = serial
        self.original = original
        length = 1 + (origin?.seen?.length ?? 0)
        hops = origin?.hops ?? 0
        isCut = false
    }

    /// A copy with something else before it.
    fileprivate init(
        _ record: StateRecord, origin: SystemEvent?, original: (any AnyObject & Sendable)?, isCut: Bool = false
    ) {
        definition = record.definition
        index = record.index
        data = record.data
        since = record.since
        previous = record.previous
        self.origin = origin
        serial = record.serial
        self.original = original
        length = 1 + (origin?.seen?.length ?? 0)
        hops = record.hops
        self.isCut = isCut || record.isCut
    }

    /// The event that led to it; nil: a system begins in it, or that is not kept.
    var event: SystemEvent? { origin.flatMap { $0.isBeginning ? nil : $0 } }
    /// What its event came from, or else why the system begins in it; nil: that is not known, or not kept.
    var cause: Cause? { origin?.cause }

    /// The same without what brought it about and without the Swift value, so that it leads to nothing else and can be kept for
    /// long; itself, if it is so.
    var alone: StateRecord {
        if isAlone { return self }
        return StateRecord(self, origin: origin.flatMap { $0.isBeginning ? nil : $0.withoutCause }, original: nil)
    }

    /// Whether it leads to nothing else.
    package var isAlone: Bool { origin?.hasCause != true && original == nil }

    /// A copy of the near end of its chain, with so many states, which must be at least 1. There must be more.
    func shortened(to count: Int) -> StateRecord {
        var records = [self]
        records.reserveCapacity(count)
        while records.count < count, let seen = records.last?.origin?.seen { records.append(seen) }
        var copy: StateRecord?
        for record in records.reversed() {
            let origin = copy.flatMap { record.origin?.seeing($0) }
            copy = StateRecord(record, origin: origin, original: nil, isCut: copy == nil)
        }
        return copy ?? self
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
        let size: Int

        init(index: Int, data: Value, original: (any AnyObject & Sendable)?, via: Via?, cause: Cause?, size: Int?) {
            self.size = size ?? SystemEvent.size(of: data)
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
    /// How many bytes its data holds, about; 0: they are too few to be counted.
    var size: Int { contents.size }
    /// What brought it about: of the value of a bus, what put that there; nil: that is not known outside the system.
    var cause: Cause? { contents.cause }

    init(
        index: Int, data: Value, original: (any AnyObject & Sendable)? = nil, via: Via? = nil, cause: Cause?
    ) {
        self.init(index: index, data: data, original: original, via: via, cause: cause, size: nil)
    }

    private init(
        index: Int, data: Value, original: (any AnyObject & Sendable)?, via: Via?, cause: Cause?, size: Int?
    ) {
        contents = Contents(index: index, data: data, original: original, via: via, cause: cause, size: size)
    }

    /// With so few bytes an event counts as one only, so that it has room beside large ones: as many as a mailbox holds by default
    /// are no danger.
    private static let smallSize = 1024

    /// How many bytes of an event's data count.
    static func size(of data: Value) -> Int {
        let held = data.heldBytes
        return held > smallSize ? held : 0
    }

    /// The same event with what brought it about.
    func caused(by cause: Cause) -> SystemEvent {
        SystemEvent(index: index, data: data, original: original, via: via, cause: cause, size: size)
    }

    /// Why a system begins, in the place of an event that it does not have.
    fileprivate static func beginning(_ cause: Cause) -> SystemEvent {
        SystemEvent(index: beginningIndex, data: .null, cause: cause)
    }

    private static let beginningIndex = -3

    /// Whether it only says why a system begins.
    fileprivate var isBeginning: Bool { contents.index == Self.beginningIndex }

    /// The state that what brought it about saw.
    fileprivate var seen: StateRecord? { contents.cause?.record }

    /// How many links it has come over since it began outside.
    fileprivate var hops: UInt32 {
        guard let cause = contents.cause else { return 0 }
        guard let via = contents.via else { return cause.hops }
        // What is shown anew begins anew.
        return via.isReplay ? 1 : cause.hops.oneMore
    }

    /// Whether it is known what brought it about.
    fileprivate var hasCause: Bool { contents.cause != nil }

    /// What is told of it when it has been taken: all but the Swift value.
    fileprivate var told: SystemEvent {
        contents.original == nil
            ? self : SystemEvent(index: index, data: data, original: nil, via: via, cause: cause, size: size)
    }

    /// The same without what brought it about.
    fileprivate var withoutCause: SystemEvent {
        SystemEvent(index: index, data: data, original: nil, via: via, cause: nil, size: size)
    }

    /// The same, brought about by what has seen another copy of the state.
    fileprivate func seeing(_ record: StateRecord) -> SystemEvent {
        SystemEvent(index: index, data: data, original: nil, via: via, cause: cause?.seeing(record), size: size)
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
