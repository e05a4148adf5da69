import CommonExpression
import FeedbackKit
import Logging
import MediatorConfiguration
import Synchronization

/// A value on a bus, and when it was put there.
struct BusValue: Sendable {
    /// What put it there, which holds the value.
    let cause: Cause
    let time: Timestamp
    /// Whether it is shown to a link that comes late.
    var isReplay = false

    var value: Value { cause.value }
}

/// A configured bus: a channel with a name.
final class HostedBus: Sendable {
    let definition: BusDefinition
    /// The channel of the values; the same as before a reload where that is possible.
    let channel: BusChannel
    /// Where it is written now.
    let place: WrittenPlace
    private let logger: Logger
    /// The logger's own, since to ask the logger for its level costs as much as all else in a value's way.
    private let handler: any LogHandler

    /// A bus. One that remembers begins with the value that is given, else with the one that is written as its first.
    ///
    /// - Parameter old: the bus of its name before, whose channel it takes over if that fits.
    init(
        _ definition: BusDefinition, beginningWith value: BusValue? = nil, after old: HostedBus? = nil, time: HostTime,
        logger: Logger
    ) {
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
            ?? definition.initial.map {
                let now = time.now()
                return BusValue(
                    cause: Cause(
                        Cause.BeginningOrigin(.firstValue(place), of: definition.name), at: now,
                        value: $0),
                    time: now)
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
    ///   - record: the state that it has seen, if any.
    func send(_ value: Value, at now: Timestamp, because origin: any Cause.Origin, of record: StateRecord? = nil) {
        let item = BusValue(cause: Cause(origin, of: record, at: now, value: value), time: now)
        if handler.logLevel <= .debug {
            logger.debug(
                "value",
                metadata: .inJournal(item.cause.journalDetails(of: nil), ["value": "\(value)"]))
        }
        channel.send(item)
    }
}
