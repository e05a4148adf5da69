import CommonExpression
import FeedbackKitTesting
import Glibc
import SideEffects
import Testing
import TestSupport

/// A UNIX socket of a test, connected to a path or listening on it.
private final class Socket: Sendable {
    let descriptor: Int32

    /// Connects; `nil` if nobody listens.
    init?(to path: String, _ kind: __socket_type = SOCK_STREAM, listens: Bool = false) {
        descriptor = socket(AF_UNIX, Int32(kind.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let code = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                let size = socklen_t(MemoryLayout<sockaddr_un>.size)
                return listens ? bind(descriptor, address, size) : connect(descriptor, address, size)
            }
        }
        guard code == 0, !listens || kind == SOCK_DGRAM || listen(descriptor, 5) == 0 else {
            return nil
        }
    }

    // This also closes the descriptor if the initializer fails after opening it.
    deinit { close(descriptor) }

    /// Whether the other end has read everything (`SIOCOUTQ`, unix(7)).
    var isDrained: Bool {
        var count: Int32 = 0
        return ioctl(descriptor, 0x5411, &count) != 0 || count == 0
    }

    func send(_ text: String) { send(Array(text.utf8)) }

    func send(_ bytes: [UInt8]) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = Glibc.send(descriptor, Array(rest), rest.count, Int32(MSG_NOSIGNAL))
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }

    /// Sends a text together with a descriptor (cmsg(3)).
    func send(_ text: String, with attached: Int32) {
        var control: (UInt, Int32, Int32, Int32, Int32) = (20, SOL_SOCKET, 1, attached, 0)
        var bytes = Array(text.utf8)
        bytes.withUnsafeMutableBytes { bytes in
            withUnsafeMutableBytes(of: &control) { control in
                var part = iovec(iov_base: bytes.baseAddress, iov_len: bytes.count)
                withUnsafeMutablePointer(to: &part) { part in
                    var message = msghdr()
                    message.msg_iov = part
                    message.msg_iovlen = 1
                    message.msg_control = control.baseAddress
                    message.msg_controllen = control.count
                    #expect(sendmsg(descriptor, &message, 0) == bytes.count)
                }
            }
        }
    }

    /// Waits until the other side has closed the connection; `false` if the test is over before.
    func ends() async -> Bool {
        await suspend(while: !isLost)
        return isLost
    }

    /// A Boolean value that indicates whether the other side is known to have closed the connection.
    var isLost: Bool {
        var byte: UInt8 = 0
        let count = recv(descriptor, &byte, 1, Int32(MSG_DONTWAIT | MSG_PEEK))
        return count == 0 || (count < 0 && errno != EAGAIN)
    }

    /// Ends the output.
    func finish() { shutdown(descriptor, Int32(SHUT_WR)) }
}

private func permissions(_ path: String) -> mode_t? {
    var status = stat()
    return lstat(path, &status) == 0 ? status.st_mode & 0o7777 : nil
}

/// Starts the side effect and waits until it listens.
private func listening(
    _ path: String, _ more: [String: Value] = [:], clock: any Clock<Duration> = ContinuousClock(),
    executor: (any TaskExecutor)? = nil
) async throws -> Sensing {
    let sensing = Sensing(
        SocketEffect(), more.merging(["path": .string(path)]) { $1 }, clock: clock, executor: executor)
    await suspend(while: permissions(path) == nil && sensing.failures.isEmpty)
    // The file exists before connections are accepted.
    if more["type"] == nil {
        var first = Socket(to: path)
        while !Task.isCancelled, first == nil, sensing.failures.isEmpty {
            await Task.yield()
            first = Socket(to: path)
        }
        // Until the side effect has closed it, this connection has a place.
        first?.finish()
        _ = await first?.ends()
    }
    return sensing
}

/// Real sockets, with real senders.
@Suite(.serialized, .timeLimit(.minutes(5))) struct `The side effect socket` {
    private let folder = TemporaryDirectory()
    private var path: String { folder("socket") }

    @Test func `a line of JSON is a message with its sender`() async throws {
        let sensing = try await listening(path)
        let client = try #require(Socket(to: path))
        client.send("{\"name\": \"Ada\", \"level\": 3}\n[1, 2.5]\n\"text\"\n")
        await sensing.reported(3)
        #expect(sensing.names == ["onMessage", "onMessage", "onMessage"])
        #expect(sensing.text(0, "text") == "{\"name\": \"Ada\", \"level\": 3}")
        #expect(sensing.value(0, "json") == .map([.string("name"): .string("Ada"), .string("level"): .int(3)]))
        #expect(sensing.value(1, "json") == .list([.int(1), .double(2.5)]))
        #expect(sensing.value(2, "json") == .string("text"))
        #expect((0..<3).map { sensing.value($0, "number") } == [.int(1), .int(2), .int(3)])
        #expect(sensing.value(0, "user") == .int(Int64(getuid())))
        await sensing.cancel()
    }

    @Test func `a line may come in parts, and the last one needs no line break`() async throws {
        let sensing = try await listening(path)
        let client = try #require(Socket(to: path))
        client.send("{\"a\":")
        client.send("1}\n\n  \n42")
        client.finish()
        await sensing.reported(2)
        #expect(sensing.value(0, "json") == .map([.string("a"): .int(1)]))
        #expect(sensing.value(1, "json") == .int(42))
        #expect(await client.ends())
        await sensing.cancel()
    }

    /// Lines that are not messages, and the reasons reported for them.
    static let invalid: [(line: [UInt8], reason: String)] = [
        (Array("{nonsense}\n".utf8), "not JSON"), (Array("\"\u{1}\n".utf8), "not JSON"),
        ([0xff, 0xfe, 0x0a], "not UTF-8"), (Array("1e999\n".utf8), ""),
        ([UInt8](repeating: UInt8(ascii: "["), count: 5_000) + [0x0a], ""),
        ([UInt8](repeating: UInt8(ascii: "1"), count: SocketEffect.lineLimit + 1) + [0x0a], "longer than 65536 bytes"),
    ]

    @Test(arguments: invalid)
    func `a line that is not JSON is reported, and the connection continues`(line: [UInt8], reason: String) async throws
    {
        let sensing = try await listening(path)
        let client = try #require(Socket(to: path))
        client.send(line)
        client.send("true\n")
        await sensing.reported(2)
        #expect(sensing.names == ["onInvalid", "onMessage"])
        let said = sensing.text(0, "reason") ?? ""
        #expect(said.contains(reason) && !said.isEmpty && said.utf8.count < 1_000, "\(said)")
        #expect((sensing.text(0, "text") ?? "").utf8.count <= SocketEffect.lineLimit)
        #expect(sensing.value(1, "number") == .int(2))
        await sensing.cancel()
    }

    @Test func `a line as long as the limit is accepted`() async throws {
        let sensing = try await listening(path)
        let client = try #require(Socket(to: path))
        let text = "\"" + String(repeating: "x", count: SocketEffect.lineLimit - 2) + "\""
        client.send(text + "\n")
        await sensing.reported(1)
        #expect(sensing.names == ["onMessage"])
        #expect(sensing.text(0, "text") == text)
        await sensing.cancel()
    }

    @Test func `a datagram is a message with its sender`() async throws {
        let sensing = try await listening(path, ["type": .string("datagram")])
        let client = try #require(Socket(to: path, SOCK_DGRAM))
        client.send("{\"a\": [true,\n null]}\n")
        client.send("nonsense")
        client.send([UInt8](repeating: UInt8(ascii: "1"), count: SocketEffect.lineLimit + 2))
        await sensing.reported(3)
        #expect(sensing.names == ["onMessage", "onInvalid", "onInvalid"])
        #expect(sensing.value(0, "json") == .map([.string("a"): .list([.bool(true), .null])]))
        #expect(sensing.value(0, "user") == .int(Int64(getuid())))
        #expect(sensing.text(2, "reason")?.contains("longer") == true)
        await sensing.cancel()
        #expect(permissions(path) == nil)
    }

    @Test func `ten thousand lines arrive in order`() async throws {
        let sensing = try await listening(path)
        let client = try #require(Socket(to: path))
        let text = (1...10_000).map { "\($0)\n" }.joined()
        let sender = Task.detached { client.send(text) }
        await sensing.reported(10_000)
        await sender.value
        #expect((0..<10_000).allSatisfy { sensing.value($0, "json") == .int(Int64($0 + 1)) })
        await sensing.cancel()
    }

    /// The most connections of one user.
    private static let share = SocketEffect.connectionLimit / 2

    @Test func `beyond a user's share connections wait until one ends`() async throws {
        let sensing = try await listening(path)
        var clients = try (0..<Self.share).map { _ in try #require(Socket(to: path)) }
        for client in clients { client.send("1\n") }
        await sensing.reported(clients.count)
        let late = try #require(Socket(to: path))
        late.send("2\n")
        // Connected clients are served in the meantime.
        clients[0].send("1\n")
        await sensing.reported(clients.count + 1)
        #expect(sensing.last("text") == "1")
        clients.removeLast()
        await sensing.reported(Self.share + 2)
        #expect(sensing.last("text") == "2")
        await sensing.cancel()
    }

    @Test func `a silent connection makes room for one that waits`() async throws {
        let (clock, executor) = (ManualClock(), SettlingPool())
        let sensing = try await listening(path, clock: clock, executor: executor)
        let silent = try (0..<Self.share).map { _ in try #require(Socket(to: path)) }
        // The effect has accepted a connection when it has read from it.
        for client in silent {
            client.send(" ")
            await suspend(while: !client.isDrained)
        }
        await executor.settled()
        // While nobody waits, all may be silent.
        for _ in 0..<3 {
            clock.advance(by: SocketEffect.idleLimit)
            await executor.settled()
        }
        for client in silent { #expect(!client.isLost) }
        let late = try #require(Socket(to: path))
        late.send("2\n")
        while sensing.names.isEmpty {
            // Bytes without a line break do not keep a place. The effect has read them when its buffers are empty.
            for client in silent {
                client.send(" ")
                await suspend(while: !client.isDrained)
            }
            clock.advance(by: SocketEffect.idleLimit)
            await executor.settled()
        }
        #expect(sensing.last("text") == "2")
        await sensing.cancel()
    }

    @Test func `waiting connections are limited to a share, and further ones are closed`() async throws {
        let sensing = try await listening(path)
        let clients = try (0..<2 * Self.share).map { _ in try #require(Socket(to: path)) }
        for client in clients { client.send("1\n") }
        await sensing.reported(Self.share)
        let refused = try #require(Socket(to: path))
        #expect(await refused.ends())
        for client in clients { #expect(!client.isLost) }
        await sensing.cancel()
    }

    @Test func `the file has the requested permissions, whatever the umask`() async throws {
        let old = umask(0o027)
        defer { umask(old) }
        let ordinary = try await listening(path)
        #expect(permissions(path) == 0o600)
        await ordinary.cancel()
        let open = try await listening(path, ["mode": .string("0666")])
        #expect(permissions(path) == 0o666)
        await open.cancel()
    }

    @Test(arguments: [SOCK_STREAM, SOCK_DGRAM])
    func `a stale socket is replaced`(kind: __socket_type) async throws {
        do { _ = try #require(Socket(to: path, kind, listens: true)) }
        #expect(permissions(path) != nil)
        // A command that another test has just started holds a copy until it executes its program.
        await suspend(while: Socket(to: path, kind) != nil)
        let sensing = Sensing(SocketEffect(), ["path": .string(path)])
        var client = Socket(to: path)
        while client == nil, sensing.failures.isEmpty {
            await Task.yield()
            client = Socket(to: path)
        }
        client?.send("1\n")
        await sensing.reported(1)
        #expect(sensing.failures == [])
        await sensing.cancel()
    }

    @Test(arguments: [SOCK_STREAM, SOCK_DGRAM])
    func `a program that listens there is one fault, until it has ended`(kind: __socket_type) async throws {
        let clock = ManualClock()
        var other = Socket(to: path, kind, listens: true)
        let sensing = Sensing(SocketEffect(), ["path": .string(path)], clock: clock)
        await clock.nextDeadline(in: .seconds(10))
        #expect(sensing.failures.count == 1)
        #expect(sensing.failures.first?.contains("another program") == true)
        clock.advance(by: .seconds(10))
        await clock.nextDeadline(in: .seconds(10))
        #expect(sensing.failures.count == 1)
        #expect(other != nil && permissions(path) != nil)
        other = nil
        var client: Socket?
        // A command that another test has just started holds a copy until it executes its program. The side effect then
        // tries once more, and so does a client that was connected to the copy.
        while sensing.names.isEmpty {
            if clock.nextDeadline != nil { clock.advance(by: .seconds(10)) }
            if client?.isLost ?? true {
                client = Socket(to: path)
                client?.send("1\n")
            }
            await Task.yield()
        }
        await sensing.cancel()
    }

    @Test func `a file that is not a socket is not touched`() async throws {
        let clock = ManualClock()
        close(creat(path, 0o644))
        let sensing = Sensing(SocketEffect(), ["path": .string(path)], clock: clock)
        await sensing.failed(1)
        #expect(sensing.failures[0].contains("not a socket"))
        await sensing.cancel()
        #expect(permissions(path) == 0o644)
    }

    @Test func `a directory that does not exist is a fault, and it listens once it does`() async throws {
        let clock = ManualClock()
        let path = folder("later/socket")
        let sensing = Sensing(SocketEffect(), ["path": .string(path)], clock: clock)
        await clock.nextDeadline(in: .seconds(10))
        #expect(sensing.failures.count == 1 && sensing.failures[0].contains("directory must exist"))
        mkdir(folder("later"), 0o755)
        clock.advance(by: .seconds(10))
        await suspend(while: Socket(to: path) == nil)
        await sensing.cancel()
    }

    @Test func `after cancellation no file or descriptor is left, and its senders see the end`() async throws {
        for _ in 0..<20 {
            let sensing = try await listening(path)
            let clients = try (0..<3).map { _ in try #require(Socket(to: path)) }
            clients[0].send("1\n2")
            await sensing.reported(1)
            await sensing.cancel()
            #expect(permissions(path) == nil)
            for client in clients { #expect(await client.ends()) }
        }
        // The system lists every socket with its bound name, including those of accepted connections. A command that
        // another test has just started holds copies until it executes its program.
        await suspend(while: contents("/proc/net/unix").contains(path))
    }

    @Test func `a file that has replaced its own is not removed`() async throws {
        let sensing = try await listening(path)
        unlink(path)
        let other = Socket(to: path, listens: true)
        await sensing.cancel()
        #expect(permissions(path) != nil && other != nil)
    }

    @Test(arguments: [SOCK_STREAM, SOCK_DGRAM])
    func `a descriptor that is sent along is closed`(kind: __socket_type) async throws {
        let sensing = try await listening(path, kind == SOCK_DGRAM ? ["type": .string("datagram")] : [:])
        let client = try #require(Socket(to: path, kind))
        var ends: [Int32] = [0, 0]
        #expect(pipe(&ends) == 0)
        client.send("1\n", with: ends[1])
        close(ends[1])
        await sensing.reported(1)
        // No process has the pipe open for writing.
        var byte: UInt8 = 0
        #expect(read(ends[0], &byte, 1) == 0)
        close(ends[0])
        await sensing.cancel()
    }
}
