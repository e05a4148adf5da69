import Glibc
import NIOCore
public import NIOPosix
import Synchronization

/// A connection to a Varlink service.
///
/// Calls may be made from many tasks; they are sent at once and answered in the order in which they were made. A
/// stream (``callMore(_:parameters:)``) holds up everything after it until it ends, and cannot be taken back: leaving
/// it unread to its end closes the connection. So a stream without end wants a client of its own.
///
/// The connection is closed by ``close()`` or when the client and its streams are no longer used.
public final class VarlinkClient: Sendable {
    private let channel: any Channel
    private let connection: NIOLoopBound<ClientConnection>
    private let configuration: ClientConfiguration
    private let lastNumber = Atomic<Int>(0)

    /// Who serves, as the kernel says; nil when it does not.
    public let peer: VarlinkPeer?

    init(
        channel: any Channel,
        connection: NIOLoopBound<ClientConnection>,
        peer: VarlinkPeer?,
        configuration: ClientConfiguration
    ) {
        self.channel = channel
        self.connection = connection
        self.peer = peer
        self.configuration = configuration
    }

    deinit {
        channel.close(promise: nil)
    }

    /// Connects to the service at a path.
    ///
    /// - Throws: ``VarlinkError`` with `noSocket`, `notRunning`, `notASocket`, `accessDenied`, `invalidPath`,
    ///   `timedOut` or `system`.
    public static func connect(
        toPath path: String,
        configuration: ClientConfiguration = ClientConfiguration(),
        group: MultiThreadedEventLoopGroup = .singleton
    ) async throws(VarlinkError) -> VarlinkClient {
        try await connect(to: .path(path), configuration: configuration, group: group)
    }

    /// Connects to the service at an address.
    ///
    /// - Throws: as ``connect(toPath:configuration:group:)``; an abstract name that nobody serves is `noSocket`.
    public static func connect(
        to address: VarlinkAddress,
        configuration: ClientConfiguration = ClientConfiguration(),
        group: MultiThreadedEventLoopGroup = .singleton
    ) async throws(VarlinkError) -> VarlinkClient {
        try address.check()
        do {
            let bootstrap = ClientBootstrap(group: group)
                .connectTimeout(TimeAmount(configuration.connectLimit))
                .channelOption(.allowRemoteHalfClosure, value: true)
            let initialize: @Sendable (any Channel) -> EventLoopFuture<(any Channel, NIOLoopBound<ClientConnection>)> =
                { channel in
                    channel.eventLoop.makeCompletedFuture {
                        let connection = ClientConnection(configuration: configuration)
                        try channel.pipeline.syncOperations.addHandler(connection)
                        return (channel, NIOLoopBound(connection, eventLoop: channel.eventLoop))
                    }
                }
            let (channel, connection) = try await withRoom(within: configuration.connectLimit, group) {
                switch address {
                case .path(let path):
                    try await bootstrap.connect(unixDomainSocketPath: path, channelInitializer: initialize)
                case .abstract(let name):
                    try await bootstrap.withConnectedSocket(
                        AbstractSocket.connect(name), channelInitializer: initialize)
                }
            }
            let peer = try? await channel.eventLoop.submit {
                try channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(
                    of: NIOBSDSocket.Handle.self,
                    { try VarlinkPeer(ofSocket: $0) }
                )
            }
            .get()
            return VarlinkClient(channel: channel, connection: connection, peer: peer, configuration: configuration)
        } catch {
            switch address {
            case .path(let path): throw connectError(error, path)
            case .abstract: throw connectError(error, address.description)
            }
        }
    }

    /// Calls a method and gives the parameters of its reply.
    ///
    /// - Parameters:
    ///   - method: the qualified name.
    ///   - parameters: what to send.
    ///   - limit: how long to wait; nil is what the configuration says.
    /// - Throws: ``ErrorReply`` when the service answers with an error, ``VarlinkError`` when the connection fails or
    ///   the limit passes, `CancellationError` when the task is cancelled.
    public func call(
        _ method: String,
        parameters: JSONObject = [:],
        limit: Duration? = nil
    ) async throws -> JSONObject {
        let bytes = frame(CallMessage(method: method, parameters: parameters))
        let number = nextNumber()
        let limit = limit ?? configuration.callLimit
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                onEventLoop { connection in
                    connection.call(bytes, number: number, limit: limit, continuation)
                }
                // A task cancelled before it came here had nothing to abandon yet.
                if Task.isCancelled { abandon(number) }
            }
        } onCancel: {
            abandon(number)
        }
    }

    /// Calls a method with values.
    ///
    /// - Throws: as ``call(_:parameters:limit:)``, and ``VarlinkError`` (`unexpectedValue`) when the parameters are no
    ///   object or the reply is not what the type asks for.
    public func call<Reply: Decodable>(
        _ method: String,
        _ parameters: some Encodable,
        returning type: Reply.Type = Reply.self,
        limit: Duration? = nil
    ) async throws -> Reply {
        let reply = try await call(method, parameters: MethodCall.parameters(of: parameters), limit: limit)
        return try Self.decode(reply, type, method)
    }

    /// Calls a method that answers more than once.
    ///
    /// The call is sent at once. The service is held up while the reader does not keep up.
    ///
    /// - Throws: ``VarlinkError`` when the connection is gone. Errors of the service are thrown by the sequence.
    public func callMore(_ method: String, parameters: JSONObject = [:]) async throws -> ReplySequence<JSONObject> {
        ReplySequence(try await begin(method, parameters)) { $0 }
    }

    /// Calls a method that answers more than once, with values.
    ///
    /// - Throws: as ``callMore(_:parameters:)``.
    public func callMore<Reply: Decodable & SendableMetatype>(
        _ method: String,
        _ parameters: some Encodable,
        returning type: Reply.Type = Reply.self
    ) async throws -> ReplySequence<Reply> {
        ReplySequence(try await begin(method, MethodCall.parameters(of: parameters))) {
            try Self.decode($0, type, method)
        }
    }

    /// Calls a method that answers with another protocol on the same connection.
    ///
    /// Calls made before are answered first. When the service agrees, the connection belongs to the other protocol, and
    /// nothing can be called on this client any longer; when it answers with an error, the client goes on. Giving up
    /// while waiting closes the connection.
    ///
    /// - Returns: the parameters of the reply, and the connection from the byte behind that reply on.
    /// - Throws: as ``call(_:parameters:limit:)``.
    public func upgrade(
        _ method: String,
        parameters: JSONObject = [:],
        limit: Duration? = nil
    ) async throws -> (reply: JSONObject, connection: UpgradedConnection) {
        let bytes = frame(CallMessage(method: method, parameters: parameters, mode: .upgrade))
        let number = nextNumber()
        let limit = limit ?? configuration.callLimit
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                onEventLoop { [self] connection in
                    connection.upgrade(bytes, number: number, limit: limit, owner: self, continuation)
                }
                // A task cancelled before it came here had nothing to abandon yet.
                if Task.isCancelled { abandonUpgrade(number) }
            }
        } onCancel: {
            abandonUpgrade(number)
        }
    }

    /// Calls a method without waiting for an answer; there is none, not even an error.
    ///
    /// - Throws: ``VarlinkError`` when the call could not be written.
    public func oneway(_ method: String, parameters: JSONObject = [:]) async throws {
        let bytes = frame(CallMessage(method: method, parameters: parameters, mode: .oneway))
        let promise = channel.eventLoop.makePromise(of: Void.self)
        onEventLoop { $0.oneway(bytes, promise) }
        do {
            try await promise.futureResult.get()
        } catch let error as VarlinkError {
            throw error
        } catch {
            throw VarlinkError(.connectionClosed, "the call could not be sent", cause: error)
        }
    }

    /// Closes the connection; calls and streams that wait end with an error.
    public func close() async {
        try? await channel.close().get()
    }

    // MARK: Streams

    func nextReply(of number: Int) async throws -> JSONObject? {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                onEventLoop { $0.nextReply(of: number, continuation) }
            }
        } onCancel: {
            dropStream(number, CancellationError())
        }
    }

    func dropStream(_ number: Int, _ error: (any Error)?) {
        channel.eventLoop.execute { [connection] in connection.value.dropStream(number, error) }
    }

    private func begin(_ method: String, _ parameters: JSONObject) async throws -> ReplyStream {
        let bytes = frame(CallMessage(method: method, parameters: parameters, mode: .more))
        let number = nextNumber()
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            onEventLoop { connection in
                continuation.resume(with: Result { try connection.callMore(bytes, number: number) })
            }
        }
        return ReplyStream(client: self, number: number)
    }

    // MARK: Parts

    private func abandon(_ number: Int) {
        channel.eventLoop.execute { [connection] in connection.value.abandon(number, CancellationError()) }
    }

    private func abandonUpgrade(_ number: Int) {
        channel.eventLoop.execute { [connection] in connection.value.abandonUpgrade(number, CancellationError()) }
    }

    private func nextNumber() -> Int {
        lastNumber.add(1, ordering: .relaxed).newValue
    }

    private func frame(_ message: CallMessage) -> ByteBuffer {
        var buffer = ByteBuffer(bytes: message.serialized())
        buffer.writeInteger(UInt8(0))
        return buffer
    }

    private func onEventLoop(_ body: @escaping @Sendable (ClientConnection) -> Void) {
        if channel.eventLoop.inEventLoop {
            body(connection.value)
        } else {
            channel.eventLoop.execute { [connection] in body(connection.value) }
        }
    }

    private static func decode<Reply: Decodable>(_ reply: JSONObject, _ type: Reply.Type, _ method: String) throws
        -> Reply
    {
        do {
            return try JSONValue.object(reply).decode(type)
        } catch let error as DecodingError {
            throw VarlinkError(
                .unexpectedValue,
                "the reply to '\(method)' is not as expected at '\(error.path)'; are service and client of one version?",
                cause: error
            )
        }
    }

    /// Tries again, for so long, while the kernel keeps as many connections as the service lets it before it accepts them:
    /// then a socket that does not block is told to come back (unix(7), EAGAIN).
    private static func withRoom<Result>(
        within limit: Duration, _ group: MultiThreadedEventLoopGroup, _ connect: () async throws -> Result
    ) async throws -> Result {
        let deadline = NIODeadline.now() + TimeAmount(limit)
        var pause = TimeAmount.milliseconds(5)
        while true {
            do {
                return try await connect()
            } catch  where isFull(error) && NIODeadline.now() + pause < deadline {
                try await group.any().scheduleTask(in: pause) {}.futureResult.get()
                pause = min(pause * 2, .milliseconds(100))
            }
        }
    }

    private static func isFull(_ error: any Error) -> Bool {
        (error as? IOError)?.errnoCode == EAGAIN || (error as? VarlinkError)?.code == .timedOut
    }

    private static func connectError(_ error: any Error, _ path: String) -> VarlinkError {
        switch error {
        case let error as VarlinkError: error
        case let error as IOError where error.errnoCode == ENOENT:
            VarlinkError(.noSocket, "there is no socket '\(path)'")
        // The kernel says the same of every file that is no socket (connect(2)).
        case let error as IOError where error.errnoCode == ECONNREFUSED:
            SocketPath.isOther(path)
                ? VarlinkError(.notASocket, "'\(path)' is no socket")
                : VarlinkError(.notRunning, "nobody listens on '\(path)' any longer")
        case let error as IOError where error.errnoCode == EAGAIN:
            VarlinkError(.timedOut, "too many wait for '\(path)' to accept them; try again later")
        case let error as IOError: SystemError.error(error.errnoCode, "connect to", path)
        case ChannelError.connectTimeout: VarlinkError(.timedOut, "'\(path)' did not accept the connection in time")
        default: VarlinkError(.system, "cannot connect to '\(path)'", cause: error)
        }
    }
}

extension VarlinkClient {
    /// Speaks over a socket that is connected already, such as one end of a socketpair(2) of which a program that carries
    /// the bytes elsewhere has the other. The descriptor is the client's from now on, also if this fails.
    ///
    /// - Throws: ``VarlinkError`` with `system` when it is no connected stream socket.
    public static func connect(
        adopting descriptor: CInt,
        configuration: ClientConfiguration = ClientConfiguration(),
        group: MultiThreadedEventLoopGroup = .singleton
    ) async throws(VarlinkError) -> VarlinkClient {
        do {
            let (channel, connection) = try await ClientBootstrap(group: group).withConnectedSocket(descriptor) {
                channel in
                channel.eventLoop.makeCompletedFuture {
                    let connection = ClientConnection(configuration: configuration)
                    try channel.pipeline.syncOperations.addHandler(connection)
                    return (channel, NIOLoopBound(connection, eventLoop: channel.eventLoop))
                }
            }
            return VarlinkClient(channel: channel, connection: connection, peer: nil, configuration: configuration)
        } catch let error as IOError {
            throw SystemError.error(error.errnoCode, "speak over the descriptor", "\(descriptor)")
        } catch {
            throw VarlinkError(.system, "cannot speak over the descriptor \(descriptor)", cause: error)
        }
    }
}
