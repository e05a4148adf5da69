import CommonExpression
import FeedbackKitTesting
import Glibc
import SideEffects
import Testing
import TestSupport

@Suite(.timeLimit(.minutes(5))) struct `The side effect http over TLS` {
    private let folder = TemporaryDirectory()

    private func ask(_ url: String, _ more: [String: Value] = [:]) async -> Sensing {
        let request = Sensing(HTTPEffect(), ["url": .string(url)].merging(more) { $1 }, clock: ManualClock())
        await request.until { $0.isOver }
        return request
    }

    @Test func `trusts the configured certificates`() async throws {
        let certificate = try await Certificate(in: folder, "good", names: "DNS:localhost,IP:127.0.0.1")
        let server = try await WebServer.start(certificate: certificate) { .ok($0.path) }
        for host in ["localhost", "127.0.0.1"] {
            let answer = await ask("https://\(host):\(server.port)/a", ["ca": .string(certificate.path)])
            #expect(answer.names == ["onSuccess"] && answer.text(0, "body") == "/a", "\(answer.text(0, "error") ?? "")")
        }
        // The system does not trust the certificate.
        let stranger = await ask("https://localhost:\(server.port)/")
        #expect(stranger.names == ["onFailure"])
        #expect(stranger.text(0, "error")?.hasPrefix("the server's certificate is not trusted") == true)
        let careless = await ask("https://localhost:\(server.port)/b", ["verify": .bool(false)])
        #expect(careless.names == ["onSuccess"] && careless.text(0, "body") == "/b")
        #expect(server.requests.count == 3)
        await server.stop()
    }

    @Test func `does not trust a certificate for another name or by another issuer`() async throws {
        let certificate = try await Certificate(in: folder, "other", names: "DNS:other.example")
        let server = try await WebServer.start(certificate: certificate) { .ok($0.path) }
        let other = await ask("https://localhost:\(server.port)/", ["ca": .string(certificate.path)])
        #expect(other.names == ["onFailure"])
        #expect(other.text(0, "error") == "the server's certificate is for another name")
        let second = try await Certificate(in: folder, "second", names: "DNS:localhost")
        let wrong = await ask("https://localhost:\(server.port)/", ["ca": .string(second.path)])
        #expect(wrong.text(0, "error")?.hasPrefix("the server's certificate is not trusted") == true)
        #expect(server.requests.isEmpty)
        await server.stop()
    }

    @Test func `does not trust an expired certificate`() async throws {
        let certificate = try await Certificate(expiredIn: folder, "old", names: "DNS:localhost")
        let server = try await WebServer.start(certificate: certificate) { .ok($0.path) }
        let answer = await ask("https://localhost:\(server.port)/", ["ca": .string(certificate.path)])
        #expect(answer.names == ["onFailure"])
        #expect(answer.text(0, "error")?.hasPrefix("the server's certificate is not trusted") == true)
        await server.stop()
    }

    @Test func `reads the file of trusted certificates each time`() async throws {
        let first = try await Certificate(in: folder, "first", names: "DNS:localhost")
        let second = try await Certificate(in: folder, "second", names: "DNS:localhost")
        let server = try await WebServer.start(certificate: second) { .ok($0.path) }
        let effect = HTTPEffect()
        func ask() async -> [String] {
            let request = Sensing(
                effect, ["url": .string("https://localhost:\(server.port)/"), "ca": .string(first.path)],
                clock: ManualClock())
            await request.until { $0.isOver }
            return request.names
        }
        #expect(await ask() == ["onFailure"])
        #expect(rename(second.path, first.path) == 0)
        #expect(await ask() == ["onSuccess"])
        await server.stop()
    }

    @Test func `reports a problem with the file`() async throws {
        let missing = await ask("https://localhost:1/", ["ca": .string(folder("missing.pem"))])
        #expect(missing.text(0, "error") == "cannot read \(folder("missing.pem")): No such file or directory")
        let file = open(folder("empty.pem"), O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        close(file)
        let empty = await ask("https://localhost:1/", ["ca": .string(folder("empty.pem"))])
        #expect(empty.text(0, "error") == "\(folder("empty.pem")) holds no certificates in PEM")
        let endless = await ask("https://localhost:1/", ["ca": .string("/dev/zero")])
        #expect(endless.text(0, "error") == "/dev/zero is larger than 1048576 bytes")
    }

    @Test func `notices a server without TLS, and one that ends TLS too early`() async throws {
        let greeter = try await LoopbackServer.start(greeting: Array("SSH-2.0-OpenSSH\r\n".utf8))
        let closer = try await LoopbackServer.start(manner: .close)
        for (port, errors) in [
            (greeter.port, ["the server does not speak TLS there"]),
            (closer.port, ["the connection was closed before TLS was agreed on", "Connection reset by peer"]),
        ] {
            let answer = await ask("https://127.0.0.1:\(port)/", ["verify": .bool(false)])
            #expect(
                answer.names == ["onFailure"] && errors.contains(answer.text(0, "error") ?? ""),
                "\(answer.text(0, "error") ?? "")")
        }
        let certificate = try await Certificate(in: folder, "good", names: "DNS:localhost")
        let server = try await WebServer.start(certificate: certificate, isCutOff: true) { request in
            switch request.path {
            case "/cut": WebServer.Reply(bytes: "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc")
            default: WebServer.Reply(bytes: "HTTP/1.1 200 OK\r\n\r\nabc")
            }
        }
        for path in ["cut", "without-length"] {
            let answer = await ask("https://localhost:\(server.port)/\(path)", ["ca": .string(certificate.path)])
            #expect(
                answer.names == ["onFailure"] && answer.text(0, "error")?.hasPrefix("the connection was c") == true,
                "\(path): \(answer.names) \(answer.text(0, "error") ?? "")")
        }
        await server.stop()
        await greeter.stop()
        await closer.stop()
    }

    @Test func `does not follow a redirect from https to http`() async throws {
        let certificate = try await Certificate(in: folder, "good", names: "DNS:localhost")
        let plain = try await WebServer.start { _ in .ok("plain") }
        let server = try await WebServer.start(certificate: certificate) { request in
            request.path == "/down"
                ? .redirect("http://localhost:\(plain.port)/") : .ok(request.headers["x-key"] ?? "-")
        }
        let upgrade = try await WebServer.start { _ in .redirect("https://localhost:\(server.port)/up") }
        let more: [String: Value] = [
            "ca": .string(certificate.path), "headers": .map([.string("X-Key"): .string("secret")]),
        ]
        let down = await ask("https://localhost:\(server.port)/down", more)
        #expect(down.text(0, "error") == "the redirect leads from https to http, which is not followed")
        #expect(plain.requests.isEmpty)
        let up = await ask("http://localhost:\(upgrade.port)/", more)
        #expect(up.names == ["onSuccess"] && up.text(0, "body") == "-")
        for server in [plain, server, upgrade] { await server.stop() }
    }
}
