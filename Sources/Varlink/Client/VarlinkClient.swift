import Glibc
import NIOCore
public import NIOPosix
public import StrictJSON
import Synchronization

/// A connection to a Varlink service.
///
/// Many tasks may call at once. Calls are sent immediately and answered in the order in which they were made. A stream
/// (``callMore(_:parameters:)``) delays all later calls until it ends. It cannot be cancelled: dropping it before its
/// end closes the connection. Use a separate client for a stream without end.
///
/// The connection closes with ``close()``, or when the client and its streams are no longer used.
public final class VarlinkClient: Sendable {
    private let channel: any Channel
    private let connection: NIOLoopBound<ClientConnection>
    private let configuration: ClientConfiguration
    private let lastNumber = Atomic<Int>(0)

    /// The process that serves, as the kernel reports it; nil if it does not.
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
    /// - Throws: The errors of ``connect(toPath:configuration:group:)``. An abstract name that nobody serves is
    ///   `noSocket`.
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

    /// Calls a method and returns the parameters of its reply.
    ///
    /// - Parameters:
    ///   - method: The qualified name.
    ///   - parameters: The parameters of the call.
    ///   - limit: The time limit; nil for the one in the configuration.
    /// - Throws: ``ErrorReply`` if the service answers with an error, ``VarlinkError`` if the connection fails or the
    ///   limit passes, `CancellationError` if the task is cancelled.
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
                // If the task was cancelled earlier, the cancellation handler found no call to abandon.
                if Task.isCancelled { abandon(number) }
            }
        } onCancel: {
            abandon(number)
        }
    }

    /// Calls a method with typed values.
    ///
    /// - Throws: The errors of ``call(_:parameters:limit:)``, and ``VarlinkError`` (`unexpectedValue`) if the
    ///   parameters are not an object or the reply does not fit the type.
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
    /// The call is sent at once. The service must wait while the reader does not keep up.
    ///
    /// - Throws: ``VarlinkError`` if the connection is closed. The sequence throws errors of the service.
    public func callMore(_ method: String, parameters: JSONObject = [:]) async throws -> ReplySequence<JSONObject> {
        ReplySequence(try await begin(method, parameters)) { $0 }
    }

    /// Calls a method that answers more than once, with typed values.
    ///
    /// - Throws: The errors of ``callMore(_:parameters:)``.
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
    /// Earlier calls are answered first. If the service agrees, the connection belongs to the other protocol, and this
    /// client can make no further calls. If the service answers with an error, the client continues. Cancelling the
    /// wait closes the connection.
    ///
    /// - Returns: The parameters of the reply, and the connection from the first byte after that reply.
    /// - Throws: The errors of ``call(_:parameters:limit:)``.
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
                // If the task was cancelled earlier, the cancellation handler found no call to abandon.
                if Task.isCancelled { abandonUpgrade(number) }
            }
        } onCancel: {
            abandonUpgrade(number)
        }
    }

    /// Calls a method without an answer. Not even an error is returned.
    ///
    /// - Throws: ``VarlinkError`` if the call could not be written.
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

    /// Closes the connection. Waiting calls and streams end with an error.
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

    /// Retries for a limited time while the service's backlog is full. The kernel then returns EAGAIN for a
    /// non-blocking socket (unix(7)).
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
            VarlinkError(.noSocket, "the socket '\(path)' does not exist")
        // The kernel returns the same error for every file that is not a socket (connect(2)).
        case let error as IOError where error.errnoCode == ECONNREFUSED:
            SocketPath.isOther(path)
                ? VarlinkError(.notASocket, "'\(path)' is not a socket")
                : VarlinkError(.notRunning, "no program listens on '\(path)'")
        case let error as IOError where error.errnoCode == EAGAIN:
            VarlinkError(.timedOut, "too many connections wait at '\(path)'; try again later")
        case let error as IOError: SystemError.error(error.errnoCode, "connect to", path)
        case ChannelError.connectTimeout: VarlinkError(.timedOut, "'\(path)' did not accept the connection in time")
        default: VarlinkError(.system, "cannot connect to '\(path)'", cause: error)
        }
    }
}

extension VarlinkClient {
    /// Uses a socket that is already connected, such as one end of a socketpair(2) whose other end belongs to a program
    /// that forwards the bytes. The client owns the descriptor from now on, also if this fails.
    ///
    /// - Throws: ``VarlinkError`` with `system` if the descriptor is not a connected stream socket.
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
            throw SystemError.error(error.errnoCode, "use the descriptor", "\(descriptor)")
        } catch {
            throw VarlinkError(.system, "cannot use the descriptor \(descriptor)", cause: error)
        }
    }
}
