public import CommonExpression
import FeedbackKit
public import Logging
public import MediatorConfiguration
import Synchronization

/// Runs the systems, buses and links of a checked configuration.
///
/// Everything is joined before anything starts: no system misses another's first state, and no link a bus's first
/// value.
public final class Host: Sendable {
    /// How many changes a watcher may be behind before it misses some.
    public static let watchBuffer = 256

    /// What it runs.
    public let graph: Graph
    private let systems: [HostedSystem]
    private let buses: [HostedBus]
    private let links: [HostedLink]
    private let subscriptions: Mutex<[Subscription]>
    private let systemIndex: [String: Int]
    private let busIndex: [String: Int]
    private let linkIndex: [String: Int]
    private let time: HostTime
    private let logger: Logger
    /// Tells each time ``statusText`` and ``health`` may have changed; several changes may be told as one.
    public let healthChanges: AsyncStream<Void>
    private let healthChanged: AsyncStream<Void>.Continuation

    /// Builds everything, and starts nothing.
    ///
    /// - Parameters:
    ///   - graph: what to run.
    ///   - effects: the kinds of side effects; they must be those the graph was checked against.
    ///   - time: what time it is.
    ///   - logger: where to say what happens; each system, bus and link adds its name.
    /// - Throws: when the data of an initial state cannot be computed.
    public init(
        graph: Graph, effects: EffectCatalogue, time: HostTime, logger: Logger
    ) throws(InitialStateError) {
        self.graph = graph
        self.time = time
        self.logger = logger
        let (healthChanges, healthChanged) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        self.healthChanges = healthChanges
        self.healthChanged = healthChanged
        var systems: [HostedSystem] = []
        systems.reserveCapacity(graph.systems.count)
        for definition in graph.systems {
            let initial: SystemState
            do {
                initial = try RuleMachine.initial(definition, now: time.now())
            } catch {
                throw InitialStateError(system: definition.name, source: definition.source, message: error.message)
            }
            let own = logger.with(["system": "\(definition.name)"])
            systems.append(
                HostedSystem(definition, initial: initial, effects: effects, time: time, logger: own) {
                    healthChanged.yield()
                })
        }
        let buses = graph.buses.map { HostedBus($0, time: time, logger: logger.with(["bus": "\($0.name)"])) }
        let links = graph.links.map { HostedLink($0, time: time, logger: logger.with(["link": "\($0.name)"])) }
        subscriptions = Mutex(links.compactMap { $0.connect(systems: systems, buses: buses) })
        systemIndex = Dictionary(uniqueKeysWithValues: graph.systems.enumerated().map { ($1.name, $0) })
        busIndex = Dictionary(uniqueKeysWithValues: graph.buses.enumerated().map { ($1.name, $0) })
        linkIndex = Dictionary(uniqueKeysWithValues: graph.links.enumerated().map { ($1.name, $0) })
        self.systems = systems
        self.buses = buses
        self.links = links
    }

    // MARK: Life

    /// Starts every system, in the order of their names.
    public func start() {
        for system in systems { system.loop.start() }
    }

    /// Returns when every system has reached a state that counts as ready, with no names; or when the limit has passed,
    /// with the names of those that have not.
    public func ready(within limit: Duration) async -> [String] {
        let waiting = Mutex(Set(systems.indices))
        await race(within: limit) { done in
            var subscriptions: [Subscription] = []
            for (index, system) in systems.enumerated() {
                subscriptions.append(
                    system.loop.watch { [weak system] _ in
                        guard let system, system.isReady else { return }
                        let isLast = waiting.withLock { $0.remove(index) != nil && $0.isEmpty }
                        if isLast { done() }
                    })
            }
            if systems.isEmpty { done() }
            return subscriptions
        }
        return waiting.withLock { $0.sorted() }.map { systems[$0].definition.name }
    }

    /// Stops every system gently, all at once: no new events, side effects may finish. Past the limit they are cancelled.
    public func stop(within limit: Duration) async {
        let subscriptions = subscriptions.withLock { subscriptions in
            defer { subscriptions = [] }
            return subscriptions
        }
        for subscription in subscriptions { subscription.cancel() }
        for system in systems { system.beginStop() }
        await withTaskGroup(of: Void.self) { group in
            for system in systems { group.addTask { await system.loop.stop(within: limit) } }
        }
        for bus in buses { bus.close() }
        healthChanged.finish()
    }

    /// The names of systems whose loops did not prove within the limit that they turn, sorted.
    public func stuckSystems(within limit: Duration) async -> [String] {
        let waiting = Mutex(Set(systems.indices))
        await race(within: limit) { done in
            for (index, system) in systems.enumerated() {
                system.probe {
                    let isLast = waiting.withLock { $0.remove(index) != nil && $0.isEmpty }
                    if isLast { done() }
                }
            }
            if systems.isEmpty { done() }
            return []
        }
        return waiting.withLock { $0.sorted() }.map { systems[$0].definition.name }
    }

    /// Waits until `done` is called, or until the limit has passed.
    private func race(within limit: Duration, _ body: (@escaping @Sendable () -> Void) -> [Subscription]) async {
        let (stream, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let subscriptions = body { continuation.finish() }
        let clock = time.clock
        await withTaskGroup(of: Void.self) { group in
            group.addTask { for await _ in stream {} }
            group.addTask { try? await clock.sleep(for: limit) }
            await group.next()
            group.cancelAll()
        }
        for subscription in subscriptions { subscription.cancel() }
    }

    // MARK: Looking in

    /// Every system, by name.
    public var systemStatuses: [SystemStatus] { systems.map(status) }
    /// Every bus, by name.
    public var busStatuses: [BusStatus] { buses.enumerated().map { status($1, $0) } }
    /// Every link, by name.
    public var linkStatuses: [LinkStatus] { links.map(status) }

    /// One system.
    public func systemStatus(_ name: String) throws(HostError) -> SystemStatus { status(try system(name)) }

    /// One bus.
    public func busStatus(_ name: String) throws(HostError) -> BusStatus {
        let index = try busNumber(name)
        return status(buses[index], index)
    }

    /// One link.
    public func linkStatus(_ name: String) throws(HostError) -> LinkStatus {
        guard let index = linkIndex[name] else {
            throw .noSuchLink(name, nearest: nearestName(to: name, among: graph.links.map(\.name)))
        }
        return status(links[index])
    }

    /// How the whole is: as its worst system.
    public var health: Health {
        let all = Set(systems.map(\.health))
        return [.failed, .degraded, .starting, .stopped].first { all.contains($0) } ?? .healthy
    }

    /// One line: how many systems are how.
    public var statusText: String {
        let counts = Dictionary(grouping: systems.map(\.health)) { $0 }.mapValues(\.count)
        let parts = Health.allCases.compactMap { health in counts[health].map { "\($0) \(health.rawValue)" } }
        let noun = systems.count == 1 ? "system" : "systems"
        return "\(systems.count) \(noun)" + (parts.isEmpty ? "" : ": " + parts.joined(separator: ", "))
    }

    private func status(_ system: HostedSystem) -> SystemStatus {
        let faults = system.faults
        let index = systemIndex[system.definition.name]
        return SystemStatus(
            definition: system.definition,
            health: system.health,
            state: system.loop.state,
            loop: system.loop.snapshot,
            faults: faults.count,
            lastFault: faults.last,
            lastFaultTime: faults.time,
            links: graph.links.indices.filter { number in
                if graph.links[number].system == index { return true }
                if case .systemToSystem(let target, _, _) = graph.links[number].form { return target == index }
                return false
            })
    }

    private func status(_ bus: HostedBus, _ index: Int) -> BusStatus {
        let current = bus.current
        var readers: [Int] = []
        var writers: [Int] = []
        for (number, link) in graph.links.enumerated() {
            switch link.form {
            case .busToSystem(index, _, _): readers.append(number)
            case .systemToBus(index, _, _): writers.append(number)
            default: break
            }
        }
        return BusStatus(
            definition: bus.definition, value: current.value, since: current.since, mediator: bus.snapshot,
            readers: readers, writers: writers)
    }

    private func status(_ link: HostedLink) -> LinkStatus {
        let fired = link.fired
        return LinkStatus(definition: link.definition, fired: fired.count, lastFired: fired.last)
    }

    private func system(_ name: String) throws(HostError) -> HostedSystem {
        guard let index = systemIndex[name] else {
            throw .noSuchSystem(name, nearest: nearestName(to: name, among: graph.systems.map(\.name)))
        }
        return systems[index]
    }

    private func busNumber(_ name: String) throws(HostError) -> Int {
        guard let index = busIndex[name] else {
            throw .noSuchBus(name, nearest: nearestName(to: name, among: graph.buses.map(\.name)))
        }
        return index
    }

    // MARK: Steering

    /// The definition of an event that a system may be sent.
    public func event(_ event: String, of system: String) throws(HostError) -> EventDefinition {
        let definition = try self.system(system).definition
        guard let found = definition.events.first(where: { $0.name == event }) else {
            let nearest = nearestName(to: event, among: definition.events.map(\.name))
            throw .noSuchEvent(system: system, event: event, nearest: nearest)
        }
        return found
    }

    /// Sends an event to a system. `fields` are the event's, in the order of its definition.
    public func emit(_ event: String, to name: String, fields: [Value]) throws(HostError) {
        let system = try system(name)
        let definition = try self.event(event, of: name)
        guard fields.count == definition.type.fields.count else {
            throw .wrongType(
                path: event, expected: "\(definition.type.fields.count) fields", found: "\(fields.count)")
        }
        for (field, value) in zip(definition.type.fields, fields) where !field.type.accepts(value) {
            throw .wrongType(path: "\(event).\(field.name)", expected: "\(field.type)", found: "\(value.type)")
        }
        guard let index = system.definition.events.firstIndex(where: { $0.name == event }) else {
            preconditionFailure("an event that was found has an index")
        }
        let data = Value.structure(Structure(type: definition.type, fields: fields))
        switch system.loop.send(SystemEvent(index: index, data: data)) {
        case .accepted: break
        case .dropped(.mailboxFull):
            throw .notAccepted(system: name, reason: "its mailbox is full (\(system.definition.mailbox.limit) events)")
        case .dropped(let reason):
            throw .notAccepted(system: name, reason: "it is \(reason == .stopped ? "stopping" : "not started")")
        }
    }

    /// Puts a value on a bus.
    public func publish(_ value: Value, on name: String) throws(HostError) {
        let bus = buses[try busNumber(name)]
        guard bus.definition.valueType.accepts(value) else {
            throw .wrongType(path: name, expected: "\(bus.definition.valueType)", found: "\(value.type)")
        }
        bus.send(value)
    }

    // MARK: Watching

    /// The state of a system, then every new one, without a gap.
    ///
    /// A watcher that falls behind by more than ``watchBuffer`` changes misses some, and is told how many. The sequence
    /// ends when the system stops.
    public func watchSystem(_ name: String) throws(HostError) -> Changes<SystemState> {
        let system = try system(name)
        return watch { change, finish in
            system.loop.watch({ change($0, $0.since) }, finish: finish)
        } isReplayed: {
            $0
        }
    }

    /// The values of a bus; of a current-value bus, its value first.
    ///
    /// A watcher that falls behind by more than ``watchBuffer`` values misses some, and is told how many. The sequence
    /// ends when the host stops.
    public func watchBus(_ name: String) throws(HostError) -> Changes<Value> {
        let bus = buses[try busNumber(name)]
        let remembers = bus.definition.kind == .currentValue
        return watch { change, finish in
            bus.watch({ change($0.value, $0.time) }, finish: finish)
        } isReplayed: {
            $0 && remembers
        }
    }

    private func watch<Subject: Sendable>(
        _ subscribe: (@escaping @Sendable (Subject, Timestamp) -> Void, @escaping @Sendable () -> Void) -> Subscription,
        isReplayed: @escaping @Sendable (Bool) -> Bool
    ) -> Changes<Subject> {
        let stream = AsyncStream<Change<Subject>>(bufferingPolicy: .bufferingNewest(Self.watchBuffer)) { continuation in
            let count = Mutex<UInt64>(0)
            let subscription = subscribe(
                { subject, time in
                    let number = count.withLock { count in
                        count += 1
                        return count
                    }
                    continuation.yield(
                        Change(number: number, time: time, isReplayed: isReplayed(number == 1), subject: subject))
                }, { continuation.finish() })
            continuation.onTermination = { _ in subscription.cancel() }
        }
        return Changes(stream: stream)
    }
}
