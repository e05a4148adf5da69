import AsyncHTTPClient
import Logging
import NIOCore
import NIOPosix
import Synchronization

/// The client that all side effects of a catalogue share: it is made by the first request, and ends with the daemon.
///
/// A client remembers each server it has spoken to. After so many of them another takes its place, and it ends with
/// its last request.
package final class HTTPClients: Sendable {
    /// How many servers one client is used for.
    static let serverLimit = 256
    /// How many requests to one server may be under way; others wait, within their own time.
    static let requestLimit = 64
    /// How long a connection may take to come about. It goes on for as long without its request.
    static let connectLimit = TimeAmount.seconds(10)
    /// How long a connection that nobody uses any more stays open: one that came about too late.
    static let idleLimit = TimeAmount.seconds(1)

    /// One client, and who uses it.
    private struct Client {
        let client: HTTPClient
        var servers: Set<String> = []
        var users = 0
    }

    private struct Machine {
        var current: Client?
        /// Those that have been replaced and are still used.
        var retired: [ObjectIdentifier: Client] = [:]
    }

    private let machine = Mutex(Machine())

    /// None as yet.
    package init() {}

    deinit {
        // Nobody is left who could use one.
        if let client = machine.withLock({ $0.current?.client }) { client.shutdown { _ in } }
    }

    /// Lends a client for requests to a server.
    func withClient<Result>(for server: String, _ body: (HTTPClient) async throws -> Result) async throws -> Result {
        let client = take(server)
        do {
            let result = try await body(client)
            giveBack(client)
            return result
        } catch {
            giveBack(client)
            throw error
        }
    }

    /// Ends it. What is asked for later gets a new one.
    package func shutDown() async {
        let client = machine.withLock { machine in
            defer { machine.current = nil }
            return machine.current?.client
        }
        // What still runs is ended; there is nothing to be done about what cannot be.
        try? await client?.shutdown().get()
    }

    private func take(_ server: String) -> HTTPClient {
        let (client, ended) = machine.withLock { machine in
            var ended: HTTPClient?
            if let full = machine.current, full.servers.count >= Self.serverLimit, !full.servers.contains(server) {
                if full.users > 0 {
                    machine.retired[ObjectIdentifier(full.client)] = full
                } else {
                    ended = full.client
                }
                machine.current = nil
            }
            var current = machine.current ?? Client(client: Self.make())
            current.servers.insert(server)
            current.users += 1
            machine.current = current
            return (current.client, ended)
        }
        ended?.shutdown { _ in }
        return client
    }

    private func giveBack(_ client: HTTPClient) {
        let ended = machine.withLock { machine -> HTTPClient? in
            if machine.current?.client === client {
                machine.current?.users -= 1
                return nil
            }
            guard var retired = machine.retired.removeValue(forKey: ObjectIdentifier(client)) else { return nil }
            retired.users -= 1
            if retired.users > 0 {
                machine.retired[ObjectIdentifier(client)] = retired
                return nil
            }
            return client
        }
        ended?.shutdown { _ in }
    }

    private static func make() -> HTTPClient {
        var settings = HTTPClient.Configuration()
        settings.redirectConfiguration = .disallow
        settings.decompression = .disabled
        settings.httpVersion = .http1Only
        settings.timeout = HTTPClient.Configuration.Timeout(connect: connectLimit)
        settings.connectionPool.idleTimeout = idleLimit
        settings.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = requestLimit
        // A server that refuses is a result, not something to be tried again in silence.
        settings.connectionPool.retryConnectionEstablishment = false
        return HTTPClient(
            eventLoopGroupProvider: .shared(MultiThreadedEventLoopGroup.singleton), configuration: settings)
    }
}
