import Logging
package import MediatorHost
package import Varlink

/// A daemon without its process: the host that it runs, and the service that answers for it. Nothing of it has started.
package struct ServedDaemon: Sendable {
    /// The host.
    package let host: Host
    /// Answers its clients.
    package let service: VarlinkService
    private let reloader: Reloader

    fileprivate init(host: Host, service: VarlinkService, reloader: Reloader) {
        self.host = host
        self.service = service
        self.reloader = reloader
    }

    /// From here on the service manager is notified of reloads.
    package func becomeReady() { reloader.becomeReady() }

    /// Reloads soon, as at a `SIGHUP`.
    package func reloadSoon() { reloader.reloadSoon(["cause": "SIGHUP"]) }
}

extension Daemon {
    /// Checks the configuration, builds the host and serves its control interface, as ``run()`` does.
    ///
    /// - Parameter address: where to serve, also ``/Varlink/ServiceAddress/nowhere``: to clients in memory only.
    package func serve(at address: ServiceAddress) async throws -> ServedDaemon {
        let (graph, sources) = try checkedConfiguration()
        let host = try buildHost(of: graph)
        let reloader = Reloader(self, host, sources)
        let opened = try await openSocket(at: address, host, reloader, started: host.time.now())
        return ServedDaemon(host: host, service: opened.service, reloader: reloader)
    }
}
