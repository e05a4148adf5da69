import CommonExpression
import Glibc
import NIOCore
import NIOPosix
import SideEffects
import Synchronization
import TestSupport

/// A server on this machine that reads one request from each connection, and sends the bytes that the test gives.
final class WebServer: Sendable {
    /// A received request.
    struct Request: Sendable {
        var method = ""
        var path = ""
        /// The fields by their names in lowercase.
        var headers: [String: String] = [:]
        var body = ""
    }

    /// The bytes of an answer, and the end of the connection.
    struct Reply: Sendable {
        enum End: Sendable {
            /// The connection is closed.
            case close
            /// Only the sending side is closed.
            case halfClose
            /// Nothing more is sent.
            case silence
            /// The text is sent repeatedly.
            case endless(String)
        }

        var bytes: String
        var end = End.close

        /// Returns a correct answer.
        static func ok(_ body: String, status: String = "200 OK", more: String = "") -> Reply {
            Reply(bytes: "HTTP/1.1 \(status)\r\nContent-Length: \(body.utf8.count)\r\n\(more)\r\n\(body)")
        }

        /// Returns a redirect.
        static func redirect(_ location: String, status: String = "302 Found") -> Reply {
            .ok("elsewhere", status: status, more: "Location: \(location)\r\n")
        }
    }

    private struct State {
        var requests: [Request] = []
        var opened = 0
        var closed = 0
    }

    private final class Log: Sendable {
        let state = Mutex(State())
        let signal = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))

        func note(_ change: (inout State) -> Void) {
            state.withLock { change(&$0) }
            signal.continuation.yield()
        }
    }

    let port: Int
    private let channel: any Channel
    private let front: TLSFront?
    private let log: Log

    private init(_ channel: any Channel, _ front: TLSFront?, _ log: Log) {
        self.channel = channel
        self.front = front
        self.log = log
        port = front?.port ?? channel.localAddress?.port ?? 0
    }

    /// Starts a server at an address and a free port, or at a socket.
    ///
    /// - Parameters:
    ///   - certificate: The server's certificate, if it uses TLS.
    ///   - isCutOff: Whether its connections end without the TLS alert `close_notify`.
    static func start(
        on address: String = "127.0.0.1", port: Int = 0, socket: String? = nil, certificate: Certificate? = nil,
        isCutOff: Bool = false, answer: @escaping @Sendable (Request) -> Reply
    ) async throws -> WebServer {
        let log = Log()
        let bootstrap = ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelInitializer { child in
                log.note { $0.opened += 1 }
                child.closeFuture.whenComplete { _ in log.note { $0.closed += 1 } }
                return child.eventLoop.makeCompletedFuture {
                    try child.pipeline.syncOperations.addHandler(
                        Answerer(answer) { request in log.note { $0.requests.append(request) } })
                }
            }
        let channel =
            if let socket {
                try await bootstrap.bind(unixDomainSocketPath: socket).get()
            } else {
                try await bootstrap.bind(host: address, port: port).get()
            }
        var front: TLSFront?
        if let certificate {
            front = try await TLSFront(certificate, before: channel.localAddress?.port ?? 0, isCutOff: isCutOff)
        }
        return WebServer(channel, front, log)
    }

    /// The requests so far.
    var requests: [Request] { log.state.withLock { $0.requests } }
    /// The number of connections so far.
    var opened: Int { log.state.withLock { $0.opened } }
    /// The number of connections that have ended.
    var closed: Int { log.state.withLock { $0.closed } }

    /// Waits until a condition holds. It is checked with each request, and when a connection begins or ends.
    func until(_ condition: (WebServer) -> Bool) async {
        if condition(self) { return }
        for await _ in log.signal.stream where condition(self) { return }
    }

    /// Waits until all connections have ended, then stops listening.
    func stop() async {
        await until { $0.opened == $0.closed }
        await front?.stop()
        try? await channel.close().get()
    }

    /// Collects a request, and answers it.
    private final class Answerer: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private let answer: @Sendable (Request) -> Reply
        private let note: @Sendable (Request) -> Void
        private var text = ""
        private var hasAnswered = false

        init(_ answer: @escaping @Sendable (Request) -> Reply, _ note: @escaping @Sendable (Request) -> Void) {
            self.answer = answer
            self.note = note
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            text += String(buffer: unwrapInboundIn(data))
            guard !hasAnswered, let request = request() else { return }
            hasAnswered = true
            note(request)
            let reply = answer(request)
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: reply.bytes)), promise: nil)
            switch reply.end {
            case .close: context.close(promise: nil)
            case .halfClose: context.close(mode: .output, promise: nil)
            case .silence: break
            case .endless(let chunk): Self.send(chunk, on: context.channel)
            }
        }

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            // A client that ends its output expects nothing more.
            if case ChannelEvent.inputClosed = event { context.close(promise: nil) }
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            context.close(promise: nil)
        }

        private static func send(_ chunk: String, on channel: any Channel) {
            // Writing at once would keep the event loop busy, so that it never handles its other connections.
            channel.writeAndFlush(ByteBuffer(string: chunk)).whenSuccess {
                channel.eventLoop.scheduleTask(in: .microseconds(200)) { send(chunk, on: channel) }
            }
        }

        /// Returns the request when it is complete.
        private func request() -> Request? {
            guard let end = text.firstRange(of: "\r\n\r\n") else { return nil }
            var request = Request()
            let lines = text[..<end.lowerBound].split(separator: "\r\n")
            let words = lines[0].split(separator: " ")
            (request.method, request.path) = (String(words[0]), String(words[1]))
            for line in lines.dropFirst() {
                let parts = line.split(separator: ":", maxSplits: 1)
                request.headers[parts[0].lowercased()] = parts[1].drop { $0 == " " }.description
            }
            request.body = String(text[end.upperBound...])
            let length = Int(request.headers["content-length"] ?? "0") ?? 0
            return request.body.utf8.count >= length ? request : nil
        }
    }
}

/// A self-signed certificate with its key, in PEM files.
struct Certificate: Sendable {
    let path: String
    let key: String

    /// Creates one in a directory, with openssl(1).
    ///
    /// - Parameter names: The names in openssl's notation: `DNS:localhost,IP:127.0.0.1`.
    init(in folder: TemporaryDirectory, _ name: String, names: String, days: Int = 2) async throws {
        (path, key) = (folder("\(name).pem"), folder("\(name).key"))
        let command = [
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout",
            key, "-out", path, "-days", "\(days)", "-subj", "/CN=\(name)", "-addext", "subjectAltName=\(names)",
        ]
        let run = Sensing(RunEffect(), ["command": .list(command.map { .string($0) })])
        await run.until { $0.isOver }
        guard run.names.last == "onSuccess" else { throw Failure(message: run.last("error") ?? "") }
    }

    /// Creates one that was valid for one day long ago.
    init(expiredIn folder: TemporaryDirectory, _ name: String, names: String) async throws {
        let signed = try await Certificate(in: folder, name, names: names)
        let settings = """
            [ca]
            default_ca = own
            [own]
            database = \(folder("index"))
            rand_serial = yes
            default_md = sha256
            policy = any
            x509_extensions = names
            [any]
            commonName = supplied
            [names]
            subjectAltName = \(names)
            basicConstraints = CA:true
            """
        for (file, text) in [("index", ""), ("settings", settings)] {
            let descriptor = open(folder(file), O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
            write(descriptor, text, text.utf8.count)
            close(descriptor)
        }
        let commands = [
            ["openssl", "req", "-new", "-key", signed.key, "-subj", "/CN=\(name)", "-out", folder("request")],
            [
                "openssl", "ca", "-batch", "-config", folder("settings"), "-selfsign", "-keyfile", signed.key, "-in",
                folder("request"), "-startdate", "20200101000000Z", "-enddate", "20200102000000Z", "-notext", "-outdir",
                folder.path, "-out", signed.path,
            ],
        ]
        for command in commands {
            let run = Sensing(RunEffect(), ["command": .list(command.map { .string($0) })])
            await run.until { $0.isOver }
            guard run.names.last == "onSuccess" else { throw Failure(message: run.last("error") ?? "") }
        }
        self = signed
    }

    struct Failure: Error {
        let message: String
    }
}
