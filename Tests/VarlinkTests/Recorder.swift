import Glibc
import NIOCore
import NIOPosix
import StrictJSON
import Synchronization
import Testing
import TestSupport
import Varlink

extension TemporaryDirectory {
    var socket: String { self("socket") }
}

/// Values that tests record from any task and wait for. The time limit of the test bounds each wait.
final class Recorder<Element: Sendable>: Sendable {
    private struct State {
        var elements: [Element] = []
        var waiting: [(matches: @Sendable ([Element]) -> Bool, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let state = Mutex(State())

    var elements: [Element] { state.withLock { $0.elements } }

    func record(_ element: Element) {
        let ready = state.withLock { state in
            state.elements.append(element)
            let elements = state.elements
            defer { state.waiting.removeAll { $0.matches(elements) } }
            return state.waiting.filter { $0.matches(elements) }
        }
        for waiting in ready { waiting.continuation.resume() }
    }

    /// Waits until the recorded values satisfy a condition.
    func wait(until matches: @escaping @Sendable ([Element]) -> Bool) async {
        await withCheckedContinuation { continuation in
            let isReady = state.withLock { state in
                if matches(state.elements) { return true }
                state.waiting.append((matches, continuation))
                return false
            }
            if isReady { continuation.resume() }
        }
    }
}

/// A client that writes bytes unchanged, and splits received bytes at NUL bytes.
final class RawClient: Sendable {
    enum Item: Sendable, Equatable {
        case message(String)
        case closed
    }

    let channel: any Channel
    let received: Recorder<Item>

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        let received: Recorder<Item>
        var pending: [UInt8] = []

        init(_ received: Recorder<Item>) { self.received = received }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            for byte in unwrapInboundIn(data).readableBytesView {
                if byte == 0 {
                    received.record(.message(String(decoding: pending, as: UTF8.self)))
                    pending = []
                } else {
                    pending.append(byte)
                }
            }
        }

        func channelInactive(context: ChannelHandlerContext) { received.record(.closed) }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }

    init(_ path: String, reads: Bool = true) async throws {
        let received = Recorder<Item>()
        self.received = received
        channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelOption(.autoRead, value: reads)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Handler(received))
                }
            }
            .connect(unixDomainSocketPath: path)
            .get()
    }

    /// Creates a client whose connection is in memory. Each end reads at most a number of bytes at a time.
    init(_ service: VarlinkService, as peer: VarlinkPeer = .current, largestRead: Int = 1 << 16) async throws {
        let received = Recorder<Item>()
        self.received = received
        channel = try await service.connect(as: peer, largestRead: largestRead) { channel in
            try channel.pipeline.syncOperations.addHandler(Handler(received))
        }.channel
    }

    deinit { channel.close(promise: nil) }

    /// Writes text. Every `\0` in it is the NUL of the protocol.
    func write(_ text: String) {
        channel.writeAndFlush(ByteBuffer(string: text), promise: nil)
    }

    /// Writes and waits until the kernel has taken everything. Throws if the service closes before.
    func writeAll(_ bytes: ByteBuffer) async throws {
        try await channel.writeAndFlush(bytes)
    }

    func messages(_ count: Int) async -> [String] {
        await received.wait { $0.count >= count }
        return received.elements.prefix(count).map { if case .message(let text) = $0 { text } else { "closed" } }
    }

    func closed() async {
        await received.wait { $0.contains(.closed) }
    }

    func close() async { try? await channel.close().get() }
}

/// Returns the number of sockets that are bound to a path or were accepted from it, from /proc/net/unix. Unlike
/// /proc/self/fd, that file distinguishes the sockets of tests that run at the same time.
func openSockets(_ path: String) -> Int {
    guard let file = fopen("/proc/net/unix", "re") else { return -1 }
    defer { fclose(file) }
    var line = [CChar](repeating: 0, count: 1024)
    var count = 0
    while fgets(&line, Int32(line.count), file) != nil {
        let text = String(decoding: line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        if text.hasSuffix(" \(path)\n") { count += 1 }
    }
    return count
}

/// Waits until at most a number of sockets of the path are left, by default none. Returns `false` after many reads. A
/// process that another test starts may hold a socket until it executes its program.
func socketsVanish(_ path: String, downTo count: Int = 0) async -> Bool {
    for _ in 0..<20_000 {
        if openSockets(path) == count { return true }
        await Task.yield()
    }
    return false
}

/// The interface of the test service.
let exampleText = """
    # For tests.
    interface org.example.test

    # Says back what it is told.
    method Echo(text: string, times: ?int) -> (text: string)

    # Counts up, with `more`.
    method Count(to: int) -> (number: int)

    # Sends blocks of this many bytes for ever.
    method Flood(size: int) -> (block: string)

    # Waits until it is cancelled.
    method Wait() -> ()

    # Who asks.
    method WhoAmI() -> (pid: int, uid: int, gid: int)

    # Says back every byte, behind a greeting, until the client ends its side.
    method Mirror(refuse: ?bool) -> (greeting: string)

    method Broken() -> (text: string)

    method Missing() -> ()

    # It was refused.
    error Refused (reason: string)

    error InternalError (message: string)
    error ReplyTooLarge (limit: int, part: string)

    """

/// A running test service with its events and the records of its handlers.
final class ExampleService: Sendable {
    struct EchoParameters: Codable {
        var text: String
        var times: Int?
    }

    struct Text: Codable, Equatable {
        var text: String
    }

    let service: VarlinkService
    let events: Recorder<String>
    let told: Recorder<String>

    init(
        _ address: ServiceAddress,
        configure: (inout ServiceConfiguration) -> Void = { _ in }
    ) async throws {
        let events = Recorder<String>()
        let told = Recorder<String>()
        var configuration = ServiceConfiguration(
            vendor: "Example",
            product: "Test",
            version: "1",
            url: "https://example.org"
        )
        configuration.observe = { event in
            switch event {
            case .connected: events.record("connected")
            case .refused: events.record("refused")
            case .dropped(_, let error): events.record("dropped \(error.code)")
            case .disconnected: events.record("disconnected")
            case .failed(let method, _): events.record("failed \(method)")
            case .abandoned(let count): events.record("abandoned \(count)")
            }
        }
        // Only a test of a limit sets it. A busy machine must not close the connections of other tests.
        configuration.unauthorizedLimit = .seconds(3_600)
        configuration.messageLimit = .seconds(3_600)
        configuration.unreadLimit = .seconds(3_600)
        configure(&configuration)
        service = try await VarlinkService.start(
            at: address,
            interfaces: [Self.interface(told)],
            configuration: configuration
        )
        self.events = events
        self.told = told
    }

    static func interface(_ told: Recorder<String>) throws -> InterfaceImplementation {
        var interface = InterfaceImplementation(try InterfaceDefinition(parsing: exampleText))
        try interface.register("Echo") { (parameters: EchoParameters, call: MethodCall) -> Text in
            guard parameters.text != "refuse" else {
                throw ErrorReply("org.example.test.Refused", parameters: ["reason": "as asked"])
            }
            told.record(parameters.text)
            return Text(text: String(repeating: parameters.text, count: parameters.times ?? 1))
        }
        try interface.register("Count", requiresMore: true) { call in
            let last = call.parameters["to"]?.intValue ?? 0
            var number: Int64 = 1
            while number < last {
                try await call.send(["number": .int(number)])
                told.record("sent \(number)")
                number += 1
            }
            return ["number": .int(number)]
        }
        try interface.register("Flood", requiresMore: true) { call in
            let block = String(repeating: "x", count: Int(call.parameters["size"]?.intValue ?? 1))
            do {
                while true {
                    try await call.send(["block": .string(block)])
                    told.record("sent")
                }
            } catch {
                told.record("flood ended")
                throw error
            }
        }
        try interface.register("Wait") { _ in
            told.record("waiting")
            let never = AsyncStream<Void> { _ in }
            for await _ in never {}
            told.record("cancelled")
            return [:]
        }
        try interface.register("WhoAmI") { call in
            [
                "pid": .int(Int64(call.peer.processID)), "uid": .int(Int64(call.peer.userID)),
                "gid": .int(Int64(call.peer.groupID)),
            ]
        }
        try interface.registerUpgrade("Mirror") { call in
            guard call.parameters["refuse"] != true else {
                throw ErrorReply("org.example.test.Refused", parameters: ["reason": "as asked"])
            }
            return InterfaceImplementation.Upgrade(reply: ["greeting": "hello"]) { connection in
                told.record("mirror begins")
                do {
                    while let bytes = try await connection.read() { try await connection.write(bytes) }
                    try await connection.write(Array("bye".utf8))
                    told.record("mirror ends")
                } catch {
                    told.record("mirror fails")
                    throw error
                }
            }
        }
        try interface.register("Broken") { _ in ["text": 1] }
        return interface
    }
}
