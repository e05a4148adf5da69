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
    /// About how many bytes its data holds, an eighth too many at most; 0: no more than 1 KiB.
    package var size: Int { record.roughSize }
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
            beginning: definition, in: index, data, since: since, serial: serial, because: cause, original: original)
    }

    /// The first state of a system.
    init(first: SystemBehaviour.Snapshot, of definition: SystemDefinition, since: Timestamp, cause: Cause) {
        self.init(
            beginning: definition, in: first.index, first.data, since: since, because: cause, original: first.original)
    }

    /// The state to which an event leads.
    ///
    /// - Parameter size: how many bytes of its data count; see ``SystemEvent/size(of:)``.
    func entering(
        _ index: Int, _ data: Value, ofSize size: Int, at time: Timestamp, on event: SystemEvent,
        original: (any AnyObject & Sendable)? = nil
    ) -> SystemState {
        SystemState(StateRecord(from: record, to: index, data, ofSize: size, at: time, on: event, original: original))
    }

    /// The same state with another Swift value.
    func with(original: any AnyObject & Sendable) -> SystemState {
        SystemState(record.with(original: original))
    }
}

/// What a state was when it was entered, and what led to it: all of the event but what only its loop needs.
///
/// Each state of a chain is one such record and one ``Cause``. They are laid out so that there are no gaps in them, and a record
/// takes 120 bytes: what is larger is no longer of the sizes that the allocator takes back without looking at what lies beside it.
/// So the numbers are as small as may be, and what can be told from others is not kept.
package final class StateRecord: Sendable {
    /// The system's definition, in whose words it is.
    let definition: SystemDefinition
    let data: Value
    fileprivate let marks: Marks
    private let shortLength: UInt8
    /// About how many bytes its data holds, as a ``SizeCode``.
    private let sizeCode: UInt8
    fileprivate let shortIndex: Int32
    fileprivate let eventData: Value
    /// -1: a system begins in it.
    fileprivate let shortPrevious: Int16
    /// ``noEvent``: a system begins in it, or that is not kept.
    fileprivate let eventIndex: Int32
    let since: Timestamp
    /// How many links its event had come over since it began outside.
    let hops: UInt32
    let serial: UInt64
    /// What its event came from, or else why the system begins in it; nil: that is not known, or not kept.
    let cause: Cause?
    let original: (any AnyObject & Sendable)?
    /// The link that made its event of a value of a bus.
    fileprivate let link: LinkDefinition?

    fileprivate struct Marks: OptionSet {
        let rawValue: UInt8
        /// There was more of the chain, of which it is the far end.
        static let isCut = Marks(rawValue: 1)
        /// The link was shown the value that the bus had already.
        static let isReplay = Marks(rawValue: 2)
        /// Its data or that of its event is an ``Excerpt``.
        static let isExcerpt = Marks(rawValue: 4)
    }

    /// With more bytes of data what is kept of a state for others, or of its event, is an ``Excerpt``.
    static let longestKept = 16 << 10

    fileprivate static let noEvent = Int32.min

    /// A state in which a system begins.
    fileprivate init(
        beginning definition: SystemDefinition, in index: Int, _ data: Value, since: Timestamp, serial: UInt64,
        because cause: Cause, original: (any AnyObject & Sendable)?
    ) {
        self.definition = definition
        self.data = data
        marks = []
        shortLength = Self.length(with: cause)
        sizeCode = SizeCode.code(of: SystemEvent.size(of: data))
        shortIndex = Int32(truncatingIfNeeded: index)
        eventData = .null
        shortPrevious = -1
        eventIndex = Self.noEvent
        self.since = since
        hops = cause.hops
        self.serial = serial
        self.cause = cause
        self.original = original
        link = nil
    }

    /// The state to which an event leads from another.
    fileprivate init(
        from before: StateRecord, to index: Int, _ data: Value, ofSize size: Int, at time: Timestamp,
        on event: SystemEvent, original: (any AnyObject & Sendable)?
    ) {
        let (cause, via) = (event.cause, event.via)
        let isCut = event.size > Self.longestKept
        definition = before.definition
        self.data = data
        marks = via?.isReplay == true ? isCut ? [.isReplay, .isExcerpt] : .isReplay : isCut ? .isExcerpt : []
        shortLength = Self.length(with: cause)
        sizeCode = size > 0 ? SizeCode.code(of: size) : 0
        shortIndex = Int32(truncatingIfNeeded: index)
        eventData = isCut ? Excerpt.of(event.data) : event.data
        // There are a thousand states at most, of kinds too.
        shortPrevious = Int16(before.shortIndex)
        eventIndex = Int32(truncatingIfNeeded: event.index)
        since = time
        hops = via == nil ? cause?.hops ?? 0 : via?.hops(after: cause) ?? 0
        serial = before.serial + 1
        self.cause = cause
        self.original = original
        link = via?.link
    }

    /// A copy with another cause and another Swift value.
    ///
    /// - Parameter isBrief: whether of much data it has an excerpt.
    private init(
        _ record: StateRecord, cause: Cause?, original: (any AnyObject & Sendable)?, isBrief: Bool = false
    ) {
        let isCut = isBrief && record.isLong
        definition = record.definition
        data = isCut ? Excerpt.of(record.data) : record.data
        marks = isCut ? record.marks.union(.isExcerpt) : record.marks
        sizeCode = isCut ? 0 : record.sizeCode
        shortLength = Self.length(with: cause)
        shortIndex = record.shortIndex
        eventData = record.eventData
        shortPrevious = record.shortPrevious
        eventIndex = record.eventIndex
        since = record.since
        hops = record.hops
        serial = record.serial
        self.cause = cause
        self.original = original
        link = record.link
    }

    /// One of which something is left.
    private init(_ step: Remains.Step, cause: Cause?) {
        definition = step.definition
        data = step.data
        marks = step.marks
        sizeCode = 0
        shortLength = Self.length(with: cause)
        shortIndex = step.index
        eventData = step.eventData
        shortPrevious = step.previous
        eventIndex = step.eventIndex
        since = step.since
        hops = step.hops
        serial = step.serial
        self.cause = cause
        original = nil
        link = step.link
    }

    private static func length(with cause: Cause?) -> UInt8 {
        // Of a chain that would become longer than it may, the cause holds less.
        UInt8(truncatingIfNeeded: 1 + (cause?.length ?? 0))
    }

    /// Which state it is, by its index in the definition.
    var index: Int { Int(shortIndex) }
    /// The state before it; nil: a system begins in it.
    var previous: Int? { shortPrevious < 0 ? nil : Int(shortPrevious) }
    /// How many states there are in the chain of causes that ends with it, at least 1.
    var length: Int { Int(shortLength) }
    /// Whether there was more of the chain, of which it is the far end.
    var isCut: Bool { marks.contains(.isCut) }

    /// The event that led to it; nil: a system begins in it, or that is not kept.
    var event: SystemEvent? {
        guard eventIndex != Self.noEvent else { return nil }
        // It waits in no mailbox any more, so its data need not be measured.
        return SystemEvent(
            index: Int(eventIndex), data: eventData, original: nil,
            via: link.map { SystemEvent.Via(link: $0, isReplay: marks.contains(.isReplay)) }, cause: cause, size: 0)
    }

    /// The index of the event that led to it, for who needs no more of it; -1: there is none.
    var indexOfEvent: Int { eventIndex == Self.noEvent ? -1 : Int(eventIndex) }

    /// Whether its system was sent to its initial state.
    var isOfReset: Bool { Int(eventIndex) == SystemEvent.resetIndex }

    /// About how many bytes its data holds, an eighth too many at most; 0: they are too few to be counted.
    var roughSize: Int { SizeCode.size(of: sizeCode) }

    /// Whether its data is more than is kept for others.
    private var isLong: Bool { sizeCode > 0 && roughSize > Self.longestKept }

    /// Whether its data or that of its event is no longer whole.
    var isExcerpt: Bool { marks.contains(.isExcerpt) }

    /// The same without what brought it about and without the Swift value, so that it leads to nothing else and can be kept for
    /// long; itself, if it is so. Of much data it has an excerpt.
    var alone: StateRecord { isAlone ? self : StateRecord(self, cause: nil, original: nil, isBrief: true) }

    /// Whether it leads to nothing else, and holds little.
    package var isAlone: Bool { cause == nil && original == nil && !isLong }

    /// The same as it is kept by what it brings about: of much data an excerpt.
    var brief: StateRecord { isLong ? StateRecord(self, cause: cause, original: nil, isBrief: true) : self }

    /// The same state with another Swift value.
    fileprivate func with(original: any AnyObject & Sendable) -> StateRecord {
        StateRecord(self, cause: cause, original: original)
    }

    /// What is left of a chain that has been cut: copies of what its near end is made of, several of them in one object, since to make
    /// and to free them one by one costs more than all else in a cut.
    final class Remains: Sendable {
        /// A state, what led to it, and what that came from.
        fileprivate struct Step: Sendable {
            let definition: SystemDefinition
            let link: LinkDefinition?
            /// Of its cause; nil: it is the far end.
            let origin: (any Cause.Origin)?
            let data: Value
            let marks: Marks
            let previous: Int16
            let index: Int32
            let eventData: Value
            let eventIndex: Int32
            /// Of its cause.
            let value: Value
            let time: Timestamp?
            let hops: UInt32
            let serial: UInt64
            let since: Timestamp

            init(_ record: StateRecord, isEnd: Bool) {
                let cause = isEnd ? nil : record.cause
                definition = record.definition
                link = isEnd ? nil : record.link
                origin = cause?.origin
                data = record.data
                marks = isEnd ? record.marks.union(.isCut) : record.marks
                previous = record.shortPrevious
                index = record.shortIndex
                eventData = isEnd ? .null : record.eventData
                eventIndex = isEnd ? StateRecord.noEvent : record.eventIndex
                value = cause?.value ?? .null
                time = cause?.time
                hops = record.hops
                serial = record.serial
                since = record.since
            }
        }

        /// So many lie in one object, which then is of the sizes that are at hand for each thread.
        private static let mostSteps = 5

        /// The latest first; at least one.
        private let steps: ArraySlice<Step>
        private let rest: Remains?
        /// How many states there are, at least 1.
        let length: Int
        /// How many links the event of the latest had come over since it began outside.
        let hops: UInt32

        private init(_ steps: ArraySlice<Step>, _ rest: Remains?) {
            self.steps = steps
            self.rest = rest
            length = steps.count + (rest?.length ?? 0)
            hops = steps.first?.hops ?? 0
        }

        /// Copies of the near end of the chain that ends with a record, with so many states, which must be at least 1. If there are
        /// more, the chain is cut.
        convenience init(_ record: StateRecord, count: Int) {
            var steps: [Step] = []
            steps.reserveCapacity(min(count, Self.mostSteps))
            var next: StateRecord? = record
            while steps.count < min(count, Self.mostSteps), let record = next {
                let isEnd = steps.count + 1 == count
                steps.append(Step(record, isEnd: isEnd))
                next = isEnd ? nil : record.cause?.record
            }
            let left = count - steps.count
            self.init(steps[...], next.map { Remains($0, count: left) })
        }

        /// The latest state, made anew.
        var record: StateRecord {
            let step = steps[steps.startIndex]
            let rest = steps.count > 1 ? Remains(steps.dropFirst(), rest) : rest
            return StateRecord(
                step, cause: step.origin.map { Cause($0, of: rest, at: step.time, value: step.value) })
        }
    }
}

/// An event of a system.
public struct SystemEvent: Sendable {
    /// The link that made an event of a value of a bus.
    struct Via: Sendable {
        let link: LinkDefinition
        /// Whether it was shown the value that the bus had already, as after a reload.
        let isReplay: Bool

        /// How many links an event has come over since it began outside, this one included.
        fileprivate func hops(after cause: Cause?) -> UInt32 {
            guard let cause else { return 0 }
            // What is shown anew begins anew.
            return isReplay ? 1 : cause.hops.oneMore
        }
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

    /// - Parameter size: how many bytes of its data count, where that is known; see ``size(of:)``.
    init(
        index: Int, data: Value, original: (any AnyObject & Sendable)? = nil, via: Via? = nil, cause: Cause?,
        size: Int? = nil
    ) {
        contents = Contents(index: index, data: data, original: original, via: via, cause: cause, size: size)
    }

    /// With so few bytes data counts as nothing, and an event as one only, so that it has room beside large ones: as many as a mailbox holds by default
    /// are no danger.
    private static let smallSize = 1024

    /// How many bytes of the data of an event, a state or a value of a bus count.
    static func size(of data: Value) -> Int {
        let held = data.heldBytes
        return held > smallSize ? held : 0
    }

    /// The same event for the successor of the system that it was sent to; nil: that has no such event.
    func inherited(from old: SystemDefinition, by new: SystemDefinition) -> SystemEvent? {
        guard old.events.indices.contains(index),
            let match = new.events.firstIndex(where: { $0.type == old.events[index].type }),
            new.events[match].breach(of: data) == nil
        else { return nil }
        return SystemEvent(index: match, data: data, original: nil, via: via, cause: cause, size: size)
    }

    /// The same event with what brought it about.
    func caused(by cause: Cause) -> SystemEvent {
        SystemEvent(index: index, data: data, original: original, via: via, cause: cause, size: size)
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
