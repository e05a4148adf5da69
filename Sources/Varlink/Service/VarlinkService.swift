import NIOCore
public import NIOPosix
import Synchronization

/// Where a service is reached.
public enum ServiceAddress: Sendable, Hashable {
    /// A path of the file system; the file gets the permissions `mode` and is removed when the service is closed.
    case path(String, mode: UInt16 = 0o660)
    /// A listening UNIX stream socket that is already open, as from socket activation. The service closes it in the
    /// end and leaves its file alone.
    case descriptor(Int32)
}

/// A running Varlink service.
///
/// Calls of one connection are answered in order, one at a time; those of different connections at the same time. What
/// a client can cost is bounded by the limits of ``ServiceConfiguration``. A service must be closed with
/// ``close(within:)``; its event loops must outlive it.
public final class VarlinkService: Sendable {
    /// How long handlers are waited for that have been cancelled.
    public static let cancellationLimit = Duration.seconds(1)

    private struct State {
        var channel: (any Channel)?
        var isClosing = false
        var nextNumber = 0
        var connections: [Int: ConnectionRecord] = [:]
        var countsByUser: [UInt32: Int] = [:]
        var onEmpty: [EventLoopPromise<Void>] = []
    }

    private struct ConnectionRecord {
        let peer: VarlinkPeer
        let channel: any Channel
        var gate: ConnectionGate?
    }

    private let configuration: ServiceConfiguration
    private let dispatcher: Dispatcher
    private let socketPath: SocketPath?
    private let state = Mutex(State())

    private init(configuration: ServiceConfiguration, dispatcher: Dispatcher, socketPath: SocketPath?) {
        self.configuration = configuration
        self.dispatcher = dispatcher
        self.socketPath = socketPath
    }

    /// Starts a service; when this returns, clients can connect.
    ///
    /// - Parameters:
    ///   - address: where to listen.
    ///   - interfaces: what the service offers beside `org.varlink.service`.
    ///   - configuration: what it says of itself, and its limits.
    ///   - group: the event loops it runs on.
    /// - Throws: ``VarlinkError`` when the address cannot be used (`addressInUse`, `notASocket`, `invalidPath`,
    ///   `notListening`, `accessDenied`, `system`) or an interface is registered twice (`invalidDefinition`).
    public static func start(
        at address: ServiceAddress,
        interfaces: [InterfaceImplementation],
        configuration: ServiceConfiguration,
        group: MultiThreadedEventLoopGroup = .singleton
    ) async throws -> VarlinkService {
        let dispatcher = try Dispatcher(interfaces: interfaces, configuration: configuration)
        let socketPath: SocketPath?
        let descriptor: Int32
        switch address {
        case .path(let path, let mode):
            let bound = try SocketPath(binding: path, mode: mode, backlog: configuration.backlog)
            socketPath = bound
            descriptor = bound.descriptor
        case .descriptor(let open):
            try SocketPath.checkListening(open)
            socketPath = nil
            descriptor = open
        }
        let service = VarlinkService(configuration: configuration, dispatcher: dispatcher, socketPath: socketPath)
        do {
            try await service.listen(descriptor, group: group)
        } catch {
            // The channel has closed the descriptor.
            socketPath?.release()
            throw error
        }
        return service
    }

    private func listen(_ descriptor: Int32, group: MultiThreadedEventLoopGroup) async throws {
        let highMark = configuration.maximumUnsentBytes
        let channel = try await ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: configuration.backlog)
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelOption(.writeBufferWaterMark, value: .init(low: max(1, highMark / 2), high: max(1, highMark)))
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try self.accept(channel) }
            }
            .withBoundSocket(descriptor)
            .get()
        state.withLock { $0.channel = channel }
    }

    /// How many connections there are.
    public var connectionCount: Int { state.withLock { $0.connections.count } }

    /// Closes the service: no new connections and calls; running calls have until the limit to finish and are then
    /// cancelled. The socket file is removed at once. Closing again waits as well.
    public func close(within limit: Duration = .seconds(5)) async {
        let (channel, gates) = state.withLock { state in
            state.isClosing = true
            defer { state.channel = nil }
            return (state.channel, state.connections.values.compactMap(\.gate))
        }
        if let channel {
            socketPath?.release()
            try? await channel.close().get()
        }
        for gate in gates { gate.drain() }
        if await waitUntilEmpty(limit) { return }

        let channels = state.withLock { $0.connections.values.map(\.channel) }
        for channel in channels { channel.close(promise: nil) }
        if await waitUntilEmpty(Self.cancellationLimit) { return }
        configuration.observe(.abandoned(count: connectionCount))
    }

    /// Waits until no connection is left, at most for the given time; true when none is.
    private func waitUntilEmpty(_ limit: Duration) async -> Bool {
        let eventLoop = MultiThreadedEventLoopGroup.singleton.any()
        let promise = eventLoop.makePromise(of: Void.self)
        let isEmpty = state.withLock { state in
            if !state.connections.isEmpty { state.onEmpty.append(promise) }
            return state.connections.isEmpty
        }
        if isEmpty {
            promise.succeed()
            return true
        }
        let timeout = eventLoop.scheduleTask(in: TimeAmount(limit)) {
            promise.fail(VarlinkError(.timedOut, "connections are still open"))
        }
        defer { timeout.cancel() }
        do {
            try await promise.futureResult.get()
            return true
        } catch {
            return false
        }
    }

    // MARK: Connections

    private func accept(_ channel: any Channel) throws {
        let pipeline = channel.pipeline.syncOperations
        guard
            let peer = try pipeline.withUnsafeTransportIfAvailable(
                of: NIOBSDSocket.Handle.self,
                { try VarlinkPeer(ofSocket: $0) }
            )
        else { throw VarlinkError(.system, "the channel has no socket") }

        guard let number = admit(peer, channel) else {
            configuration.observe(.refused(peer))
            channel.close(promise: nil)
            return
        }
        configuration.observe(.connected(peer))
        let connection = ServiceConnection(
            peer: peer,
            configuration: configuration,
            dispatcher: dispatcher,
            isWelcome: configuration.authorize(.connection, peer)
        ) { [self] in
            remove(number)
        }
        do {
            try pipeline.addHandler(connection)
        } catch {
            remove(number)
            throw error
        }
        let gate = ConnectionGate(connection: connection, eventLoop: channel.eventLoop)
        let isClosing = state.withLock { state in
            state.connections[number]?.gate = gate
            return state.isClosing
        }
        if isClosing { gate.drain() }
    }

    /// Takes a connection in, unless a limit is reached or the service is being closed.
    private func admit(_ peer: VarlinkPeer, _ channel: any Channel) -> Int? {
        state.withLock { state in
            guard !state.isClosing, state.connections.count < configuration.maximumConnections,
                state.countsByUser[peer.userID, default: 0] < configuration.maximumConnectionsPerUser
            else { return nil }
            state.nextNumber += 1
            state.countsByUser[peer.userID, default: 0] += 1
            state.connections[state.nextNumber] = ConnectionRecord(peer: peer, channel: channel)
            return state.nextNumber
        }
    }

    private func remove(_ number: Int) {
        let (peer, waiting) = state.withLock { state -> (VarlinkPeer?, [EventLoopPromise<Void>]) in
            guard let record = state.connections.removeValue(forKey: number) else { return (nil, []) }
            let user = record.peer.userID
            let count = state.countsByUser[user, default: 1] - 1
            state.countsByUser[user] = count > 0 ? count : nil
            guard state.connections.isEmpty else { return (record.peer, []) }
            defer { state.onEmpty = [] }
            return (record.peer, state.onEmpty)
        }
        if let peer { configuration.observe(.disconnected(peer)) }
        for promise in waiting { promise.succeed() }
    }
}
