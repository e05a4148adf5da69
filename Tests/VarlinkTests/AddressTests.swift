import Glibc
import NIOCore
import StrictJSON
import Testing
import Varlink

@Suite(.timeLimit(.minutes(5)))
struct AddressTests {
    @Test(arguments: [
        ("unix:/run/x", VarlinkAddress.path("/run/x")), ("/run/x", .path("/run/x")), ("x", .path("x")),
        ("unix:@name", .abstract("name")), ("@name", .abstract("name")), ("unix:/run/x;mode=0660", .path("/run/x")),
        ("unix:@name;x=y", .abstract("name")), ("./@x", .path("./@x")), ("./a:b", .path("./a:b")),
        ("@a:b", .abstract("a:b")), ("/run/x;y", .path("/run/x;y")),
    ])
    func `an address is read`(text: String, address: VarlinkAddress) throws {
        #expect(try VarlinkAddress(text) == address)
        guard !text.hasSuffix(";y") else { return }
        #expect(try VarlinkAddress(address.description) == address)
    }

    @Test(arguments: [
        "", "unix:", "@", "unix:@", "tcp:127.0.0.1:1", "ssh:host", "exec:/bin/true", "unix:;mode=1",
        "@" + String(repeating: "x", count: 108), "/" + String(repeating: "x", count: 107), "/a\0b", "@a\0b",
    ])
    func `an invalid address is refused`(text: String) {
        let error = #expect(throws: VarlinkError.self) { try VarlinkAddress(text) }
        #expect(error?.code == .invalidPath)
    }

    private func name() -> String { "varlink-test-\(getpid())-\(UInt64.random(in: 0 ... .max))" }

    @Test func `a service with an abstract name is called and leaves no socket`() async throws {
        let name = name()
        let example = try await ExampleService(.abstract(name))
        let client = try await VarlinkClient.connect(to: .abstract(name))
        let reply = try await client.call("org.example.test.WhoAmI")
        #expect(reply["pid"] == .int(Int64(getpid())))
        #expect(client.peer?.processID == getpid())
        let second = await #expect(throws: VarlinkError.self) { try await ExampleService(.abstract(name)) }
        #expect(second?.code == .addressInUse)
        // Every byte of the name counts, also after a NUL.
        let longer = await #expect(throws: VarlinkError.self) {
            try await VarlinkClient.connect(to: .abstract(name + "x"))
        }
        #expect(longer?.code == .noSocket)
        await client.close()
        await example.service.close()
        #expect(await socketsVanish("@" + name))
        let again = try await ExampleService(.abstract(name))
        await again.service.close()
    }

    @Test func `an abstract name may fill the socket address`() async throws {
        let name = String((name() + String(repeating: "y", count: 107)).prefix(107))
        let example = try await ExampleService(.abstract(name))
        let client = try await VarlinkClient.connect(to: .abstract(name))
        _ = try await client.call("org.example.test.WhoAmI")
        await client.close()
        await example.service.close()
        let error = await #expect(throws: VarlinkError.self) { try await ExampleService(.abstract(name + "y")) }
        #expect(error?.code == .invalidPath)
    }

    private func sockets(_ environment: [String: String]) throws -> ActivationSockets {
        try ActivationSockets(environment: { environment[$0] }, processID: 7)
    }

    @Test func `activation sockets are read from the environment`() throws {
        #expect(try sockets([:]).sockets == [])
        #expect(try sockets([:]).address() == nil)
        #expect(try sockets(["LISTEN_FDS": "1", "LISTEN_PID": "8"]).sockets == [])
        #expect(try sockets(["LISTEN_FDS": "0", "LISTEN_PID": "7"]).sockets == [])
        let one = try sockets(["LISTEN_FDS": "1", "LISTEN_PID": "7"])
        #expect(one.sockets.map(\.name) == ["unknown"])
        #expect(try one.address() == .descriptor(3))
        let three = try sockets(["LISTEN_FDS": "3", "LISTEN_PID": "7", "LISTEN_FDNAMES": "http:varlink:varlink2"])
        #expect(try three.address() == .descriptor(4))
        #expect(try three.address(named: "http") == .descriptor(3))
        #expect(three.without(["http", "varlink2"]).sockets.map(\.descriptor) == [4])
    }

    @Test(arguments: [
        ["LISTEN_FDS": "x", "LISTEN_PID": "7"], ["LISTEN_FDS": "-1", "LISTEN_PID": "7"],
        ["LISTEN_FDS": "99999999999999999999", "LISTEN_PID": "7"], ["LISTEN_FDS": "2000", "LISTEN_PID": "7"],
        ["LISTEN_FDS": "2", "LISTEN_PID": "7", "LISTEN_FDNAMES": "a"],
        ["LISTEN_FDS": "2", "LISTEN_PID": "7", "LISTEN_FDNAMES": "a:b"],
        ["LISTEN_FDS": "2", "LISTEN_PID": "7", "LISTEN_FDNAMES": "varlink:varlink"],
        ["LISTEN_FDS": "2", "LISTEN_PID": "7"],
    ])
    func `a contradictory environment is refused`(environment: [String: String]) {
        let error = #expect(throws: VarlinkError.self) { _ = try sockets(environment).address() }
        #expect(error?.code == .notListening)
    }
}
