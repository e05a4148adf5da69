import Glibc
import NIOCore
import Testing
import TestSupport
import Varlink

/// Tests of the path of a service.
@Suite(.timeLimit(.minutes(5)))
struct SocketTests {
    let directory: TemporaryDirectory

    init() throws {
        directory = TemporaryDirectory()
    }

    private func code(_ address: ServiceAddress) async -> VarlinkError.Code? {
        do {
            let example = try await ExampleService(address)
            await example.service.close()
            return nil
        } catch {
            return (error as? VarlinkError)?.code
        }
    }

    /// Binds a socket of the test at the test's path.
    private func bindSocket(listening: Bool) throws -> Int32 {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(directory.socket.utf8)) }
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard result == 0, !listening || listen(descriptor, 8) == 0 else {
            throw VarlinkError(.system, "cannot bind: \(errno)")
        }
        return descriptor
    }

    private func mode(_ path: String) -> mode_t {
        var status = stat()
        return lstat(path, &status) == 0 ? status.st_mode & 0o7777 : 0
    }

    @Test(arguments: [0o660, 0o600, 0o666, 0o622] as [UInt16])
    func `the socket file has the requested permissions`(mode: UInt16) async throws {
        let example = try await ExampleService(.path(directory.socket, mode: mode))
        #expect(self.mode(directory.socket) == mode_t(mode))
        await example.service.close()
    }

    @Test func `two services cannot share a path, and the first continues`() async throws {
        let first = try await ExampleService(.path(directory.socket))
        #expect(await code(.path(directory.socket)) == .addressInUse)
        let client = try await VarlinkClient.connect(toPath: directory.socket)
        _ = try await client.call("org.example.test.WhoAmI")
        await client.close()
        await first.service.close()
        #expect(await code(.path(directory.socket)) == nil)
    }

    @Test func `of many services that start at once, exactly one gets the path`() async throws {
        for _ in 0..<20 {
            let path = directory.socket
            let winners = await withTaskGroup(of: ExampleService?.self) { group in
                for _ in 0..<8 { group.addTask { try? await ExampleService(.path(path)) } }
                var winners: [ExampleService] = []
                for await service in group { if let service { winners.append(service) } }
                return winners
            }
            #expect(winners.count == 1)
            for winner in winners { await winner.service.close() }
        }
    }

    @Test func `a stale socket file is replaced`() async throws {
        close(try bindSocket(listening: false))
        let example = try await ExampleService(.path(directory.socket))
        let client = try await VarlinkClient.connect(toPath: directory.socket)
        _ = try await client.call("org.example.test.WhoAmI")
        await client.close()
        await example.service.close()
    }

    @Test func `a lock file left behind does not matter`() async throws {
        close(open(directory.socket + ".lock", O_CREAT | O_RDWR | O_CLOEXEC, 0o600))
        #expect(await code(.path(directory.socket)) == nil)
        #expect(access(directory.socket + ".lock", F_OK) != 0)
    }

    @Test func `a socket that another program serves is not touched`() async throws {
        let other = try bindSocket(listening: true)
        #expect(await code(.path(directory.socket)) == .addressInUse)
        #expect(access(directory.socket, F_OK) == 0)
        close(other)
        #expect(await code(.path(directory.socket)) == nil)
    }

    @Test func `a file that is not a socket is not touched`() async throws {
        close(open(directory.socket, O_CREAT | O_WRONLY | O_CLOEXEC, 0o600))
        #expect(await code(.path(directory.socket)) == .notASocket)
        #expect(access(directory.socket, F_OK) == 0)
        #expect(access(directory.socket + ".lock", F_OK) != 0)
    }

    @Test func `an invalid path is refused`() async {
        #expect(await code(.path("")) == .invalidPath)
        #expect(await code(.path("/tmp/" + String(repeating: "x", count: 103))) == .invalidPath)
        #expect(await code(.path("/tmp/a\0b")) == .invalidPath)
        #expect(await code(.path(directory.path + "/none/socket")) == .system)
    }

    @Test func `a socket file that the service no longer owns is not touched`() async throws {
        let example = try await ExampleService(.path(directory.socket))
        unlink(directory.socket)
        let other = try bindSocket(listening: true)
        await example.service.close()
        #expect(access(directory.socket, F_OK) == 0)
        close(other)
    }

    @Test func `a socket that is already open is served and its file not touched`() async throws {
        let descriptor = try bindSocket(listening: true)
        let example = try await ExampleService(.descriptor(descriptor))
        let client = try await VarlinkClient.connect(toPath: directory.socket)
        _ = try await client.call("org.example.test.WhoAmI")
        await client.close()
        await example.service.close()
        #expect(access(directory.socket, F_OK) == 0)
        #expect(await socketsVanish(directory.socket))
    }

    @Test func `clients of a socket that another process keeps open wait for the next service`() async throws {
        let kept = try bindSocket(listening: true)
        defer { close(kept) }
        let first = try await ExampleService(.inherited(dup(kept)))
        try first.service.setPermissions(mode: 0o640)
        #expect(mode(directory.socket) == 0o640)
        await first.service.stopListening()
        let waiting = Task { [path = directory.socket] in
            let client = try await VarlinkClient.connect(toPath: path)
            _ = try await client.call("org.example.test.WhoAmI")
            await client.close()
        }
        await first.service.close()
        #expect(access(directory.socket, F_OK) == 0)
        let second = try await ExampleService(.inherited(dup(kept)))
        try await waiting.value
        await second.service.close()
        #expect(access(directory.socket, F_OK) == 0)
    }

    @Test func `a process that shares the socket keeps it after the service is closed`() async throws {
        let first = try await ExampleService(.path(directory.socket))
        var kept: Int32 = -1
        first.service.share { descriptor in
            kept = dup(descriptor)
            return kept >= 0
        }
        await first.service.close()
        #expect(access(directory.socket, F_OK) == 0)
        #expect(access(directory.socket + ".lock", F_OK) != 0)
        #expect(ActivationSockets.isListening(kept, at: directory.socket))
        #expect(!ActivationSockets.isListening(kept, at: directory.socket + "x"))
        #expect(ActivationSockets.path(of: kept) == directory.socket)
        // Another program must not take the path over.
        #expect(await code(.path(directory.socket)) == .addressInUse)
        unlink(directory.socket)
        #expect(!ActivationSockets.isListening(kept, at: directory.socket))
        close(kept)
        let other = try await ExampleService(.path(directory.socket))
        first.service.share { _ in false }
        await other.service.close()
        #expect(access(directory.socket, F_OK) != 0)
    }

    @Test func `a client that connected but did not call before the close can still be answered`() async throws {
        let example = try await ExampleService(.path(directory.socket))
        let fresh = try await VarlinkClient.connect(toPath: directory.socket)
        let old = try await VarlinkClient.connect(toPath: directory.socket)
        _ = try await old.call("org.example.test.WhoAmI")
        await suspend(while: example.service.connectionCount < 2)
        await example.service.stopListening()
        async let closed: Void = example.service.close(within: .seconds(60), servingFirstCalls: true)
        _ = try await fresh.call("org.example.test.WhoAmI")
        await closed
        await fresh.close()
        await old.close()
    }

    @Test func `a descriptor that does not listen is refused and stays open`() async throws {
        let descriptor = try bindSocket(listening: false)
        #expect(await code(.descriptor(descriptor)) == .notListening)
        #expect(fcntl(descriptor, F_GETFD) != -1)
        close(descriptor)
        #expect(await code(.descriptor(-1)) == .notListening)
        let file = open("/dev/null", O_RDONLY | O_CLOEXEC)
        #expect(await code(.descriptor(file)) == .notListening)
        close(file)
    }

    /// A user that may give a file to a group, but not change the permissions of other users' files.
    @Test(.enabled(if: geteuid() == 0, "only root can be that"))
    func `if permissions cannot be changed, the group is unchanged`() async {
        await #expect(processExitsWith: .success) {
            let directory = TemporaryDirectory()
            let example = try await ExampleService(.path(directory.socket))
            func group() -> UInt32 {
                var status = stat()
                return stat(directory.socket, &status) == 0 ? status.st_gid : 0
            }
            #expect(chown(directory.socket, 54_321, 54_322) == 0)
            try withoutOwningFiles {
                let error = #expect(throws: VarlinkError.self) {
                    try example.service.setPermissions(mode: 0o666, group: 54_323)
                }
                #expect(error?.code == .accessDenied)
            }
            #expect(group() == 54_322)
            try example.service.setPermissions(mode: 0o666, group: 54_323)
            #expect(group() == 54_323)
            await example.service.close()
        }
    }
}
