public import CommonExpression
import FeedbackKit
public import MediatorConfiguration
import Synchronization

/// A part of a host that can be watched.
public enum WatchedPart: Sendable {
    /// A system.
    case system(SystemDefinition)
    /// A bus.
    case bus(BusDefinition)
    /// A link, the type of what it emits, and the name of its event if it emits one. A link of which the events differ by
    /// state has neither.
    case link(LinkDefinition, type: ValueType?, event: String?)

    /// Its name.
    public var name: String {
        switch self {
        case .system(let definition): definition.name
        case .bus(let definition): definition.name
        case .link(let definition, _, _): definition.name
        }
    }

    /// Its kind.
    public var kind: Kind {
        switch self {
        case .system: .system
        case .bus: .bus
        case .link: .link
        }
    }

    /// What can be watched.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// A system.
        case system
        /// A bus.
        case bus
        /// A link.
        case link
    }
}

/// What happens to a part that is watched.
public enum WatchedChange: Sendable {
    /// The system is in a state.
    case state(SystemState)
    /// A value came on the bus.
    case value(Value)
    /// The link has fired, and emitted a value or an event with its data.
    case fired(Value, event: String?)
    /// The part is new, or has begun anew.
    case began
    /// The part is there no longer, or has ended on account of a fault.
    case ended
    /// So much was left out on account of the rate that is allowed.
    case leftOut(Int)
}

/// Something that happened, to what, and when.
public struct WatchedHappening: Sendable {
    /// The part; nil if it concerns no part.
    public let part: WatchedPart?
    /// What happened.
    public let happening: WatchedChange
    /// When.
    public let time: Timestamp
    /// Whether it was so before the watch began.
    public let isReplayed: Bool
    /// How many happenings this watcher missed just before this one, because it read too slowly.
    public fileprivate(set) var dropped = 0
}

/// What a watcher of many parts sees, until the host stops. One may read it, one happening at a time.
public final class Happenings: Sendable {
    fileprivate typealias Stream = AsyncStream<WatchedHappening>

    private let stream: Stream
    /// How many were dropped since the last one was read.
    private let dropped: Counter

    /// A number that those who drop count up.
    fileprivate final class Counter: Sendable {
        private let count = Atomic<Int>(0)

        func add(_ number: Int) { count.add(number, ordering: .relaxed) }

        func take() -> Int { count.exchange(0, ordering: .relaxed) }
    }

    fileprivate init(_ stream: Stream, dropped: Counter) {
        self.stream = stream
        self.dropped = dropped
    }

    /// The next one; `nil` at the end, or when the task is cancelled, which is the end.
    public func next() async -> WatchedHappening? {
        for await var happening in stream {
            // The oldest are dropped, which were before this one.
            happening.dropped = dropped.take()
            return happening
        }
        return nil
    }
}

/// How many happenings are told within any one period, which begins with the first.
public struct WatchRate: Sendable, Hashable {
    /// How many.
    public let count: Int
    /// The period.
    public let period: Duration

    /// A rate.
    public init(count: Int, period: Duration) {
        self.count = count
        self.period = period
    }
}

extension Host {
    /// Whether a happening of a part is to be told; called on the turn of the part, so it must be quick.
    public typealias WatchFilter = @Sendable (WatchedChange) -> Bool

    /// Every part, as it is watched.
    public var watchedParts: [WatchedPart] {
        let set = current
        return set.graph.systems.indices.map { .system(set.systems[$0].described(set.graph.systems[$0])) }
            + set.graph.buses.map { .bus($0) } + set.graph.links.map { set.watched($0) }
    }

    /// What happens to all parts that are chosen: their present states and values first, then what comes.
    ///
    /// Parts that a new configuration brings are watched as well; so is a part that begins anew. A watcher that falls behind
    /// by more than ``watchBuffer`` happenings beyond the first states and values misses some, and is told how many. The
    /// sequence ends when the host stops.
    ///
    /// - Parameters:
    ///   - rate: how many states, values and firings are told at most; what was there at the beginning does not count.
    ///   - choose: the filter of a part; nil: it is not watched.
    public func watch(
        rate: WatchRate? = nil, choose: @escaping @Sendable (WatchedPart) -> WatchFilter?
    ) -> Happenings {
        let first = watchedParts.count { choose($0) != nil }
        let dropped = Happenings.Counter()
        let stream = Happenings.Stream(bufferingPolicy: .bufferingNewest(first + Self.watchBuffer)) { continuation in
            let watching = Watching(self, rate: rate, choose: choose, continuation, dropped)
            continuation.onTermination = { _ in watching.end() }
            watching.begin()
        }
        return Happenings(stream, dropped: dropped)
    }
}

extension HostedSet {
    /// A link with what it emits.
    func watched(_ link: LinkDefinition) -> WatchedPart {
        switch link.form {
        case .systemToBus(let bus, _, _): return .link(link, type: graph.buses[bus].valueType, event: nil)
        case .busToSystem(_, _, let program):
            let event = graph.systems[link.system].events[program.event]
            return .link(link, type: .structure(event.type), event: event.name)
        case .systemToSystem(let target, _, let programs):
            let events = Set(programs.values.map(\.event))
            guard events.count == 1, let index = events.first else { return .link(link, type: nil, event: nil) }
            let event = graph.systems[target].events[index]
            return .link(link, type: .structure(event.type), event: event.name)
        }
    }
}

/// What a host tells those who watch it as a whole.
enum HostChange: Sendable {
    /// It runs another configuration.
    case exchanged
    /// It has stopped.
    case stopped
}

/// Watches the chosen parts of a host for one watcher.
///
/// It holds a subscription for each part; which parts there are is looked at anew whenever the host says so.
private final class Watching: Sendable {
    /// What is subscribed to: a system's loop, a bus or a link.
    private struct Key: Hashable {
        let kind: WatchedPart.Kind
        let name: String
    }

    private struct Entry {
        let identity: ObjectIdentifier
        let part: WatchedPart
        var subscriptions: [Subscription] = []
        var isOver = false
    }

    private struct Machine {
        var entries: [Key: Entry] = [:]
        var isEnded = false
        var host: Subscription?
        /// When the period of the rate began, and what was told and left out in it.
        var period: Duration?
        var told = 0
        var leftOut = 0
        var timer: Task<Void, Never>?
    }

    private weak let host: Host?
    private let time: HostTime
    private let rate: WatchRate?
    private let choose: @Sendable (WatchedPart) -> Host.WatchFilter?
    private let continuation: Happenings.Stream.Continuation
    private let dropped: Happenings.Counter
    private let machine = Mutex(Machine())

    init(
        _ host: Host, rate: WatchRate?, choose: @escaping @Sendable (WatchedPart) -> Host.WatchFilter?,
        _ continuation: Happenings.Stream.Continuation, _ dropped: Happenings.Counter
    ) {
        self.host = host
        time = host.time
        self.rate = rate
        self.choose = choose
        self.continuation = continuation
        self.dropped = dropped
    }

    /// Begins to watch what there is.
    func begin() {
        guard let host else { return }
        let subscription = host.changes.listen { [weak self] change in
            guard let self else { return }
            switch change {
            case .exchanged: look(isFirst: false)
            case .stopped:
                continuation.finish()
            }
        }
        machine.withLock { $0.host = subscription }
        look(isFirst: true)
        if host.isStopped { continuation.finish() }
    }

    /// Nobody reads any longer.
    func end() {
        let (entries, host, timer) = machine.withLock { machine in
            machine.isEnded = true
            defer { (machine.entries, machine.host, machine.timer) = ([:], nil, nil) }
            return (machine.entries, machine.host, machine.timer)
        }
        timer?.cancel()
        host?.cancel()
        for subscription in entries.values.flatMap(\.subscriptions) { subscription.cancel() }
    }

    /// Watches what has come, and no longer what has gone.
    private func look(isFirst: Bool) {
        guard let set = host?.current else { return }
        var present: Set<Key> = []
        for (index, system) in set.systems.enumerated() {
            let part = WatchedPart.system(system.described(set.graph.systems[index]))
            guard let filter = choose(part) else { continue }
            present.insert(Key(kind: .system, name: part.name))
            join(system, part, filter, isFirst: isFirst)
        }
        for (index, bus) in set.buses.enumerated() {
            let part = WatchedPart.bus(set.graph.buses[index])
            guard let filter = choose(part) else { continue }
            present.insert(Key(kind: .bus, name: part.name))
            let remembers = bus.definition.kind == .currentValue
            join(Key(kind: .bus, name: part.name), ObjectIdentifier(bus), part, isFirst: isFirst) {
                let hasSeen = Once(isDone: !(isFirst && remembers))
                return [
                    bus.watch(
                        { [weak self] item in
                            let isReplayed = hasSeen.begin()
                            self?.tell(part, .value(item.value), filter, at: item.time, isReplayed: isReplayed)
                        }, finish: {})
                ]
            }
        }
        for (index, link) in set.links.enumerated() {
            let part = set.watched(set.graph.links[index])
            guard let filter = choose(part) else { continue }
            present.insert(Key(kind: .link, name: part.name))
            join(Key(kind: .link, name: part.name), ObjectIdentifier(link), part, isFirst: isFirst) {
                [
                    link.firings.listen { [weak self] firing in
                        self?.tell(
                            part, .fired(firing.value, event: firing.event), filter, at: firing.time, isReplayed: false)
                    }
                ]
            }
        }
        leave(present)
    }

    /// Something that happens once.
    private final class Once: Sendable {
        private let isDone: Atomic<Bool>

        init(isDone: Bool) { self.isDone = Atomic(isDone) }

        /// Whether this is the time.
        func begin() -> Bool { !isDone.exchange(true, ordering: .relaxed) }
    }

    private func join(
        _ system: HostedSystem, _ part: WatchedPart, _ filter: @escaping Host.WatchFilter, isFirst: Bool
    ) {
        let key = Key(kind: .system, name: part.name)
        let loop = system.loop
        let identity = ObjectIdentifier(loop)
        join(key, identity, part, isFirst: isFirst) {
            let hasSeen = Once(isDone: !isFirst)
            return [
                loop.watch(
                    { [weak self] state in
                        let isReplayed = hasSeen.begin()
                        self?.tell(part, .state(state), filter, at: state.since, isReplayed: isReplayed)
                    }, finish: { [weak self] in self?.loopEnded(key, identity, part) }),
                // Its next loop takes the place of this one.
                system.renewals.listen { [weak self, weak system] in
                    guard let system else { return }
                    self?.join(system, part, filter, isFirst: false)
                },
            ]
        }
    }

    /// Subscribes to a part, unless that has been done.
    private func join(
        _ key: Key, _ identity: ObjectIdentifier, _ part: WatchedPart, isFirst: Bool,
        _ subscribe: () -> [Subscription]
    ) {
        let (isNew, before) = machine.withLock { machine -> (Bool, [Subscription]) in
            guard !machine.isEnded, machine.entries[key]?.identity != identity else { return (false, []) }
            let before = machine.entries.updateValue(Entry(identity: identity, part: part), forKey: key)
            return (true, before?.subscriptions ?? [])
        }
        guard isNew else { return }
        for subscription in before { subscription.cancel() }
        if !isFirst { yield(part, .began, at: time.now(), isReplayed: false) }
        let subscriptions = subscribe()
        let isKept = machine.withLock { machine in
            guard machine.entries[key]?.identity == identity else { return false }
            machine.entries[key]?.subscriptions = subscriptions
            return true
        }
        if !isKept { for subscription in subscriptions { subscription.cancel() } }
    }

    /// A loop has ended: for good, if it is still the one of its system.
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

    /// No longer watches what is not there.
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
        _ part: WatchedPart, _ happening: WatchedChange, _ filter: Host.WatchFilter, at time: Timestamp,
        isReplayed: Bool
    ) {
        guard filter(happening) else { return }
        guard isReplayed || isWithinRate() else { return }
        yield(part, happening, at: time, isReplayed: isReplayed)
    }

    private func yield(_ part: WatchedPart?, _ happening: WatchedChange, at time: Timestamp, isReplayed: Bool) {
        let result = continuation.yield(
            WatchedHappening(part: part, happening: happening, time: time, isReplayed: isReplayed))
        guard case .dropped(let oldest) = result else { return }
        // One that tells of others stands for them.
        if case .leftOut(let count) = oldest.happening { dropped.add(count) } else { dropped.add(1) }
    }

    /// Counts what comes; `false`: it is left out, which is told when the period is over.
    private func isWithinRate() -> Bool {
        guard let rate else { return true }
        let now = time.elapsed()
        let (isWithin, tellsAt) = machine.withLock { machine -> (Bool, Duration?) in
            if machine.period.map({ now - $0 >= rate.period }) ?? true {
                // What was left out in the last one is told by its timer.
                machine.period = now
                machine.told = 0
            }
            if machine.told < rate.count {
                machine.told += 1
                return (true, nil)
            }
            machine.leftOut += 1
            return (false, machine.timer == nil ? machine.period.map { $0 + rate.period } : nil)
        }
        if let tellsAt {
            let timer = Task { [weak self, time] in
                try? await time.sleep(tellsAt)
                guard !Task.isCancelled else { return }
                self?.tellLeftOut()
            }
            let isKept = machine.withLock { machine in
                guard !machine.isEnded, machine.timer == nil else { return false }
                machine.timer = timer
                return true
            }
            if !isKept { timer.cancel() }
        }
        return isWithin
    }

    private func tellLeftOut() {
        let count = machine.withLock { machine in
            machine.timer = nil
            defer { machine.leftOut = 0 }
            return machine.leftOut
        }
        if count > 0 { yield(nil, .leftOut(count), at: time.now(), isReplayed: false) }
    }
}
