public import CommonExpression
package import FeedbackKit
public import Logging
public import MediatorConfiguration
import Synchronization

/// Runs the systems, buses and links of a checked configuration.
///
/// Everything is joined before anything starts: no system misses another's first state, and no link a bus's first
/// value. ``apply(_:readyLimit:stopLimit:)`` changes what it runs.
public final class Host: Sendable {
    /// How long what is escalated may take to end the daemon.
    static let escalationTime = Duration.seconds(10)
    /// How long side effects that have been cancelled may take to end, beyond the limit of a gentle stop.
    package static let forcedEndLimit = HostedSystem.forcedEndLimit
    /// How many changes a watcher may be behind before it misses some.
    public static let watchBuffer = 256
    /// The bytes of the changes that a watcher has not read yet. Changes of up to 1 KiB are not counted, and the newest waits in
    /// any case.
    public static let watchBytes = 4 << 20

    enum Phase {
        case built
        case running
        case stopped
    }

    struct Machine {
        var set: HostedSet
        var phase = Phase.built
        /// Systems of earlier sets that have not ended.
        var retiring: [HostedSystem] = []
    }

    let machine: Mutex<Machine>
    /// Lets one new configuration be applied at a time.
    let applies = AsyncMutex()
    let effects: EffectCatalogue
    let kinds: SystemCatalogue
    /// How much memory what it runs may take.
    let room: HostRoom
    package let time: HostTime
    let logger: Logger
    /// Tells each time ``statusText`` and ``health`` may have changed; several changes may be told as one.
    public let healthChanges: AsyncStream<Void>
    let healthChanged: AsyncStream<Void>.Continuation
    /// What does about faults what concerns more than one system.
    let supervisor: Supervisor
    /// Those who watch it as a whole.
    let changes = Listeners<HostChange>()
    /// What has become of the state with which it was to go on.
    public let continuation: Continuation

    /// Builds everything, and starts nothing.
    ///
    /// - Parameters:
    ///   - graph: what to run.
    ///   - effects: the kinds of side effects; they must be those the graph was checked against.
    ///   - kinds: the kinds of systems; they must be those the graph was checked against.
    ///   - state: what systems and buses go on from, where it fits; what does not fit, and all others, begin anew.
    ///   - time: what time it is.
    ///   - logger: where to say what happens; each system, bus and link adds its name.
    /// - Throws: when the data of an initial state cannot be computed, or a kind does not make a system.
    public init(
        graph: Graph, effects: EffectCatalogue, kinds: SystemCatalogue = SystemCatalogue(),
        continuing state: HostState = HostState(), time: HostTime, logger: Logger
    ) throws(InitialStateError) {
        self.effects = effects
        self.kinds = kinds
        room = HostRoom(graph.limits)
        self.time = time
        self.logger = logger
        (healthChanges, healthChanged) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        supervisor = Supervisor(time: time, logger: logger)
        let builder = SetBuilder(
            effects: effects, kinds: kinds, room: room, time: time, logger: logger, healthChanged: healthChanged,
            supervise: { [supervisor] in supervisor.supervise($0, $1, at: $2) })
        let values = state.values(for: graph, in: room, at: time.now())
        let set = try builder.build(graph, beginningWith: values.fitting)
        continuation = state.begin(set, values, at: time.now())
        _ = set.join(after: nil) {}
        machine = Mutex(Machine(set: set))
        supervisor.connect { [weak self] in self?.current }
    }

    /// What builds another configuration for it.
    var builder: SetBuilder {
        SetBuilder(
            effects: effects, kinds: kinds, room: room, time: time, logger: logger, healthChanged: healthChanged,
            supervise: { [supervisor] in supervisor.supervise($0, $1, at: $2) })
    }

    /// What it runs now.
    var current: HostedSet { machine.withLock { $0.set } }

    /// What it runs now.
    public var graph: Graph { current.graph }

    /// How many configurations it has run, the present one included.
    public var generation: Int { current.generation }

    // MARK: Life

    /// Starts every system, in the order of their names.
    public func start() {
        let set = machine.withLock { machine in
            if machine.phase == .built { machine.phase = .running }
            return machine.set
        }
        for system in set.systems { system.start() }
    }

    /// Returns when every system has reached a state that counts as ready, with no names; or when the limit has passed,
    /// or the others have stopped, with the names of those that have not.
    public func ready(within limit: Duration) async -> [String] {
        await ready(current.systems, within: limit)
    }

    func ready(_ systems: [HostedSystem], within limit: Duration) async -> [String] {
        // Those with a limit of their own have that much time, and the others what is given.
        let byLimit = Dictionary(grouping: systems) { system in
            let own = system.definition.readinessLimit
            // Where the daemon is to end then, it does so before it is told to be ready.
            let more = own.otherwise == .escalate ? Self.escalationTime : .zero
            return own.within.map { $0.swiftDuration + more } ?? limit
        }
        await withTaskGroup(of: Void.self) { group in
            for (limit, systems) in byLimit {
                group.addTask { [time] in
                    let open = Mutex(systems.count)
                    await time.race(within: limit) { done in
                        systems.map { system in
                            system.whenReady {
                                let isLast = open.withLock { open in
                                    open -= 1
                                    return open == 0
                                }
                                if isLast { done() }
                            }
                        }
                    }
                }
            }
        }
        return systems.filter { !$0.isReady }.map(\.definition.name).sorted()
    }

    /// Whether it has been stopped, or is being stopped.
    public var isStopped: Bool { machine.withLock { $0.phase == .stopped } }

    /// Stops every system gently, all at once: no new events, side effects may finish. Past the limit they are cancelled.
    ///
    /// From the first moment on, events and values from outside are refused, nothing begins and nothing is restarted. Events
    /// that wait are taken, and so are the outcomes of side effects under way. The state to which these lead is the one that
    /// ``state`` holds afterwards; what that state asks for begins with the next host. A link that fires meanwhile still
    /// changes the value of a bus that remembers, but no system takes its event: the next host shows the state to the links
    /// again.
    ///
    /// - Returns: the names of the systems whose side effects did not end though they were cancelled, sorted; they are left
    ///   behind.
    @discardableResult
    public func stop(within limit: Duration) async -> [String] {
        let (set, retiring) = machine.withLock { machine in
            machine.phase = .stopped
            return (machine.set, machine.retiring)
        }
        supervisor.stop()
        let systems = set.systems + retiring
        for system in systems { system.beginStop() }
        let leftBehind = await withTaskGroup(of: String?.self) { group in
            for system in systems {
                group.addTask { await system.stop(within: limit) ? nil : system.definition.name }
            }
            return await group.reduce(into: []) { names, name in name.map { names.append($0) } }
        }
        for bus in set.buses { bus.channel.close() }
        changes.tell(.stopped)
        healthChanged.finish()
        return Set(leftBehind).sorted()
    }

    /// The names of systems whose loops did not prove within the limit that they turn, sorted: by an event taken, or by
    /// coming to the end of what waited. A system that waits for its predecessor to end has nothing to prove.
    public func stuckSystems(within limit: Duration) async -> [String] {
        let (set, phase) = machine.withLock { ($0.set, $0.phase) }
        let systems = phase == .running ? set.systems.filter { $0.loop.phase != .notStarted } : set.systems
        let waiting = Mutex(Set(systems.indices))
        let before = systems.map { $0.loop.counters.events }
        await time.race(within: limit) { done in
            for (index, system) in systems.enumerated() {
                system.probe {
                    let isLast = waiting.withLock { $0.remove(index) != nil && $0.isEmpty }
                    if isLast { done() }
                }
            }
            if systems.isEmpty { done() }
            return []
        }
        return waiting.withLock { $0.sorted() }.filter { systems[$0].loop.counters.events == before[$0] }
            .map { systems[$0].definition.name }
    }

    /// Whether the host is stopping or has stopped.
    public var isStopping: Bool { machine.withLock { $0.phase == .stopped } }

    // MARK: Looking in

    /// The configuration it runs now, whose parts go on changing, but which is not exchanged for another while one looks.
    public var snapshot: HostSnapshot { HostSnapshot(hosted: current) }

    /// Every system, by name.
    public var systemStatuses: [SystemStatus] { snapshot.systemStatuses }
    /// Every bus, by name.
    public var busStatuses: [BusStatus] { snapshot.busStatuses }
    /// Every link, by name.
    public var linkStatuses: [LinkStatus] { snapshot.linkStatuses }

    /// One system.
    public func systemStatus(_ name: String) throws(HostError) -> SystemStatus { try snapshot.systemStatus(name) }

    /// One bus.
    public func busStatus(_ name: String) throws(HostError) -> BusStatus { try snapshot.busStatus(name) }

    /// One link.
    public func linkStatus(_ name: String) throws(HostError) -> LinkStatus { try snapshot.linkStatus(name) }

    /// How the whole is: as its worst system.
    public var health: Health { snapshot.health }

    /// One line: how many systems are how.
    public var statusText: String { snapshot.statusText }

    func named(_ name: String) throws(HostError) -> HostedSystem {
        let current = current
        return current.systems[try current.systemNumber(name)]
    }

    private func bus(_ name: String) throws(HostError) -> HostedBus {
        let current = current
        return current.buses[try current.busNumber(name)]
    }

    // MARK: Steering

    /// The definition of an event that a system may be sent.
    public func event(_ event: String, of system: String) throws(HostError) -> EventDefinition {
        let definition = try named(system).definition
        return definition.events[try Self.eventNumber(event, of: definition)]
    }

    static func eventNumber(_ event: String, of definition: SystemDefinition) throws(HostError) -> Int {
        guard let found = definition.events.firstIndex(where: { $0.name == event }) else {
            let nearest = nearestName(to: event, among: definition.events.map(\.name))
            throw .noSuchEvent(system: definition.name, event: event, nearest: nearest)
        }
        return found
    }

    /// Sends an event to a system.
    ///
    /// - Parameters:
    ///   - fields: the event's, in the order of its definition.
    ///   - client: on whose behalf; nil: on the program's own.
    public func emit(
        _ event: String, to name: String, fields: [Value], by client: HostClient? = nil
    ) throws(HostError) {
        let system = try named(name)
        let index = try Self.eventNumber(event, of: system.definition)
        let definition = system.definition.events[index]
        try Self.check(fields, of: definition)
        let data = Value.structure(Structure(type: definition.type, fields: fields))
        try Self.check(data, of: definition)
        // Unless it is paused the event is taken soon: the time need not be asked for.
        let cause = Cause(
            Cause.RequestOrigin(.emit, client), at: system.pauseState == nil ? nil : time.now())
        let made = SystemEvent(index: index, data: data, cause: cause)
        if let excess = room.excess(ofSize: made.size, "the event '\(event)'") {
            throw .notAccepted(system: name, obstacle: .tooLarge, reason: excess)
        }
        // A client that asks again until the next daemon answers sends one event, however often this one refuses it.
        switch system.loop.request(made) {
        case .accepted: break
        case .dropped(.mailboxFull):
            throw .notAccepted(
                system: name, obstacle: .full, reason: system.fullness(for: made))
        case .dropped: throw Self.refusal(by: system)
        }
    }

    /// Holds the data of an event against its type; what is nil is not known.
    static func check(_ fields: [Value?], of definition: EventDefinition) throws(HostError) {
        let event = definition.name
        guard fields.count == definition.type.fields.count else {
            throw .wrongType(
                path: event, expected: "\(definition.type.fields.count) fields", found: "\(fields.count)")
        }
        for case (let field, let value?) in zip(definition.type.fields, fields) where !field.type.accepts(value) {
            throw .wrongType(path: "\(event).\(field.name)", expected: "\(field.type)", found: "\(value.type)")
        }
    }

    /// Holds the data of an event, or those fields that are known, against what its kind says beside the type.
    static func check(_ data: Value, of definition: EventDefinition) throws(HostError) {
        guard let breach = definition.breach(of: data) else { return }
        throw .notAllowed(
            path: "\(definition.name).\(breach.path)", expected: breach.expected, found: breach.found,
            nearest: breach.nearest)
    }

    /// Puts a value on a bus.
    ///
    /// When this returns, the value has been accepted: each link that reads the bus gets it, unless the bus counts it as
    /// dropped. During a reload it goes over the links of the configuration in which its bus was found, or over those of the
    /// next.
    ///
    /// - Parameter client: on whose behalf; nil: on the program's own.
    public func publish(_ value: Value, on name: String, by client: HostClient? = nil) throws(HostError) {
        let bus = try bus(name)
        guard bus.definition.valueType.accepts(value) else {
            throw .wrongType(path: name, expected: "\(bus.definition.valueType)", found: "\(value.type)")
        }
        guard !isStopped else { throw .busStopped(name) }
        let size = SystemEvent.size(of: value)
        let obstacle =
            room.excess(ofSize: size, "the value")
            ?? bus.send(
                value, ofSize: size, at: time.now(), because: Cause.RequestOrigin(.publish, client, on: name))
        if let obstacle { throw .notAccepted(system: name, obstacle: .tooLarge, reason: obstacle) }
    }

    // MARK: Watching

    /// The state of a system, then every new one, without a gap.
    ///
    /// A watcher that falls behind by more than ``watchBuffer`` changes misses some, and is told how many. The sequence
    /// ends when the system stops, also where another of its name takes its place.
    public func watchSystem(_ name: String) throws(HostError) -> Changes<SystemState> {
        try watch(system: name).changes
    }

    /// The same, with the definition that says what the states' indices mean.
    public func watch(
        system name: String
    ) throws(HostError) -> (definition: SystemDefinition, changes: Changes<SystemState>) {
        let system = try named(name)
        let changes: Changes<SystemState> = watch { change, finish in
            system.loop.watch({ change($0, $0.since, $0.size) }, finish: finish)
        } isReplayed: {
            $0
        }
        return (system.definition, changes)
    }

    /// Calls `see` with each state of a system, on its turn, the present one first.
    package func onStates(
        of name: String, _ see: @escaping @Sendable (SystemState) -> Void
    ) throws(HostError) -> Subscription {
        try named(name).loop.watch(see)
    }

    /// The values of a bus; of a current-value bus, its value first.
    ///
    /// A watcher that falls behind by more than ``watchBuffer`` values misses some, and is told how many. The sequence
    /// ends when the host stops, or when a reload removes the bus or changes its kind or type.
    public func watchBus(_ name: String) throws(HostError) -> Changes<Value> {
        let bus = try bus(name)
        let remembers = bus.definition.kind == .currentValue
        return watch { change, finish in
            bus.channel.watch({ change($0.value, $0.time, $0.large?.size ?? 0) }, finish: finish)
        } isReplayed: {
            $0 && remembers
        }
    }

    private func watch<Subject: Sendable>(
        _ subscribe: (@escaping @Sendable (Subject, Timestamp, Int) -> Void, @escaping @Sendable () -> Void) ->
            Subscription,
        isReplayed: @escaping @Sendable (Bool) -> Bool
    ) -> Changes<Subject> {
        let load = HeavyLoad<Change<Subject>>(limit: Self.watchBytes)
        let stream = Changes<Subject>.Stream(bufferingPolicy: .bufferingNewest(Self.watchBuffer)) { continuation in
            let count = Mutex<UInt64>(0)
            let subscription = subscribe(
                { subject, time, size in
                    let number = count.withLock { count in
                        count += 1
                        return count
                    }
                    let change = Change(
                        number: number, time: time, isReplayed: isReplayed(number == 1), subject: subject)
                    // What gives way is missing in the numbers that are read.
                    if case .dropped(let item) = continuation.yield(load.enter(change, ofSize: size).item) {
                        _ = load.leave(item)
                    }
                }, { continuation.finish() })
            continuation.onTermination = { _ in subscription.cancel() }
        }
        return Changes(stream: stream, load: load)
    }
}
