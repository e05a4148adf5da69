import Glibc
import NIOCore
import NIOPosix
import Synchronization
import SystemPackage

/// An attempt to open one TCP connection. Everything that it opens can be closed at any moment.
final class Dialling: Sendable {
    /// The progress of the attempt.
    enum Stage: Sendable {
        case lookup
        case connect
        /// Connected to this address.
        case connected(String)
    }

    private struct State {
        var stage = Stage.lookup
        var isCancelled = false
        var channels: [ObjectIdentifier: (channel: any Channel, greeting: EventLoopFuture<[UInt8]>)] = [:]
    }

    /// The most addresses that the message about a failed attempt names.
    private static let namedFailures = 4
    /// The time after the attempt's own limit at which the event loop ends the attempt, if nothing else has.
    private static let backstop = Duration.seconds(10)

    private let state = Mutex(State())

    /// The progress of the attempt.
    var stage: Stage { state.withLock { $0.stage } }

    /// Looks up the name, connects to one of its addresses, waits for a greeting if requested, and closes the
    /// connection.
    ///
    /// Several addresses are tried as in RFC 8305: the next one after a quarter of a second, or as soon as one has
    /// failed.
    ///
    /// - Parameters:
    ///   - greeting: The most bytes of the greeting, which ends with its first line; 0 for no greeting.
    ///   - limit: The time limit, which the caller enforces.
    func perform(host: String, port: Int, greeting: Int, limit: Duration) async throws -> (
        address: String, said: [UInt8]
    ) {
        let addresses = try await NameResolver.shared.addresses(of: host, port: port)
        state.withLock { $0.stage = .connect }
        let result: Result<(address: String, said: [UInt8]), any Error>
        do {
            result = .success(try await dial(host, port, addresses, greeting, limit))
        } catch {
            result = .failure(error)
        }
        // Closes the other connections, so that none is left when this returns.
        cancel()
        for channel in state.withLock({ $0.channels.values.map(\.channel) }) { try? await channel.closeFuture.get() }
        return try result.get()
    }

    /// Connects and waits for the greeting. Closes nothing afterwards.
    private func dial(
        _ host: String, _ port: Int, _ addresses: [SocketAddress], _ greeting: Int, _ limit: Duration
    ) async throws -> (address: String, said: [UInt8]) {
        try await withTaskCancellationHandler {
            let channel = try await connect(host, port, addresses, greeting, limit)
            let address = channel.remoteAddress?.ipAddress ?? ""
            state.withLock { $0.stage = .connected(address) }
            return (address, greeting > 0 ? try await self.greeting(of: channel).get() : [])
        } onCancel: {
            cancel()
        }
    }

    private func connect(
        _ host: String, _ port: Int, _ addresses: [SocketAddress], _ greeting: Int, _ limit: Duration
    ) async throws -> any Channel {
        let patience = TimeAmount(limit + Self.backstop)
        let loop = MultiThreadedEventLoopGroup.singleton.any()
        do {
            return try await ClientBootstrap(group: loop)
                .resolver(KnownAddresses(addresses, loop))
                .connectTimeout(patience)
                .channelInitializer { channel in
                    let said = channel.eventLoop.makePromise(of: [UInt8].self)
                    guard self.add(channel, said.futureResult) else {
                        said.fail(CancellationError())
                        return channel.eventLoop.makeFailedFuture(CancellationError())
                    }
                    return channel.eventLoop.makeCompletedFuture {
                        do {
                            try channel.pipeline.syncOperations.addHandler(GreetingHandler(limit: greeting, said: said))
                        } catch {
                            said.fail(error)
                            throw error
                        }
                    }
                }
                .connect(host: host, port: port).get()
        } catch {
            throw Self.problem(error)
        }
    }

    /// Keeps a channel that is connecting. Returns `false` if the attempt is over.
    private func add(_ channel: any Channel, _ greeting: EventLoopFuture<[UInt8]>) -> Bool {
        state.withLock { state in
            if !state.isCancelled { state.channels[ObjectIdentifier(channel)] = (channel, greeting) }
            return !state.isCancelled
        }
    }

    /// Returns the greeting on a connection.
    private func greeting(of channel: any Channel) -> EventLoopFuture<[UInt8]> {
        state.withLock { $0.channels[ObjectIdentifier(channel)]?.greeting }
            ?? channel.eventLoop.makeFailedFuture(GreetingHandler.hasClosed)
    }

    /// Closes all channels, and prevents new ones.
    private func cancel() {
        let channels = state.withLock { state in
            state.isCancelled = true
            return state.channels.values.map(\.channel)
        }
        for channel in channels { channel.close(promise: nil) }
    }

    /// Returns the reason why no connection was opened, as text.
    static func problem(_ error: any Error) -> NetworkProblem {
        guard let error = error as? NIOConnectionError, !error.connectionErrors.isEmpty else {
            return NetworkProblem(words(error))
        }
        let failures = error.connectionErrors
        if failures.count == 1 { return NetworkProblem(words(failures[0].error)) }
        let named = failures.prefix(namedFailures).map { "\($0.target.ipAddress ?? "?"): \(words($0.error))" }
        let more = failures.count - named.count
        return NetworkProblem(named.joined(separator: "; ") + (more > 0 ? "; and \(more) more" : ""))
    }

    /// Returns the text for an error of a connection.
    static func words(_ error: any Error) -> String {
        switch error {
        case let error as IOError: "\(Errno(rawValue: error.errnoCode))"
        case ChannelError.connectTimeout: "no answer"
        case let error as NetworkProblem: error.message
        default: "the connection failed: \(error)"
        }
    }
}

/// A resolver that returns known addresses.
private final class KnownAddresses: Resolver, Sendable {
    private let addresses: [SocketAddress]
    private let loop: any EventLoop

    init(_ addresses: [SocketAddress], _ loop: any EventLoop) {
        self.addresses = addresses
        self.loop = loop
    }

    func initiateAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> {
        loop.makeSucceededFuture(addresses.filter { $0.protocol == .inet })
    }

    func initiateAAAAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> {
        loop.makeSucceededFuture(addresses.filter { $0.protocol == .inet6 })
    }

    func cancelQueries() {}
}

/// Waits for the greeting of the other side: a line, the requested number of bytes, or all bytes before the end.
private final class GreetingHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    static let hasClosed = NetworkProblem("the connection was closed before an answer")

    private let limit: Int
    private let said: EventLoopPromise<[UInt8]>
    private var bytes: [UInt8] = []
    private var isOver = false

    init(limit: Int, said: EventLoopPromise<[UInt8]>) {
        self.limit = limit
        self.said = said
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isOver else { return }
        let isLine = unwrapInboundIn(data).readableBytesView.prefix(limit - bytes.count).contains {
            if $0 != UInt8(ascii: "\n") { bytes.append($0) }
            return $0 == UInt8(ascii: "\n")
        }
        if isLine || bytes.count >= limit { finish(.success(bytes)) }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        finish(.failure(NetworkProblem(Dialling.words(error))))
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        end()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        end()
    }

    /// Ends the greeting, because nothing more will arrive.
    private func end() {
        finish(bytes.isEmpty ? .failure(Self.hasClosed) : .success(bytes))
    }

    private func finish(_ result: Result<[UInt8], any Error>) {
        guard !isOver else { return }
        isOver = true
        said.completeWith(result)
    }
}

extension TimeAmount {
    /// Converts a length of time, limited to the largest countable one.
    init(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        let (whole, overflows) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        self =
            overflows ? .nanoseconds(.max) : .nanoseconds(whole.addingReportingOverflow(attoseconds / 1_000_000_000).0)
    }
}
