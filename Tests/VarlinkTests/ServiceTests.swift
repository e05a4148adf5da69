import Glibc
import NIOCore
import Testing
import TestSupport
import Varlink

@Suite(.timeLimit(.minutes(5)))
struct ServiceTests {
    let directory: TemporaryDirectory

    init() throws {
        directory = TemporaryDirectory()
    }

    func start(configure: (inout ServiceConfiguration) -> Void = { _ in }) async throws -> ExampleService {
        try await ExampleService(.path(directory.socket), configure: configure)
    }

    @Test func `a call is answered`() async throws {
        let example = try await start()
        let client = try await VarlinkClient.connect(toPath: directory.socket)
        let reply: ExampleService.Text = try await client.call(
            "org.example.test.Echo",
            ExampleService.EchoParameters(text: "hello", times: 2)
        )
        #expect(reply.text == "hellohello")
        await client.close()
        await example.service.close()
    }

    @Test(arguments: [
        (#"{"method":"org.varlink.service.GetInfo"}"#, #""interfaces":["org.varlink.service","org.example.test"]"#),
        (#"{"method":"org.varlink.service.GetInfo","parameters":null}"#, #""vendor":"Example""#),
        (#"{"method":"org.varlink.service.GetInfo","parameters":{}}"#, #""product":"Test""#),
        (
            #"{"method":"org.varlink.service.GetInterfaceDescription","parameters":{"interface":"org.example.test"}}"#,
            #"interface org.example.test\n"#
        ),
        (
            #"{"method":"org.varlink.service.GetInterfaceDescription","parameters":{"interface":"org.example.none"}}"#,
            #"{"error":"org.varlink.service.InterfaceNotFound","parameters":{"interface":"org.example.none"}}"#
        ),
        (
            #"{"method":"org.example.none.Do"}"#,
            #"{"error":"org.varlink.service.InterfaceNotFound","parameters":{"interface":"org.example.none"}}"#
        ),
        (
            #"{"method":"nonsense"}"#,
            #"{"error":"org.varlink.service.InterfaceNotFound","parameters":{"interface":"nonsense"}}"#
        ),
        (
            #"{"method":"org.example.test.Nothing"}"#,
            #"{"error":"org.varlink.service.MethodNotFound","parameters":{"method":"org.example.test.Nothing"}}"#
        ),
        (
            #"{"method":"org.example.test.Missing"}"#,
            #"{"error":"org.varlink.service.MethodNotImplemented","parameters":{"method":"org.example.test.Missing"}}"#
        ),
        (
            #"{"method":"org.example.test.Echo","parameters":{"text":"a"},"upgrade":true}"#,
            #"{"error":"org.varlink.service.MethodNotImplemented","parameters":{"method":"org.example.test.Echo"}}"#
        ),
        (
            #"{"method":"org.example.test.Echo","parameters":{"text":1}}"#,
            #"{"error":"org.varlink.service.InvalidParameter","parameters":{"parameter":"text"}}"#
        ),
        (
            #"{"method":"org.example.test.Echo","parameters":{"text":"a","tiems":1}}"#,
            #"{"error":"org.varlink.service.InvalidParameter","parameters":{"parameter":"tiems"}}"#
        ),
        (
            #"{"method":"org.example.test.Count","parameters":{"to":3}}"#,
            #"{"error":"org.varlink.service.ExpectedMore","parameters":{}}"#
        ),
        (
            #"{"method":"org.example.test.Echo","parameters":{"text":"refuse"}}"#,
            #"{"error":"org.example.test.Refused","parameters":{"reason":"as asked"}}"#
        ),
        (
            #"{"method":"org.example.test.Broken"}"#,
            #"{"error":"org.example.test.InternalError","parameters":{"message":"the service failed to answer; "#
        ),
        (
            #"{"method":"org.example.test.Echo","parameters":{"text":"a"},"more":true,"com.example.note":[1]}"#,
            #"{"parameters":{"text":"a"}}"#
        ),
    ])
    func `each kind of call has its answer`(call: String, answer: String) async throws {
        let example = try await start()
        let client = try await RawClient(directory.socket)
        client.write(call + "\0")
        let reply = await client.messages(1)[0]
        #expect(reply.contains(answer), "\(reply)")
        await client.close()
        await example.service.close()
    }

    @Test(arguments: [
        "rubbish\0", "\0", "[]\0", "{}\0", "{\"method\":1}\0", "{\"method\":\"\"}\0",
        #"{"method":"org.varlink.service.GetInfo","more":true,"oneway":true}"# + "\0",
        #"{"method":"org.varlink.service.GetInfo","unknown":true}"# + "\0",
        #"{"method":"org.varlink.service.GetInfo","more":1}"# + "\0",
        #"{"method":"org.varlink.service.GetInfo","parameters":[]}"# + "\0",
        #"{"method":"org.varlink.service.GetInfo"}{}"# + "\0",
    ])
    func `a malformed message closes the connection without an answer`(text: String) async throws {
        let example = try await start()
        let client = try await RawClient(directory.socket)
        client.write(text)
        await client.closed()
        #expect(client.received.elements == [.closed])
        await example.events.wait { $0.contains("dropped protocolViolation") && $0.contains("disconnected") }
        await example.service.close()
    }

    @Test func `invalid UTF-8 closes the connection`() async throws {
        let example = try await start()
        let client = try await RawClient(directory.socket)
        try await client.writeAll(ByteBuffer(bytes: Array(#"{"method":""#.utf8) + [0xFF, 0xFE] + Array("\"}\0".utf8)))
        await client.closed()
        await example.service.close()
    }

    @Test func `nesting deeper than allowed closes the connection`() async throws {
        let example = try await start()
        let client = try await RawClient(directory.socket)
        client.write(String(repeating: "[", count: 500_000) + "\0")
        await client.closed()
        await example.events.wait { $0.contains("dropped protocolViolation") }
        await example.service.close()
    }

    @Test func `a close within a message discards it and leaves no resources`() async throws {
        let example = try await start()
        let client = try await RawClient(directory.socket)
        client.write(#"{"method":"org.varlink.serv"#)
        await example.events.wait { $0.contains("connected") }
        await client.close()
        await example.events.wait { $0.contains("disconnected") }
        #expect(example.service.connectionCount == 0)
        await example.service.close()
    }

    @Test func `twenty megabytes without a NUL stop at the limit`() async throws {
        let example = try await start()
        let client = try await RawClient(directory.socket)
        let block = ByteBuffer(repeating: UInt8(ascii: " "), count: 1 << 20)
        await #expect(throws: (any Error).self) {
            for _ in 0..<20 { try await client.writeAll(block) }
        }
        await example.events.wait { $0.contains("dropped messageTooLarge") && $0.contains("disconnected") }
        await example.service.close()
    }

    @Test func `a hundred pipelined calls are answered in order`() async throws {
        let example = try await start()
        let client = try await RawClient(directory.socket)
        var text = ""
        for number in 0..<100 {
            text += #"{"method":"org.example.test.Echo","parameters":{"text":"\#(number)"}}"# + "\0"
        }
        client.write(text)
        let replies = await client.messages(100)
        #expect(replies == (0..<100).map { #"{"parameters":{"text":"\#($0)"}}"# })
        await client.close()
        await example.service.close()
    }

    @Test(arguments: [ServiceConfiguration.HandlerExecution.eventLoop, .sharedPool])
    func `a reply does not wait for a later call, even a malformed one`(
        execution: ServiceConfiguration.HandlerExecution
    ) async throws {
        let example = try await start { $0.handlerExecution = execution }
        let echo = #"{"method":"org.example.test.Echo","parameters":{"text":"one"}}"# + "\0"
        let slow = try await RawClient(directory.socket)
        slow.write(echo + echo + #"{"method":"org.example.test.Wait"}"# + "\0" + echo)
        #expect(await slow.messages(2) == Array(repeating: #"{"parameters":{"text":"one"}}"#, count: 2))
        await slow.close()
        let wrong = try await RawClient(directory.socket)
        wrong.write(echo + echo + "no JSON\0")
        #expect(await wrong.messages(2) == Array(repeating: #"{"parameters":{"text":"one"}}"#, count: 2))
        await wrong.received.wait { $0.last == .closed }
        await example.service.close()
    }

    @Test func `a oneway call is carried out and never answered, not even with an error`() async throws {
        let example = try await start()
        let client = try await RawClient(directory.socket)
        client.write(#"{"method":"org.example.test.Echo","parameters":{"text":"one"},"oneway":true}"# + "\0")
        client.write(#"{"method":"org.example.test.Echo","parameters":{"text":"refuse"},"oneway":true}"# + "\0")
        client.write(#"{"method":"org.example.test.None","oneway":true}"# + "\0")
        client.write(#"{"method":"org.example.test.Broken","oneway":true}"# + "\0")
        client.write(#"{"method":"org.example.test.Echo","parameters":{"text":"two"}}"# + "\0")
        #expect(await client.messages(1) == [#"{"parameters":{"text":"two"}}"#])
        #expect(example.told.elements == ["one", "two"])
        await client.close()
        await example.service.close()
    }

    @Test func `a stream continues until its last reply`() async throws {
        let example = try await start()
        let client = try await RawClient(directory.socket)
        client.write(#"{"method":"org.example.test.Count","parameters":{"to":3},"more":true}"# + "\0")
        let replies = await client.messages(3)
        #expect(
            replies == [
                #"{"continues":true,"parameters":{"number":1}}"#, #"{"continues":true,"parameters":{"number":2}}"#,
                #"{"parameters":{"number":3}}"#,
            ]
        )
        await client.close()
        await example.service.close()
    }

    @Test func `a close in the middle of a stream ends its handler`() async throws {
        let example = try await start()
        let client = try await RawClient(directory.socket)
        client.write(#"{"method":"org.example.test.Flood","parameters":{"size":10},"more":true}"# + "\0")
        _ = await client.messages(1)
        await client.close()
        await example.told.wait { $0.last == "flood ended" }
        await example.events.wait { $0.contains("disconnected") }
        await example.service.close()
    }

    @Test func `a client that goes away cancels the handler that is running`() async throws {
        let example = try await start()
        let client = try await RawClient(directory.socket)
        client.write(#"{"method":"org.example.test.Wait"}"# + "\0")
        await example.told.wait { $0 == ["waiting"] }
        await client.close()
        await example.told.wait { $0 == ["waiting", "cancelled"] }
        await example.service.close()
    }

    @Test func `a client that ends its output still receives its answers`() async throws {
        let example = try await start()
        let client = try await RawClient(directory.socket)
        client.write(#"{"method":"org.example.test.Echo","parameters":{"text":"a"}}"# + "\0")
        client.write(#"{"method":"org.example.test.Echo","parameters":{"text":"b"}}"# + "\0")
        try await client.channel.close(mode: .output).get()
        await client.closed()
        #expect(
            client.received.elements == [
                .message(#"{"parameters":{"text":"a"}}"#), .message(#"{"parameters":{"text":"b"}}"#), .closed,
            ]
        )
        await example.service.close()
    }

    /// About six such replies fill the kernel's buffers for a client that does not read. With one or two more, the last
    /// is unsent in the service when it only has to close.
    @Test(arguments: 1...10)
    func `answers arrive whole although the client ended its output before reading`(count: Int) async throws {
        // On a busy machine the client may be slow to read.
        let example = try await start()
        let client = try await RawClient(directory.socket, reads: false)
        let call = #"{"method":"org.example.test.Echo","parameters":{"text":"0123456789","times":4000}}"# + "\0"
        client.write(String(repeating: call, count: count))
        try await client.channel.close(mode: .output).get()
        await example.told.wait { $0.count >= min(count, 5) }
        // The service handles the end of input before this call.
        let other = try await VarlinkClient.connect(toPath: directory.socket)
        for _ in 0..<20 { _ = try await other.call("org.example.test.WhoAmI") }
        await other.close()
        // If everything fitted into the kernel, the client has already read the end.
        try? await client.channel.setOption(.autoRead, value: true).get()
        await client.closed()
        #expect(client.received.elements.count == count + 1)
        let length = 40_000 + #"{"parameters":{"text":""}}"#.utf8.count
        for case .message(let reply) in client.received.elements { #expect(reply.utf8.count == length) }
        await example.service.close()
    }

    @Test func `a close lets the running call finish and serves no further call`() async throws {
        let example = try await start { $0.handlerExecution = .sharedPool }
        let client = try await RawClient(directory.socket)
        let idle = try await RawClient(directory.socket)
        client.write(#"{"method":"org.example.test.Wait"}"# + "\0")
        await example.told.wait { $0 == ["waiting"] }
        await example.service.close(within: .milliseconds(100))
        await idle.closed()
        await client.closed()
        #expect(example.told.elements == ["waiting", "cancelled"])
        #expect(access(directory.socket, F_OK) != 0)
        #expect(access(directory.socket + ".lock", F_OK) != 0)
    }
}
