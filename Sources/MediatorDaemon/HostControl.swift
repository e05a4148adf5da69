import CommonExpression
import Glibc
import Logging
import MediatorConfiguration
import MediatorControl
import MediatorHost
import Synchronization
import Systemd
import Varlink

/// Answers the control interface from a host.
struct HostControl: ControlHandler {
    let host: Host
    let reloader: Reloader
    let metrics: DaemonMetrics
    /// The directories of the configuration.
    let configuration: [String]
    /// When the daemon was started.
    let started: Timestamp
    /// Says who did what.
    let acts: ActLog
    /// The metrics of the daemon.
    let kinds: KindFile
    /// The log of acts; nil to log none.
    let logLevels: LogLevelSwitch?
    /// The budgets of work for each user.
    let budgets: UserBudgets

    /// The present rights of users.
    private var access: AccessTable { reloader.basis.access }

    /// Whether a peer may connect, or call a method at all. A refusal is logged.
    func authorizes(_ request: ServiceConfiguration.Request, _ peer: VarlinkPeer) -> Bool {
        switch request {
        case .connection:
            if access.allows(.read, peer) { return true }
            acts.refused("connect", to: peer, missing: .read)
            return false
        case .call(let method):
            // An unknown method needs all rights.
            let right = ControlInterface.right(for: method) ?? Self.otherRights[method] ?? .administer
            if access.allows(AccessTable.Request(right), peer) { return true }
            acts.refused(ControlInterface.verb(for: method), to: peer, missing: right)
            return false
        }
    }

    /// Returns whether connections are reserved for a peer, so that peers with fewer rights cannot shut out
    /// administrators.
    func hasPrecedence(_ peer: VarlinkPeer) -> Bool { access.allows(.administer, peer) }

    /// The rights that methods of other interfaces need. Everybody who may connect may read the description of the
    /// service.
    static let otherRights: [String: Right] = [
        "org.varlink.service.GetInfo": .read,
        "org.varlink.service.GetInterfaceDescription": .read,
        "io.systemd.service.Ping": .read,
        "io.systemd.service.Reload": .administer,
        "io.systemd.service.SetLogLevel": .administer,
        "io.systemd.Metrics.List": .read,
        "io.systemd.Metrics.Describe": .read,
    ]

    /// Lets go on who may inject something where they want to.
    private func check(
        _ request: AccessTable.Request, _ peer: VarlinkPeer, _ verb: String, target: String, _ subject: Logger.Metadata
    ) throws(MissingRight) {
        guard !access.allows(request, peer) else { return }
        acts.refused(verb, to: peer, missing: .inject, subject)
        throw MissingRight(.inject, target: target)
    }

    /// Waits until somebody may have so much work done.
    private func pay(_ steps: Int, _ peer: VarlinkPeer) async {
        guard !hasPrecedence(peer) else { return }
        await budgets[peer.userID].take(steps + UserBudgets.reply)
    }

    /// the budget of the watch; nil for no limit.
    ///
    /// - Parameter condition: how many steps its condition may take.
    private func pace(of peer: VarlinkPeer, condition: Int = 0) -> UserPace? {
        hasPrecedence(peer) ? nil : UserPace(budgets[peer.userID], condition: condition)
    }

    /// The changes, as long as the peer may read.
    private func watch<Subject, Reply: Sendable>(
        _ changes: Changes<Subject>, _ peer: VarlinkPeer, _ reply: @escaping @Sendable (Change<Subject>) -> Reply
    ) -> AsyncThrowingStream<Reply, any Error> {
        let pace = pace(of: peer)
        return AsyncThrowingStream {
            guard let change = await changes.next(pace: pace) else { return nil }
            guard access.allows(.read, peer) else { throw MissingRight(.read) }
            return reply(change)
        }
    }

    func status(peer: VarlinkPeer) async throws -> StatusReply {
        await pay(host.graph.systems.count * UserBudgets.part, peer)
        let (snapshot, basis) = reloader.running
        let graph = snapshot.graph
        // All figures come from one look, so they do not contradict each other.
        let systems = snapshot.systemStatuses
        let healths = systems.map(\.health)
        let news = reloader.news
        return StatusReply(
            version: Version.current,
            pid: Int(getpid()),
            started: "\(started)",
            health: Health(MediatorHost.Health(ofAll: healths)),
            statusText: (host.isStopping ? "stopping; " : "") + MediatorHost.Health.text(ofAll: healths),
            configuration: configuration,
            generation: snapshot.generation,
            underway: news.underway,
            reload: news.verdict,
            reloads: news.counters,
            transient: basis.layer.links.count,
            systems: systems.map { SystemSummary($0) },
            buses: graph.buses.count,
            links: graph.links.count,
            rights: Right.allCases.filter { basis.access.allows(AccessTable.Request($0), peer) },
            injectInto: basis.access.injectionLimits(of: peer).map {
                InjectionTargets(systems: $0.systems.map(\.text).sorted(), buses: $0.buses.map(\.text).sorted())
            })
    }

    func listSystems(peer: VarlinkPeer) async throws -> [SystemSummary] {
        await pay(host.graph.systems.count * UserBudgets.part, peer)
        return host.systemStatuses.map { SystemSummary($0) }
    }

    func describeSystem(_ name: String, peer: VarlinkPeer) async throws -> SystemDescription {
        await pay(UserBudgets.story, peer)
        let status = try translate { () throws(HostError) in try host.systemStatus(name) }
        return SystemDescription(status)
    }

    func listBuses(peer: VarlinkPeer) async throws -> [BusSummary] {
        await pay(host.graph.buses.count * UserBudgets.part, peer)
        return host.busStatuses.map { BusSummary($0) }
    }

    func describeBus(_ name: String, peer: VarlinkPeer) async throws -> BusDescription {
        await pay(UserBudgets.story, peer)
        let status = try translate { () throws(HostError) in try host.busStatus(name) }
        return BusDescription(status)
    }

    func listLinks(peer: VarlinkPeer) async throws -> [LinkSummary] {
        await pay(host.graph.links.count * UserBudgets.part, peer)
        let (snapshot, basis) = reloader.running
        return snapshot.linkStatuses.map { LinkSummary($0, basis.layer) }
    }

    func describeLink(_ name: String, peer: VarlinkPeer) async throws -> LinkDescription {
        await pay(UserBudgets.story, peer)
        let (snapshot, basis) = reloader.running
        return LinkDescription(try translate { () throws(HostError) in try snapshot.linkStatus(name) }, basis.layer)
    }

    func watchSystem(
        _ name: String, peer: VarlinkPeer
    ) async throws -> AsyncThrowingStream<WatchSystemReply, any Error> {
        let (definition, changes) = try translate { () throws(HostError) in try host.watch(system: name) }
        return watch(changes, peer) { change in
            let state = change.subject
            return WatchSystemReply(
                time: "\(change.time)",
                replayed: change.isReplayed,
                state: SystemState(state, of: definition),
                previous: state.previous.map { definition.states[$0].name },
                event: state.event.map(definition.eventName),
                eventData: state.event.map { ValueCoding.fields(of: $0.data) },
                dropped: change.dropped)
        }
    }

    func watchBus(_ name: String, peer: VarlinkPeer) async throws -> AsyncThrowingStream<WatchBusReply, any Error> {
        let changes = try translate { () throws(HostError) in try host.watchBus(name) }
        return watch(changes, peer) { change in
            WatchBusReply(
                time: "\(change.time)", replayed: change.isReplayed, value: ValueCoding.json(change.subject),
                dropped: change.dropped)
        }
    }

    func watch(
        _ parameters: WatchParameters, peer: VarlinkPeer
    ) async throws -> AsyncThrowingStream<WatchReply, any Error> {
        let rate = try WatchRate(parameters)
        // A condition is checked against the types of all parts, which is too long for the event loop.
        await pay(host.graph.systems.count * UserBudgets.part, peer)
        let happenings = try await Task.detached(priority: .management) { [host] in
            let condition = try WatchCondition(parameters)
            try condition.check(host.watchedParts)
            let pace = pace(of: peer, condition: condition.cost)
            return host.watch(rate: rate, pace: pace) { condition.filter(of: $0, pace: pace) }
        }.value
        let isAnnounced = parameters.announce == true
        let announcement = Mutex(isAnnounced ? WatchReply(time: "\(host.time.now())", topic: .watching) : nil)
        return AsyncThrowingStream {
            if let reply = announcement.withLock({ $0.take() }) { return reply }
            guard let happening = await happenings.next() else { return nil }
            guard access.allows(.read, peer) else { throw MissingRight(.read) }
            return WatchReply(happening)
        }
    }

    func emit(_ parameters: EmitParameters, peer: VarlinkPeer) async throws -> InjectionReply {
        let subject: Logger.Metadata = ["system": "\(parameters.system)", "event": "\(parameters.event)"]
        try check(.injectInto(system: parameters.system), peer, "emit", target: parameters.system, subject)
        await pay(parameters.data.map { JSONValue.object($0).roughLength } ?? 0, peer)
        let event = try translate { () throws(HostError) in
            try host.event(parameters.event, of: parameters.system)
        }
        let fields = try decode { () throws(ValueCoding.Mismatch) in
            try ValueCoding.fields(parameters.data ?? [:], as: event.type, at: parameters.event)
        }
        let time = host.time.now()
        try translate { () throws(HostError) in
            try host.emit(parameters.event, to: parameters.system, fields: fields, by: HostClient(peer))
        }
        acts.done("emit", by: peer, .info, .eventEmitted, "event emitted by a client", subject)
        return InjectionReply(time: "\(time)")
    }

    func publish(_ parameters: PublishParameters, peer: VarlinkPeer) async throws -> InjectionReply {
        try check(
            .injectOn(bus: parameters.bus), peer, "publish", target: parameters.bus, ["bus": "\(parameters.bus)"])
        await pay(parameters.value.roughLength, peer)
        let status = try translate { () throws(HostError) in try host.busStatus(parameters.bus) }
        let value = try decode { () throws(ValueCoding.Mismatch) in
            try ValueCoding.value(parameters.value, as: status.definition.valueType, at: parameters.bus)
        }
        let time = host.time.now()
        try translate { () throws(HostError) in try host.publish(value, on: parameters.bus, by: HostClient(peer)) }
        acts.done(
            "publish", by: peer, .info, .valuePublished, "value published by a client",
            ["bus": "\(parameters.bus)", "value": "\(Excerpt.of(value))"])
        return InjectionReply(time: "\(time)")
    }

    func restartSystem(_ name: String, peer: VarlinkPeer) async throws {
        await acts.begins(
            "restart", by: peer, .notice, .restartAsked, "restart asked for by a client", ["system": "\(name)"])
        do throws(HostError) {
            try await host.restart(name, by: HostClient(peer))
        } catch {
            throw Self.translated(error)
        }
    }

    func resetSystem(_ name: String, peer: VarlinkPeer) async throws {
        try translate { () throws(HostError) in try host.reset(name, by: HostClient(peer)) }
        acts.done("reset", by: peer, .notice, .resetAsked, "reset by a client", ["system": "\(name)"])
    }

    func pauseSystem(_ name: String, peer: VarlinkPeer) async throws -> PauseReply {
        let userName = await acts.name(of: peer)
        let isNews = try translate { () throws(HostError) in
            try host.pause(name, by: peer.userID, named: userName)
        }
        acts.done(
            "pause", by: peer, .notice, isNews ? .paused : nil,
            isNews ? "paused by a client" : "paused already, a client is told",
            ["system": "\(name)"])
        return PauseReply(changed: isNews)
    }

    func resumeSystem(_ name: String, peer: VarlinkPeer) async throws -> PauseReply {
        let userName = await acts.name(of: peer)
        let subject: Logger.Metadata = ["system": "\(name)"]
        let wasPaused = try translate { () throws(HostError) in
            try host.resume(name, by: peer.userID, named: userName) {
                // Logged before the changes that follow from it.
                acts.done("resume", by: peer, .notice, .resumed, "resumed by a client", subject)
            }
        }
        if !wasPaused { acts.done("resume", by: peer, .notice, nil, "not paused, a client is told", subject) }
        return PauseReply(changed: wasPaused)
    }

    func describeKinds(peer: VarlinkPeer) async throws -> DescribeKindsReply {
        DescribeKindsReply(document: try JSONValue(parsing: try kinds.json()))
    }

    func readLogLevel(peer: VarlinkPeer) async throws -> LogLevelReply {
        LogLevelReply(try levelSwitch())
    }

    func setLogLevel(_ parameters: SetLogLevelParameters, peer: VarlinkPeer) async throws -> LogLevelReply {
        let levels = try levelSwitch()
        acts.set(
            levels, to: parameters.level.flatMap { Logger.Level(rawValue: $0.rawValue) } ?? levels.initial, by: peer)
        return LogLevelReply(levels)
    }

    private func levelSwitch() throws(ControlError) -> LogLevelSwitch {
        guard let logLevels else {
            throw .notAccepted(
                name: "log", obstacle: .other,
                reason: "what is logged is a matter of the program the daemon is part of")
        }
        return logLevels
    }

    func readMetrics(peer: VarlinkPeer) async throws -> String {
        await pay(host.graph.systems.count * UserBudgets.part, peer)
        return await metrics.text
    }

    func plan(_ parameters: PlanParameters, peer: VarlinkPeer) async throws -> PlanReply {
        // The configuration behind it would not be checked, only shown.
        if parameters.directory?.utf8.contains(0) == true {
            throw ServiceError.invalidParameter(parameter: "directory")
        }
        return await reloader.plan(
            parameters.directory, dropsTransient: parameters.dropTransient ?? false,
            tellsKept: parameters.all ?? false)
    }

    func reload(_ parameters: ReloadParameters, peer: VarlinkPeer) async throws -> ReloadReply {
        let who = await acts.metadata(of: peer, "reload")
        return try await reloader.reload(
            dropsTransient: parameters.dropTransient ?? false, tellsKept: parameters.all ?? false,
            who.merging(["cause": "client"]) { $1 })
    }

    func listChanges(peer: VarlinkPeer) async throws -> [TransientChange] {
        reloader.basis.layer.list.map { TransientChange(link: $0.link, kind: ChangeKind($0.kind), text: $0.text) }
    }

    func attachLink(_ parameters: AttachParameters, peer: VarlinkPeer) async throws -> ChangeReply {
        let settings = parameters.settings.map(LinkChange.Setting.init)
        let action: LinkChange.Action =
            parameters.definition == nil && settings.isEmpty ? .attachAgain : .attach(parameters.definition, settings)
        return try await reloader.change(
            LinkChangeRequest(
                change: LinkChange(link: parameters.link, action: action), persists: parameters.persist ?? false,
                isDryRun: parameters.dryRun ?? false, tellsKept: parameters.all ?? false, peer: peer,
                who: await acts.metadata(of: peer, "attach")))
    }

    func detachLink(_ parameters: DetachParameters, peer: VarlinkPeer) async throws -> ChangeReply {
        try await reloader.change(
            LinkChangeRequest(
                change: LinkChange(link: parameters.link, action: .detach), persists: parameters.persist ?? false,
                isDryRun: parameters.dryRun ?? false, tellsKept: parameters.all ?? false, peer: peer,
                who: await acts.metadata(of: peer, "detach")))
    }

    func setLink(_ parameters: SetParameters, peer: VarlinkPeer) async throws -> ChangeReply {
        let action = LinkChange.Action.set(parameters.settings.map(LinkChange.Setting.init))
        return try await reloader.change(
            LinkChangeRequest(
                change: LinkChange(link: parameters.link, action: action), persists: parameters.persist ?? false,
                isDryRun: parameters.dryRun ?? false, tellsKept: parameters.all ?? false, peer: peer,
                who: await acts.metadata(of: peer, "set")))
    }

    func readConfiguration(peer: VarlinkPeer) async throws -> [ReadConfigurationReply] {
        let basis = reloader.basis
        return basis.layer.applied(to: basis.contents.files).files.flatMap { file in
            [ReadConfigurationReply(file, owner: nil)]
                + file.dropIns.map { ReadConfigurationReply($0, owner: file.path) }
        }
    }

    func why(_ name: String, peer: VarlinkPeer) async throws -> WhyReply {
        await pay(UserBudgets.story, peer)
        return WhyReply(try translate { () throws(HostError) in try host.why(name) })
    }

    func whyNot(_ parameters: WhyNotParameters, peer: VarlinkPeer) async throws -> WhyNotReply {
        await pay(UserBudgets.story, peer)
        let event = try translate { () throws(HostError) in
            try host.event(parameters.event, of: parameters.name)
        }
        let fields = try parameters.data.map { data in
            try decode { () throws(ValueCoding.Mismatch) in
                try ValueCoding.someFields(data, as: event.type, at: parameters.event)
            }
        }
        let answer = try translate { () throws(HostError) in
            try host.whyNot(parameters.name, event: parameters.event, fields: fields)
        }
        let detached = reloader.basis.layer.list.filter { $0.kind == .detached }.map(\.link)
        return WhyNotReply(answer, detached: detached)
    }

    func trace(_ parameters: TraceParameters, peer: VarlinkPeer) async throws -> TraceReply {
        await pay(UserBudgets.story, peer)
        let steps = try translate { () throws(HostError) in try host.trace(parameters.name) }
        let limit = parameters.limit ?? steps.count
        guard limit >= 0 else {
            throw ControlError.invalidValue(path: "limit", expected: "int", message: "limit must not be negative")
        }
        return TraceReply(steps: steps.suffix(limit).map { TraceStep($0) })
    }

    // MARK: Words

    /// The host's errors in the words of the interface.
    private func translate<R>(_ body: () throws(HostError) -> R) throws(ControlError) -> R {
        do {
            return try body()
        } catch {
            throw Self.translated(error)
        }
    }

    private static func translated(_ error: HostError) -> ControlError {
        switch error {
        case .noSuchSystem(let name, let nearest): .noSuchSystem(name: name, nearest: nearest)
        case .noSuchBus(let name, let nearest): .noSuchBus(name: name, nearest: nearest)
        case .noSuchLink(let name, let nearest): .noSuchLink(name: name, nearest: nearest)
        case .noSuchEvent(let system, let event, let nearest):
            .noSuchEvent(system: system, event: event, nearest: nearest)
        case .wrongType(let path, let expected, _), .notAllowed(let path, let expected, _, _):
            .invalidValue(path: path, expected: expected, message: error.description)
        case .busStopped(let bus): .notAccepted(name: bus, obstacle: .stopping, reason: HostError.stopping)
        case .notAccepted(let system, let obstacle, let reason):
            .notAccepted(name: system, obstacle: Obstacle(obstacle), reason: reason)
        }
    }

    private func decode<R>(_ body: () throws(ValueCoding.Mismatch) -> R) throws(ControlError) -> R {
        do {
            return try body()
        } catch {
            throw .invalidValue(path: error.path, expected: error.expected, message: error.message)
        }
    }
}

extension Obstacle {
    fileprivate init(_ obstacle: HostError.Obstacle) {
        switch obstacle {
        case .full: self = .full
        case .notStarted: self = .notStarted
        case .restarting: self = .restarting
        case .ended: self = .ended
        case .stopping: self = .stopping
        case .tooLarge: self = .tooLarge
        }
    }
}

extension LogLevelReply {
    init(_ levels: LogLevelSwitch) {
        self.init(level: MediatorControl.LogLevel(levels.get()), given: MediatorControl.LogLevel(levels.initial))
    }
}

extension MediatorControl.LogLevel {
    fileprivate init(_ level: Logger.Level) {
        switch level {
        case .trace: self = .trace
        case .debug: self = .debug
        case .info: self = .info
        case .notice: self = .notice
        case .warning: self = .warning
        case .error: self = .error
        case .critical: self = .critical
        }
    }
}

extension AccessTable.Request {
    /// The right that a method needs.
    init(_ right: Right) {
        switch right {
        case .read: self = .read
        case .inject: self = .inject
        case .administer: self = .administer
        }
    }
}
