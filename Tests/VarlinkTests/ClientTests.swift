import Glibc
import NIOCore
import NIOPosix
import StrictJSON
import Synchronization
import Testing
import TestSupport
import Varlink

/// A service that answers with bytes that the test gives.
private final class ScriptedService: Sendable {
    let channel: any Channel

    /// - Parameter answers: The answers to the first message, the second and so on; nil closes.
    init(_ path: String, answers: [String?]) async throws {
        channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Handler(answers))
                }
            }
            .bind(unixDomainSocketPath: path)
            .get()
    }

    func close() async { try? await channel.close().get() }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer
        var answers: [String?]

        init(_ answers: [String?]) { self.answers = answers }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            for byte in unwrapInboundIn(data).readableBytesView where byte == 0 && !answers.isEmpty {
                guard let answer = answers.removeFirst() else {
                    context.close(promise: nil)
                    return
                }
                context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: answer)), promise: nil)
            }
        }
    }
}

@Suite(.timeLimit(.minutes(5)))
struct ClientTests {
    let directory: TemporaryDirectory

    init() throws {
        directory = TemporaryDirectory()
    }

    private func code(_ body: () async throws -> Void) async -> VarlinkError.Code? {
        do {
            try await body()
            return nil
        } catch {
            return (error as? VarlinkError)?.code
        }
    }

    @Test func `a missing service has its own error`() async {
        #expect(await code { _ = try await VarlinkClient.connect(toPath: directory.socket) } == .noSocket)
        #expect(await code { _ = try await VarlinkClient.connect(toPath: "/dev/null") } == .notASocket)
        let left = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(directory.socket.utf8)) }
        let bound = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(left, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        #expect(bound == 0)
        close(left)
        #expect(await code { _ = try await VarlinkClient.connect(toPath: directory.socket) } == .notRunning)
        #expect(await code { _ = try await VarlinkClient.connect(toPath: "") } == .invalidPath)
    }

    @Test func `an error of the service is thrown unchanged`() async throws {
        let example = try await ExampleService(.path(directory.socket))
        let client = try await VarlinkClient.connect(toPath: directory.socket)
        await #expect(throws: ErrorReply("org.example.test.Refused", parameters: ["reason": "as asked"])) {
            try await client.call("org.example.test.Echo", parameters: ["text": "refuse"])
        }
        await client.close()
        #expect(await code { _ = try await client.call("org.example.test.WhoAmI") } == .connectionClosed)
        #expect(await code { _ = try await client.callMore("org.example.test.WhoAmI") } == .connectionClosed)
        #expect(await code { try await client.oneway("org.example.test.WhoAmI") } == .connectionClosed)
        await example.service.close()
    }

    @Test func `concurrent calls each get their own answer`() async throws {
        let example = try await ExampleService(.path(directory.socket))
        let client = try await VarlinkClient.connect(toPath: directory.socket)
        let wrong = try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 0..<100 {
                group.addTask {
                    let reply = try await client.call(
                        "org.example.test.Echo", parameters: ["text": .string("\(number)")])
                    return reply != ["text": .string("\(number)")]
                }
            }
            return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(wrong == 0)
        await client.close()
        await example.service.close()
    }

    @Test func `a stream is read to its end, and the connection continues`() async throws {
        let example = try await ExampleService(.path(directory.socket))
        let client = try await VarlinkClient.connect(toPath: directory.socket)
        var numbers: [JSONValue?] = []
        for try await reply in try await client.callMore("org.example.test.Count", parameters: ["to": 100]) {
            numbers.append(reply["number"])
        }
        #expect(numbers == (1...100).map { .int($0) })
        _ = try await client.call("org.example.test.WhoAmI")
        await client.close()
        await example.service.close()
    }

    @Test func `a stream that ends with an error throws it once and is over`() async throws {
        let example = try await ExampleService(.path(directory.socket))
        let client = try await VarlinkClient.connect(toPath: directory.socket)
        let replies = try await client.callMore("org.example.test.Count", parameters: ["to": "x"])
        var iterator = replies.makeAsyncIterator()
        await #expect(throws: ServiceError.invalidParameter(parameter: "to").errorReply) { try await iterator.next() }
        #expect(try await iterator.next() == nil)
        await client.close()
        await example.service.close()
    }

    @Test func `a slow reader makes the service wait`() async throws {
        let example = try await ExampleService(.path(directory.socket))
        let client = try await VarlinkClient.connect(toPath: directory.socket)
        let replies = try await client.callMore("org.example.test.Flood", parameters: ["size": 10000])
        var iterator = replies.makeAsyncIterator()
        _ = try await iterator.next()
        // The service stops when kernel and buffers are full. It sends nothing while it answers other calls on the same
        // event loop, which shows that it has stopped.
        let other = try await VarlinkClient.connect(toPath: directory.socket)
        var sent = -1
        while sent != example.told.elements.count {
            sent = example.told.elements.count
            for _ in 0..<50 { _ = try await other.call("org.example.test.WhoAmI") }
        }
        #expect(sent < 300)
        for _ in 0..<500 { _ = try await iterator.next() }
        #expect(example.told.elements.count > 400)
        await other.close()
        await client.close()
        await example.service.close()
    }

    @Test func `a stream dropped before its end closes the connection and ends the handler`() async throws {
        let example = try await ExampleService(.path(directory.socket))
        let client = try await VarlinkClient.connect(toPath: directory.socket)
        do {
            let replies = try await client.callMore("org.example.test.Flood", parameters: ["size": 1])
            for try await _ in replies { break }
        }
        await example.told.wait { $0.last == "flood ended" }
        #expect(await code { _ = try await client.call("org.example.test.WhoAmI") } == .connectionClosed)
        await example.service.close()
    }

    @Test func `a client that is no longer used closes its connection`() async throws {
        let example = try await ExampleService(.path(directory.socket))
        do {
            let client = try await VarlinkClient.connect(toPath: directory.socket)
            _ = try await client.call("org.example.test.WhoAmI")
        }
        await example.events.wait { $0.last == "disconnected" }
        await example.service.close()
    }

    @Test func `a call has a time limit, and its late answer is not used for another call`() async throws {
        let late = #"{"parameters":{"n":1}}"# + "\0" + #"{"parameters":{"n":2}}"# + "\0"
        let service = try await ScriptedService(directory.socket, answers: ["", late])
        let client = try await VarlinkClient.connect(toPath: directory.socket)
        #expect(await code { _ = try await client.call("a.b.C", limit: .milliseconds(20)) } == .timedOut)
        #expect(try await client.call("a.b.C") == ["n": 2])
        await client.close()
        await service.close()
    }

    @Test func `a cancelled call ends at once`() async throws {
        let example = try await ExampleService(.path(directory.socket))
        let client = try await VarlinkClient.connect(toPath: directory.socket)
        let call = Task { try await client.call("org.example.test.Wait") }
        await example.told.wait { $0 == ["waiting"] }
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        let early = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await client.call("org.example.test.Wait")
        }
        await #expect(throws: CancellationError.self) { try await early.value }
        await client.close()
        await example.service.close()
    }

    @Test func `a cancelled reader ends at once and closes the connection`() async throws {
        let example = try await ExampleService(.path(directory.socket))
        let client = try await VarlinkClient.connect(toPath: directory.socket)
        let replies = try await client.callMore("org.example.test.Wait")
        let reading = Task {
            for try await _ in replies {}
        }
        await example.told.wait { $0 == ["waiting"] }
        reading.cancel()
        _ = await reading.result
        await example.told.wait { $0 == ["waiting", "cancelled"] }
        await example.service.close()
    }

    @Test(
        arguments: [
            ("rubbish\0", VarlinkError.Code.protocolViolation),
            (#"{"parameters":{},"continues":true}"# + "\0", .protocolViolation),
            (#"{"error":"a.b.C","continues":true}"# + "\0", .protocolViolation),
            (#"{"unknown":1}"# + "\0", .protocolViolation),
            (String(repeating: "x", count: 2000), .messageTooLarge), (nil, .connectionClosed),
        ] as [(String?, VarlinkError.Code)])
    func `a client leaves a service that violates the protocol`(answer: String?, code expected: VarlinkError.Code)
        async throws
    {
        let service = try await ScriptedService(directory.socket, answers: [answer])
        var configuration = ClientConfiguration()
        configuration.maximumMessageLength = 1000
        let client = try await VarlinkClient.connect(toPath: directory.socket, configuration: configuration)
        #expect(await code { _ = try await client.call("a.b.C") } == expected)
        #expect(await code { _ = try await client.call("a.b.C") } == expected)
        await service.close()
    }

    @Test func `a reader that was cancelled before it began also closes the connection`() async throws {
        let example = try await ExampleService(.path(directory.socket))
        let client = try await VarlinkClient.connect(toPath: directory.socket)
        let replies = try await client.callMore("org.example.test.Wait")
        await example.told.wait { $0 == ["waiting"] }
        let reading = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            for try await _ in replies {}
        }
        await #expect(throws: CancellationError.self) { try await reading.value }
        await example.told.wait { $0 == ["waiting", "cancelled"] }
        await example.service.close()
    }

    @Test func `an answer without a call is a violation`() async throws {
        let service = try await ScriptedService(directory.socket, answers: ["{}\0{}\0"])
        let client = try await VarlinkClient.connect(toPath: directory.socket)
        _ = try await client.call("a.b.C")
        #expect(await code { _ = try await client.call("a.b.C", limit: .seconds(5)) } != nil)
        await service.close()
    }

    @Test func `replies from before the close are still read`() async throws {
        let replies = (1...100).map { #"{"parameters":{"n":\#($0)},"continues":true}"# + "\0" }.joined()
        let service = try await ScriptedService(directory.socket, answers: [replies, nil])
        let client = try await VarlinkClient.connect(toPath: directory.socket)
        let stream = try await client.callMore("a.b.C")
        var iterator = stream.makeAsyncIterator()
        #expect(try await iterator.next() == ["n": 1])
        try await client.oneway("a.b.C")
        for number in 2...100 { #expect(try await iterator.next() == ["n": .int(Int64(number))]) }
        #expect(await code { _ = try await iterator.next() } == .connectionClosed)
        #expect(try await iterator.next() == nil)
        await service.close()
    }
}
