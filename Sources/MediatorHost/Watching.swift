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
///
/// What the watcher wants is looked at by who reads: the parts only put in what happens, so that nobody holds them up by
/// what they want to know.
public final class Happenings: Sendable {
    /// What a part puts in.
    fileprivate enum Item: Sendable {
        /// What is told, if the filter lets it through and the rate is kept.
        case filtered(Load.Item)
        /// What is told in any case.
        case certain(WatchedHappening)
        /// A period of the rate is over.
        case periodIsOver
    }

    fileprivate typealias Stream = AsyncStream<Item>
    /// The happenings that wait, each with its filter and the number of its bytes.
    fileprivate typealias Load = HeavyLoad<(happening: WatchedHappening, filter: Host.WatchFilter, size: Int)>

    private let stream: Stream
    private let load: Load
    private let pace: (any WatchPace)?
    /// How many were dropped since the last one was read.
    private let dropped: Counter
    private let meter: RateMeter?
    private let time: HostTime
    /// What was read, and comes behind what was left out before it.
    private let kept = Mutex<WatchedHappening?>(nil)

    /// A number that those who drop count up.
    fileprivate final class Counter: Sendable {
        private let count = Atomic<Int>(0)

        func add(_ number: Int) { count.add(number, ordering: .relaxed) }

        func take() -> Int { count.exchange(0, ordering: .relaxed) }
    }

    fileprivate init(
        _ stream: Stream, load: Load, dropped: Counter, meter: RateMeter?, pace: (any WatchPace)?, time: HostTime
    ) {
        self.stream = stream
        self.load = load
        self.pace = pace
        self.dropped = dropped
        self.meter = meter
        self.time = time
    }

    /// The next one; `nil` at the end, or when the task is cancelled, which is the end.
    public func next() async -> WatchedHappening? {
        if let happening = kept.withLock({ $0.take() }) { return happening }
        for await item in stream {
            let leftOut = meter?.takeLeftOut() ?? 0
            var told = await happening(item)
            // The oldest are dropped, which were before this one.
            if told != nil || leftOut > 0 {
                let count = dropped.take()
                guard leftOut > 0 else {
                    told?.dropped = count
                    return told
                }
                kept.withLock { [told] in $0 = told }
                return WatchedHappening(
                    part: nil, happening: .leftOut(leftOut), time: time.now(), isReplayed: false, dropped: count)
            }
        }
        return nil
    }

    /// What is told of an item.
    private func happening(_ item: Item) async -> WatchedHappening? {
        switch item {
        case .periodIsOver: return nil
        case .certain(let happening): return happening
        case .filtered(let item):
            // While it waits for its turn, what it holds gives way as what waits in the queue does.
            await pace?.begin(ofSize: item.size)
            guard let (happening, filter, _) = load.leave(item) else {
                pace?.end(isTold: false)
                return nil
            }
            let isTold =
                filter(happening.happening) && (happening.isReplayed || meter?.isWithin() ?? true)
            pace?.end(isTold: isTold)
            return isTold ? happening : nil
        }
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
    /// Whether a happening of a part is to be told; called by who reads.
    public typealias WatchFilter = @Sendable (WatchedChange) -> Bool

    /// Every part, as it is watched.
    public var watchedParts: [WatchedPart] {
        let set = current
        return set.graph.systems.indices.map { .system(set.systems[$0].described(set.graph.systems[$0])) }
            + set.graph.buses.map { .bus($0) } + set.graph.links.map { set.watched($0) }
    }

    /// What happens to all parts that are chosen: their present states and values first, then what comes.
    ///
    /// Parts that a new configuration brings are watched as well, soon after it is in force; so is a part that begins anew. A
    /// watcher that falls behind by more than ``watchBuffer`` happenings of the chosen parts, beyond one for
    /// each part, misses some, and is told how many, whether its filters would have let them through or not. The sequence ends
    /// when the host stops.
    ///
    /// - Parameters:
    ///   - rate: how many states, values and firings are told at most; what was there at the beginning does not count.
    ///   - pace: what it may cost; nil: it does not matter.
    ///   - choose: the filter of a part; nil: it is not watched.
    public func watch(
        rate: WatchRate? = nil, pace: (any WatchPace)? = nil,
        choose: @escaping @Sendable (WatchedPart) -> WatchFilter?
    ) -> Happenings {
        let set = current
        let first = set.systems.count + set.buses.count + set.links.count
        let dropped = Happenings.Counter()
        let (stream, continuation) = Happenings.Stream.makeStream(
            bufferingPolicy: .bufferingNewest(first + Self.watchBuffer))
        let meter = rate.map { rate in
            RateMeter(rate, time: time) { continuation.yield(.periodIsOver) }
        }
        let load = Happenings.Load(limit: Self.watchBytes)
        let watching = Watching(self, choose: choose, continuation, dropped, load)
        continuation.onTermination = { _ in
            watching.end()
            meter?.end()
        }
        watching.begin()
        return Happenings(stream, load: load, dropped: dropped, meter: meter, pace: pace, time: time)
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
        /// What it is, held so that nothing else can take its identity.
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
        /// Whether somebody looks which parts there are, and whether that has changed meanwhile.
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

    /// Begins to watch what there is.
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

    /// Nobody reads any longer.
    func end() {
        let (entries, host) = machine.withLock { machine in
            machine.isEnded = true
            defer { (machine.entries, machine.host) = ([:], nil) }
            return (machine.entries, machine.host)
        }
        host?.cancel()
        for subscription in entries.values.flatMap(\.subscriptions) { subscription.cancel() }
    }

    /// Looks which parts there are, in a task of its own: who changes them does not wait for it.
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
        Task { [weak self] in
            self?.look(isFirst: false)
            self?.lookWhileChanged()
        }
    }

    /// Looks again as long as there was a change meanwhile: never two at a time.
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

    /// Whether something is watched already.
    private func watches(_ key: Key, _ object: any AnyObject & Sendable) -> Bool {
        machine.withLock { $0.entries[key]?.identity == ObjectIdentifier(object) }
    }

    /// Watches what has come, and no longer what has gone.
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
            guard !watches(key, link) else {
                present.insert(key)
                continue
            }
            guard let filter = choose(part) else { continue }
            present.insert(key)
            join(key, link, part, isFirst: isFirst) {
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
        // What a loop that has not begun shows first is new.
        let isReplayed = isFirst && loop.phase != .notStarted
        join(key, loop, part, isFirst: isFirst) {
            let hasSeen = Once(isDone: !isReplayed)
            return [
                loop.watch(
                    { [weak self] state in
                        let isReplayed = hasSeen.begin()
                        self?.tell(
                            part, .state(state), ofSize: state.size, filter, at: state.since, isReplayed: isReplayed)
                    }, finish: { [weak self] in self?.loopEnded(key, identity, part) }),
                // Its next loop takes the place of this one.
                system.renewals.listen { [weak self, weak system] in
                    guard let system else { return }
                    self?.join(system, part, filter, isFirst: false)
                },
            ]
        }
        // One that took its place before somebody listened.
        if system.loop !== loop { join(system, part, filter, isFirst: false) }
    }

    /// Subscribes to a part, unless that has been done.
    private func join(
        _ key: Key, _ object: any AnyObject & Sendable, _ part: WatchedPart, isFirst: Bool,
        _ subscribe: () -> [Subscription]
    ) {
        let identity = ObjectIdentifier(object)
        // Handed out whole, so that nothing is released under the lock.
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
        // That a period is over is looked at with whatever comes.
        guard case .dropped(let oldest) = continuation.yield(item) else { return }
        switch oldest {
        case .periodIsOver: return
        // What has given way before has been counted then.
        case .filtered(let item): if load.leave(item) != nil { dropped.add(1) }
        case .certain: dropped.add(1)
        }
    }
}

/// Counts what a watcher is told, and what is left out for it, in periods that begin with the first.
private final class RateMeter: Sendable {
    private struct Machine {
        /// When the period began; nil: there was none.
        var period: Duration?
        var told = 0
        var leftOut = 0
        var hasTimer = false
        var timer: Task<Void, Never>?
        var isEnded = false
    }

    private let rate: WatchRate
    private let time: HostTime
    private let periodIsOver: @Sendable () -> Void
    private let machine = Mutex(Machine())

    /// - Parameter periodIsOver: called when a period is over in which something was left out.
    init(_ rate: WatchRate, time: HostTime, periodIsOver: @escaping @Sendable () -> Void) {
        self.rate = rate
        self.time = time
        self.periodIsOver = periodIsOver
    }

    /// Counts one; `false`: it is left out.
    func isWithin() -> Bool {
        let now = time.elapsed()
        let (isWithin, end) = machine.withLock { machine -> (Bool, Duration?) in
            if machine.period.map({ now - $0 >= rate.period }) ?? true {
                machine.period = now
                machine.told = 0
            }
            if machine.told < rate.count {
                machine.told += 1
                return (true, nil)
            }
            machine.leftOut += 1
            guard !machine.hasTimer, !machine.isEnded else { return (false, nil) }
            machine.hasTimer = true
            return (false, machine.period.map { $0 + rate.period })
        }
        if let end { startTimer(end) }
        return isWithin
    }

    private func startTimer(_ end: Duration) {
        let timer = Task { [weak self, time] in
            try? await time.sleep(end)
            guard !Task.isCancelled else { return }
            self?.expire()
        }
        let isKept = machine.withLock { machine in
            guard !machine.isEnded else { return false }
            // It may be over already.
            if machine.hasTimer { machine.timer = timer }
            return true
        }
        if !isKept { timer.cancel() }
    }

    private func expire() {
        let timer = machine.withLock { machine in
            machine.hasTimer = false
            return machine.timer.take()
        }
        withExtendedLifetime(timer) {}
        periodIsOver()
    }

    /// How many were left out in a period that is over, since it was asked last.
    func takeLeftOut() -> Int {
        let now = time.elapsed()
        return machine.withLock { machine in
            guard let period = machine.period, now - period >= rate.period else { return 0 }
            defer { machine.leftOut = 0 }
            return machine.leftOut
        }
    }

    /// Nobody reads any longer.
    func end() {
        let timer = machine.withLock { machine in
            machine.isEnded = true
            return machine.timer.take()
        }
        timer?.cancel()
    }
}
