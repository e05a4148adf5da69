package import CommonExpression
import FeedbackKit
import Logging
import MediatorConfiguration
import Synchronization

/// A value on a bus, and the time at which the bus received it.
struct BusValue: Sendable {
    /// The cause of the value. It holds the value, or only an excerpt if the value has more than 16 KiB of data.
    let cause: Cause
    let time: Timestamp
    /// A Boolean value that indicates whether the value is repeated for a link that joins late.
    var isReplay = false
    /// The value, if it has more than 1 KiB of data.
    var large: LargeValue?

    var value: Value { large?.value ?? cause.value }

    /// The same value, marked as repeated for a link that joins late.
    var replayed: BusValue {
        var shown = self
        shown.isReplay = true
        return shown
    }

    /// Creates a value, or returns `nil` if there is no room for it.
    ///
    /// - Parameters:
    ///   - size: The number of bytes of the value that count; see ``SystemEvent/size(of:)``.
    ///   - isForced: A Boolean value that indicates whether the value needs no free room. First and
    ///     restored values need none.
    init?(
        _ value: Value, ofSize size: Int, in room: HostRoom, isForced: Bool = false, at time: Timestamp,
        because origin: any Cause.Origin, of record: StateRecord? = nil, causedAt: Timestamp? = nil
    ) {
        self.time = time
        // The effects of a value keep its cause for long, so the cause must not hold much data.
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
    /// The channel of the values. A reload keeps it where possible.
    let channel: BusChannel
    /// The place in the configuration where the bus is written now.
    let place: WrittenPlace
    /// The gate for the values of the bus, if it is persisted, or was so earlier. It belongs to the channel.
    let gate: BusGate?
    private let room: HostRoom
    private let hostLogger: Logger
    /// The handler of the logger. Asking the logger itself for its level costs as much as all other work for a value.
    private let handler: any LogHandler

    /// Creates a bus. A bus that remembers its value begins with the given value, or else with the initial value of its
    /// definition.
    ///
    /// - Parameter old: The previous bus of the same name. The new bus takes over its channel if the channel fits.
    init(
        _ definition: BusDefinition, beginningWith value: BusValue? = nil, after old: HostedBus? = nil,
        journal: HostJournal?, in room: HostRoom, time: HostTime, logger: Logger
    ) {
        self.room = room
        self.definition = definition
        let place = old?.place ?? WrittenPlace(definition.source)
        self.place = place
        hostLogger = logger
        handler = logger.handler
        if let channel = old?.channel, channel.fits(definition) {
            self.channel = channel
            // A gate that is removed still has the values that wait in it.
            gate = old?.gate ?? BusGate(definition, channel, journal, time)
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
        gate = BusGate(definition, channel, journal, time)
    }

    /// The value of a current-value bus, with which another bus can begin.
    var carried: BusValue? { channel.carried }

    /// The value of a current-value bus and its time. For a passthrough bus, only the time of the last value.
    var current: (value: Value?, since: Timestamp?) {
        guard let carried else { return (nil, channel.lastTime) }
        return (carried.value, carried.time)
    }

    var snapshot: MediatorSnapshot {
        var snapshot = channel.snapshot
        snapshot.dropped += gate?.dropped ?? 0
        return snapshot
    }

    /// Puts a value on the bus.
    ///
    /// - Parameters:
    ///   - size: The number of bytes of the value that count; see ``SystemEvent/size(of:)``.
    ///   - now: The time of the value.
    ///   - origin: The origin of the value.
    ///   - record: The state that led to the value, if any.
    /// - Returns: The reason why there is no room for the value, or `nil` if the value is on the bus.
    func send(
        _ value: Value, ofSize size: Int, at now: Timestamp, because origin: any Cause.Origin,
        of record: StateRecord? = nil
    ) -> String? {
        let now = gate?.time(ofValueAt: now) ?? now
        guard let item = BusValue(value, ofSize: size, in: room, at: now, because: origin, of: record) else {
            return room.lack(for: "a value of the bus '\(definition.name)' with \(ByteSize.text(of: size))")
        }
        if handler.logLevel <= .debug {
            hostLogger.debug(
                "value",
                metadata: .inJournal(
                    item.cause.journalDetails(of: nil),
                    ["bus": "\(definition.name)", "value": "\(Excerpt.of(value))"]))
        }
        if let gate { gate.send(item) } else { channel.send(item) }
        return nil
    }
}

extension Host {
    /// Puts a value on a bus.
    ///
    /// - Parameter announcement: The log line of the request, or `nil` without one.
    package func publish(
        _ value: Value, on name: String, by client: HostClient?, announcing announcement: Announcement?
    ) throws(HostError) {
        let bus = try bus(name)
        guard bus.definition.valueType.accepts(value) else {
            throw .wrongType(path: name, expected: "\(bus.definition.valueType)", found: "\(value.type)")
        }
        guard !isStopped else { throw .busStopped(name) }
        let size = SystemEvent.size(of: value)
        let obstacle =
            room.excess(ofSize: size, "the value")
            ?? bus.send(
                value, ofSize: size, at: time.now(),
                because: Cause.RequestOrigin(.publish, client, on: name, announcing: announcement))
        if let obstacle { throw .notAccepted(system: name, obstacle: .tooLarge, reason: obstacle) }
    }
}
