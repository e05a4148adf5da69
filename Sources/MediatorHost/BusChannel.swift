import CommonExpression
import FeedbackKit
import MediatorConfiguration
import Synchronization

/// The part of a bus that holds its values, their order, its links and its watchers.
///
/// A reload that changes the bus keeps the channel if the kind and the value type of the bus stay the same. So a value that
/// is published during the reload goes either over the old links or over the new ones, in its order.
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
    /// The time of the last value, for a bus that does not remember its value.
    private let last = Mutex<Timestamp?>(nil)
    private let watchers = Mutex<Watchers>(Watchers())
    private let past = Mutex(Past())

    /// - Parameter first: The first value of a bus that remembers its value.
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

    /// Returns a Boolean value that indicates whether a bus with this definition can keep the channel.
    func fits(_ definition: BusDefinition) -> Bool {
        kind == definition.kind && valueType == definition.valueType
    }

    /// Applies the limit and the overflow rule of a bus to the waiting values.
    func bound(by policy: BufferPolicy) {
        switch storage {
        case .passthrough(let mediator): mediator.bound(limit: policy.limit, overflow: Overflow(policy))
        case .current(let mediator): mediator.bound(limit: policy.limit, overflow: Overflow(policy))
        }
    }

    /// Continues from the figures of the previous channel. These figures still grow if a publisher found that channel before
    /// the reload, and sends its value afterwards.
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

    /// The current value of a bus that remembers its value.
    var carried: BusValue? {
        switch storage {
        case .passthrough: nil
        case .current(let mediator): mediator.value
        }
    }

    /// The time of the last value, for a bus that does not remember its value.
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

    /// Calls a function once between two values. The function receives the value before it if the bus remembers its value.
    private func visit(_ body: @escaping @Sendable (BusValue?) -> Void) {
        switch storage {
        case .passthrough(let mediator): mediator.visit(body)
        case .current(let mediator): mediator.visit(body)
        }
    }

    /// Removes links and adds others, between two values. Earlier values go over the links that leave, later ones over the
    /// links that join. If the bus remembers its value, a joining link gets the present value first, unless the link
    /// continues one that has seen it. `done` is called afterwards, perhaps on the thread of a publisher.
    func exchange(
        _ leaving: Set<ObjectIdentifier>, for joining: [Joint<BusValue>], done: @escaping @Sendable () -> Void
    ) {
        visit { [inlets] present in
            inlets.exchange(leaving, for: joining)
            if let present { for joint in joining where !joint.goesOn { joint.see(present.replayed) } }
            done()
        }
    }

    /// Shows the present value to a link of the bus, between two values, if the bus remembers its value. `before` is called
    /// just before that, in any case.
    ///
    /// - Parameter known: A value that the link need not see again.
    func showPresent(
        to link: ObjectIdentifier, unless known: BusValue? = nil, _ before: @escaping @Sendable () -> Void
    ) {
        visit { [inlets] present in
            before()
            if let present, present.cause !== known?.cause { inlets.joint(link)?.see(present.replayed) }
        }
    }

    /// Subscribes a watcher. `finish` is called when the channel ends, or at once if it has ended.
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

    /// Ends the channel, because the host has stopped or another channel has taken its place.
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
