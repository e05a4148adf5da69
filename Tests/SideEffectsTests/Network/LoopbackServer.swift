import Glibc
import NIOCore
import NIOPosix
import Synchronization
import SystemPackage
import TestSupport
import Testing

/// A TCP server on this machine that greets each client, and counts connections.
final class LoopbackServer: Sendable {
    /// The behaviour of a connection after the greeting.
    enum Manner: Sendable {
        case keepOpen
        case close
    }

    /// The numbers of opened and closed connections.
    private final class Counts: Sendable {
        let opened = Atomic(0)
        let closed = Atomic(0)
    }

    let port: Int
    private let channel: any Channel
    private let counts: Counts
    private let (signal, continuation): (AsyncStream<Void>, AsyncStream<Void>.Continuation)

    /// Starts a server, on a free port if none is given.
    static func start(
        on address: String = "127.0.0.1", port: Int = 0, greeting: [UInt8] = [], manner: Manner = .keepOpen
    ) async throws -> LoopbackServer {
        let counts = Counts()
        let (signal, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { child in
                counts.opened.add(1, ordering: .relaxed)
                continuation.yield()
                child.closeFuture.whenComplete { _ in
                    counts.closed.add(1, ordering: .relaxed)
                    continuation.yield()
                }
                return child.eventLoop.makeCompletedFuture {
                    try child.pipeline.syncOperations.addHandler(Greeter(greeting: greeting, manner: manner))
                }
            }
            .bind(host: address, port: port).get()
        return LoopbackServer(channel, counts, signal, continuation)
    }

    private init(
        _ channel: any Channel, _ counts: Counts, _ signal: AsyncStream<Void>,
        _ continuation: AsyncStream<Void>.Continuation
    ) {
        self.channel = channel
        self.counts = counts
        port = channel.localAddress?.port ?? 0
        (self.signal, self.continuation) = (signal, continuation)
    }

    /// The number of connections so far.
    var opened: Int { counts.opened.load(ordering: .relaxed) }
    /// The number of connections that have ended.
    var closed: Int { counts.closed.load(ordering: .relaxed) }

    /// Waits until a condition holds. It is checked when a connection begins or ends.
    func until(_ condition: (LoopbackServer) -> Bool) async {
        if condition(self) { return }
        for await _ in signal where condition(self) { return }
    }

    /// Stops listening.
    func stop() async {
        try? await channel.close().get()
    }

    private final class Greeter: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private let greeting: [UInt8]
        private let manner: Manner

        init(greeting: [UInt8], manner: Manner) {
            self.greeting = greeting
            self.manner = manner
        }

        func channelActive(context: ChannelHandlerContext) {
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: greeting)), promise: nil)
            if manner == .close { context.close(promise: nil) }
        }
    }
}

/// A port that does not even answer that it is closed, because its queue is full of connections that nobody accepts.
final class SilentPort: Sendable {
    let port: Int
    private let descriptors: [Int32]
    /// The ports of its own connections.
    private let own: [Int]

    init() {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                _ = bind(listener, address, length)
                _ = listen(listener, 0)
                _ = getsockname(listener, address, &length)
            }
        }
        port = Int(UInt16(bigEndian: address.sin_port))
        var (descriptors, own) = ([listener], [Int]())
        for _ in 0..<4 {
            let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
            let client = socket(AF_INET, type, 0)
            withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { _ = connect(client, $0, length) }
            }
            var local = sockaddr_in()
            withUnsafeMutablePointer(to: &local) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { _ = getsockname(client, $0, &length) }
            }
            descriptors.append(client)
            own.append(Int(UInt16(bigEndian: local.sin_port)))
        }
        (self.descriptors, self.own) = (descriptors, own)
    }

    deinit {
        for descriptor in descriptors { close(descriptor) }
    }

    /// Waits until no other socket connects to the port, or will soon give up. A command that another test starts may
    /// hold a copy of a socket until it executes its program. A remaining one gives up by itself after two minutes
    /// (tcp(7)).
    func isLeftAlone() async -> Bool {
        let end = ContinuousClock.now + .seconds(20)
        await suspend(while: isAwaited && .now < end)
        return !isAwaited
    }

    /// A Boolean value that indicates whether another socket of this machine is connecting to the port
    /// (`/proc/net/tcp`, state 02).
    var isAwaited: Bool {
        let remote = ":" + Self.hexadecimal(port)
        return contents("/proc/net/tcp").split(separator: "\n").contains { line in
            let words = line.split(separator: " ")
            guard words.count > 3, words[2].hasSuffix(remote), words[3] == "02" else { return false }
            return !own.contains { words[1].hasSuffix(":" + Self.hexadecimal($0)) }
        }
    }

    private static func hexadecimal(_ port: Int) -> String {
        let text = String(port, radix: 16, uppercase: true)
        return String(repeating: "0", count: 4 - text.count) + text
    }
}

/// A port at which nobody listens. It stays reserved while this object exists, so that no other program gets it.
final class ClosedPort: Sendable {
    let port: Int
    private let descriptor: Int32

    init() throws {
        let descriptor = socket(AF_INET6, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var no: Int32 = 0
        setsockopt(descriptor, Int32(IPPROTO_IPV6), IPV6_V6ONLY, &no, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in6()
        address.sin6_family = sa_family_t(AF_INET6)
        var length = socklen_t(MemoryLayout<sockaddr_in6>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 && getsockname(descriptor, $0, &length) == 0
            }
        }
        guard isBound else { throw Errno(rawValue: errno) }
        self.descriptor = descriptor
        port = Int(UInt16(bigEndian: address.sin6_port))
    }

    deinit { close(descriptor) }
}
