import CommonExpression
import FeedbackKit
import Logging
import MediatorConfiguration
import Synchronization

/// A configured bus: a mediator with a name.
final class HostedBus: Sendable {
    private enum Storage: Sendable {
        case passthrough(PassthroughMediator<Value>)
        case current(CurrentValueMediator<Value>)
    }

    let definition: BusDefinition
    private let storage: Storage
    private let since: Mutex<Timestamp?>
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
            storage = .current(CurrentValueMediator(initial, limit: limit, overflow: overflow))
            since = Mutex(time.now())
        default:
            storage = .passthrough(PassthroughMediator(limit: limit, overflow: overflow))
            since = Mutex(nil)
        }
    }

    /// The value a current-value bus has, and since when; for a passthrough bus, when a value came last.
    var current: (value: Value?, since: Timestamp?) {
        let since = since.withLock { $0 }
        switch storage {
        case .passthrough: return (nil, since)
        case .current(let mediator): return (mediator.value, since)
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
        let now = time.now()
        since.withLock { $0 = now }
        logger.debug("value", metadata: ["value": "\(value)"])
        switch storage {
        case .passthrough(let mediator): mediator.send(value)
        case .current(let mediator): mediator.send(value)
        }
    }

    func subscribe(_ receive: @escaping @Sendable (Value) -> Void) -> Subscription {
        switch storage {
        case .passthrough(let mediator): mediator.subscribe(receive)
        case .current(let mediator): mediator.subscribe(receive)
        }
    }
}
