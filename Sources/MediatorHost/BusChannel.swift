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

    /// Those who want to know when the channel ends.
    private struct Watchers {
        var isClosed = false
        var nextID: UInt64 = 1
        var finishers: [UInt64: @Sendable () -> Void] = [:]
    }

    /// What the channels of the same bus before this one have counted.
    private struct Past {
        var sent: UInt64 = 0
        var dropped: UInt64 = 0
        /// The channel just before, as long as somebody else may still put a value on it.
        var channel: BusChannel?
        /// Whether nobody else holds that channel, so that nobody puts a value on it.
        var isChannelIdle: Bool { mutating get { isKnownUniquelyReferenced(&channel) } }
    }

    let kind: BusKind
    let valueType: ValueType
    private let storage: Storage
    /// The links that begin here.
    private let inlets = JointTable<BusValue>()
    /// What shows them the values.
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

    /// Bounds what waits as a bus is to.
    func bound(by policy: BufferPolicy) {
        switch storage {
        case .passthrough(let mediator): mediator.bound(limit: policy.limit, overflow: Overflow(policy))
        case .current(let mediator): mediator.bound(limit: policy.limit, overflow: Overflow(policy))
        }
    }

    /// Goes on counting from the figures of the channel before it. A value counts that somebody puts on that channel later,
    /// because he found it before the reload.
    func countOn(from old: BusChannel) {
        past.withLock { $0 = Past(channel: old) }
    }

    /// The figures of the channels before. The one just before is let go when its figures no longer change.
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

    /// Subscribes one who is told when the channel ends.
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
    /// What a full bus does.
    fileprivate init(_ policy: BufferPolicy) {
        self = policy.overflow == .dropOldest ? .dropOldest : .dropNewest
    }
}
