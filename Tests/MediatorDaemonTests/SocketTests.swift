import Glibc
import Logging
import MediatorConfiguration
import MediatorDaemon
import Testing
import TestSupport
import Varlink

/// The control socket: the permissions of its file, and the limits on connections.
@Suite struct `The socket of the daemon` {
    private static func configuration() -> ServiceConfiguration {
        ServiceConfiguration(vendor: "a", product: "b", version: "1", url: "")
    }

    private static let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    private static func directory() throws -> String {
        // A short path, since a socket's address has room for 107 bytes; mkdtemp(3) puts a name of its own in it.
        var template = Array("/tmp/mediatord-XXXXXX".utf8CString)
        return String(cString: try #require(mkdtemp(&template)))
    }

    @Test(.enabled(if: geteuid() == 0, "only root can be without a right of root"))
    func `what could not be changed is tried again`() async {
        await #expect(processExitsWith: .success) {
            let directory = try Self.directory()
            let socket = directory + "/s"
            let service = try await VarlinkService.start(
                at: .path(socket, mode: 0o600), interfaces: [], configuration: Self.configuration())
            func mode() -> UInt32 {
                var status = stat()
                return stat(socket, &status) == 0 ? status.st_mode & 0o777 : 0
            }
            let audience = SocketAudience(logger: Self.logger)
            audience.serve(service, to: .owner)
            #expect(chown(socket, 54_321, 54_322) == 0)
            try withoutOwningFiles { audience.set(.everybody) }
            #expect(mode() == 0o600)
            audience.set(.everybody)
            #expect(mode() == 0o666)
            await service.close()
            rmdir(directory)
        }
    }

    @Test func `a daemon that is run directly takes the descriptors that there are`() async {
        await #expect(processExitsWith: .success) {
            let directory = try Self.directory()
            let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
            var limit = rlimit(rlim_cur: 200, rlim_max: 400)
            try #require(setrlimit(resource, &limit) == 0)
            let socket = directory + "/s"
            let daemon = Daemon(
                configuration: ConfigurationLayers([directory]), socket: socket, logger: Self.logger, report: { _ in })
            let running = Task { await daemon.run() }
            await suspend(while: access(socket, F_OK) != 0)
            var clients: [VarlinkClient] = []
            // One user may have a quarter of the connections.
            for _ in 0..<110 {
                guard let client = try? await VarlinkClient.connect(toPath: socket),
                    (try? await client.call("org.varlink.service.GetInfo")) != nil
                else { continue }
                clients.append(client)
            }
            #expect(clients.count == 100)
            #expect(getrlimit(resource, &limit) == 0 && limit.rlim_cur == 400)
            for client in clients { await client.close() }
            kill(getpid(), SIGTERM)
            #expect(await running.value == .stopped)
            rmdir(directory)
        }
    }
}
