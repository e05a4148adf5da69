import CommonExpression
import Glibc
import Logging
import MediatorConfiguration
import MediatorControl
import MediatorHost
import StrictJSON
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
    /// The kinds of systems and the side effects that the program adds to the built-in ones.
    let kinds: KindFile
    /// Changes the level of the log; nil if clients cannot.
    let logLevels: LogLevelSwitch?
    /// The budgets of work for each user.
    let budgets: UserBudgets

    /// The present rights of users.
    var access: AccessTable { reloader.sources.access }

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
            refused(ControlInterface.verb(for: method), peer, missing: right)
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

    /// Logs and counts a refusal.
    private func refused(_ verb: String, _ peer: VarlinkPeer, missing right: Right, _ subject: Logger.Metadata = [:]) {
        acts.refused(verb, to: peer, missing: right, subject)
        budgets[peer.userID].charge(UserBudgets.refusal)
    }

    /// Lets go on who may inject something where they want to.
    private func check(
        _ request: AccessTable.Request, _ peer: VarlinkPeer, _ verb: String, target: String, _ subject: Logger.Metadata
    ) throws(MissingRight) {
        guard !access.allows(request, peer) else { return }
        refused(verb, peer, missing: .inject, subject)
        throw MissingRight(.inject, target: target)
    }

    /// Waits until the service may work for a peer; whether it may. This is where all connections and calls count, also those
    /// that are then refused.
    func admits(_ work: ServiceConfiguration.Work, _ peer: VarlinkPeer) async -> Bool {
        guard !hasPrecedence(peer) else { return true }
        let steps =
            switch work {
            case .connection: UserBudgets.connection
            case .call(let bytes): UserBudgets.reply + UserBudgets.byte * bytes
            }
        return await budgets[peer.userID].take(steps)
    }

    /// Counts a reply. The length is only known now, so the next call waits for it. The replies of watches have counted before
    /// (``UserPace``).
    func charge(_ reply: ServiceConfiguration.Reply, _ peer: VarlinkPeer) {
        guard !hasPrecedence(peer), !Self.watches.contains(reply.method) else { return }
        let further = reply.continues ? UserBudgets.reply : 0
        budgets[peer.userID].charge(further + UserBudgets.byte * reply.bytes)
    }

    /// The methods whose replies count before they are made.
    private static let watches = Set(["Watch", "WatchSystem", "WatchBus"].map(ControlInterface.qualified))

    /// Waits until a call may have so much work done, beside what each call costs.
    func pay(_ steps: Int, _ peer: VarlinkPeer) async {
        guard !hasPrecedence(peer) else { return }
        await budgets[peer.userID].take(steps)
    }

    /// Returns the budget for a watch; nil for no limit.
    ///
    /// - Parameter condition: how many steps its condition may take.
    func pace(of peer: VarlinkPeer, condition: Int = 0) -> UserPace? {
        hasPrecedence(peer) ? nil : UserPace(budgets[peer.userID], condition: condition)
    }

    func status(peer: VarlinkPeer) async throws -> StatusReply {
        await pay(host.graph.systems.count * UserBudgets.part, peer)
        let (snapshot, sources) = reloader.running
        let graph = snapshot.graph
        // All metrics come from one look, so they do not contradict each other.
        let systems = snapshot.systemStatuses
        let healths = systems.map(\.health)
        let news = reloader.news
        return StatusReply(
            version: Version.current,
            pid: Int(getpid()),
            started: "\(started)",
            health: Health(MediatorHost.Health(ofAll: healths)),
            statusText: (host.isStopped ? "stopping; " : "")
                + MediatorHost.Health.text(
                    ofAll: healths, failing: systems.compactMap(\.failingPart)),
            configuration: configuration,
            generation: snapshot.generation,
            underway: news.underway,
            reload: news.verdict,
            reloads: news.counters,
            transient: sources.layer.links.count,
            systems: systems.map { SystemSummary($0) },
            buses: graph.buses.count,
            links: graph.links.count,
            rights: Right.allCases.filter { sources.access.allows(AccessTable.Request($0), peer) },
            injectInto: sources.access.injectionLimits(of: peer).map {
                InjectionTargets(systems: $0.systems.map(\.text).sorted(), buses: $0.buses.map(\.text).sorted())
            },
            stopping: host.isStopped ? true : nil,
            stops: stops)
    }

    func listSystems(peer: VarlinkPeer) async throws -> [SystemSummary] {
        await pay(host.graph.systems.count * UserBudgets.part, peer)
        return host.systemStatuses.map { SystemSummary($0) }
    }

    func describeSystem(_ name: String, peer: VarlinkPeer) async throws -> SystemDescription {
        await pay(UserBudgets.story, peer)
        let status = try translate { () throws(HostError) in try host.systemStatus(name) }
        var description = SystemDescription(status)
        description.persistence = persistence(of: status.definition)
        addWaits(to: &description)
        return description
    }

    func listBuses(peer: VarlinkPeer) async throws -> [BusSummary] {
        await pay(host.graph.buses.count * UserBudgets.part, peer)
        return host.busStatuses.map { BusSummary($0) }
    }

    func describeBus(_ name: String, peer: VarlinkPeer) async throws -> BusDescription {
        await pay(UserBudgets.story, peer)
        let status = try translate { () throws(HostError) in try host.busStatus(name) }
        var description = BusDescription(status)
        description.persistence = persistence(of: status.definition)
        return description
    }

    func listLinks(peer: VarlinkPeer) async throws -> [LinkSummary] {
        await pay(host.graph.links.count * UserBudgets.part, peer)
        let (snapshot, sources) = reloader.running
        return snapshot.linkStatuses.map { LinkSummary($0, sources.layer) }
    }

    func describeLink(_ name: String, peer: VarlinkPeer) async throws -> LinkDescription {
        await pay(UserBudgets.story, peer)
        let (snapshot, sources) = reloader.running
        return LinkDescription(try translate { () throws(HostError) in try snapshot.linkStatus(name) }, sources.layer)
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
        let announcement = Announcement { [acts] in
            acts.done("emit", by: peer, .info, .eventEmitted, "event emitted by a client", subject)
        }
        try translate { () throws(HostError) in
            try host.emit(
                parameters.event, to: parameters.system, fields: fields, by: HostClient(peer), announcing: announcement)
        }
        announcement.make()
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
        let subject: Logger.Metadata = ["bus": "\(parameters.bus)", "value": "\(Excerpt.of(value))"]
        let announcement = Announcement { [acts] in
            acts.done("publish", by: peer, .info, .valuePublished, "value published by a client", subject)
        }
        try translate { () throws(HostError) in
            try host.publish(value, on: parameters.bus, by: HostClient(peer), announcing: announcement)
        }
        announcement.make()
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
        let announcement = Announcement { [acts] in
            acts.done("reset", by: peer, .notice, .resetAsked, "reset by a client", ["system": "\(name)"])
        }
        try translate { () throws(HostError) in
            try host.reset(name, by: HostClient(peer), announcing: announcement)
        }
        announcement.make()
    }

    func pauseSystem(_ name: String, peer: VarlinkPeer) async throws -> PauseReply {
        let userName = await acts.name(of: peer)
        let isNews = try translate { () throws(HostError) in
            try host.pause(name, by: peer.userID, named: userName)
        }
        acts.done(
            "pause", by: peer, .notice, isNews ? .paused : nil,
            isNews ? "paused by a client" : "a client asked for a pause, but it was paused already",
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
        if !wasPaused {
            acts.done("resume", by: peer, .notice, nil, "a client asked to resume it, but it was not paused", subject)
        }
        return PauseReply(changed: wasPaused)
    }

    func describeKinds(peer: VarlinkPeer) async throws -> DescribeKindsReply {
        await pay(UserBudgets.story, peer)
        return DescribeKindsReply(document: try JSONValue(parsing: try kinds.json()))
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
                reason: "the program that contains the daemon controls its log")
        }
        return logLevels
    }

    func readMetrics(peer: VarlinkPeer) async throws -> String {
        await pay(host.graph.systems.count * UserBudgets.part, peer)
        return await metrics.text
    }

    func why(_ name: String, peer: VarlinkPeer) async throws -> WhyReply {
        await pay(UserBudgets.story, peer)
        let (chain, status) = try translate { () throws(HostError) in
            (try host.why(name), try host.systemStatus(name))
        }
        let tells = status.failingPart != nil || status.pause?.reason != nil
        return WhyReply(chain, failing: tells ? status.healthReason : nil)
    }

    func whyNot(_ parameters: WhyNotParameters, peer: VarlinkPeer) async throws -> WhyNotReply {
        await pay(UserBudgets.story, peer)
        let isAlways = parameters.event == Names.always && parameters.data == nil
        let event =
            isAlways
            ? nil
            : try translate { () throws(HostError) in
                try host.event(parameters.event, of: parameters.name)
            }
        let fields = try event.flatMap { event in
            try parameters.data.map { data in
                try decode { () throws(ValueCoding.Mismatch) in
                    try ValueCoding.someFields(data, as: event.type, at: parameters.event)
                }
            }
        }
        let answer = try translate { () throws(HostError) in
            try host.whyNot(parameters.name, event: parameters.event, fields: fields)
        }
        let detached = reloader.sources.layer.list.filter { $0.kind == .detached }.map(\.link)
        return WhyNotReply(answer, detached: detached)
    }

    func trace(_ parameters: TraceParameters, peer: VarlinkPeer) async throws -> TraceReply {
        await pay(UserBudgets.story, peer)
        let steps = try translate { () throws(HostError) in try host.trace(parameters.name) }
        let limit = parameters.limit ?? steps.count
        guard limit >= 0 else {
            throw ControlError.invalidValue(path: "limit", expected: "int", message: "limit must not be negative")
        }
        // Steps stand in the order of time, and a run has its number when it ends. So the last ones are those with the
        // largest numbers. Otherwise a step between them would be missing.
        let last = Set(steps.map(\.number).sorted().suffix(limit))
        return TraceReply(steps: steps.filter { last.contains($0.number) }.map { TraceStep($0) })
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
