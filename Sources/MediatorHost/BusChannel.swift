import CommonExpression
import FeedbackKit
import MediatorConfiguration
import Synchronization

/// The part of a bus that holds its values, their order, its links and its watchers.
///
/// It stays when a reload changes the bus, as long as the bus is of the same kind and carries values of the same type. So
/// a value that is published during the reload goes over the links before or over those after, in its order.
final class BusChannel: Sendable {
    private enum Storage: Sendable {
        case passthrough(PassthroughMediator<BusValue>)
        case current(CurrentValueMediator<BusValue>)
    }

    /// The watchers of the channel's end.
    private struct Watchers {
        var isClosed = false
        var nextID: UInt64 = 1
        var finishers: [UInt64: @Sendable () -> Void] = [:]
    }

    /// The figures of the earlier channels of the bus.
    private struct Past {
        var sent: UInt64 = 0
        var dropped: UInt64 = 0
        /// The channel just before this one, while a publisher may still hold it.
        var channel: BusChannel?
        /// A Boolean value that indicates whether no publisher holds that channel.
        var isChannelIdle: Bool { mutating get { isKnownUniquelyReferenced(&channel) } }
    }

    let kind: BusKind
    let valueType: ValueType
    private let storage: Storage
    /// The links that begin at the bus.
    private let inlets = JointTable<BusValue>()
    /// Shows the values to the links.
    private let delivery: Subscription
    /// When a value came last, for a bus that does not remember it.
    private let last = Mutex<Timestamp?>(nil)
    private let watchers = Mutex<Watchers>(Watchers())
    private let past = Mutex(Past())

    /// - Parameter first: the value with which a bus that remembers begins.
    init(_ definition: BusDefinition, first: BusValue?) {
        kind = definition.kind
        valueType = definition.valueType
        let (limit, overflow, inlets) = (definition.buffer.limit, Overflow(definition.buffer), inlets)
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

    /// Whether a bus can go on with it.
    func fits(_ definition: BusDefinition) -> Bool {
        kind == definition.kind && valueType == definition.valueType
    }

    /// Applies the limit of a bus to the values that wait.
    func bound(by policy: BufferPolicy) {
        switch storage {
        case .passthrough(let mediator): mediator.bound(limit: policy.limit, overflow: Overflow(policy))
        case .current(let mediator): mediator.bound(limit: policy.limit, overflow: Overflow(policy))
        }
    }

    /// Continues from the figures of the channel before it. Those still grow if a publisher found that channel before the
    /// reload, and sends its value afterwards.
    func countOn(from old: BusChannel) {
        past.withLock { $0 = Past(channel: old) }
    }

    /// The figures of the earlier channels. The one just before this one is released when no publisher holds it.
    private var earlier: (sent: UInt64, dropped: UInt64) {
        let (before, isIdle) = past.withLock { past in
            let isIdle = past.isChannelIdle
            return (past, isIdle)
        }
        guard let channel = before.channel else { return (before.sent, before.dropped) }
        let isFinal = isIdle && channel.past.withLock { $0.channel == nil }
        let figures = channel.snapshot
        if isFinal {
            past.withLock { past in
                if past.channel === channel { past = Past(sent: figures.sent, dropped: figures.dropped) }
            }
        }
        return (figures.sent, figures.dropped)
    }

    /// The value that a bus that remembers has.
    var carried: BusValue? {
        switch storage {
        case .passthrough: nil
        case .current(let mediator): mediator.value
        }
    }

    /// When a value came last, for a bus that does not remember it.
    var lastTime: Timestamp? { last.withLock { $0 } }

    var snapshot: MediatorSnapshot {
        var snapshot =
            switch storage {
            case .passthrough(let mediator): mediator.snapshot
            case .current(let mediator): mediator.snapshot
            }
        let (sent, dropped) = earlier
        snapshot.sent += sent
        snapshot.dropped += dropped
        return snapshot
    }

    func send(_ item: BusValue) {
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

    /// Calls a function once, between two values, with the value before it if the bus remembers.
    private func visit(_ body: @escaping @Sendable (BusValue?) -> Void) {
        switch storage {
        case .passthrough(let mediator): mediator.visit(body)
        case .current(let mediator): mediator.visit(body)
        }
    }

    /// Takes links away and adds others, between two values: those sent before go over the links that leave, those sent
    /// after over those that join. Those that join a bus that remembers get the present value first. `done` is called
    /// afterwards, perhaps by who publishes a value at the time.
    func exchange(
        _ leaving: Set<ObjectIdentifier>, for joining: [Joint<BusValue>], done: @escaping @Sendable () -> Void
    ) {
        visit { [inlets] present in
            inlets.exchange(leaving, for: joining)
            if let present { for joint in joining { joint.see(present.replayed) } }
            done()
        }
    }

    /// Shows a link the present value, between two values, if the bus remembers and the link is there. `before` is called
    /// just before that.
    func showPresent(to link: ObjectIdentifier, _ before: @escaping @Sendable () -> Void) {
        visit { [inlets] present in
            before()
            if let present { inlets.joint(link)?.see(present.replayed) }
        }
    }

    /// Subscribes a watcher, whose `finish` is called when the channel ends.
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
            // The finisher leaves the lock first, because its release may run other code.
            let finisher = self?.watchers.withLock { $0.finishers.removeValue(forKey: id) }
            withExtendedLifetime(finisher) {}
        }
    }

    /// Nothing will come any more: the host has stopped, or another channel has taken its place.
    func close() {
        let finishers = watchers.withLock { watchers in
            watchers.isClosed = true
            defer { watchers.finishers = [:] }
            return watchers.finishers.values
        }
        for finish in finishers { finish() }
    }
}

extension Overflow {
    /// The policy for values when the bus is full.
    fileprivate init(_ policy: BufferPolicy) {
        self = policy.overflow == .dropOldest ? .dropOldest : .dropNewest
    }
}
