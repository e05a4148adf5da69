import Glibc
import NIOCore
import StrictJSON
import Synchronization
import Testing
import TestSupport
import Varlink

/// Tests with clients whose connection is in memory, where sizes and order are exact.
@Suite(.timeLimit(.minutes(5)))
struct MemoryTests {
    @Test func `a client without a socket calls, streams, and sees errors`() async throws {
        let example = try await ExampleService(.nowhere)
        let client = try await example.service.connect()
        #expect(try await client.call("org.example.test.Echo", parameters: ["text": "a"]) == ["text": "a"])
        var numbers: [JSONValue?] = []
        for try await reply in try await client.callMore("org.example.test.Count", parameters: ["to": 500]) {
            numbers.append(reply["number"])
        }
        #expect(numbers == (1...500).map { .int($0) })
        await #expect(throws: ErrorReply.self) {
            try await client.call("org.example.test.Echo", parameters: ["text": "refuse"])
        }
        try await client.oneway("org.example.test.Echo", parameters: ["text": "b"])
        _ = try await client.call("org.example.test.WhoAmI")
        #expect(example.told.elements.last == "b")
        await client.close()
        await example.events.wait { $0.last == "disconnected" }
        #expect(example.service.connectionCount == 0)
        await example.service.close()
    }

    @Test func `the caller is the peer that the test gives`() async throws {
        let example = try await ExampleService(.nowhere) { configuration in
            configuration.authorize = { request, peer in
                request == .connection ? peer.userID != 3 : peer.isMember(ofGroup: 7)
            }
        }
        let member = try await example.service.connect(
            as: VarlinkPeer(processID: 1, userID: 2, groupID: 1, groups: [5, 7]))
        #expect(try await member.call("org.example.test.WhoAmI") == ["pid": 1, "uid": 2, "gid": 1])
        let stranger = try await example.service.connect(as: VarlinkPeer(processID: 1, userID: 2, groupID: 1))
        for _ in 0..<2 {
            await #expect(throws: ServiceError.permissionDenied.errorReply) {
                try await stranger.call("org.example.test.WhoAmI")
            }
        }
        let unauthorized = try await example.service.connect(
            as: VarlinkPeer(processID: 1, userID: 3, groupID: 7))
        await #expect(throws: ServiceError.permissionDenied.errorReply) {
            try await unauthorized.call("org.example.test.WhoAmI")
        }
        await #expect(throws: VarlinkError.self) { try await unauthorized.call("org.example.test.WhoAmI") }
        await example.service.close()
    }

    @Test func `a client of this process is this process`() async throws {
        let example = try await ExampleService(.nowhere)
        let client = try await example.service.connect()
        let reply = try await client.call("org.example.test.WhoAmI")
        #expect(reply == ["pid": .int(Int64(getpid())), "uid": .int(Int64(geteuid())), "gid": .int(Int64(getegid()))])
        await example.service.close()
    }

    @Test func `a service with a socket has clients without one, too, and counts them`() async throws {
        let directory = TemporaryDirectory()
        let example = try await ExampleService(.path(directory.socket)) { $0.maximumConnections = 2 }
        let near = try await example.service.connect()
        let far = try await VarlinkClient.connect(toPath: directory.socket)
        _ = try await near.call("org.example.test.WhoAmI")
        _ = try await far.call("org.example.test.WhoAmI")
        let third = try await example.service.connect()
        await #expect(throws: VarlinkError.self) { try await third.call("org.example.test.WhoAmI") }
        #expect(example.events.elements == ["connected", "connected", "refused"])
        await example.service.close()
        await #expect(throws: VarlinkError.self) { try await near.call("org.example.test.WhoAmI") }
        await #expect(throws: VarlinkError.self) {
            try await example.service.connect().call("org.example.test.WhoAmI")
        }
    }

    @Test func `a slow reader makes the service wait`() async throws {
        let example = try await ExampleService(.nowhere)
        let client = try await example.service.connect()
        let replies = try await client.callMore("org.example.test.Flood", parameters: ["size": 10_000])
        var iterator = replies.makeAsyncIterator()
        _ = try await iterator.next()
        let other = try await example.service.connect()
        var sent = -1
        while sent != example.told.elements.count {
            sent = example.told.elements.count
            for _ in 0..<50 { _ = try await other.call("org.example.test.WhoAmI") }
        }
        #expect(sent < 100)
        for _ in 0..<300 { _ = try await iterator.next() }
        #expect(example.told.elements.count > 200)
        await client.close()
        await other.close()
        await example.service.close()
    }

    /// Three calls in one text, with a oneway call between them.
    static let calls =
        #"{"method":"org.example.test.Echo","parameters":{"text":"ä 1"}}"# + "\0"
        + #"{"method":"org.example.test.Echo","parameters":{"text":"2"},"oneway":true}"# + "\0"
        + #"{"method":"org.example.test.Count","parameters":{"to":2},"more":true}"# + "\0"
        + #"{"method":"org.varlink.service.None"}"# + "\0"
    static let answers = [
        #"{"parameters":{"text":"ä 1"}}"#, #"{"continues":true,"parameters":{"number":1}}"#,
        #"{"parameters":{"number":2}}"#,
        #"{"error":"org.varlink.service.MethodNotFound","parameters":{"method":"org.varlink.service.None"}}"#,
    ]

    @Test func `calls split at every position are answered the same`() async throws {
        let example = try await ExampleService(.nowhere)
        let bytes = Array(Self.calls.utf8)
        for place in 0...bytes.count {
            let client = try await RawClient(example.service)
            // Each write is read separately, because the other end reads before the next turn.
            try await client.writeAll(ByteBuffer(bytes: bytes[..<place]))
            try await client.writeAll(ByteBuffer(bytes: bytes[place...]))
            let answers = await client.messages(4)
            if answers != Self.answers { Issue.record("cut at \(place): \(answers)") }
            await client.close()
        }
        await example.service.close()
    }

    @Test(arguments: [1, 2, 3, 5, 64])
    func `calls and answers in pieces of any size are the same`(size: Int) async throws {
        let example = try await ExampleService(.nowhere)
        let client = try await RawClient(example.service, largestRead: size)
        client.write(String(repeating: Self.calls, count: 20))
        let answers = await client.messages(80)
        #expect(answers == (0..<20).flatMap { _ in Self.answers })
        await client.close()
        await example.service.close()
    }

    @Test func `answers split at every position are read the same`() async throws {
        // Client and service use the same decoder.
        let text = Array((#"{"parameters":{"a":"ä\u0000"}}"# + "\0" + "{}" + "\0" + "rest").utf8)
        for first in 0...text.count {
            for second in first...text.count {
                var decoder = FrameDecoder(maximumLength: 100)
                var messages: [String] = []
                for piece in [text[..<first], text[first..<second], text[second...]] {
                    decoder.append(ByteBuffer(bytes: piece))
                    while let message = try decoder.next() { messages.append(String(buffer: message)) }
                }
                #expect(messages == [#"{"parameters":{"a":"ä\u0000"}}"#, "{}"])
                #expect(String(buffer: decoder.takeRest()) == "rest")
                #expect(decoder.bufferedBytes == 0)
            }
        }
    }

    @Test(arguments: [1, 2, 3, 5, 7, 31])
    func `a client reads answers in pieces of any size`(size: Int) async throws {
        let example = try await ExampleService(.nowhere)
        let client = try await example.service.connectClient(largestRead: size)
        for number in 0..<10 {
            let text = JSONValue.string("ä\u{0}\(number)")
            #expect(try await client.call("org.example.test.Echo", parameters: ["text": text]) == ["text": text])
        }
        var count = 0
        for try await _ in try await client.callMore("org.example.test.Count", parameters: ["to": 50]) { count += 1 }
        #expect(count == 50)
        await client.close()
        await example.service.close()
    }

    @Test func `a message may be as long as the limit, but not a byte longer`() async throws {
        for excess in [0, 1] {
            let example = try await ExampleService(.nowhere) { $0.maximumMessageLength = 1_000 }
            let client = try await RawClient(example.service)
            let head = #"{"method":"org.example.test.Echo","parameters":{"text":""#
            let tail = #""}}"#
            let text = String(repeating: "x", count: 1_000 + excess - head.utf8.count - tail.utf8.count)
            client.write(head + text + tail + "\0")
            if excess == 0 {
                #expect(await client.messages(1) == [#"{"parameters":{"text":"\#(text)"}}"#])
            } else {
                await client.closed()
                await example.events.wait { $0.contains("dropped messageTooLarge") }
                #expect(client.received.elements == [.closed])
            }
            await client.close()
            await example.service.close()
        }
    }

    @Test func `a reply that would be too long is an error that names its largest part, and the connection goes on`()
        async throws
    {
        let example = try await ExampleService(.nowhere) { $0.maximumReplyLength = 100 }
        let client = try await example.service.connect()
        #expect(
            try await client.call("org.example.test.Echo", parameters: ["text": "x", "times": 50])["text"]?
                .stringValue?.count == 50)
        let refusal = ErrorReply(
            "org.example.test.ReplyTooLarge", parameters: ["limit": .int(100), "part": .string("text")])
        await #expect(throws: refusal) {
            try await client.call("org.example.test.Echo", parameters: ["text": "x", "times": 100])
        }
        #expect(example.events.elements.contains("failed org.example.test.Echo"))
        #expect(try await client.call("org.example.test.Echo", parameters: ["text": "x"])["text"]?.stringValue == "x")
        await client.close()
        await example.service.close()
    }

    @Test func `nesting may be as deep as the limit, but not deeper`() async throws {
        for (depth, isRead) in [(9, true), (10, true), (11, false)] {
            let example = try await ExampleService(.nowhere) { $0.maximumDepth = 10 }
            let client = try await RawClient(example.service)
            // The message and its parameters are two of the levels.
            let value = String(repeating: "[", count: depth - 2) + String(repeating: "]", count: depth - 2)
            client.write(#"{"method":"org.example.test.Echo","parameters":{"text":\#(value)}}"# + "\0")
            if isRead {
                #expect(
                    await client.messages(1) == [
                        #"{"error":"org.varlink.service.InvalidParameter","parameters":{"parameter":"text"}}"#
                    ])
            } else {
                await client.closed()
                await example.events.wait { $0.contains("dropped protocolViolation") }
            }
            await client.close()
            await example.service.close()
        }
    }
}
