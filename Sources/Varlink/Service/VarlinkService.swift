import Glibc
package import NIOCore
public import NIOPosix
import Synchronization

/// Where a service is reached.
public enum ServiceAddress: Sendable, Hashable {
    /// A path of the file system; the file gets the permissions `mode` and is removed when the service is closed.
    case path(String, mode: UInt16 = 0o660)
    /// A name in the abstract namespace of UNIX sockets (unix(7)), which lies in no file system. Everybody in the same
    /// network namespace can connect, so whom the service serves is for ``ServiceConfiguration/authorize`` alone.
    case abstract(String)
    /// A listening UNIX stream socket that is already open, as from socket activation. The service closes it in the
    /// end and leaves its file alone.
    case descriptor(Int32)
    /// A listening UNIX stream socket that is already open, and that somebody else keeps open besides, such as a service
    /// manager. Its file, if it has one, is the service's to give to others (``VarlinkService/setPermissions(mode:group:)``),
    /// and stays when the service is closed.
    case inherited(Int32)
    /// Nowhere: the only clients are those that ``VarlinkService/connect(as:configuration:)`` makes.
    case nowhere
}

/// A running Varlink service.
///
/// Calls of one connection are answered in order, one at a time; those of different connections at the same time. What
/// a client can cost is bounded by the limits of ``ServiceConfiguration``. A service must be closed with
/// ``close(within:)``; its event loops must outlive it.
public final class VarlinkService: Sendable {
    /// How long handlers are waited for that have been cancelled.
    public static let cancellationLimit = Duration.seconds(1)

    struct State {
        var channel: (any Channel)?
        /// The file of the socket, if there is one. It is nil while the socket is bound again.
        var path: SocketPath?
        var isClosing = false
        /// Whether the socket's file stays when the service is closed, since somebody else goes on listening.
        var keepsFile = false
        var nextNumber = 0
        var connections: [Int: ConnectionRecord] = [:]
        var countsByUser: [UInt32: Int] = [:]
        /// How many of the connections are of peers who may not be connected.
        var unwelcome = 0
        /// How many are of peers without precedence.
        var common = 0
        var onEmpty: [EventLoopPromise<Void>] = []
    }

    struct ConnectionRecord {
        let peer: VarlinkPeer
        let channel: any Channel
        let isWelcome: Bool
        let hasPrecedence: Bool
        var gate: ConnectionGate?
    }

    let configuration: ServiceConfiguration
    private let dispatcher: Dispatcher
    private let group: MultiThreadedEventLoopGroup
    private let heldBytes: HeldBytes
    private let unreadBytes: HeldBytes
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
        heldBytes = HeldBytes(
            limit: configuration.maximumHeldBytes, limitPerUser: configuration.maximumHeldBytesPerUser)
        unreadBytes = HeldBytes(
            limit: configuration.maximumUnreadBytes, limitPerUser: configuration.maximumUnreadBytesPerUser)
        state.withLock { state in
            state.path = socketPath
            state.keepsFile = keepsFile
        }
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

    /// A client of this service without any socket: the connection lies in memory. All else is as for other clients,
    /// limits and rights included.
    ///
    /// - Parameters:
    ///   - peer: whom the service takes the client for.
    ///   - configuration: what the client allows the service to cost.
    public func connect(
        as peer: VarlinkPeer = .current,
        configuration: ClientConfiguration = ClientConfiguration()
    ) async throws -> VarlinkClient {
        try await connectClient(as: peer, configuration: configuration, largestRead: 1 << 16)
    }

    /// A client whose connection takes at most so many bytes at a time in either direction.
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

    /// A connection in memory whose other end the service serves.
    ///
    /// - Parameters:
    ///   - largestRead: how many bytes either end takes at a time.
    ///   - initialize: prepares the near end, on its event loop, before anything happens on it.
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
        // It listens again, with a backlog of its own.
        _ = Glibc.listen(descriptor, configuration.backlog)
        return channel
    }

    /// Who may open the socket file, from now on; a service of a descriptor leaves its file alone.
    ///
    /// - Parameters:
    ///   - mode: the permissions of the file.
    ///   - group: the group of the file; nil: as it is.
    /// - Throws: ``VarlinkError`` (`accessDenied`, `system`) when the system refuses; the file is then as it was.
    public func setPermissions(mode: UInt16, group: UInt32? = nil) throws(VarlinkError) {
        try state.withLock { $0.path }?.setPermissions(mode: mode, group: group)
    }

    /// Gives the listening socket to somebody who keeps it open from now on, besides the service: the file stays when the
    /// service is closed, and who connects then waits for the next one to serve it. Only of a service at a path, and not
    /// while it is being closed.
    ///
    /// - Parameter take: given the descriptor, which stays the service's own; whether it was taken.
    public func share(_ take: (Int32) -> Bool) {
        guard let descriptor = state.withLock({ $0.path?.descriptor }), take(descriptor) else { return }
        state.withLock { $0.keepsFile = true }
    }

    /// How many connections there are.
    public var connectionCount: Int { state.withLock { $0.connections.count } }

    /// Takes no connection any more; those that there are go on. The socket file is removed, unless somebody else keeps
    /// the socket open: who connects then waits for the next one to serve it.
    public func stopListening() async {
        let (channel, path, keepsFile) = state.withLock { state in
            defer { state.channel = nil }
            return (state.channel, state.path, state.keepsFile)
        }
        guard let channel else { return }
        path?.release(keepingFile: keepsFile)
        if keepsFile { await settleAccepted(of: channel) }
        try? await channel.close().get()
    }

    /// Accepts nothing more, and returns when each connection that has been accepted is known. A channel that is closed
    /// before that drops those which are on their way to their event loops, though their clients may have called.
    private func settleAccepted(of channel: any Channel) async {
        try? await channel.setOption(.autoRead, value: false).get()
        // There (the initializer), back (the registration is told), and once more for what these have put off.
        for _ in 0..<3 {
            for eventLoop in group.makeIterator() { try? await eventLoop.submit {}.get() }
        }
    }

    /// Closes the service: no new connections and calls; running calls have until the limit to finish and are then
    /// cancelled. The socket file is removed at once. Closing again waits as well.
    ///
    /// - Parameters:
    ///   - limit: how long calls may take to finish.
    ///   - servesFirstCalls: whether a client that has connected and not called yet still has its first call served, if
    ///     that comes within the limit.
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
        let isWelcome = configuration.authorize(.connection, peer)
        let hasPrecedence = isWelcome && configuration.hasPrecedence(peer)
        guard let number = admit(peer, channel, isWelcome: isWelcome, hasPrecedence: hasPrecedence) else {
            configuration.observe(.refused(peer))
            channel.close(promise: nil)
            return
        }
        configuration.observe(.connected(peer))
        let connection = ServiceConnection(
            peer: peer,
            configuration: configuration,
            dispatcher: dispatcher,
            isWelcome: isWelcome,
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

    /// Takes a connection in, unless a limit is reached or the service is being closed.
    private func admit(
        _ peer: VarlinkPeer, _ channel: any Channel, isWelcome: Bool, hasPrecedence: Bool
    ) -> Int? {
        state.withLock { state in
            guard !state.isClosing, state.connections.count < configuration.maximumConnections,
                state.countsByUser[peer.userID, default: 0] < configuration.maximumConnectionsPerUser,
                hasPrecedence
                    || state.common < configuration.maximumConnections - configuration.reservedConnections,
                isWelcome || state.unwelcome < configuration.maximumUnwelcomeConnections
            else { return nil }
            if !isWelcome { state.unwelcome += 1 }
            if !hasPrecedence { state.common += 1 }
            state.nextNumber += 1
            state.countsByUser[peer.userID, default: 0] += 1
            state.connections[state.nextNumber] = ConnectionRecord(
                peer: peer, channel: channel, isWelcome: isWelcome, hasPrecedence: hasPrecedence)
            return state.nextNumber
        }
    }

    private func remove(_ number: Int) {
        let (peer, waiting) = state.withLock { state -> (VarlinkPeer?, [EventLoopPromise<Void>]) in
            guard let record = state.connections.removeValue(forKey: number) else { return (nil, []) }
            if !record.isWelcome { state.unwelcome -= 1 }
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
