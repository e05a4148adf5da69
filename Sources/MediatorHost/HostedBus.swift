import CommonExpression
import FeedbackKit
import Logging
import MediatorConfiguration
import Synchronization

/// A value on a bus, and when it was put there.
struct BusValue: Sendable {
    let value: Value
    let time: Timestamp
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
    /// When a value came last, for a bus that does not remember it.
    private let last = Mutex<Timestamp?>(nil)
    private let watchers = Mutex<Watchers>(Watchers())
    private let time: HostTime
    private let logger: Logger

    init(_ definition: BusDefinition, time: HostTime, logger: Logger) {
        self.definition = definition
        self.time = time
        self.logger = logger
        let limit = definition.buffer.limit
        let overflow: Overflow = definition.buffer.overflow == .dropOldest ? .dropOldest : .dropNewest
        switch (definition.kind, definition.initial) {
        case (.currentValue, let initial?):
            let first = BusValue(value: initial, time: time.now())
            storage = .current(CurrentValueMediator(first, limit: limit, overflow: overflow))
        default:
            storage = .passthrough(PassthroughMediator(limit: limit, overflow: overflow))
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
    func send(_ value: Value) {
        let item = BusValue(value: value, time: time.now())
        logger.debug("value", metadata: ["value": "\(value)"])
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
