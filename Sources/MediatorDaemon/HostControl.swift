import CommonExpression
import Glibc
import Logging
import MediatorConfiguration
import MediatorControl
import MediatorHost
import Varlink

/// Answers the control interface from a host.
struct HostControl: ControlHandler {
    let host: Host
    let reloader: Reloader
    let metrics: DaemonMetrics
    /// Where the configuration came from.
    let configuration: [String]
    /// When the daemon was started.
    let started: Timestamp
    let logger: Logger

    func status(peer: VarlinkPeer) async throws -> StatusReply {
        let (snapshot, basis) = reloader.running
        let graph = snapshot.graph
        // All is told from one look, so that nothing contradicts itself.
        let systems = snapshot.systemStatuses
        let healths = systems.map(\.health)
        return StatusReply(
            version: Version.current,
            pid: Int(getpid()),
            started: "\(started)",
            health: Health(MediatorHost.Health(ofAll: healths)),
            statusText: MediatorHost.Health.text(ofAll: healths),
            configuration: configuration,
            generation: snapshot.generation,
            reload: reloader.verdict,
            reloads: reloader.counters,
            transient: basis.layer.links.count,
            systems: systems.map { SystemSummary($0) },
            buses: graph.buses.count,
            links: graph.links.count)
    }

    func listSystems(peer: VarlinkPeer) async throws -> [SystemSummary] {
        host.systemStatuses.map { SystemSummary($0) }
    }

    func describeSystem(_ name: String, peer: VarlinkPeer) async throws -> SystemDescription {
        let status = try translate { () throws(HostError) in try host.systemStatus(name) }
        return SystemDescription(status)
    }

    func listBuses(peer: VarlinkPeer) async throws -> [BusSummary] {
        host.busStatuses.map { BusSummary($0) }
    }

    func describeBus(_ name: String, peer: VarlinkPeer) async throws -> BusDescription {
        let status = try translate { () throws(HostError) in try host.busStatus(name) }
        return BusDescription(status)
    }

    func listLinks(peer: VarlinkPeer) async throws -> [LinkSummary] {
        let (snapshot, basis) = reloader.running
        return snapshot.linkStatuses.map { LinkSummary($0, basis.layer) }
    }

    func describeLink(_ name: String, peer: VarlinkPeer) async throws -> LinkDescription {
        let (snapshot, basis) = reloader.running
        return LinkDescription(try translate { () throws(HostError) in try snapshot.linkStatus(name) }, basis.layer)
    }

    func watchSystem(
        _ name: String, peer: VarlinkPeer
    ) async throws -> AsyncThrowingStream<WatchSystemReply, any Error> {
        let (definition, changes) = try translate { () throws(HostError) in try host.watch(system: name) }
        return AsyncThrowingStream {
            guard let change = await changes.next() else { return nil }
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
        return AsyncThrowingStream {
            guard let change = await changes.next() else { return nil }
            return WatchBusReply(
                time: "\(change.time)", replayed: change.isReplayed, value: ValueCoding.json(change.subject),
                dropped: change.dropped)
        }
    }

    func emit(_ parameters: EmitParameters, peer: VarlinkPeer) async throws {
        let event = try translate { () throws(HostError) in
            try host.event(parameters.event, of: parameters.system)
        }
        let fields = try decode { () throws(ValueCoding.Mismatch) in
            try ValueCoding.fields(parameters.data ?? [:], as: event.type, at: parameters.event)
        }
        try translate { () throws(HostError) in
            try host.emit(parameters.event, to: parameters.system, fields: fields)
        }
        logger.info(
            "event emitted by a client",
            metadata: ["system": "\(parameters.system)", "event": "\(parameters.event)", "uid": "\(peer.userID)"])
    }

    func publish(_ parameters: PublishParameters, peer: VarlinkPeer) async throws {
        let status = try translate { () throws(HostError) in try host.busStatus(parameters.bus) }
        let value = try decode { () throws(ValueCoding.Mismatch) in
            try ValueCoding.value(parameters.value, as: status.definition.valueType, at: parameters.bus)
        }
        try translate { () throws(HostError) in try host.publish(value, on: parameters.bus) }
        logger.info(
            "value published by a client",
            metadata: ["bus": "\(parameters.bus)", "value": "\(value)", "uid": "\(peer.userID)"])
    }

    func restartSystem(_ name: String, peer: VarlinkPeer) async throws {
        logger.notice("restart asked for by a client", metadata: ["system": "\(name)", "uid": "\(peer.userID)"])
        do throws(HostError) {
            try await host.restart(name)
        } catch {
            throw Self.translated(error)
        }
    }

    func resetSystem(_ name: String, peer: VarlinkPeer) async throws {
        try translate { () throws(HostError) in try host.reset(name) }
        logger.notice("reset by a client", metadata: ["system": "\(name)", "uid": "\(peer.userID)"])
    }

    func readMetrics(peer: VarlinkPeer) async throws -> String {
        await metrics.text
    }

    func plan(_ parameters: PlanParameters, peer: VarlinkPeer) async throws -> PlanReply {
        await reloader.plan(parameters.directory, dropsTransient: parameters.dropTransient ?? false)
    }

    func reload(_ parameters: ReloadParameters, peer: VarlinkPeer) async throws -> ReloadReply {
        try await reloader.reload(
            dropsTransient: parameters.dropTransient ?? false, ["cause": "client", "uid": "\(peer.userID)"])
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
                isDryRun: parameters.dryRun ?? false, peer: peer))
    }

    func detachLink(_ parameters: DetachParameters, peer: VarlinkPeer) async throws -> ChangeReply {
        try await reloader.change(
            LinkChangeRequest(
                change: LinkChange(link: parameters.link, action: .detach), persists: parameters.persist ?? false,
                isDryRun: parameters.dryRun ?? false, peer: peer))
    }

    func setLink(_ parameters: SetParameters, peer: VarlinkPeer) async throws -> ChangeReply {
        let action = LinkChange.Action.set(parameters.settings.map(LinkChange.Setting.init))
        return try await reloader.change(
            LinkChangeRequest(
                change: LinkChange(link: parameters.link, action: action), persists: parameters.persist ?? false,
                isDryRun: parameters.dryRun ?? false, peer: peer))
    }

    func readConfiguration(peer: VarlinkPeer) async throws -> [ReadConfigurationReply] {
        let basis = reloader.basis
        return basis.layer.applied(to: basis.contents.files).files.flatMap { file in
            [ReadConfigurationReply(file, owner: nil)]
                + file.dropIns.map { ReadConfigurationReply($0, owner: file.path) }
        }
    }

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
        case .notAccepted(let system, let reason): .notAccepted(name: system, reason: reason)
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
