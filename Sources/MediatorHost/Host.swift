package import CommonExpression
import FeedbackKit
public import Logging
public import MediatorConfiguration
import Synchronization

/// Runs the systems, buses and links of a checked configuration.
///
/// The host joins all parts before it starts any. So no system misses the first state of another one, and no link misses the
/// first value of a bus. ``apply(_:readyLimit:stopLimit:)`` changes the configuration of a running host.
public final class Host: Sendable {
    /// The maximum time from an escalation to the end of the daemon.
    static let escalationTime = Duration.seconds(10)
    /// The time that cancelled side effects may take to end, beyond the limit of a gentle stop.
    package static let forcedEndLimit = HostedSystem.forcedEndLimit
    /// The number of changes that a watcher may be behind before it misses some.
    public static let watchBuffer = 256
    /// The maximum number of bytes of the changes that a watcher has not read yet. Changes of up to 1 KiB do not count, and
    /// the newest change waits in any case.
    public static let watchBytes = 4 << 20

    enum Phase {
        case built
        case running
        case stopped
    }

    struct Machine {
        var set: HostedSet
        var phase = Phase.built
        /// The systems of earlier sets that have not ended.
        var retiring: [HostedSystem] = []
    }

    let machine: Mutex<Machine>
    /// The mutex that lets the host apply one configuration at a time.
    let applies = AsyncMutex()
    let effects: EffectCatalogue
    let kinds: SystemCatalogue
    /// The room for the data of systems and buses.
    let room: HostRoom
    package let time: HostTime
    let logger: Logger
    /// The journal of the persisted systems and buses; `nil` without one.
    let journal: HostJournal?
    /// A stream with an element after each possible change of ``statusText`` and ``health``. One element may stand for several
    /// changes.
    public let healthChanges: AsyncStream<Void>
    let healthChanged: AsyncStream<Void>.Continuation
    /// The supervisor, which restarts and ends systems and their groups after faults.
    let supervisor: Supervisor
    /// The watch over the queue of waits.
    let waitWatch = Mutex(WaitWatch())
    /// The watchers of the whole host.
    let changes = Listeners<HostNews>()
    /// The result of the start from an earlier state.
    public let continuation: Continuation

    /// Builds all parts, and starts none.
    ///
    /// - Parameters:
    ///   - graph: The configuration to run.
    ///   - effects: The kinds of side effects. The graph must have been checked against them.
    ///   - kinds: The kinds of systems. The graph must have been checked against them.
    ///   - state: The earlier state from which systems and buses go on. A system or a bus without a fitting entry starts
    ///     over.
    ///   - time: The clock and the calendar.
    ///   - logger: The logger of the host. Each system, bus and link adds its name.
    /// - Throws: An ``InitialStateError`` if the data of an initial state cannot be computed, or a kind does not make a
    ///   system.
    public convenience init(
        graph: Graph, effects: EffectCatalogue, kinds: SystemCatalogue = SystemCatalogue(),
        continuing state: HostState = HostState(), time: HostTime, logger: Logger
    ) throws(InitialStateError) {
        try self.init(
            graph: graph, effects: effects, kinds: kinds, continuing: state, journal: nil, time: time, logger: logger)
    }

    /// Builds all parts, and starts none.
    ///
    /// - Parameters:
    ///   - details: The details of the persisted parts of the earlier state.
    ///   - journal: The journal of the persisted systems and buses. Without one, nothing is persisted.
    package init(
        graph: Graph, effects: EffectCatalogue, kinds: SystemCatalogue = SystemCatalogue(),
        continuing state: HostState = HostState(), details: SavedParts = SavedParts(),
        journal: (any StateJournal)?, time: HostTime, logger: Logger
    ) throws(InitialStateError) {
        let journal = journal.map(HostJournal.init)
        self.journal = journal
        self.effects = effects
        self.kinds = kinds
        room = HostRoom(graph.limits)
        self.time = time
        self.logger = logger
        (healthChanges, healthChanged) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        supervisor = Supervisor(time: time, logger: logger)
        let builder = SetBuilder(
            effects: effects, kinds: kinds, room: room, time: time, logger: logger, journal: journal,
            healthChanged: healthChanged,
            supervise: { [supervisor] in supervisor.supervise($0, $1, at: $2) })
        let values = state.values(for: graph, details, in: room, at: time.now())
        let set = try builder.build(graph, beginningWith: values.fitting)
        continuation = state.begin(set, details, values, at: time.now())
        for bus in set.buses {
            bus.gate?.begin(details.buses[bus.definition.name], fits: values.fitting[bus.definition.name])
        }
        _ = set.join(after: nil, unless: set.skipHeard(details)) {}
        machine = Mutex(Machine(set: set))
        supervisor.connect { [weak self] in self?.current }
    }

    /// The builder of another set for this host.
    var builder: SetBuilder {
        SetBuilder(
            effects: effects, kinds: kinds, room: room, time: time, logger: logger, journal: journal,
            healthChanged: healthChanged,
            supervise: { [supervisor] in supervisor.supervise($0, $1, at: $2) })
    }

    /// The set that the host runs now.
    var current: HostedSet { machine.withLock { $0.set } }

    /// The configuration that the host runs now.
    public var graph: Graph { current.graph }

    /// The number of configurations that the host has run, including the present one.
    public var generation: Int { current.generation }

    // MARK: Life

    /// Starts every system, in the order of their names.
    ///
    /// - Parameters:
    ///   - paused: The names of the systems that begin with a pause. They show their first states, and take no event and begin no
    ///     side effect until they are resumed.
    ///   - user: The ID of the user in whose name they are paused.
    ///   - userName: The name of that user, or of the program.
    ///   - reason: The reason for the pauses, with the remedy, as a clause.
    public func start(
        pausing paused: Set<String> = [], by user: UInt32 = 0, named userName: String? = nil,
        because reason: String? = nil
    ) {
        let set = machine.withLock { machine in
            if machine.phase == .built { machine.phase = .running }
            return machine.set
        }
        let pause = paused.isEmpty ? nil : Pause(since: time.now(), user: user, userName: userName, reason: reason)
        for system in set.systems {
            system.start(
                set.presentInputs(of: system).map(\.event),
                pausedBy: paused.contains(system.definition.name) ? pause : nil)
        }
    }

    /// Waits until every system has reached a state that counts as ready, or cannot reach one.
    ///
    /// - Parameter limit: The longest wait for a system whose definition sets no readiness limit. A system with its own
    ///   limit uses that instead.
    /// - Returns: The names of the systems that are not ready, sorted.
    public func ready(within limit: Duration) async -> [String] {
        await ready(current.systems, within: limit)
    }

    func ready(_ systems: [HostedSystem], within limit: Duration) async -> [String] {
        // A system's own limit takes precedence over the given one.
        let byLimit = Dictionary(grouping: systems) { system in
            let own = system.definition.readinessLimit
            // An escalation must end the daemon before this function returns and the daemon counts as ready.
            let more = own.otherwise == .escalate ? Self.escalationTime : .zero
            return own.within.map { $0.swiftDuration + more } ?? limit
        }
        await withTaskGroup(of: Void.self) { group in
            for (limit, systems) in byLimit.sorted(by: { $0.key < $1.key }) {
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

    /// A Boolean value that indicates whether the host is stopping or has stopped.
    public var isStopped: Bool { machine.withLock { $0.phase == .stopped } }

    /// Stops all systems gently and at the same time. They accept no new events, and their side effects may finish. After
    /// the limit, the host cancels the side effects that still run.
    ///
    /// From the first moment on, the host refuses events and values from outside, starts no side effect and restarts no
    /// system. Systems still take the events that wait, and the outcomes of running side effects. Systems that are paused or
    /// have not started drop the events that wait.
    ///
    /// Afterwards, ``state`` holds the resulting states. The next host starts the side effects of these states. A link that
    /// fires during the stop still changes the value of a bus that remembers its value, but no system takes its event. The
    /// next host shows the state to the links again.
    ///
    /// - Parameter limit: The time that side effects may take to finish.
    /// - Returns: The names of the systems whose side effects did not end after their cancellation, sorted. The host leaves
    ///   these side effects behind.
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
        for bus in set.buses {
            bus.gate?.close()
            bus.channel.close()
        }
        changes.tell(.stopped)
        healthChanged.finish()
        return Set(leftBehind).sorted()
    }

    /// Returns the names of the systems whose loops did not make progress within the limit, sorted.
    ///
    /// A loop makes progress if it takes an event, or if it finishes all that waited at the time of the call. In a running
    /// host, systems that have not started are left out, for example a system that waits for the end of its predecessor.
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

    /// Cancels the running side effects of all systems that stop, instead of waiting for their limits.
    public func cancelSideEffects() {
        for system in machine.withLock({ $0.set.systems + $0.retiring }) { system.hurry() }
    }

    /// Returns when every event, value, due wait and started side effect has been worked on. Tasks that have not ended
    /// wait for the clock, for something outside, or for a resumption.
    ///
    /// For tests with a clock that stands still. The host needs an executor that knows when nothing is left to run. Systems
    /// with executors of their own are waited for as well, but their side effects are not.
    package func settled() async {
        guard let executor = time.executor as? any SettlingExecutor else {
            preconditionFailure("the executor of this host does not know when nothing is left to run")
        }
        var before: UInt64
        repeat {
            before = executor.activity
            await executor.settled()
            for system in current.systems where system.loop.isScheduled {
                await withCheckedContinuation { continuation in system.loop.afterPending { continuation.resume() } }
            }
        } while executor.activity != before || !isIdle
    }

    // MARK: Looking in

    /// A snapshot of the configuration that the host runs now. Its parts go on changing, but no reload replaces it.
    public var snapshot: HostSnapshot { HostSnapshot(hosted: current) }

    /// The statuses of all systems, by name.
    public var systemStatuses: [SystemStatus] { snapshot.systemStatuses }
    /// The statuses of all buses, by name.
    public var busStatuses: [BusStatus] { snapshot.busStatuses }
    /// The statuses of all links, by name.
    public var linkStatuses: [LinkStatus] { snapshot.linkStatuses }

    /// Returns the status of a system.
    public func systemStatus(_ name: String) throws(HostError) -> SystemStatus { try snapshot.systemStatus(name) }

    /// Returns the status of a bus.
    public func busStatus(_ name: String) throws(HostError) -> BusStatus { try snapshot.busStatus(name) }

    /// Returns the status of a link.
    public func linkStatus(_ name: String) throws(HostError) -> LinkStatus { try snapshot.linkStatus(name) }

    /// The health of the whole host, which is that of the worst system.
    public var health: Health { snapshot.health }

    /// The number of systems in each state of health, in one line.
    public var statusText: String { snapshot.statusText }

    func named(_ name: String) throws(HostError) -> HostedSystem {
        let current = current
        return current.systems[try current.systemNumber(name)]
    }

    func bus(_ name: String) throws(HostError) -> HostedBus {
        let current = current
        return current.buses[try current.busNumber(name)]
    }

    // MARK: Steering

    /// Returns the definition of an event of a system.
    public func event(_ event: String, of system: String) throws(HostError) -> EventDefinition {
        let definition = try named(system).definition
        return definition.events[try Self.eventNumber(event, of: definition)]
    }

    static func eventNumber(_ event: String, of definition: SystemDefinition) throws(HostError) -> Int {
        // Links set the inputs.
        let events = definition.events.prefix(definition.ownEvents)
        guard let found = events.firstIndex(where: { $0.name == event }) else {
            let nearest = nearestName(to: event, among: events.map(\.name))
            throw .noSuchEvent(system: definition.name, event: event, nearest: nearest)
        }
        return found
    }

    /// Sends an event to a system.
    ///
    /// - Parameter announcement: The log line of the request, or `nil` without one.
    package func emit(
        _ event: String, to name: String, fields: [Value], by client: HostClient?,
        announcing announcement: Announcement?
    ) throws(HostError) {
        let system = try named(name)
        let words = system.definition
        let index = try Self.eventNumber(event, of: words)
        let definition = words.events[index]
        try Self.check(fields, of: definition)
        let data = Value.structure(Structure(type: definition.type, fields: fields))
        try Self.check(data, of: definition)
        // The systems learn one by one that the host stops.
        guard !isStopped else {
            throw .notAccepted(system: name, obstacle: .stopping, reason: "it is stopping")
        }
        // A system that is not paused takes the event soon, so the cause needs no time of its own.
        let cause = Cause(
            Cause.RequestOrigin(.emit, client, announcing: announcement),
            at: system.pauseState == nil ? nil : time.now())
        let made = SystemEvent(index: index, data: data, cause: cause)
        if let excess = room.excess(ofSize: made.size, "the event '\(event)'") {
            throw .notAccepted(system: name, obstacle: .tooLarge, reason: excess)
        }
        // A client may repeat a request until the next daemon accepts it. A request that a stopping loop refuses counts for
        // nothing, so the repetitions count as one event.
        switch system.loop.request(made) {
        case .accepted: break
        case .dropped(.mailboxFull):
            throw .notAccepted(
                system: name, obstacle: .full, reason: system.fullness(for: made))
        case .dropped: throw Self.refusal(by: system)
        }
    }

    /// Checks the fields of an event against its type. A field that is `nil` is unknown, and passes.
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

    /// Checks the data of an event, or its known fields, against the rules of its kind that go beyond the type.
    static func check(_ data: Value, of definition: EventDefinition) throws(HostError) {
        guard let breach = definition.breach(of: data) else { return }
        throw .notAllowed(
            path: "\(definition.name).\(breach.path)", expected: breach.expected, found: breach.found,
            nearest: breach.nearest)
    }
}
