import CommonExpression
import Glibc
import Logging
import MediatorConfiguration
import MediatorControl
import MediatorHost
import SideEffects
import Systemd
import Varlink

// The control socket of the daemon: its address, its settings and the log of its clients.

extension Daemon {
    /// The address to serve: the socket of a socket unit, else the socket that the previous daemon left, else one at
    /// the path.
    private func socketAddress() throws -> ServiceAddress {
        let kept = inheritance.kept
        if let activated = inheritance.activated {
            if let kept { letGo(of: kept) }
            return .inherited(activated)
        }
        if let kept {
            if ActivationSockets.isListening(kept, at: socket) { return .inherited(kept) }
            logger.notice(
                "the control socket of the previous daemon is not used: it has another path, or its file is gone")
            letGo(of: kept)
        }
        try ControlSocket.prepareDirectory(ofPath: socket, mayMake: makesSocketDirectory)
        return .path(socket, mode: SocketAudience.firstMode)
    }

    /// Has nobody listen on the control socket of the daemon before.
    private func letGo(of kept: Int32) {
        notifier.notify(.discard(Inheritance.socketName))
        close(kept)
    }

    /// Opens the control socket, and logs which inherited descriptors are not used.
    func openSocket(
        _ host: Host, _ reloader: Reloader, started: Timestamp
    ) async throws -> ControlSocketService {
        for name in inheritance.unused {
            logger.notice("an inherited descriptor is not used", metadata: ["name": "\(name)"])
        }
        return try await openSocket(at: try socketAddress(), host, reloader, started: started)
    }

    /// Serves at an address.
    func openSocket(
        at address: ServiceAddress, _ host: Host, _ reloader: Reloader, started: Timestamp
    ) async throws -> ControlSocketService {
        let metrics = DaemonMetrics(reloader: reloader, recorded: recorded, started: started)
        let acts = reloader.acts
        let control = HostControl(
            host: host, reloader: reloader, metrics: metrics, configuration: configuration.directories,
            started: started, acts: acts,
            kinds: KindFile(
                kinds.kinds, effects: effects.schemas.filter { !EffectCatalogue.builtin.schemas.contains($0) }),
            logLevels: logLevels, budgets: UserBudgets(time: host.time))
        var settings = ServiceConfiguration(
            vendor: "mediatord", product: "mediatord", version: Version.current,
            url: "file:///usr/share/doc/mediatord/README.md"
        )
        let descriptors = descriptors ?? DescriptorLimit.raise()
        settings.maximumConnections = DescriptorLimit.connections(of: descriptors)
        settings.maximumConnectionsPerUser = DescriptorLimit.connectionsPerUser(of: descriptors)
        settings.reservedConnections = DescriptorLimit.reservedConnections(of: descriptors)
        settings.unauthorizedLimit = unauthorizedLimit
        settings.hasPrecedence = { peer in control.hasPrecedence(peer) }
        settings.authorize = { request, peer in control.authorizes(request, peer) }
        settings.admit = { work, peer in await control.admits(work, peer) }
        settings.didReply = { reply, peer in control.charge(reply, peer) }
        let repeats = RepeatLog(time: host.time)
        settings.observe = { [logger] event in Self.log(event, logger, repeats) }
        let systemd = SystemdInterfaces(
            reloader: reloader, metrics: metrics, levels: logLevels, acts: acts)
        let service = try await VarlinkService.start(
            at: address, interfaces: [try ControlService.interface(handler: control)] + systemd.implementations(),
            configuration: settings)
        reloader.audience.serve(service, to: reloader.sources.access.audience)
        if case .inherited = address { return ControlSocketService(service: service, isLasting: true) }
        var isLasting = false
        if notifier.storeLimit > 0 {
            service.share { descriptor in
                isLasting = notifier.store(descriptor, as: Inheritance.socketName) == .delivered
                return isLasting
            }
        }
        return ControlSocketService(service: service, isLasting: isLasting)
    }

    /// The limit on log lines a second about clients' acts, for each kind. Of further ones only the number is logged.
    private static let clientLinesPerSecond = 5

    private static func log(_ event: ServiceConfiguration.Event, _ logger: Logger, _ repeats: RepeatLog) {
        @Sendable func told(_ peer: VarlinkPeer, _ id: MessageID) -> Logger.Metadata {
            .about(id, because: HostClient(peer).id, ["uid": "\(peer.userID)", "pid": "\(peer.processID)"])
        }
        switch event {
        case .connected(let peer), .disconnected(let peer):
            logger.trace("control client", metadata: ["event": "\(event)", "uid": "\(peer.userID)"])
        case .refused(let peer):
            repeats.log(
                logger, .warning, "control client refused", key: "refused", burst: clientLinesPerSecond,
                told(peer, .clientRefused))
        case .dropped(let peer, let error):
            repeats.log(
                logger, .warning, "control client dropped", key: "dropped", burst: clientLinesPerSecond,
                told(peer, .clientDropped).merging(["reason": "\(error)"]) { $1 })
        case .failed(let method, let error):
            repeats.log(
                logger, .error, "control call failed", key: "failed \(method)", burst: clientLinesPerSecond,
                .about(.callFailed, ["method": "\(method)", "reason": "\(error)"]))
        case .abandoned(let count):
            logger.warning(
                "control calls did not end in time",
                metadata: .about(.callsNotEnded, ["count": "\(count)"]))
        }
    }
}
