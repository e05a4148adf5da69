import NIOCore
import NIOPosix
import StrictJSON
import Testing
import TestSupport
import Varlink

/// A service with one event loop, and a method whose calls block their thread until the test releases them.
private struct SlowService {
    /// A reply that records the thread that encodes it.
    private struct Place: Encodable {
        let group: MultiThreadedEventLoopGroup

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(["onLoop": group.serves])
        }
    }

    /// The user with precedence.
    static let administrator: UInt32 = 61_001

    let service: VarlinkService
    let group: MultiThreadedEventLoopGroup
    let began = Recorder<Bool>()
    let door = ThreadSemaphore()

    init() async throws {
        let text = """
            interface org.example.slow
            method Hold() -> ()
            method Ask() -> ()
            method AskLong() -> (onLoop: bool)
            """
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        self.group = group
        var interface = InterfaceImplementation(try InterfaceDefinition(parsing: text))
        try interface.register("Hold", takesLong: true) { [began, door] _ in
            began.record(group.serves)
            door.wait()
            return [:]
        }
        try interface.register("Ask") { _ in [:] }
        try interface.register("AskLong", takesLong: true) { (_: [String: Int], _) in Place(group: group) }
        var configuration = ServiceConfiguration(vendor: "test", product: "test", version: "1", url: "test")
        configuration.hasPrecedence = { $0.userID == Self.administrator }
        service = try await VarlinkService.start(
            at: .nowhere, interfaces: [interface], configuration: configuration, group: group)
    }

    func close() async throws {
        await service.close()
        try await group.shutdownGracefully()
    }
}

extension MultiThreadedEventLoopGroup {
    /// A Boolean value that indicates whether one of the event loops runs the current code.
    fileprivate var serves: Bool { makeIterator().contains { $0.inEventLoop } }
}

@Suite(.timeLimit(.minutes(5)))
struct LongCallTests {
    @Test func `a long call blocks no other connection, even with one event loop`() async throws {
        let slow = try await SlowService()
        let (one, other) = (try await slow.service.connect(), try await slow.service.connect())
        async let held = one.call("org.example.slow.Hold")
        await slow.began.wait { !$0.isEmpty }
        // A handler on the event loop would prevent this answer.
        #expect(try await other.call("org.example.slow.Ask") == [:])
        slow.door.signal()
        #expect(try await held == [:])
        #expect(slow.began.elements == [false])
        await one.close()
        await other.close()
        try await slow.close()
    }

    @Test func `a long call of another peer does not delay one of a peer with precedence`() async throws {
        let slow = try await SlowService()
        let administrator = VarlinkPeer(processID: 1, userID: SlowService.administrator, groupID: 61_001)
        let (one, other) = (
            try await slow.service.connect(), try await slow.service.connect(as: administrator)
        )
        async let held = one.call("org.example.slow.Hold")
        await slow.began.wait { !$0.isEmpty }
        #expect(try await other.call("org.example.slow.AskLong") == ["onLoop": false])
        slow.door.signal()
        #expect(try await held == [:])
        await one.close()
        await other.close()
        try await slow.close()
    }

    @Test func `the reply of a long call is also encoded off the event loop`() async throws {
        let slow = try await SlowService()
        let client = try await slow.service.connect()
        #expect(try await client.call("org.example.slow.AskLong") == ["onLoop": false])
        await client.close()
        try await slow.close()
    }
}
