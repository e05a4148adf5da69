import Logging
import NIOCore
import NIOHTTP1
import NIOPosix
import ServiceLifecycle
import Synchronization

/// The address and port that serve metrics.
struct MetricsAddress: Sendable, Hashable, CustomStringConvertible {
    var host: String
    var port: Int

    /// Reads `127.0.0.1:9464` or `[::1]:9464`; nil if it is neither.
    init?(_ text: String) {
        guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...]),
            (0...65_535).contains(port)
        else { return nil }
        var host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        // By its number, so that it does not depend on who looks names up.
        guard !host.isEmpty, (try? SocketAddress(ipAddress: String(host), port: port)) != nil else { return nil }
        self.host = String(host)
        self.port = port
    }

    init(host: String, port: Int) {
        self.host = host
        self.port = port
    }

    var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}

/// Serves `/metrics`, `/healthz` and `/readyz` over HTTP/1.1, for Prometheus and for service monitors.
///
/// It is for reading only, and asks nobody who they are: by default it is not there, and it is meant for addresses that
/// only those reach who may read.
struct MetricsEndpoint: Service, CustomStringConvertible {
    /// The limit on connections at a time.
    static let mostConnections = 64
    /// The limit on the bytes of all answers that clients have not read yet. One answer may be longer.
    static let mostUnreadBytes = 64 << 20
    /// The time in which a connection must send a whole request, and in which it must read an answer.
    static let limit = TimeAmount.seconds(30)
    /// The bytes of requests that are read at a time.
    static let readSize = 4_096
    /// The bytes of further requests that the kernel keeps of a connection. It doubles the number.
    static let keptRequests = 16_384
    /// The bytes of answers that the kernel keeps for a connection. It doubles the number.
    static let keptAnswers = 65_536

    /// Returns the answer for a path.
    struct Answer: Sendable {
        /// Whether all is as it should be; if not, the status is 503.
        var isWell = true
        var text: String
        var type = "text/plain; charset=utf-8"
    }

    private let channel: any Channel
    /// The address.
    let address: MetricsAddress

    /// The name in the group of services.
    var description: String { "metrics" }

    /// Begins to listen.
    ///
    /// - Parameter answer: returns the answer for a path; nil for an unknown path.
    /// - Throws: when the address cannot be served.
    static func start(
        at address: MetricsAddress, answer: @escaping @Sendable (_ path: String) async -> Answer?
    ) async throws -> MetricsEndpoint {
        let connections = ConnectionGate()
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .serverChannelOption(.backlog, value: 64)
            // A connection has the options of the socket that accepts it. When a client closes its end, NIO reads all that the
            // kernel has kept, and makes requests of it, also while it should read nothing.
            .serverChannelOption(.socketOption(.so_rcvbuf), value: .init(keptRequests))
            .serverChannelOption(.socketOption(.so_sndbuf), value: .init(keptAnswers))
            .childChannelOption(.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: readSize))
            .childChannelOption(.maxMessagesPerRead, value: 1)
            .childChannelInitializer { channel in
                guard let number = connections.enter(channel) else {
                    return channel.eventLoop.makeFailedFuture(TooManyConnections())
                }
                channel.closeFuture.whenComplete { _ in connections.leave(number) }
                return channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.configureHTTPServerPipeline(withErrorHandling: true)
                    try pipeline.addHandler(MetricsHandler(number: number, connections: connections, answer: answer))
                }
            }
            .bind(host: address.host, port: address.port).get()
        return MetricsEndpoint(
            channel: channel,
            address: MetricsAddress(host: address.host, port: channel.localAddress?.port ?? address.port))
    }

    func run() async {
        try? await gracefulShutdown()
        try? await channel.close()
    }

    private struct TooManyConnections: Error {}
}

/// The connections with their channels.
private final class ConnectionGate: Sendable {
    private struct State {
        var connections = MetricsConnections(
            limit: MetricsEndpoint.mostConnections, unreadLimit: MetricsEndpoint.mostUnreadBytes)
        var channels: [Int: any Channel] = [:]
    }

    private let state = Mutex(State())

    /// Adds a connection, and closes the one whose place it takes. Returns `nil` if there is no place.
    func enter(_ channel: any Channel) -> Int? {
        let (number, closed) = state.withLock { state -> (Int?, (any Channel)?) in
            guard let place = state.connections.enter() else { return (nil, nil) }
            state.channels[place.number] = channel
            return (place.number, place.closed.flatMap { state.channels.removeValue(forKey: $0) })
        }
        closed?.close(promise: nil)
        return number
    }

    func answer(_ number: Int) { state.withLock { $0.connections.answer(number) } }

    func send(_ number: Int, bytes: Int) -> Bool { state.withLock { $0.connections.send(number, bytes: bytes) } }

    func wait(_ number: Int) { state.withLock { $0.connections.wait(number) } }

    func leave(_ number: Int) {
        let channel = state.withLock { state in
            state.connections.leave(number)
            return state.channels.removeValue(forKey: number)
        }
        withExtendedLifetime(channel) {}
    }
}

/// Answers the requests of one connection, one after the other.
private final class MetricsHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    /// The limit on the body of a request, which is read and dropped.
    private static let mostBytes = 4_096

    private let number: Int
    private let connections: ConnectionGate
    private let answer: @Sendable (String) async -> MetricsEndpoint.Answer?
    private var head: HTTPRequestHead?
    private var bytes = 0
    /// Closes the connection when its time has passed.
    private var timeout: Scheduled<Void>?

    init(
        number: Int, connections: ConnectionGate,
        answer: @escaping @Sendable (String) async -> MetricsEndpoint.Answer?
    ) {
        self.number = number
        self.connections = connections
        self.answer = answer
    }

    func handlerAdded(context: ChannelHandlerContext) { startTime(context.channel) }

    func handlerRemoved(context: ChannelHandlerContext) { timeout?.cancel() }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            self.head = head
            bytes = 0
        case .body(let buffer):
            bytes += buffer.readableBytes
            if bytes > Self.mostBytes { context.close(promise: nil) }
        case .end:
            guard let head else { return }
            self.head = nil
            respond(to: head, context)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    /// Whether a request is for an address or `localhost`, as far as it says (RFC 9110, 7.2).
    ///
    /// A page of the web can have its own name lead to this address, and would read the answers as if they were its site's.
    /// A browser then asks for that name.
    private static func isForAddress(_ head: HTTPRequestHead) -> Bool {
        let hosts = head.headers["Host"]
        guard let host = hosts.first else { return true }
        guard hosts.count == 1 else { return false }
        var name = host[...]
        if let colon = name.lastIndex(of: ":"), !name.hasSuffix("]"),
            name.hasPrefix("[") || !name[..<colon].contains(":")
        {
            guard Int(name[name.index(after: colon)...]) != nil else { return false }
            name = name[..<colon]
        }
        if name.hasPrefix("["), name.hasSuffix("]") { name = name.dropFirst().dropLast() }
        return name.lowercased() == "localhost" || (try? SocketAddress(ipAddress: String(name), port: 0)) != nil
    }

    /// Gives the client the time for its next request, or for the present answer.
    private func startTime(_ channel: any Channel) {
        timeout?.cancel()
        timeout = channel.eventLoop.scheduleTask(in: MetricsEndpoint.limit) { channel.close(promise: nil) }
    }

    private func respond(to head: HTTPRequestHead, _ context: ChannelHandlerContext) {
        let path = String(head.uri.prefix { $0 != "?" })
        let isRead = head.method == .GET || head.method == .HEAD
        let isForAddress = Self.isForAddress(head)
        let (channel, answer) = (context.channel, answer)
        connections.answer(number)
        context.eventLoop.makeFutureWithTask { () -> (HTTPResponseStatus, MetricsEndpoint.Answer) in
            guard isForAddress else {
                return (
                    .misdirectedRequest,
                    MetricsEndpoint.Answer(
                        text: "only requests for an address or 'localhost' are answered; ask for the address, such as "
                            + "http://127.0.0.1:9464/metrics\n")
                )
            }
            guard isRead else {
                return (.methodNotAllowed, MetricsEndpoint.Answer(text: "only GET and HEAD are understood\n"))
            }
            if let reply = await answer(path) { return (reply.isWell ? .ok : .serviceUnavailable, reply) }
            return (
                .notFound,
                MetricsEndpoint.Answer(text: "there is nothing here; try /metrics, /healthz or /readyz\n")
            )
        }.assumeIsolated().whenSuccess { [self] status, reply in
            send(reply, status, answering: head, on: channel)
        }
    }

    private func send(
        _ reply: MetricsEndpoint.Answer, _ status: HTTPResponseStatus, answering head: HTTPRequestHead,
        on channel: any Channel
    ) {
        let body = channel.allocator.buffer(string: reply.text)
        let isBodySent = head.method != .HEAD
        guard connections.send(number, bytes: isBodySent ? body.readableBytes : 0) else {
            return channel.close(promise: nil)
        }
        startTime(channel)
        var response = HTTPResponseHead(version: head.version, status: status)
        response.headers.add(name: "Content-Type", value: reply.type)
        response.headers.add(name: "Content-Length", value: "\(body.readableBytes)")
        if status == .methodNotAllowed { response.headers.add(name: "Allow", value: "GET, HEAD") }
        if !head.isKeepAlive { response.headers.add(name: "Connection", value: "close") }
        let headSent = channel.write(HTTPServerResponsePart.head(response))
        let sent = isBodySent ? channel.write(HTTPServerResponsePart.body(.byteBuffer(body))) : headSent
        channel.flush()
        // The pipeline lets the next request through, and reads on, after the end of this answer. The end has no bytes, and is
        // written when all others have left the process. So an answer that is not read is the only one.
        sent.assumeIsolated().whenSuccess { [self] in
            connections.wait(number)
            startTime(channel)
            let end = channel.writeAndFlush(HTTPServerResponsePart.end(nil))
            if !head.isKeepAlive { end.whenComplete { _ in channel.close(promise: nil) } }
        }
    }
}
