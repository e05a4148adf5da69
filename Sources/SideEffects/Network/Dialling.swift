import Glibc
import NIOCore
import NIOPosix
import Synchronization
import SystemPackage

/// An attempt to get one TCP connection: all that it opens can be closed at any moment.
final class Dialling: Sendable {
    /// How far it has come.
    enum Stage: Sendable {
        case lookup
        case connect
        /// It is connected, to this address.
        case connected(String)
    }

    private struct Machine {
        var stage = Stage.lookup
        var isCancelled = false
        var channels: [ObjectIdentifier: (channel: any Channel, greeting: EventLoopFuture<[UInt8]>)] = [:]
    }

    /// How many addresses are named where none can be connected to.
    private static let namedFailures = 4
    /// How much later than the attempt itself the event loop gives up, if nobody has ended it.
    private static let backstop = Duration.seconds(10)

    private let machine = Mutex(Machine())

    /// How far it has come.
    var stage: Stage { machine.withLock { $0.stage } }

    /// Looks the name up, connects to one of its addresses, waits for what the other side says first if that is wanted,
    /// and closes the connection.
    ///
    /// Several addresses are tried as RFC 8305 says: the next one a quarter of a second later, or as soon as one has failed.
    ///
    /// - Parameters:
    ///   - greeting: How many bytes of what is said first are waited for, at most the first line; 0: none.
    ///   - limit: The time there is; it is the caller's to keep it.
    func perform(host: String, port: Int, greeting: Int, limit: Duration) async throws -> (
        address: String, said: [UInt8]
    ) {
        let addresses = try await NameResolver.shared.addresses(of: host, port: port)
        machine.withLock { $0.stage = .connect }
        let result: Result<(address: String, said: [UInt8]), any Error>
        do {
            result = .success(try await dial(host, port, addresses, greeting, limit))
        } catch {
            result = .failure(error)
        }
        // Also what else was tried: nothing of it is left when this returns.
        cancel()
        for channel in machine.withLock({ $0.channels.values.map(\.channel) }) { try? await channel.closeFuture.get() }
        return try result.get()
    }

    /// Connects, and waits for what is said first; nothing is closed afterwards.
    private func dial(
        _ host: String, _ port: Int, _ addresses: [SocketAddress], _ greeting: Int, _ limit: Duration
    ) async throws -> (address: String, said: [UInt8]) {
        try await withTaskCancellationHandler {
            let channel = try await connect(host, port, addresses, greeting, limit)
            let address = channel.remoteAddress?.ipAddress ?? ""
            machine.withLock { $0.stage = .connected(address) }
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

    /// Keeps what is being connected. `false`: it is over.
    private func add(_ channel: any Channel, _ greeting: EventLoopFuture<[UInt8]>) -> Bool {
        machine.withLock { machine in
            if !machine.isCancelled { machine.channels[ObjectIdentifier(channel)] = (channel, greeting) }
            return !machine.isCancelled
        }
    }

    /// What is said first on a connection.
    private func greeting(of channel: any Channel) -> EventLoopFuture<[UInt8]> {
        machine.withLock { $0.channels[ObjectIdentifier(channel)]?.greeting }
            ?? channel.eventLoop.makeFailedFuture(GreetingHandler.hasClosed)
    }

    /// Closes whatever is open, and lets nothing more be opened.
    private func cancel() {
        let channels = machine.withLock { machine in
            machine.isCancelled = true
            return machine.channels.values.map(\.channel)
        }
        for channel in channels { channel.close(promise: nil) }
    }

    /// Why no connection came about, in words.
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

    /// What an error of a connection means.
    static func words(_ error: any Error) -> String {
        switch error {
        case let error as IOError: "\(Errno(rawValue: error.errnoCode))"
        case ChannelError.connectTimeout: "no answer"
        case let error as NetworkProblem: error.message
        default: "the connection failed: \(error)"
        }
    }
}

/// Addresses that are known already, for a connection that asks for them.
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

/// Waits for what the other side of a connection says first: a line, or as many bytes as are wanted, or what there is
/// when it says no more.
private final class GreetingHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    static let hasClosed = NetworkProblem("the connection was closed before anything was said")

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

    /// Nothing more will come.
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
    /// The same length of time; what is longer than can be counted, as long as can be.
    init(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        let (whole, overflows) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        self =
            overflows ? .nanoseconds(.max) : .nanoseconds(whole.addingReportingOverflow(attoseconds / 1_000_000_000).0)
    }
}
