import CommonExpression
import MediatorConfiguration

/// The record of a state at its entry, with its event and its cause. It omits the parts of the event that only the
/// loop needs.
///
/// Each state of a chain has one such record and one ``Cause``. Their layout has no gaps, and a record takes 120
/// bytes. The allocator frees larger blocks more slowly, since it also looks at the neighbouring blocks. So the
/// numbers have the smallest possible types, and derived values are not kept.
package final class StateRecord: Sendable {
    /// The definition of the system, with the indices of the record.
    let definition: SystemDefinition
    let data: Value
    fileprivate let marks: Marks
    private let shortLength: UInt8
    /// The approximate number of bytes in its data, as a ``SizeCode``.
    private let sizeCode: UInt8
    fileprivate let shortIndex: Int32
    fileprivate let eventData: Value
    /// The index of the previous state, or -1 if the system begins in this one.
    fileprivate let shortPrevious: Int16
    /// The index of its event, or ``noEvent`` if the system begins in this state or the event is not kept.
    fileprivate let eventIndex: Int32
    /// The time at which the state was entered or updated.
    let time: Timestamp
    /// The number of links that its event has passed since the input from outside.
    let hops: UInt32
    let serial: UInt64
    /// The cause of its event, or of the beginning of the system. `nil` if it is unknown or not kept.
    let cause: Cause?
    /// The Swift value that the state was made from, or a ``StateVisit`` that holds it.
    private let aside: (any AnyObject & Sendable)?
    /// The link that made its event from a value of a bus.
    fileprivate let link: LinkDefinition?

    fileprivate struct Marks: OptionSet {
        let rawValue: UInt8
        /// The record is the far end of a chain that was cut.
        static let isCut = Marks(rawValue: 1)
        /// The bus had the value before the link read it.
        static let isReplay = Marks(rawValue: 2)
        /// The data of the state or of its event is an ``Excerpt``.
        static let isExcerpt = Marks(rawValue: 4)
        /// Its event updated the state in place.
        static let isUpdate = Marks(rawValue: 8)
    }

    /// The number of bytes above which the kept data of a state or of its event is an ``Excerpt``.
    static let longestKept = 16 << 10

    fileprivate static let noEvent = Int32.min

    /// Creates the record of a state in which a system begins.
    init(
        beginning definition: SystemDefinition, in index: Int, _ data: Value, since: Timestamp, serial: UInt64,
        because cause: Cause, aside: (any AnyObject & Sendable)?
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
        time = since
        hops = cause.hops
        self.serial = serial
        self.cause = cause
        self.aside = aside
        link = nil
    }

    /// Creates the record of a state that an event leads to from another state.
    ///
    /// - Parameter isUpdate: A Boolean value that indicates whether the event updates the state in place.
    init(
        from before: StateRecord, to index: Int, _ data: Value, ofSize size: Int, at time: Timestamp,
        on event: SystemEvent, aside: (any AnyObject & Sendable)?, isUpdate: Bool = false
    ) {
        let (cause, via) = (event.cause, event.via)
        let isCut = event.size > Self.longestKept
        definition = before.definition
        self.data = data
        var marks: Marks = isUpdate ? .isUpdate : []
        if via?.isReplay == true { marks.insert(.isReplay) }
        if isCut { marks.insert(.isExcerpt) }
        self.marks = marks
        shortLength = Self.length(with: cause)
        sizeCode = size > 0 ? SizeCode.code(of: size) : 0
        shortIndex = Int32(truncatingIfNeeded: index)
        eventData = isCut ? Excerpt.of(event.data) : event.data
        // A system has at most 1,000 states, even if it is written in Swift.
        shortPrevious = Int16(before.shortIndex)
        eventIndex = Int32(truncatingIfNeeded: event.index)
        self.time = time
        hops = via == nil ? cause?.hops ?? 0 : via?.hops(after: cause) ?? 0
        serial = isUpdate ? before.serial : before.serial + 1
        self.cause = cause
        self.aside = aside
        link = via?.link
    }

    /// Creates a copy with another cause and another Swift value or visit.
    ///
    /// - Parameter isBrief: A Boolean value that indicates whether an excerpt replaces large data.
    private init(
        _ record: StateRecord, cause: Cause?, aside: (any AnyObject & Sendable)?, isBrief: Bool = false
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
        time = record.time
        hops = record.hops
        serial = record.serial
        self.cause = cause
        self.aside = aside
        link = record.link
    }

    /// Creates a record from the remains of a chain.
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
        time = step.time
        hops = step.hops
        serial = step.serial
        self.cause = cause
        aside = step.visit
        link = step.link
    }

    private static func length(with cause: Cause?) -> UInt8 {
        // If this chain would be too long, its cause holds a shorter one.
        UInt8(truncatingIfNeeded: 1 + (cause?.length ?? 0))
    }

    /// The index of the state in the definition.
    var index: Int { Int(shortIndex) }
    /// The index of the previous state, or `nil` if the system begins in this one.
    var previous: Int? { shortPrevious < 0 ? nil : Int(shortPrevious) }
    /// The number of states in the chain of causes that ends with it, at least 1.
    var length: Int { Int(shortLength) }
    /// A Boolean value that indicates whether it is the far end of a chain that was cut.
    var isCut: Bool { marks.contains(.isCut) }

    /// The event that led to the state. `nil` if the system begins in it or the event is not kept.
    var event: SystemEvent? {
        guard eventIndex != Self.noEvent else { return nil }
        // The event waits in no mailbox, so its data need not be measured.
        return SystemEvent(
            index: Int(eventIndex), data: eventData, original: nil,
            via: link.map { SystemEvent.Via(link: $0, isReplay: marks.contains(.isReplay)) }, cause: cause, size: 0)
    }

    /// The index of the event that led to the state, or -1 without an event. Reading it creates no event.
    var indexOfEvent: Int { eventIndex == Self.noEvent ? -1 : Int(eventIndex) }

    /// A Boolean value that indicates whether a reload gave the system another definition in this state.
    package var isCarriedOver: Bool {
        guard let origin = cause?.origin as? Cause.BeginningOrigin, case .migration = origin.kind else { return false }
        return true
    }

    /// A Boolean value that indicates whether a reset led to this state.
    var isOfReset: Bool { Int(eventIndex) == SystemEvent.resetIndex }

    /// The approximate number of bytes in its data, at most one eighth too high. Small data counts as 0.
    var roughSize: Int { SizeCode.size(of: sizeCode) }

    /// A Boolean value that indicates whether the data is larger than ``longestKept``.
    private var isLong: Bool { sizeCode > 0 && roughSize > Self.longestKept }

    /// A Boolean value that indicates whether the data of the state or of its event is an excerpt.
    var isExcerpt: Bool { marks.contains(.isExcerpt) }

    /// A copy without the cause, the Swift value and the rest of large data. It refers to no other state, so it can
    /// be kept for long. A record that has none of them is returned itself.
    var alone: StateRecord { isAlone ? self : StateRecord(self, cause: nil, aside: visitAlone, isBrief: true) }

    /// A Boolean value that indicates whether the record refers to no other state and holds little data.
    package var isAlone: Bool { cause == nil && !isLong && original == nil }

    /// A Boolean value that indicates whether its event updated the state in place.
    package var isUpdated: Bool { marks.contains(.isUpdate) }

    /// The time at which the state was entered.
    var since: Timestamp { (aside as? StateVisit)?.since ?? time }
    /// The number of the state at its entry.
    var visitNumber: UInt64 { (aside as? StateVisit)?.number ?? serial }
    /// The Swift value that the state was made from, if the system is written in Swift.
    var original: (any AnyObject & Sendable)? {
        guard let visit = aside as? StateVisit else { return aside }
        return visit.original
    }

    /// The visit of the state: from its entry, whatever has updated it since.
    var visit: StateVisit {
        aside as? StateVisit
            ?? StateVisit(number: serial, since: time, previous: nameOfPrevious, event: event?.name, original: original)
    }

    /// The visit without the Swift value, if the record has one.
    private var visitAlone: StateVisit? { (aside as? StateVisit)?.with(original: nil) }

    /// The record in the form that a cause keeps: an excerpt replaces large data.
    var brief: StateRecord { isLong ? StateRecord(self, cause: cause, aside: visitAlone, isBrief: true) : self }

    /// Returns the same record with another Swift value.
    func with(original: any AnyObject & Sendable) -> StateRecord {
        StateRecord(self, cause: cause, aside: (aside as? StateVisit)?.with(original: original) ?? original)
    }

    /// The remains of a chain that was cut: copies of the states at its near end. One object holds several of them.
    /// To create and free them one by one would cost more than the rest of the cut.
    final class Remains: Sendable {
        /// A state, with its event and the origin of its cause.
        fileprivate struct Step: Sendable {
            let definition: SystemDefinition
            let link: LinkDefinition?
            /// The origin of its cause, or `nil` for the far end.
            let origin: (any Cause.Origin)?
            let data: Value
            let marks: Marks
            let previous: Int16
            let index: Int32
            let eventData: Value
            let eventIndex: Int32
            /// The value of its cause.
            let value: Value
            let causedAt: Timestamp?
            let hops: UInt32
            let serial: UInt64
            let time: Timestamp
            let visit: StateVisit?

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
                causedAt = cause?.time
                hops = record.hops
                serial = record.serial
                time = record.time
                visit = record.visitAlone
            }
        }

        /// The maximum number of steps in one object. Each thread has a cache of free blocks of this size.
        private static let mostSteps = 5

        /// The steps, the latest first. It has at least one.
        private let steps: ArraySlice<Step>
        private let rest: Remains?
        /// The number of states, at least 1.
        let length: Int
        /// The number of links that the event of the latest state has passed since the input from outside.
        let hops: UInt32

        private init(_ steps: ArraySlice<Step>, _ rest: Remains?) {
            self.steps = steps
            self.rest = rest
            length = steps.count + (rest?.length ?? 0)
            hops = steps.first?.hops ?? 0
        }

        /// Creates copies of the latest states of the chain that ends with a record. If the chain has more than
        /// `count` states, it is cut.
        ///
        /// - Parameter count: The maximum number of states, at least 1.
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

        /// The record of the latest state. Each access makes a new one.
        var record: StateRecord {
            let step = steps[steps.startIndex]
            let rest = steps.count > 1 ? Remains(steps.dropFirst(), rest) : rest
            return StateRecord(
                step, cause: step.origin.map { Cause($0, of: rest, at: step.causedAt, value: step.value) })
        }
    }
}
