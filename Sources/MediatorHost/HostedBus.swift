import CommonExpression
import FeedbackKit
import Logging
import MediatorConfiguration
import Synchronization

/// A value on a bus, and when it was put there.
struct BusValue: Sendable {
    /// What put it there, which holds the value, or of a large one an excerpt.
    let cause: Cause
    let time: Timestamp
    /// Whether it is shown to a link that comes late.
    var isReplay = false
    /// The value, if it is large.
    var large: LargeValue?

    var value: Value { large?.value ?? cause.value }

    /// The same, as it is shown to a link that comes late.
    var replayed: BusValue {
        var shown = self
        shown.isReplay = true
        return shown
    }

    /// A value; nil: there is no room for it.
    ///
    /// - Parameters:
    ///   - size: how many bytes of it count; see ``SystemEvent/size(of:)``.
    ///   - isForced: whether it is there already, so that it has room in any case.
    init?(
        _ value: Value, ofSize size: Int, in room: HostRoom, isForced: Bool = false, at time: Timestamp,
        because origin: any Cause.Origin, of record: StateRecord? = nil, causedAt: Timestamp? = nil
    ) {
        self.time = time
        // What is brought about by a value keeps its cause for long.
        guard size > 0 else {
            cause = Cause(origin, of: record, at: causedAt ?? time, value: value)
            return
        }
        guard let large = LargeValue(value, ofSize: size, in: room, isForced: isForced) else { return nil }
        self.large = large
        let kept = size > StateRecord.longestKept ? Excerpt.of(value) : value
        cause = Cause(origin, of: record, at: causedAt ?? time, value: kept)
    }
}

/// A configured bus: a channel with a name.
final class HostedBus: Sendable {
    let definition: BusDefinition
    /// The channel of the values; the same as before a reload where that is possible.
    let channel: BusChannel
    /// Where it is written now.
    let place: WrittenPlace
    private let room: HostRoom
    private let logger: Logger
    /// The logger's own, since to ask the logger for its level costs as much as all else in a value's way.
    private let handler: any LogHandler

    /// A bus. One that remembers begins with the value that is given, else with the one that is written as its first.
    ///
    /// - Parameter old: the bus of its name before, whose channel it takes over if that fits.
    init(
        _ definition: BusDefinition, beginningWith value: BusValue? = nil, after old: HostedBus? = nil,
        in room: HostRoom, time: HostTime, logger: Logger
    ) {
        self.room = room
        self.definition = definition
        let place = old?.place ?? WrittenPlace(definition.source)
        self.place = place
        self.logger = logger
        handler = logger.handler
        if let channel = old?.channel, channel.fits(definition) {
            self.channel = channel
            return
        }
        let first =
            value
            ?? definition.initial.flatMap {
                BusValue(
                    $0, ofSize: SystemEvent.size(of: $0), in: room, isForced: true, at: time.now(),
                    because: Cause.BeginningOrigin(.firstValue(place), of: definition.name))
            }
        channel = BusChannel(definition, first: first)
    }

    /// The value that a current-value bus has, to be carried over to another.
    var carried: BusValue? { channel.carried }

    /// The value a current-value bus has, and since when; for a passthrough bus, when a value came last.
    var current: (value: Value?, since: Timestamp?) {
        guard let carried else { return (nil, channel.lastTime) }
        return (carried.value, carried.time)
    }

    var snapshot: MediatorSnapshot { channel.snapshot }

    /// Puts a value on the bus.
    ///
    /// - Parameters:
    ///   - now: when.
    ///   - origin: who does.
    ///   - size: how many bytes of the value count; see ``SystemEvent/size(of:)``.
    ///   - record: the state that it has seen, if any.
    /// - Returns: why it is not there; nil: it is.
    func send(
        _ value: Value, ofSize size: Int, at now: Timestamp, because origin: any Cause.Origin,
        of record: StateRecord? = nil
    ) -> String? {
        guard let item = BusValue(value, ofSize: size, in: room, at: now, because: origin, of: record) else {
            return room.lack(for: "a value of the bus '\(definition.name)' with \(ByteSize.text(of: size))")
        }
        if handler.logLevel <= .debug {
            logger.debug(
                "value",
                metadata: .inJournal(item.cause.journalDetails(of: nil), ["value": "\(Excerpt.of(value))"]))
        }
        channel.send(item)
        return nil
    }
}
