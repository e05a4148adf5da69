import Glibc
import NIOCore
import NIOPosix
import StrictJSON
import Testing
import TestSupport
import Varlink

extension ServiceTests {
    @Test func `a watcher that does not read makes its handler wait, and is finally disconnected`() async throws {
        let example = try await start { $0.unreadLimit = .milliseconds(200) }
        let client = try await RawClient(directory.socket, reads: false)
        client.write(#"{"method":"org.example.test.Flood","parameters":{"size":10000},"more":true}"# + "\0")
        await example.events.wait { $0.contains("dropped timedOut") && $0.contains("disconnected") }
        await example.told.wait { $0.last == "flood ended" }
        // The kernel's buffers and the unsent replies hold no more than this.
        #expect(example.told.elements.count < 200)
        await example.service.close()
    }

    @Test func `a client that does not finish a message in time is disconnected`() async throws {
        let example = try await start { $0.messageLimit = .milliseconds(50) }
        let client = try await RawClient(directory.socket)
        client.write("{")
        await client.closed()
        await example.events.wait { $0.contains("dropped timedOut") }
        await example.service.close()
    }

    @Test func `a client that is idle too long is disconnected`() async throws {
        let example = try await start { $0.idleLimit = .milliseconds(50) }
        let client = try await RawClient(directory.socket)
        await client.closed()
        await example.events.wait { $0.contains("dropped timedOut") }
        await example.service.close()
    }

    @Test func `connections are limited in total and for each user`() async throws {
        for limit in [\ServiceConfiguration.maximumConnections, \.maximumConnectionsPerUser] {
            let example = try await start { $0[keyPath: limit] = 2 }
            let first = try await RawClient(directory.socket)
            let second = try await RawClient(directory.socket)
            await example.events.wait { $0.count == 2 }
            let third = try await RawClient(directory.socket)
            await third.closed()
            #expect(example.events.elements == ["connected", "connected", "refused"])
            await first.close()
            await example.events.wait { $0.last == "disconnected" }
            let fourth = try await RawClient(directory.socket)
            fourth.write(#"{"method":"org.example.test.Echo","parameters":{"text":"a"}}"# + "\0")
            _ = await fourth.messages(1)
            await second.close()
            await fourth.close()
            await example.service.close()
        }
    }

    @Test func `the kernel reports the peer`() async throws {
        let example = try await start()
        let client = try await VarlinkClient.connect(toPath: directory.socket)
        let reply = try await client.call("org.example.test.WhoAmI")
        #expect(reply == ["pid": .int(Int64(getpid())), "uid": .int(Int64(getuid())), "gid": .int(Int64(getgid()))])
        #expect(client.peer?.processID == getpid())
        await client.close()
        await example.service.close()
    }

    @Test func `each connection, call and reply is reported before anything is decided`() async throws {
        let work = Recorder<ServiceConfiguration.Work>()
        let replies = Recorder<ServiceConfiguration.Reply>()
        let example = try await start {
            $0.authorize = { request, _ in request != .call(method: "org.example.test.WhoAmI") }
            $0.admit = { each, _ in
                work.record(each)
                return true
            }
            $0.didReply = { reply, _ in replies.record(reply) }
        }
        let client = try await RawClient(directory.socket)
        let calls = [
            #"{"method":"org.example.test.Echo","parameters":{"text":"a"}}"#, #"{"method":"org.example.test.WhoAmI"}"#,
            #"{"method":"org.example.test.Echo","parameters":{"text":"a"},"oneway":true}"#, #"{"method":"nonsense"}"#,
            #"{"method":"org.example.test.Count","parameters":{"to":2},"more":true}"#, "rubbish",
        ]
        for call in calls { client.write(call + "\0") }
        await client.closed()
        #expect(work.elements == [.connection] + calls.map { .call(bytes: $0.utf8.count) })
        let texts = client.received.elements.compactMap { if case .message(let text) = $0 { text } else { nil } }
        #expect(texts.count == 5)
        #expect(replies.elements.map(\.bytes) == texts.map(\.utf8.count))
        #expect(replies.elements.map(\.continues) == [false, false, false, true, false])
        #expect(
            replies.elements.map(\.method) == [
                "org.example.test.Echo", "org.example.test.WhoAmI", "nonsense", "org.example.test.Count",
                "org.example.test.Count",
            ])
        await example.service.close()
    }

    @Test(arguments: [ServiceConfiguration.Work.connection, .call(bytes: 21)])
    func `what is not admitted ends the connection`(work: ServiceConfiguration.Work) async throws {
        let example = try await start { $0.admit = { each, _ in each != work } }
        let client = try await RawClient(directory.socket)
        client.write(#"{"method":"nonsense"}"# + "\0")
        await client.closed()
        #expect(client.received.elements == [.closed])
        await example.service.close()
    }

    @Test func `a call without permission is denied and the connection continues`() async throws {
        let example = try await start {
            $0.authorize = { request, _ in request != .call(method: "org.example.test.Echo") }
        }
        let client = try await VarlinkClient.connect(toPath: directory.socket)
        await #expect(throws: ServiceError.permissionDenied.errorReply) {
            try await client.call("org.example.test.Echo", parameters: ["text": "a"])
        }
        _ = try await client.call("org.example.test.WhoAmI")
        await client.close()
        await example.service.close()
    }

    @Test func `a peer that may not connect is denied once and closed`() async throws {
        let example = try await start {
            $0.authorize = { request, _ in request != .connection }
        }
        let client = try await RawClient(directory.socket)
        let call = #"{"method":"org.varlink.service.GetInfo"}"# + "\0"
        client.write(call + call)
        await client.closed()
        #expect(
            client.received.elements == [
                .message(#"{"error":"org.varlink.service.PermissionDenied","parameters":{}}"#), .closed,
            ]
        )
        await example.service.close()
    }

    @Test func `connections of peers without permission are few`() async throws {
        let example = try await start {
            $0.authorize = { request, _ in request != .connection }
            $0.maximumUnauthorizedConnections = 3
        }
        var clients: [RawClient] = []
        for _ in 0..<3 { clients.append(try await RawClient(directory.socket)) }
        await example.events.wait { $0.count { $0 == "connected" } == 3 }
        let beyond = try await RawClient(directory.socket)
        await beyond.closed()
        #expect(example.events.elements.contains("refused"))
        for client in clients { await client.close() }
        await example.events.wait { $0.count { $0 == "disconnected" } == 3 }
        let next = try await RawClient(directory.socket)
        next.write(#"{"method":"org.varlink.service.GetInfo"}"# + "\0")
        await next.closed()
        #expect(next.received.elements.count == 2)
        await example.service.close()
    }

    @Test func `the service waits only briefly for a peer without permission`() async throws {
        let example = try await start {
            $0.authorize = { request, _ in request != .connection }
            $0.unauthorizedLimit = .milliseconds(20)
        }
        let silent = try await RawClient(directory.socket)
        let slow = try await RawClient(directory.socket)
        slow.write("{\"half\":")
        await silent.closed()
        await slow.closed()
        await example.service.close()
    }

    @Test func `the permissions of the socket change while it is served`() async throws {
        let example = try await start()
        func mode() -> UInt32 {
            var status = stat()
            return stat(directory.socket, &status) == 0 ? status.st_mode & 0o777 : 0
        }
        try example.service.setPermissions(mode: 0o600)
        #expect(mode() == 0o600)
        try example.service.setPermissions(mode: 0o660, group: getegid())
        #expect(mode() == 0o660)
        if geteuid() != 0 {
            #expect(throws: VarlinkError.self) { try example.service.setPermissions(mode: 0o666, group: 4_000_000) }
            #expect(mode() == 0o660)
        }
        // A file that has replaced the socket file is not touched.
        unlink(directory.socket)
        let other = open(directory.socket, O_CREAT | O_WRONLY, 0o600)
        close(other)
        try example.service.setPermissions(mode: 0o666)
        #expect(mode() == 0o600)
        await example.service.close()
        #expect(unlink(directory.socket) == 0)
    }

    @Test(arguments: [false, true])
    func `a client waits while too many others wait to be accepted`(isAbstract: Bool) async throws {
        // The first connection blocks the only thread of the service.
        let (isHeld, mayGoOn) = (Recorder<Bool>(), ThreadSemaphore())
        var configuration = ServiceConfiguration(vendor: "", product: "", version: "", url: "")
        configuration.backlog = 3
        configuration.authorize = { request, _ in
            if request == .connection, isHeld.elements.isEmpty {
                isHeld.record(true)
                mayGoOn.wait()
            }
            return true
        }
        let groups = [1, 1].map { MultiThreadedEventLoopGroup(numberOfThreads: $0) }
        let name = "varlink-test-\(getpid())-full"
        let service = try await VarlinkService.start(
            at: isAbstract ? .abstract(name) : .path(directory.socket),
            interfaces: [try ExampleService.interface(Recorder())], configuration: configuration, group: groups[0])
        let address: VarlinkAddress = isAbstract ? .abstract(name) : .path(directory.socket)
        let first = Task { try await VarlinkClient.connect(to: address, group: groups[1]) }
        await isHeld.wait { !$0.isEmpty }
        // As many as the kernel keeps, one more, and the one that must wait.
        let others = (0..<4).map { _ in Task { try await VarlinkClient.connect(to: address, group: groups[1]) } }
        for other in others { _ = try await other.value }
        let late = Task { try await VarlinkClient.connect(to: address, group: groups[1]) }
        // The first attempt comes before anything scheduled after it.
        try await groups[1].next().scheduleTask(in: .milliseconds(20)) {}.futureResult.get()
        mayGoOn.signal()
        for client in [try await late.value, try await first.value] {
            let reply = try await client.call("org.example.test.Echo", parameters: ["text": "here"])
            #expect(reply["text"] == "here")
            await client.close()
        }
        await service.close()
        for group in groups { try await group.shutdownGracefully() }
    }

    @Test func `two hundred connections leak no descriptor`() async throws {
        let example = try await start()
        let warmUp = try await VarlinkClient.connect(toPath: directory.socket)
        _ = try await warmUp.call("org.example.test.WhoAmI")
        await warmUp.close()
        await example.events.wait { $0.last == "disconnected" }
        var clients: [RawClient] = []
        for number in 0..<200 {
            let client = try await RawClient(directory.socket)
            if number % 3 == 0 { client.write("{\"half\":") }
            if number % 3 == 1 { client.write(#"{"method":"org.example.test.Wait"}"# + "\0") }
            clients.append(client)
        }
        await example.events.wait { $0.count { $0 == "connected" } == 201 }
        #expect(example.service.connectionCount == 200)
        #expect(openSockets(directory.socket) >= 201)
        for client in clients { await client.close() }
        await example.events.wait { $0.count { $0 == "disconnected" } == 201 }
        #expect(example.service.connectionCount == 0)
        #expect(await socketsVanish(directory.socket, downTo: 1))
        await example.service.close()
        #expect(await socketsVanish(directory.socket))
    }
}
