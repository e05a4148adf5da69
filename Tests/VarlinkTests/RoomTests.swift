import NIOCore
import Testing
import Varlink

/// The limits for all clients together, and the room reserved for clients with precedence.
@Suite(.timeLimit(.minutes(5)))
struct RoomTests {
    private static let echo = #"{"method":"org.example.test.Echo","parameters":{"text":"a"}}"# + "\0"

    private static func peer(_ user: UInt32) -> VarlinkPeer { VarlinkPeer(processID: 1, userID: user, groupID: 1) }

    /// Returns a client that was answered, and that has sent a number of bytes of its next message.
    private static func begun(_ example: ExampleService, _ user: UInt32, _ count: Int) async throws -> RawClient {
        let client = try await RawClient(example.service, as: peer(user))
        client.write(echo + String(repeating: " ", count: count))
        return client
    }

    private static func service(_ configure: (inout ServiceConfiguration) -> Void) async throws -> ExampleService {
        try await ExampleService(.nowhere) { configuration in
            configuration.hasPrecedence = { $0.userID == 0 }
            configure(&configuration)
        }
    }

    @Test func `incomplete messages of one user are bounded, without effect on other users`() async throws {
        let example = try await Self.service { $0.maximumHeldBytesPerUser = 20_000 }
        var clients: [RawClient] = []
        for _ in 0..<2 {
            clients.append(try await Self.begun(example, 5, 8_000))
            #expect(await clients.last?.messages(1) == [#"{"parameters":{"text":"a"}}"#])
        }
        let beyond = try await Self.begun(example, 5, 8_000)
        await beyond.closed()
        #expect(example.events.elements.filter { $0.hasPrefix("dropped") } == ["dropped noRoom"])
        // Small amounts are not counted, and other users have their own room.
        let small = try await Self.begun(example, 5, 3_000)
        #expect(await small.messages(1) == [#"{"parameters":{"text":"a"}}"#])
        let other = try await Self.begun(example, 6, 18_000)
        #expect(await other.messages(1) == [#"{"parameters":{"text":"a"}}"#])
        // A complete message gives its room back, and a client that disconnects does so too.
        clients[0].write(Self.echo)
        #expect(await clients[0].messages(2).last == #"{"parameters":{"text":"a"}}"#)
        let next = try await Self.begun(example, 5, 8_000)
        #expect(await next.messages(1) == [#"{"parameters":{"text":"a"}}"#])
        await clients[1].close()
        await next.close()
        await example.events.wait { events in events.count { $0 == "disconnected" } >= 3 }
        let last = try await Self.begun(example, 5, 16_000)
        #expect(await last.messages(1) == [#"{"parameters":{"text":"a"}}"#])
        // A client that is released disconnects, and would count above in the place of another one.
        withExtendedLifetime((clients, small, other, next)) {}
        await example.service.close(within: .zero)
    }

    @Test func `incomplete messages of all users are bounded, with a quarter reserved for precedence`()
        async throws
    {
        let example = try await Self.service { $0.maximumHeldBytes = 40_000 }
        var clients: [RawClient] = []
        for user in 5..<8 as Range<UInt32> {
            clients.append(try await Self.begun(example, user, 9_000))
            _ = await clients.last?.messages(1)
        }
        let beyond = try await Self.begun(example, 8, 9_000)
        await beyond.closed()
        #expect(example.events.elements.contains("dropped noRoom"))
        clients.append(try await Self.begun(example, 0, 9_000))
        #expect(await clients.last?.messages(1) == [#"{"parameters":{"text":"a"}}"#])
        let far = try await Self.begun(example, 0, 9_000)
        await far.closed()
        await example.service.close(within: .zero)
    }

    @Test func `the message of a call counts while the call runs`() async throws {
        let example = try await Self.service { $0.maximumHeldBytesPerUser = 15_000 }
        let call = #"{"method":"org.example.test.Wait"\#(String(repeating: " ", count: 10_000))}"# + "\0"
        let first = try await RawClient(example.service, as: Self.peer(5))
        first.write(call)
        await example.told.wait { $0 == ["waiting"] }
        let second = try await RawClient(example.service, as: Self.peer(5))
        second.write(call)
        await second.closed()
        await first.close()
        await example.events.wait { events in events.count { $0 == "disconnected" } == 2 }
        let third = try await RawClient(example.service, as: Self.peer(5))
        third.write(call)
        await example.told.wait { $0.count { $0 == "waiting" } == 2 }
        await third.close()
        await example.service.close()
    }

    @Test func `a peer without permission to connect may send little`() async throws {
        let example = try await Self.service { $0.authorize = { request, _ in request != .connection } }
        let client = try await RawClient(example.service, as: Self.peer(5))
        client.write(String(repeating: " ", count: 5_000))
        await client.closed()
        #expect(example.events.elements.contains("dropped messageTooLarge"))
        await example.service.close()
    }

    @Test func `some connections are reserved for peers with precedence`() async throws {
        let example = try await Self.service {
            $0.maximumConnections = 4
            $0.reservedConnections = 2
        }
        var clients: [RawClient] = []
        for user in [5, 6, 0, 0] as [UInt32] {
            clients.append(try await RawClient(example.service, as: Self.peer(user)))
            guard user == 6 else { continue }
            let beyond = try await RawClient(example.service, as: Self.peer(7))
            await beyond.closed()
        }
        let far = try await RawClient(example.service, as: Self.peer(0))
        await far.closed()
        #expect(example.events.elements.count { $0 == "connected" } == 4)
        #expect(example.events.elements.count { $0 == "refused" } == 2)
        await clients[0].close()
        await example.events.wait { $0.last == "disconnected" }
        let next = try await RawClient(example.service, as: Self.peer(7))
        next.write(Self.echo)
        #expect(await next.messages(1) == [#"{"parameters":{"text":"a"}}"#])
        await example.service.close(within: .zero)
    }

    @Test func `waiting bytes take only the room that they need`() throws {
        var frames = FrameDecoder(maximumLength: 1 << 20)
        var bytes = ByteBufferAllocator().buffer(capacity: 1 << 16)
        bytes.writeString("abc\0d")
        frames.append(bytes)
        #expect(try frames.next() == ByteBuffer(string: "abc"))
        #expect(try frames.next() == nil)
        #expect(frames.bufferedBytes == 1 && frames.bufferedCapacity < 2048)
        frames.append(ByteBuffer(string: "e\0"))
        #expect(try frames.next() == ByteBuffer(string: "de"))
    }
}
