import Glibc
import NIOCore
import StrictJSON
import Synchronization
import Testing
import TestSupport
import Varlink

/// A client that receives all bytes unchanged, without splitting them at NUL bytes.
private final class ByteClient: Sendable {
    let channel: any Channel
    let received = Recorder<[UInt8]>()

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        let received: Recorder<[UInt8]>
        init(_ received: Recorder<[UInt8]>) { self.received = received }
        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            received.record(Array(unwrapInboundIn(data).readableBytesView))
        }
        func channelInactive(context: ChannelHandlerContext) { received.record([]) }
    }

    init(_ service: VarlinkService, largestRead: Int) async throws {
        let received = self.received
        channel = try await service.connect(largestRead: largestRead) { channel in
            try channel.pipeline.syncOperations.addHandler(Handler(received))
        }.channel
    }

    func write(_ bytes: [UInt8]) { channel.writeAndFlush(ByteBuffer(bytes: bytes), promise: nil) }

    /// Returns all bytes until the service closes.
    func all() async -> [UInt8] {
        await received.wait { $0.last == [] }
        return Array(received.elements.joined())
    }
}

@Suite(.timeLimit(.minutes(5)))
struct UpgradeTests {
    static let mirror = "org.example.test.Mirror"
    static let call = Array(#"{"method":"org.example.test.Mirror","upgrade":true}"#.utf8) + [0]
    static let reply = Array(#"{"parameters":{"greeting":"hello"}}"#.utf8) + [0]

    let directory: TemporaryDirectory

    init() throws {
        directory = TemporaryDirectory()
    }

    /// The bytes after the call contain NUL bytes and a text that looks like a call.
    @Test(arguments: [1, 2, 7, 1 << 16])
    func `bytes after the call belong to the other protocol, however they are split`(largestRead: Int) async throws {
        let example = try await ExampleService(.nowhere)
        let client = try await ByteClient(example.service, largestRead: largestRead)
        let bytes = [0, 1, 0] + Array(#"{"method":"org.varlink.service.GetInfo"}"#.utf8) + [0, 255]
        client.write(Self.call + bytes)
        client.channel.close(mode: .output, promise: nil)
        #expect(await client.all() == Self.reply + bytes + Array("bye".utf8))
        #expect(example.told.elements == ["mirror begins", "mirror ends"])
        await example.events.wait { $0.last == "disconnected" }
        await example.service.close()
    }

    @Test func `the calls before are answered first`() async throws {
        let example = try await ExampleService(.nowhere)
        let client = try await ByteClient(example.service, largestRead: 1 << 16)
        let echo = Array(#"{"method":"org.example.test.Echo","parameters":{"text":"a"}}"#.utf8) + [0]
        client.write(echo + Self.call + [0])
        client.channel.close(mode: .output, promise: nil)
        let first = Array(#"{"parameters":{"text":"a"}}"#.utf8) + [0]
        #expect(await client.all() == first + Self.reply + [0] + Array("bye".utf8))
        await example.service.close()
    }

    @Test func `client and service speak another protocol over a socket`() async throws {
        let example = try await ExampleService(.path(directory.socket))
        let client = try await VarlinkClient.connect(toPath: directory.socket)
        _ = try await client.call("org.example.test.WhoAmI")
        let (reply, connection) = try await client.upgrade(Self.mirror)
        #expect(reply == ["greeting": "hello"])
        await #expect(throws: VarlinkError.self) { try await client.call("org.example.test.WhoAmI") }
        // The block exceeds all buffers on the way, so writing and reading wait for each other.
        let block = (0..<100_000).map { UInt8(truncatingIfNeeded: $0) }
        let writing = Task {
            for _ in 0..<20 { try await connection.write(block) }
            await connection.finishWriting()
        }
        var count = 0
        var isRight = true
        var end: [UInt8] = []
        while let bytes = try await connection.read() {
            for byte in bytes {
                if count < 2_000_000 {
                    if byte != block[count % block.count] { isRight = false }
                } else {
                    end.append(byte)
                }
                count += 1
            }
        }
        try await writing.value
        #expect(isRight && count == 2_000_003 && end == Array("bye".utf8))
        await #expect(throws: VarlinkError.self) { try await connection.write([1]) }
        await connection.close()
        #expect(try await connection.read() == nil)
        await example.service.close()
    }

    @Test func `a refusal does not change the connection`() async throws {
        let example = try await ExampleService(.nowhere)
        let client = try await example.service.connect()
        await #expect(throws: ErrorReply("org.example.test.Refused", parameters: ["reason": "as asked"])) {
            try await client.upgrade(Self.mirror, parameters: ["refuse": true])
        }
        await #expect(throws: ServiceError.methodNotImplemented(method: "org.example.test.Echo").errorReply) {
            try await client.upgrade("org.example.test.Echo", parameters: ["text": "a"])
        }
        await #expect(throws: ServiceError.methodNotImplemented(method: Self.mirror).errorReply) {
            try await client.call(Self.mirror)
        }
        await #expect(throws: ServiceError.invalidParameter(parameter: "refuse").errorReply) {
            try await client.upgrade(Self.mirror, parameters: ["refuse": 1])
        }
        _ = try await client.call("org.example.test.WhoAmI")
        await client.close()
        await example.service.close()
    }

    @Test func `cancelling a call that waits for the other protocol closes the connection`() async throws {
        let example = try await ExampleService(.nowhere)
        let client = try await example.service.connect()
        let waiting = Task { try await client.call("org.example.test.Wait") }
        await example.told.wait { $0 == ["waiting"] }
        let upgrade = Task { try await client.upgrade(Self.mirror) }
        let error = await #expect(throws: VarlinkError.self) { try await client.upgrade(Self.mirror, limit: .zero) }
        #expect(error?.code == .timedOut || error?.code == .connectionClosed)
        upgrade.cancel()
        _ = await upgrade.result
        await #expect(throws: VarlinkError.self) { try await waiting.value }
        await example.events.wait { $0.last == "disconnected" }
        await example.service.close()
    }

    @Test func `a disconnected client ends the other protocol, and the service can be closed`() async throws {
        let example = try await ExampleService(.nowhere)
        do {
            let client = try await example.service.connect()
            let (_, connection) = try await client.upgrade(Self.mirror)
            await example.told.wait { $0 == ["mirror begins"] }
            await connection.close()
        }
        await example.events.wait { $0.last == "disconnected" }
        let client = try await example.service.connect()
        let (_, connection) = try await client.upgrade(Self.mirror)
        await example.service.close(within: .milliseconds(50))
        #expect(try await connection.read() == nil)
        #expect(example.service.connectionCount == 0)
    }

    @Test func `the connection lives as long as a reference to it`() async throws {
        let example = try await ExampleService(.nowhere)
        func upgraded() async throws -> UpgradedConnection {
            try await example.service.connect().upgrade(Self.mirror).connection
        }
        do {
            let connection = try await upgraded()
            try await connection.write([1, 2, 3])
            #expect(try await connection.read() == [1, 2, 3])
        }
        await example.events.wait { $0.last == "disconnected" }
        await example.service.close()
    }

    @Test func `a cancelled reader stops waiting, and the next one continues`() async throws {
        let example = try await ExampleService(.nowhere)
        let client = try await example.service.connect()
        let (_, connection) = try await client.upgrade(Self.mirror)
        let reading = Task { try await connection.read() }
        reading.cancel()
        await #expect(throws: CancellationError.self) { try await reading.value }
        try await connection.write([1])
        #expect(try await connection.read() == [1])
        await connection.close()
        await example.service.close()
    }

    /// Memory does not grow at either end, because the writer waits.
    @Test func `a peer that does not read makes the writer wait`() async throws {
        let example = try await ExampleService(.nowhere)
        let client = try await example.service.connect()
        let (_, connection) = try await client.upgrade(Self.mirror)
        let sent = Recorder<Int>()
        let writing = Task {
            for number in 0..<1_000 {
                try await connection.write(Array(repeating: 1, count: 10_000))
                sent.record(number)
            }
        }
        // The writer stops: other clients are served for long, and it sends nothing more.
        let other = try await example.service.connect()
        var count = -1
        while count != sent.elements.count || count < 1 {
            count = sent.elements.count
            for _ in 0..<200 { _ = try await other.call("org.example.test.WhoAmI") }
        }
        #expect(count < 100)
        await connection.close()
        _ = await writing.result
        await other.close()
        await example.service.close()
    }

    @Test func `cancelling a writer while the peer does not read closes the connection`()
        async throws
    {
        let example = try await ExampleService(.nowhere)
        let (_, connection) = try await example.service.connect().upgrade(Self.mirror)
        let sent = Recorder<Int>()
        let writing = Task {
            for number in 0... {
                try await connection.write(Array(repeating: 1, count: 10_000))
                sent.record(number)
            }
        }
        let other = try await example.service.connect()
        var count = -1
        while count != sent.elements.count || count < 1 {
            count = sent.elements.count
            for _ in 0..<200 { _ = try await other.call("org.example.test.WhoAmI") }
        }
        writing.cancel()
        await #expect(throws: CancellationError.self) { try await writing.value }
        await example.events.wait { $0.contains("disconnected") }
        await #expect(throws: VarlinkError.self) { try await connection.write([1]) }
        await other.close()
        await example.service.close()
    }
}
