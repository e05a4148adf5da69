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
    /// The limit on connections at a time. Further ones are closed at once.
    static let mostConnections = 64
    /// The time for which a connection may be idle.
    static let idleLimit = TimeAmount.seconds(30)

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
        let connections = ConnectionLimit(mostConnections)
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .serverChannelOption(.backlog, value: 64)
            .childChannelInitializer { channel in
                guard connections.enter() else { return channel.eventLoop.makeFailedFuture(TooManyConnections()) }
                channel.closeFuture.whenComplete { _ in connections.leave() }
                return channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.configureHTTPServerPipeline(withErrorHandling: true)
                    try pipeline.addHandler(IdleStateHandler(allTimeout: idleLimit))
                    try pipeline.addHandler(MetricsHandler(answer: answer))
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

/// Counts connections.
private final class ConnectionLimit: Sendable {
    private let count = Mutex(0)
    private let most: Int

    init(_ most: Int) { self.most = most }

    func enter() -> Bool {
        count.withLock { count in
            guard count < most else { return false }
            count += 1
            return true
        }
    }

    func leave() { count.withLock { $0 -= 1 } }
}

/// Answers the requests of one connection, one after the other.
private final class MetricsHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    /// The limit on the body of a request, which is read and dropped.
    private static let mostBytes = 4_096

    private let answer: @Sendable (String) async -> MetricsEndpoint.Answer?
    private var head: HTTPRequestHead?
    private var bytes = 0

    init(answer: @escaping @Sendable (String) async -> MetricsEndpoint.Answer?) {
        self.answer = answer
    }

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

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is IdleStateHandler.IdleStateEvent {
            context.close(promise: nil)
        } else {
            context.fireUserInboundEventTriggered(event)
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

    private func respond(to head: HTTPRequestHead, _ context: ChannelHandlerContext) {
        let path = String(head.uri.prefix { $0 != "?" })
        let isRead = head.method == .GET || head.method == .HEAD
        let isForAddress = Self.isForAddress(head)
        let (eventLoop, channel, answer) = (context.eventLoop, context.channel, answer)
        // The pipeline reads no further request of the connection until this one is answered.
        eventLoop.makeFutureWithTask { () -> (HTTPResponseStatus, MetricsEndpoint.Answer) in
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
        }.whenSuccess { status, reply in
            let body = channel.allocator.buffer(string: reply.text)
            var response = HTTPResponseHead(version: head.version, status: status)
            response.headers.add(name: "Content-Type", value: reply.type)
            response.headers.add(name: "Content-Length", value: "\(body.readableBytes)")
            if status == .methodNotAllowed { response.headers.add(name: "Allow", value: "GET, HEAD") }
            if !head.isKeepAlive { response.headers.add(name: "Connection", value: "close") }
            channel.write(HTTPServerResponsePart.head(response), promise: nil)
            if head.method != .HEAD {
                channel.write(HTTPServerResponsePart.body(.byteBuffer(body)), promise: nil)
            }
            let end = channel.writeAndFlush(HTTPServerResponsePart.end(nil))
            if !head.isKeepAlive { end.whenComplete { _ in channel.close(promise: nil) } }
        }
    }
}
