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

/// A configured bus: a mediator with a name.
final class HostedBus: Sendable {
    private enum Storage: Sendable {
        case passthrough(PassthroughMediator<BusValue>)
        case current(CurrentValueMediator<BusValue>)
    }

    /// Those who want to know when the bus ends.
    private struct Watchers {
        var isClosed = false
        var nextID: UInt64 = 1
        var finishers: [UInt64: @Sendable () -> Void] = [:]
    }

    let definition: BusDefinition
    private let storage: Storage
    /// The links that begin here.
    private let inlets = JointTable<BusValue>()
    /// What shows them the values.
    private let delivery: Subscription
    /// When a value came last, for a bus that does not remember it.
    private let last = Mutex<Timestamp?>(nil)
    private let watchers = Mutex<Watchers>(Watchers())
    /// Where it is written now.
    let place: WrittenPlace
    private let logger: Logger
    /// The logger's own, since to ask the logger for its level costs as much as all else in a value's way.
    private let handler: any LogHandler

    /// A bus; one that remembers begins with the value that is given, else with the one that is written as its first.
    ///
    /// - Parameter place: that of one of its name before, which told of its first value.
    init(
        _ definition: BusDefinition, continuing value: BusValue? = nil, at place: WrittenPlace? = nil, time: HostTime,
        logger: Logger
    ) {
        self.definition = definition
        let place = place ?? WrittenPlace(definition.source)
        self.place = place
        self.logger = logger
        handler = logger.handler
        let limit = definition.buffer.limit
        let overflow: Overflow = definition.buffer.overflow == .dropOldest ? .dropOldest : .dropNewest
        let inlets = inlets
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
        switch (definition.kind, first) {
        case (.currentValue, let first?):
            let mediator = CurrentValueMediator(first, limit: limit, overflow: overflow)
            storage = .current(mediator)
            delivery = mediator.subscribe { inlets.show($0) }
        default:
            let mediator = PassthroughMediator<BusValue>(limit: limit, overflow: overflow)
            storage = .passthrough(mediator)
            delivery = mediator.subscribe { inlets.show($0) }
        }
    }

    /// The value that a current-value bus has, to be carried over to another.
    var carried: BusValue? {
        switch storage {
        case .passthrough: nil
        case .current(let mediator): mediator.value
        }
    }

    /// The value a current-value bus has, and since when; for a passthrough bus, when a value came last.
    var current: (value: Value?, since: Timestamp?) {
        switch storage {
        case .passthrough: return (nil, last.withLock { $0 })
        case .current(let mediator):
            let current = mediator.value
            return (current.value, current.time)
        }
    }

    var snapshot: MediatorSnapshot {
        switch storage {
        case .passthrough(let mediator): mediator.snapshot
        case .current(let mediator): mediator.snapshot
        }
    }

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
        switch storage {
        case .passthrough(let mediator):
            last.withLock { $0 = item.time }
            mediator.send(item)
        case .current(let mediator): mediator.send(item)
        }
    }

    func subscribe(_ receive: @escaping @Sendable (BusValue) -> Void) -> Subscription {
        switch storage {
        case .passthrough(let mediator): mediator.subscribe(receive)
        case .current(let mediator): mediator.subscribe(receive)
        }
    }

    /// Takes links away and adds others, between two values; those that are added to a bus that remembers get the present
    /// value first. `done` is called afterwards, perhaps by who publishes a value at the time.
    func exchange(
        _ leaving: Set<ObjectIdentifier>, for joining: [Joint<BusValue>], done: @escaping @Sendable () -> Void
    ) {
        guard case .current(let mediator) = storage, !joining.isEmpty else {
            inlets.exchange(leaving, for: joining)
            return done()
        }
        // One who joins has a place among the values, and gets the value of that place: there the exchange happens.
        let once = Once()
        once.keep(
            mediator.subscribe { [inlets] item in
                guard once.begin() else { return }
                inlets.exchange(leaving, for: joining)
                let shown = BusValue(cause: item.cause, time: item.time, isReplay: true)
                for joint in joining { joint.see(shown) }
                once.end()
                done()
            })
    }

    /// Shows a link the present value, between two values, if the bus remembers and the link is there. `before` is called
    /// just before that.
    func showPresent(to link: ObjectIdentifier, _ before: @escaping @Sendable () -> Void) {
        guard case .current(let mediator) = storage else { return before() }
        let once = Once()
        once.keep(
            mediator.subscribe { [inlets] item in
                guard once.begin() else { return }
                before()
                inlets.joint(link)?.see(BusValue(cause: item.cause, time: item.time, isReplay: true))
                once.end()
            })
    }

    /// Takes all links away.
    func part() {
        inlets.removeAll()
    }

    /// Subscribes one who is told when the bus ends, which it does when the host stops.
    func watch(
        _ receive: @escaping @Sendable (BusValue) -> Void, finish: @escaping @Sendable () -> Void
    ) -> Subscription {
        let id: UInt64? = watchers.withLock { watchers in
            guard !watchers.isClosed else { return nil }
            defer { watchers.nextID += 1 }
            watchers.finishers[watchers.nextID] = finish
            return watchers.nextID
        }
        guard let id else {
            finish()
            return Subscription {}
        }
        let inner = subscribe(receive)
        return Subscription { [weak self] in
            inner.cancel()
            // Handed out, so that what it holds is not released under the lock.
            let finisher = self?.watchers.withLock { $0.finishers.removeValue(forKey: id) }
            withExtendedLifetime(finisher) {}
        }
    }

    /// The host has stopped: nothing will come any more.
    func close() {
        let finishers = watchers.withLock { watchers in
            watchers.isClosed = true
            defer { watchers.finishers = [:] }
            return watchers.finishers.values
        }
        for finish in finishers { finish() }
    }
}

/// A subscription that ends with its first delivery.
private final class Once: Sendable {
    private struct Machine {
        var hasBegun = false
        var hasEnded = false
        var subscription: Subscription?
    }

    private let machine = Mutex(Machine())

    /// Whether this is the first delivery.
    func begin() -> Bool {
        machine.withLock { machine in
            defer { machine.hasBegun = true }
            return !machine.hasBegun
        }
    }

    func keep(_ subscription: Subscription) {
        let hasEnded = machine.withLock { machine in
            if !machine.hasEnded { machine.subscription = subscription }
            return machine.hasEnded
        }
        if hasEnded { subscription.cancel() }
    }

    func end() {
        let subscription = machine.withLock { machine in
            machine.hasEnded = true
            defer { machine.subscription = nil }
            return machine.subscription
        }
        subscription?.cancel()
    }
}
