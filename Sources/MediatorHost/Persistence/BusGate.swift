import CommonExpression
import FeedbackKit
import MediatorConfiguration
import Synchronization

/// The gate of a persisted bus. A value passes it to the channel when the journal has the value, or a later one.
///
/// Values wait in their order, within the limit of the bus. All that wait share one commit, because the journal keeps only the
/// last value. The first value of a bus does not wait, because it comes from the configuration. The journal gets it before the
/// state of any system that has heard it.
final class BusGate: Sendable {
    private struct Machine {
        var policy: BufferPolicy
        /// The number of the incarnation in the host, or 0 before the beginning.
        var incarnation: UInt32 = 0
        /// The number of the last value that was handed to the journal.
        var serial: UInt64 = 1
        /// The time of the last value.
        var last: Timestamp?
        /// The last states that the bus has heard, by the names of the links.
        var heard: [String: SavedDetails.Heard] = [:]
        /// The details of the value on the channel.
        var shown = SavedDetails(serial: 1)
        var waiting: [BusValue] = []
        /// A Boolean value that indicates whether a commit is outstanding, or the gate has not begun.
        var isBusy = true
        /// A Boolean value that indicates whether the journal lacks the value that is on the channel.
        var lacksRow = false
        var isRemoved = false
        /// The number of threads that hand a change to the journal now. The journal may answer before a thread knows.
        var writers = 0
        /// The change that follows those that are being handed over.
        var next: HostChange?
        /// A Boolean value that indicates whether values pass without a commit.
        var isOpen = false
        var dropped: UInt64 = 0

        /// The details of the last value that was handed to the journal.
        var details: SavedDetails { SavedDetails(serial: serial, heard: heard) }
    }

    private let name: String
    private let type: ValueType
    private let channel: BusChannel
    private let journal: HostJournal
    private let executor: any LoopExecutor
    private let machine: Mutex<Machine>

    /// Creates a gate, or returns `nil` for a bus that is not persisted.
    init?(_ definition: BusDefinition, _ channel: BusChannel, _ journal: HostJournal?, _ time: HostTime) {
        guard let journal, definition.isPersisted, definition.kind == .currentValue else { return nil }
        name = definition.name
        type = definition.valueType
        self.channel = channel
        self.journal = journal
        executor = time.executor ?? .configuredSystems
        machine = Mutex(Machine(policy: definition.buffer, last: channel.carried?.time))
    }

    /// Returns the time of a new value, which identifies the value.
    ///
    /// It is the given time. If the clock has not advanced since the last value, or has gone back by less than a millisecond,
    /// it is the time of that value plus a nanosecond.
    func time(ofValueAt now: Timestamp) -> Timestamp {
        machine.withLock { machine in
            var time = now
            if let last = machine.last {
                let ahead = last.span(since: now)
                if ahead >= .zero, ahead < .milliseconds(1), let later = last.later(by: .nanoseconds(1)) {
                    time = later
                }
            }
            machine.last = time
            return time
        }
    }

    /// Takes a value, which goes on the channel later.
    func send(_ item: BusValue) {
        enum Step { case passes, waits, commits }
        let (step, dropped) = machine.withLock { machine -> (Step, BusValue?) in
            guard !machine.isOpen else { return (.passes, nil) }
            var dropped: BusValue?
            if machine.waiting.count >= machine.policy.limit {
                machine.dropped += 1
                guard machine.policy.overflow == .dropOldest else { return (.waits, nil) }
                dropped = machine.waiting.removeFirst()
            }
            machine.waiting.append(item)
            defer { machine.isBusy = true }
            return (machine.isBusy ? .waits : .commits, dropped)
        }
        withExtendedLifetime(dropped) {}
        switch step {
        case .passes: channel.send(item)
        case .waits: break
        case .commits: commitWaiting()
        }
    }

    /// Hands the values that wait to the journal, then shows them, until none waits.
    private func commitWaiting() {
        // During a commit, no other code puts a value on the channel.
        let present = channel.carried
        let taken = machine.withLock { machine -> (items: [BusValue], change: HostChange?, details: SavedDetails)? in
            let items = machine.waiting
            machine.waiting = []
            guard !items.isEmpty else {
                if machine.lacksRow, let present {
                    machine.lacksRow = false
                    machine.writers += 1
                    return ([], row(of: present, machine), machine.details)
                }
                machine.isBusy = false
                machine.isOpen = machine.isRemoved
                return nil
            }
            guard !machine.isRemoved else { return (items, nil, machine.details) }
            machine.lacksRow = false
            machine.writers += 1
            return (items, row(of: items, &machine), machine.details)
        }
        guard let (items, change, details) = taken else { return }
        let show: @Sendable () -> Void = { [weak self] in
            guard let self else { return }
            for item in items { channel.send(item) }
            machine.withLock { $0.shown = details }
            commitWaiting()
        }
        guard let change else { return executor.enqueue(show) }
        // The links work on the executor, and not on the thread of the journal.
        journal.write(change) { [executor] goesOn in if goesOn { executor.enqueue(show) } }
        let next = machine.withLock { machine in
            machine.writers -= 1
            return machine.writers == 0 ? machine.next.take() : nil
        }
        if let next { journal.write(next) }
    }

    /// Notes what the values have heard, and returns the change to the last one.
    private func row(of items: [BusValue], _ machine: inout Machine) -> HostChange? {
        guard let last = items.last else { return nil }
        for item in items {
            if let (link, heard) = item.heard { machine.heard[link] = heard }
        }
        machine.serial += UInt64(items.count)
        return row(of: last, machine)
    }

    private func row(of item: BusValue, _ machine: Machine) -> HostChange {
        let (type, details) = (type, machine.details)
        return HostChange(
            part: .bus, name: name, incarnation: machine.incarnation, phase: HostChange.running,
            content: { .bus(HostState.Bus(type: type, value: item.value, since: item.time), details) })
    }

    // MARK: Life

    /// Begins to commit values, or begins again after ``remove()``. The value on the channel is written, unless the journal has
    /// it.
    ///
    /// - Parameters:
    ///   - part: The stored details of the value, if the bus was persisted.
    ///   - value: The value from which the bus goes on, if it fits.
    func begin(_ part: SavedParts.Part? = nil, fits value: BusValue? = nil) {
        guard machine.withLock({ $0.incarnation == 0 || $0.isRemoved }) else { return }
        let number = journal.nextIncarnation()
        let isIdle = machine.withLock { machine in
            let isIdle = machine.incarnation == 0 || !machine.isBusy
            machine.incarnation = number
            (machine.isRemoved, machine.isOpen, machine.isBusy, machine.lacksRow) = (false, false, true, true)
            if let part, value != nil {
                (machine.serial, machine.heard) = (part.details.serial ?? 0, part.details.heard)
                machine.shown = machine.details
                machine.lacksRow = !part.isStored
            }
            return isIdle
        }
        if isIdle { commitWaiting() }
    }

    /// Applies the limit and the overflow rule of the bus to later values.
    func bound(by policy: BufferPolicy) { machine.withLock { $0.policy = policy } }

    /// Removes the part. Values that wait for a commit keep their place, and later ones pass without a commit.
    func remove() {
        let change = machine.withLock { machine -> HostChange? in
            guard machine.incarnation > 0, !machine.isRemoved else { return nil }
            (machine.isRemoved, machine.lacksRow) = (true, false)
            machine.isOpen = !machine.isBusy
            return last(
                HostChange(
                    part: .bus, name: name, incarnation: machine.incarnation, phase: HostChange.running,
                    content: { nil }), &machine)
        }
        if let change { journal.write(change) }
    }

    /// Returns the last change of the gate, or keeps it for a thread that hands over the one before it.
    private func last(_ change: HostChange, _ machine: inout Machine) -> HostChange? {
        guard machine.writers > 0 else { return change }
        machine.next = change
        return nil
    }

    /// Hands the values that still wait to the journal, because the host has stopped. The next life shows them.
    func close() {
        let change = machine.withLock { machine -> HostChange? in
            let items = machine.waiting
            machine.waiting = []
            guard !machine.isRemoved, let change = row(of: items, &machine) else { return nil }
            return last(change, &machine)
        }
        if let change { journal.write(change) }
    }

    // MARK: Details

    /// The last states that the bus has heard, by the names of the links.
    var heard: [String: SavedDetails.Heard] { machine.withLock { $0.heard } }

    /// Forgets what the bus has heard over other links than these.
    func forget(except links: Set<String>) {
        machine.withLock { machine in machine.heard = machine.heard.filter { links.contains($0.key) } }
    }

    /// The number of values that were dropped because too many waited.
    var dropped: UInt64 { machine.withLock { $0.dropped } }

    /// The details of the value on the channel.
    var details: SavedDetails { machine.withLock { $0.shown } }
}
