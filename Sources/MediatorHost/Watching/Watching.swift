import CommonExpression
import FeedbackKit
import MediatorConfiguration
import Synchronization

/// A watch of the chosen parts of a host, for one watcher.
///
/// It holds a subscription for each part, and compares the parts again after each change of the host.
final class Watching: Sendable {
    /// The name of a watched part: a system, a bus or a link.
    private struct Key: Hashable {
        let kind: WatchedPart.Kind
        let name: String
    }

    private struct Entry {
        /// The watched object. The reference keeps its identity from reuse.
        let object: any AnyObject & Sendable
        let part: WatchedPart
        var identity: ObjectIdentifier { ObjectIdentifier(object) }
        var subscriptions: [Subscription] = []
        var isOver = false
    }

    private struct Machine {
        var entries: [Key: Entry] = [:]
        var isEnded = false
        var host: Subscription?
        /// A Boolean value that indicates whether a task compares the parts now. `looksAgain` indicates whether they have
        /// changed since it began.
        var isLooking = true
        var looksAgain = false
    }

    private weak let host: Host?
    private let time: HostTime
    private let choose: @Sendable (WatchedPart) -> Host.WatchFilter?
    private let continuation: Happenings.Stream.Continuation
    private let dropped: Happenings.Counter
    private let load: Happenings.Load
    private let machine = Mutex(Machine())

    init(
        _ host: Host, choose: @escaping @Sendable (WatchedPart) -> Host.WatchFilter?,
        _ continuation: Happenings.Stream.Continuation, _ dropped: Happenings.Counter, _ load: Happenings.Load
    ) {
        self.load = load
        self.host = host
        time = host.time
        self.choose = choose
        self.continuation = continuation
        self.dropped = dropped
    }

    /// Begins to watch the present parts.
    func begin() {
        guard let host else { return }
        let subscription = host.changes.listen { [weak self] change in
            guard let self else { return }
            switch change {
            case .exchanged: lookSoon()
            case .stopped: continuation.finish()
            }
        }
        machine.withLock { $0.host = subscription }
        look(isFirst: true)
        lookWhileChanged()
        if host.isStopped { continuation.finish() }
    }

    /// Ends the watch, because the reader has gone.
    func end() {
        let (entries, host) = machine.withLock { machine in
            machine.isEnded = true
            defer { (machine.entries, machine.host) = ([:], nil) }
            return (machine.entries, machine.host)
        }
        host?.cancel()
        for subscription in entries.values.flatMap(\.subscriptions) { subscription.cancel() }
    }

    /// Compares the parts soon, in a separate task, so that a reload does not wait for it.
    private func lookSoon() {
        let begins = machine.withLock { machine in
            guard !machine.isEnded else { return false }
            guard !machine.isLooking else {
                machine.looksAgain = true
                return false
            }
            machine.isLooking = true
            return true
        }
        guard begins else { return }
        Task(executorPreference: time.taskExecutor) { [weak self] in
            self?.look(isFirst: false)
            self?.lookWhileChanged()
        }
    }

    /// Compares the parts again as long as they change. Only one task does so at a time.
    private func lookWhileChanged() {
        while true {
            let isChanged = machine.withLock { machine in
                defer { machine.looksAgain = false }
                machine.isLooking = machine.looksAgain && !machine.isEnded
                return machine.isLooking
            }
            guard isChanged else { return }
            look(isFirst: false)
        }
    }

    /// Returns a Boolean value that indicates whether an object is watched under a key.
    private func watches(_ key: Key, _ object: any AnyObject & Sendable) -> Bool {
        machine.withLock { $0.entries[key]?.identity == ObjectIdentifier(object) }
    }

    /// Subscribes to new parts, and ends the subscriptions to removed ones.
    private func look(isFirst: Bool) {
        guard let set = host?.current else { return }
        var present: Set<Key> = []
        for (index, system) in set.systems.enumerated() {
            let key = Key(kind: .system, name: system.definition.name)
            guard !watches(key, system.loop) else {
                present.insert(key)
                continue
            }
            let part = WatchedPart.system(system.described(set.graph.systems[index]))
            guard let filter = choose(part) else { continue }
            present.insert(key)
            join(system, part, filter, isFirst: isFirst)
        }
        for (index, bus) in set.buses.enumerated() {
            let part = WatchedPart.bus(set.graph.buses[index])
            let key = Key(kind: .bus, name: part.name)
            guard !watches(key, bus.channel) else {
                present.insert(key)
                continue
            }
            guard let filter = choose(part) else { continue }
            present.insert(key)
            let remembers = bus.definition.kind == .currentValue
            join(key, bus.channel, part, isFirst: isFirst) {
                let hasSeen = Once(isDone: !(isFirst && remembers))
                return [
                    bus.channel.watch(
                        { [weak self] item in
                            let isReplayed = hasSeen.begin()
                            self?.tell(
                                part, .value(item.value), ofSize: item.large?.size ?? 0, filter, at: item.time,
                                isReplayed: isReplayed)
                        }, finish: {})
                ]
            }
        }
        for (index, link) in set.links.enumerated() {
            let part = set.watched(set.graph.links[index])
            let key = Key(kind: .link, name: part.name)
            guard !watches(key, link.firings) else {
                present.insert(key)
                continue
            }
            guard let filter = choose(part) else { continue }
            present.insert(key)
            join(key, link.firings, part, isFirst: isFirst) {
                [
                    link.firings.listen { [weak self] firing in
                        self?.tell(
                            part, .fired(firing.value, event: firing.event), ofSize: firing.size, filter,
                            at: firing.time, isReplayed: false)
                    }
                ]
            }
        }
        leave(present)
    }

    /// A flag that is set once.
    private final class Once: Sendable {
        private let isDone: Atomic<Bool>

        init(isDone: Bool) { self.isDone = Atomic(isDone) }

        /// Sets the flag. Returns `true` if it was not set before.
        func begin() -> Bool { !isDone.exchange(true, ordering: .relaxed) }
    }

    private func join(
        _ system: HostedSystem, _ part: WatchedPart, _ filter: @escaping Host.WatchFilter, isFirst: Bool
    ) {
        let key = Key(kind: .system, name: part.name)
        let loop = system.loop
        let identity = ObjectIdentifier(loop)
        // The first state of a loop that has not begun is new.
        let isReplayed = isFirst && loop.phase != .notStarted
        let view = SystemView(part, filter)
        join(key, loop, part, isFirst: isFirst) {
            let hasSeen = Once(isDone: !isReplayed)
            return [
                loop.watch(
                    { [weak self] state in
                        let isReplayed = hasSeen.begin()
                        guard let self, let (part, filter) = view.chosen(for: state, by: choose) else { return }
                        tell(part, .state(state), ofSize: state.size, filter, at: state.changed, isReplayed: isReplayed)
                    }, finish: { [weak self] in self?.loopEnded(key, identity, part) }),
                // The next loop of the system replaces this one.
                system.renewals.listen { [weak self, weak system] in
                    guard let system else { return }
                    self?.join(system, part, filter, isFirst: false)
                },
            ]
        }
        // Another loop may have replaced this one before the listener was there.
        if system.loop !== loop { join(system, part, filter, isFirst: false) }
    }

    /// Subscribes to a part, unless the watch has done so.
    private func join(
        _ key: Key, _ object: any AnyObject & Sendable, _ part: WatchedPart, isFirst: Bool,
        _ subscribe: () -> [Subscription]
    ) {
        let identity = ObjectIdentifier(object)
        // The old entry leaves the lock whole, because its release may run other code.
        let (isNew, before) = machine.withLock { machine -> (Bool, Entry?) in
            guard !machine.isEnded, machine.entries[key]?.identity != identity else { return (false, nil) }
            return (true, machine.entries.updateValue(Entry(object: object, part: part), forKey: key))
        }
        guard isNew else { return }
        for subscription in before?.subscriptions ?? [] { subscription.cancel() }
        if !isFirst { yield(part, .began, at: time.now(), isReplayed: false) }
        let subscriptions = subscribe()
        let isKept = machine.withLock { machine in
            guard machine.entries[key]?.identity == identity else { return false }
            machine.entries[key]?.subscriptions = subscriptions
            return true
        }
        if !isKept { for subscription in subscriptions { subscription.cancel() } }
    }

    /// Reports the end of a loop, unless another loop has replaced it.
    private func loopEnded(_ key: Key, _ identity: ObjectIdentifier, _ part: WatchedPart) {
        guard host?.isStopped == false else { return }
        let isNews = machine.withLock { machine in
            guard machine.entries[key]?.identity == identity, machine.entries[key]?.isOver == false else {
                return false
            }
            machine.entries[key]?.isOver = true
            return true
        }
        if isNews { yield(part, .ended, at: time.now(), isReplayed: false) }
    }

    /// Ends the subscriptions to parts that are gone.
    private func leave(_ present: Set<Key>) {
        let gone = machine.withLock { machine in
            let gone = machine.entries.filter { !present.contains($0.key) }
            for key in gone.keys { machine.entries[key] = nil }
            return gone
        }
        for entry in gone.values {
            for subscription in entry.subscriptions { subscription.cancel() }
            if !entry.isOver { yield(entry.part, .ended, at: time.now(), isReplayed: false) }
        }
    }

    // MARK: Telling

    private func tell(
        _ part: WatchedPart, _ happening: WatchedChange, ofSize size: Int, _ filter: @escaping Host.WatchFilter,
        at time: Timestamp, isReplayed: Bool
    ) {
        let happening = WatchedHappening(part: part, happening: happening, time: time, isReplayed: isReplayed)
        let (item, shed) = load.enter((happening, filter, size), ofSize: size)
        if shed > 0 { dropped.add(shed) }
        put(.filtered(item))
    }

    private func yield(_ part: WatchedPart, _ happening: WatchedChange, at time: Timestamp, isReplayed: Bool) {
        put(.certain(WatchedHappening(part: part, happening: happening, time: time, isReplayed: isReplayed)))
    }

    private func put(_ item: Happenings.Item) {
        // The reader notices the end of a period with any entry.
        guard case .dropped(let oldest) = continuation.yield(item) else { return }
        switch oldest {
        case .periodIsOver: return
        // An event that gave way before is counted already.
        case .filtered(let item): if load.leave(item) != nil { dropped.add(1) }
        case .certain: dropped.add(1)
        }
    }
}
