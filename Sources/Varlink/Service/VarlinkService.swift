import Glibc
package import NIOCore
public import NIOPosix
import Synchronization

/// The address of a service.
public enum ServiceAddress: Sendable, Hashable {
    /// A path of the file system. The file gets the permissions `mode` and is removed when the service is closed.
    case path(String, mode: UInt16 = 0o660)
    /// A name in the abstract namespace of UNIX sockets (unix(7)), which has no file. Every process in the same network
    /// namespace can connect, so only ``ServiceConfiguration/authorize`` controls access.
    case abstract(String)
    /// A listening UNIX stream socket that is already open, for example from socket activation. The service closes it
    /// at the end and does not touch its file.
    case descriptor(Int32)
    /// A listening UNIX stream socket that another process, such as a service manager, also keeps open. The service may
    /// change the permissions of its file (``VarlinkService/setPermissions(mode:group:)``). The file stays when the
    /// service is closed.
    case inherited(Int32)
    /// No address. The only clients are those that ``VarlinkService/connect(as:configuration:)`` creates.
    case nowhere
}

/// A running Varlink service.
///
/// Calls of one connection are answered one at a time, in order. Calls of different connections run concurrently. The
/// limits of ``ServiceConfiguration`` bound the cost of a client. A service must be closed with ``close(within:)``, and
/// its event loops must outlive it.
public final class VarlinkService: Sendable {
    /// The time for which the service waits for cancelled handlers.
    public static let cancellationLimit = Duration.seconds(1)

    struct State {
        var channel: (any Channel)?
        /// The file of the socket, if it has one. It is nil while the socket is bound again.
        var path: SocketPath?
        var isClosing = false
        /// A Boolean value that indicates whether the socket's file stays when the service is closed, because another
        /// process continues to listen.
        var keepsFile = false
        var nextNumber = 0
        var connections: [Int: ConnectionRecord] = [:]
        var countsByUser: [UInt32: Int] = [:]
        /// The number of connections of peers without permission to connect.
        var unauthorized = 0
        /// The number of connections of peers without precedence.
        var common = 0
        var onEmpty: [EventLoopPromise<Void>] = []
    }

    struct ConnectionRecord {
        let peer: VarlinkPeer
        let channel: any Channel
        let isAuthorized: Bool
        let hasPrecedence: Bool
        var gate: ConnectionGate?
    }

    let configuration: ServiceConfiguration
    private let dispatcher: Dispatcher
    private let group: MultiThreadedEventLoopGroup
    private let heldBytes: ByteBudget
    private let unreadBytes: ByteBudget
    let state = Mutex(State())

    private init(
        configuration: ServiceConfiguration,
        dispatcher: Dispatcher,
        socketPath: SocketPath?,
        keepsFile: Bool,
        group: MultiThreadedEventLoopGroup
    ) {
        self.configuration = configuration
        self.dispatcher = dispatcher
        self.group = group
        heldBytes = ByteBudget(
            limit: configuration.maximumHeldBytes, limitPerUser: configuration.maximumHeldBytesPerUser)
        unreadBytes = ByteBudget(
            limit: configuration.maximumUnreadBytes, limitPerUser: configuration.maximumUnreadBytesPerUser)
        state.withLock { state in
            state.path = socketPath
            state.keepsFile = keepsFile
        }
    }

    /// Starts a service. Clients can connect when this returns.
    ///
    /// - Parameters:
    ///   - address: The address to listen at.
    ///   - interfaces: The interfaces of the service, in addition to `org.varlink.service`.
    ///   - configuration: The description and limits of the service.
    ///   - group: The event loops of the service.
    /// - Throws: ``VarlinkError`` if the address cannot be used (`addressInUse`, `notASocket`, `invalidPath`,
    ///   `notListening`, `accessDenied`, `system`) or an interface is registered twice (`invalidDefinition`).
    public static func start(
        at address: ServiceAddress,
        interfaces: [InterfaceImplementation],
        configuration: ServiceConfiguration,
        group: MultiThreadedEventLoopGroup = .singleton
    ) async throws -> VarlinkService {
        let dispatcher = try Dispatcher(interfaces: interfaces, configuration: configuration)
        var socketPath: SocketPath?
        let descriptor: Int32?
        switch address {
        case .path(let path, let mode):
            let bound = try SocketPath(binding: path, mode: mode, backlog: configuration.backlog)
            socketPath = bound
            descriptor = bound.descriptor
        case .descriptor(let open):
            try SocketPath.checkListening(open)
            descriptor = open
        case .inherited(let open):
            try SocketPath.checkListening(open)
            socketPath = SocketPath(inheriting: open)
            descriptor = open
        case .abstract(let name):
            descriptor = try AbstractSocket.bind(name, backlog: configuration.backlog)
        case .nowhere:
            descriptor = nil
        }
        let keepsFile = if case .inherited = address { true } else { false }
        let service = VarlinkService(
            configuration: configuration, dispatcher: dispatcher, socketPath: socketPath, keepsFile: keepsFile,
            group: group)
        do {
            if let descriptor {
                let channel = try await service.listen(descriptor)
                service.state.withLock { $0.channel = channel }
            }
        } catch {
            // The channel has closed the descriptor.
            socketPath?.release(keepingFile: keepsFile)
            throw error
        }
        return service
    }

    /// Creates a client of this service without a socket: the connection is in memory. The client has the same limits
    /// and permissions as others.
    ///
    /// - Parameters:
    ///   - peer: The identity of the client for the service.
    ///   - configuration: The client's limits for the service.
    public func connect(
        as peer: VarlinkPeer = .current,
        configuration: ClientConfiguration = ClientConfiguration()
    ) async throws -> VarlinkClient {
        try await connectClient(as: peer, configuration: configuration, largestRead: 1 << 16)
    }

    /// Creates a client whose connection transfers at most a number of bytes at a time in each direction.
    package func connectClient(
        as peer: VarlinkPeer = .current,
        configuration: ClientConfiguration = ClientConfiguration(),
        largestRead: Int
    ) async throws -> VarlinkClient {
        let (channel, connection) = try await connect(as: peer, largestRead: largestRead) { channel in
            let connection = ClientConnection(configuration: configuration)
            try channel.pipeline.syncOperations.addHandler(connection)
            return NIOLoopBound(connection, eventLoop: channel.eventLoop)
        }
        return VarlinkClient(channel: channel, connection: connection, peer: .current, configuration: configuration)
    }

    /// Creates a connection in memory, and serves one of its ends.
    ///
    /// - Parameters:
    ///   - largestRead: The most bytes that each end reads at a time.
    ///   - initialize: Prepares the client's end on its event loop before anything happens on it.
    package func connect<Output: Sendable>(
        as peer: VarlinkPeer = .current,
        largestRead: Int = 1 << 16,
        initialize: @escaping @Sendable (any Channel) throws -> Output
    ) async throws -> (channel: any Channel, output: Output) {
        let eventLoop = group.next()
        return try await eventLoop.submit { [self] in
            let (near, far) = MemoryChannel.pair(
                on: eventLoop, highMark: configuration.maximumUnsentBytes, largestRead: largestRead)
            let output = try initialize(near)
            try accept(far, peer)
            far.activate()
            near.activate()
            return (near, output)
        }.get()
    }

    func listen(_ descriptor: Int32) async throws -> any Channel {
        let highMark = configuration.maximumUnsentBytes
        let channel = try await ServerBootstrap(group: group)
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelOption(.writeBufferWaterMark, value: .init(low: max(1, highMark / 2), high: max(1, highMark)))
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try self.accept(channel, Self.peer(of: channel)) }
            }
            .withBoundSocket(descriptor)
            .get()
        // Listening again replaces the backlog.
        _ = Glibc.listen(descriptor, configuration.backlog)
        return channel
    }

    /// Changes the permissions of the socket file. A service of a descriptor does not touch its file.
    ///
    /// - Parameters:
    ///   - mode: The permissions of the file.
    ///   - group: The group of the file; nil to keep it.
    /// - Throws: ``VarlinkError`` (`accessDenied`, `system`) if the system refuses. The file is then unchanged.
    public func setPermissions(mode: UInt16, group: UInt32? = nil) throws(VarlinkError) {
        try state.withLock { $0.path }?.setPermissions(mode: mode, group: group)
    }

    /// Gives the listening socket to another process, which also keeps it open from now on. The file stays when the
    /// service is closed, and clients that connect then wait for the next service. This works only for a service at a
    /// path that is not being closed.
    ///
    /// - Parameter take: Receives the descriptor, which the service still owns. Returns whether it was accepted.
    public func share(_ take: (Int32) -> Bool) {
        guard let descriptor = state.withLock({ $0.path?.descriptor }), take(descriptor) else { return }
        state.withLock { $0.keepsFile = true }
    }

    /// The number of connections.
    public var connectionCount: Int { state.withLock { $0.connections.count } }

    /// Accepts no further connections. Existing ones continue. The socket file is removed unless another process keeps
    /// the socket open; clients that connect to it wait for the next service.
    public func stopListening() async {
        let (channel, path, keepsFile) = state.withLock { state in
            defer { state.channel = nil }
            return (state.channel, state.path, state.keepsFile)
        }
        guard let channel else { return }
        path?.release(keepingFile: keepsFile)
        if keepsFile {
            try? await channel.setOption(.autoRead, value: false).get()
            await settleAccepted()
        }
        try? await channel.close().get()
    }

    /// Returns when each accepted connection is registered. A channel that closed before that would drop connections on the
    /// way to their event loops, although their clients may have called.
    func settleAccepted() async {
        // One hop to the loop for the initializer, one back for the registration, and one for work that these deferred.
        for _ in 0..<3 {
            for eventLoop in group.makeIterator() { try? await eventLoop.submit {}.get() }
        }
    }

    /// Closes the service. It accepts no new connections or calls. Running calls may finish within the limit and are
    /// then cancelled. The socket file is removed at once. A second call also waits.
    ///
    /// - Parameters:
    ///   - limit: The time for calls to finish.
    ///   - servesFirstCalls: Whether a connected client that has not called yet has its first call served, if the call
    ///     arrives within the limit.
    public func close(within limit: Duration = .seconds(5), servingFirstCalls servesFirstCalls: Bool = false) async {
        await stopListening()
        let gates = state.withLock { state in
            state.isClosing = true
            return state.connections.values.compactMap(\.gate)
        }
        for gate in gates { gate.drain(servingFirstCall: servesFirstCalls) }
        if await waitUntilEmpty(limit) { return }

        let channels = state.withLock { $0.connections.values.map(\.channel) }
        for channel in channels { channel.close(promise: nil) }
        if await waitUntilEmpty(Self.cancellationLimit) { return }
        configuration.observe(.abandoned(count: connectionCount))
    }

    /// Waits until no connection is left, up to the limit. Returns whether none is left.
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

    private static func peer(of channel: any Channel) throws -> VarlinkPeer {
        let peer = try channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(
            of: NIOBSDSocket.Handle.self,
            { try VarlinkPeer(ofSocket: $0) }
        )
        guard let peer else { throw VarlinkError(.system, "the channel has no socket") }
        return peer
    }

    private func accept(_ channel: any Channel, _ peer: VarlinkPeer) throws {
        let pipeline = channel.pipeline.syncOperations
        let isAuthorized = configuration.authorize(.connection, peer)
        let hasPrecedence = isAuthorized && configuration.hasPrecedence(peer)
        guard let number = admit(peer, channel, isAuthorized: isAuthorized, hasPrecedence: hasPrecedence) else {
            configuration.observe(.refused(peer))
            channel.close(promise: nil)
            return
        }
        configuration.observe(.connected(peer))
        let connection = ServiceConnection(
            peer: peer,
            configuration: configuration,
            dispatcher: dispatcher,
            isAuthorized: isAuthorized,
            hasPrecedence: hasPrecedence,
            heldBytes: heldBytes,
            unreadBytes: unreadBytes
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
        if isClosing { gate.drain(servingFirstCall: false) }
    }

    /// Accepts a connection unless a limit is reached or the service is being closed.
    private func admit(
        _ peer: VarlinkPeer, _ channel: any Channel, isAuthorized: Bool, hasPrecedence: Bool
    ) -> Int? {
        state.withLock { state in
            guard !state.isClosing, state.connections.count < configuration.maximumConnections,
                state.countsByUser[peer.userID, default: 0] < configuration.maximumConnectionsPerUser,
                hasPrecedence
                    || state.common < configuration.maximumConnections - configuration.reservedConnections,
                isAuthorized || state.unauthorized < configuration.maximumUnauthorizedConnections
            else { return nil }
            if !isAuthorized { state.unauthorized += 1 }
            if !hasPrecedence { state.common += 1 }
            state.nextNumber += 1
            state.countsByUser[peer.userID, default: 0] += 1
            state.connections[state.nextNumber] = ConnectionRecord(
                peer: peer, channel: channel, isAuthorized: isAuthorized, hasPrecedence: hasPrecedence)
            return state.nextNumber
        }
    }

    private func remove(_ number: Int) {
        let (peer, waiting) = state.withLock { state -> (VarlinkPeer?, [EventLoopPromise<Void>]) in
            guard let record = state.connections.removeValue(forKey: number) else { return (nil, []) }
            if !record.isAuthorized { state.unauthorized -= 1 }
            if !record.hasPrecedence { state.common -= 1 }
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
