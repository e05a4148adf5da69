import CommonExpression
import FeedbackKitTesting
import Glibc
import SideEffects
import Testing
import TestSupport

private func map(_ entries: [String: String]) -> Value {
    .map(Dictionary(uniqueKeysWithValues: entries.map { (.string($0.key), .string($0.value)) }))
}

extension Sensing {
    /// The fields of the last report's header.
    fileprivate func header(_ name: String) -> String? {
        guard case .map(let fields)? = value(names.count - 1, "headers") else { return nil }
        return fields[.string(name)]?.text
    }
}

@Suite(.timeLimit(.minutes(5))) struct `The side effect http` {
    private let clock = ManualClock()

    /// Begins a request.
    private func begin(_ url: String, _ more: [String: Value] = [:]) -> Sensing {
        Sensing(HTTPEffect(), ["url": .string(url)].merging(more) { $1 }, clock: clock)
    }

    /// Makes a request and waits for its end.
    private func ask(_ url: String, _ more: [String: Value] = [:]) async -> Sensing {
        let request = begin(url, more)
        await request.until { $0.isOver }
        return request
    }

    @Test func `reports the answer, and closes the connection`() async throws {
        let server = try await WebServer.start { _ in
            .ok(#"{"up": true, "n": [1, 2.5]}"#, more: "X-Thing: a\r\nx-thing: b\r\nConnection: keep-alive\r\n")
        }
        let answer = await ask("http://127.0.0.1:\(server.port)/health?a=b#part")
        #expect(answer.names == ["onSuccess"] && answer.value(0, "status") == .int(200))
        #expect(answer.text(0, "body") == #"{"up": true, "n": [1, 2.5]}"# && answer.header("x-thing") == "a, b")
        #expect(
            answer.value(0, "json")
                == .map([.string("up"): .bool(true), .string("n"): .list([.int(1), .double(2.5)])]))
        #expect(answer.value(0, "took")?.type == .duration)
        await server.stop()
        let request = try #require(server.requests.first)
        #expect(request.method == "GET" && request.path == "/health?a=b" && server.opened == 1)
        #expect(request.headers["host"] == "127.0.0.1:\(server.port)" && request.headers["connection"] == "close")
        #expect(request.headers["user-agent"] == "mediatord" && request.headers["accept"] == "*/*")
    }

    @Test func `sends the configured request`() async throws {
        let server = try await WebServer.start { _ in .ok("no JSON", status: "201 Created") }
        let answer = await ask(
            "http://localhost:\(server.port)",
            [
                "method": .string("POST"), "body": .string("ä=1"),
                "headers": map(["Content-Type": "text/plain", "X-Key": "secret", "user-agent": "me", "Host": "other"]),
            ])
        #expect(
            answer.names == ["onSuccess"] && answer.value(0, "status") == .int(201) && answer.value(0, "json") == .null)
        await server.stop()
        let request = try #require(server.requests.first)
        #expect(request.method == "POST" && request.path == "/" && request.body == "ä=1")
        #expect(request.headers["content-length"] == "4" && request.headers["content-type"] == "text/plain")
        #expect(request.headers["x-key"] == "secret" && request.headers["user-agent"] == "me")
        #expect(request.headers["host"] == "other")
    }

    @Test(arguments: [
        ("200-299", "503 Busy", false), ("200-299,503", "503 Busy", true), ("404", "404 Gone", true),
        ("404", "200 OK", false),
        ("100-599", "302 Found", true), ("200-299", "302 Found", false), ("204", "204 No Content", true),
    ]) func `succeeds with an expected status`(expected: String, status: String, succeeds: Bool) async throws {
        let server = try await WebServer.start { _ in
            Reply(bytes: "HTTP/1.1 \(status)\r\nConnection: close\r\n\r\n" + (status.hasPrefix("204") ? "" : "[1]"))
        }
        let answer = await ask("http://127.0.0.1:\(server.port)", ["expect": .string(expected)])
        #expect(answer.names == [succeeds ? "onSuccess" : "onFailure"])
        #expect(answer.text(0, "status") == String(status.prefix(3)))
        #expect(answer.text(0, "body") == (status.hasPrefix("204") ? "" : "[1]"))
        if !succeeds { #expect(answer.text(0, "error") == "the status \(status.prefix(3)) is not an expected one") }
        await server.stop()
    }

    @Test(arguments: [
        ("GET", "302 Found", "GET", ""), ("POST", "301 Moved", "GET", ""), ("POST", "302 Found", "GET", ""),
        ("PUT", "303 See Other", "GET", ""), ("POST", "307 Temporary Redirect", "POST", "text"),
        ("PUT", "308 Permanent Redirect", "PUT", "text"), ("PUT", "301 Moved", "PUT", "text"),
    ])
    func `follows a redirect according to its status`(method: String, status: String, next: String, body: String)
        async throws
    {
        let server = try await WebServer.start { request in
            request.path == "/a/b?c" ? .redirect("../d?e", status: status) : .ok(request.path)
        }
        let answer = await ask(
            "http://127.0.0.1:\(server.port)/a/b?c",
            [
                "method": .string(method), "headers": map(["Authorization": "secret", "Content-Type": "x"]),
                "body": method == "GET" ? .null : .string("text"),
            ])
        #expect(answer.names == ["onSuccess"] && answer.text(0, "body") == "/d?e")
        await server.stop()
        let request = try #require(server.requests.last)
        #expect(server.requests.count == 2 && request.method == next && request.body == body)
        #expect(request.headers["authorization"] == "secret")
        #expect(method == "GET" || (request.headers["content-type"] == nil) == body.isEmpty)
    }

    @Test func `does not follow a loop of redirects, too many, or unwanted ones`() async throws {
        let server = try await WebServer.start { request in
            switch request.path {
            case "/circle": .redirect("/back")
            case "/back": .redirect("/circle")
            default: .redirect("\(request.path)x")
            }
        }
        let base = "http://127.0.0.1:\(server.port)"
        let circle = await ask("\(base)/circle")
        #expect(circle.names == ["onFailure"] && circle.text(0, "error") == "the redirects go in a circle")
        #expect(circle.text(0, "status") == "302" && server.requests.count == 2)
        let many = await ask("\(base)/x")
        #expect(many.names == ["onFailure"] && many.text(0, "error") == "there are more than 5 redirects")
        #expect(server.requests.count == 8)
        let none = await ask("\(base)/x", ["followRedirects": .int(0), "expect": .string("302")])
        #expect(none.names == ["onSuccess"] && none.text(0, "body") == "elsewhere" && server.requests.count == 9)
        #expect(none.header("location") == "/xx")
        await server.stop()
    }

    @Test func `sends no secret to another server`() async throws {
        let other = try await WebServer.start { _ in .ok("other") }
        let server = try await WebServer.start { request in
            .redirect(
                "http://127.0.0.1:\(other.port)/", status: request.path == "/keep" ? "307 Temporary" : "302 Found")
        }
        let headers = map(["authorization": "secret", "X-Key": "secret", "Cookie": "secret", "Accept": "text/html"])
        let answer = await ask("http://127.0.0.1:\(server.port)/", ["headers": headers])
        #expect(answer.names == ["onSuccess"] && answer.text(0, "body") == "other")
        let request = try #require(other.requests.first)
        #expect(request.headers["accept"] == "text/html" && !request.headers.values.contains("secret"))
        #expect(server.requests.first?.headers["x-key"] == "secret")
        let refused = await ask(
            "http://127.0.0.1:\(server.port)/keep", ["method": .string("POST"), "body": .string("secret")])
        #expect(refused.names == ["onFailure"] && refused.text(0, "error")?.contains("body to another server") == true)
        #expect(other.requests.count == 1)
        await server.stop()
        await other.stop()
    }

    @Test(arguments: [
        "http+unix://%2Fsecret.sock/", "ftp://127.0.0.1/", "file:///etc/passwd", "http://",
        "http://user:pass@127.0.0.1/",
        "unix:///secret.sock",
    ])
    func `does not follow a redirect to an invalid address`(location: String) async throws {
        let server = try await WebServer.start { _ in .redirect(location) }
        let answer = await ask("http://127.0.0.1:\(server.port)/")
        #expect(answer.names == ["onFailure"] && answer.text(0, "status") == "302")
        #expect(answer.text(0, "error")?.hasPrefix("the redirect leads ") == true)
        await server.stop()
    }

    @Test func `reads a body only up to its limit`() async throws {
        let server = try await WebServer.start { request in
            switch request.path {
            case "/endless":
                Reply(bytes: "HTTP/1.1 200 OK\r\n\r\n", end: .endless(String(repeating: "x", count: 1_000)))
            case "/chunks":
                Reply(
                    bytes: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", end: .endless("4\r\nabcd\r\n"))
            default: .ok(String(repeating: "y", count: 100))
            }
        }
        for path in ["endless", "chunks"] {
            let answer = await ask("http://127.0.0.1:\(server.port)/\(path)", ["maxBody": .int(5_000)])
            #expect(answer.names == ["onFailure"] && answer.text(0, "body")?.count == 5_000)
            #expect(
                answer.text(0, "error") == "the body is larger than 5000 bytes" && answer.text(0, "status") == "200")
        }
        for (limit, succeeds) in [(100, true), (99, false), (0, false)] as [(Int64, Bool)] {
            let answer = await ask("http://127.0.0.1:\(server.port)/", ["maxBody": .int(limit)])
            #expect(answer.names == [succeeds ? "onSuccess" : "onFailure"])
            #expect(answer.text(0, "body") == String(repeating: "y", count: Int(limit)))
        }
        await server.stop()
    }

    @Test(arguments: [
        ("", "no answer within 30.0 seconds"), ("HTTP/1.1 200 OK\r\nContent-Le", "no answer within 30.0 seconds"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", "the answer was not complete within 30.0 seconds"),
    ])
    func `waits only up to its time limit`(bytes: String, error: String) async throws {
        let server = try await WebServer.start { _ in Reply(bytes: bytes, end: .silence) }
        let request = begin("http://127.0.0.1:\(server.port)/")
        await server.until { $0.requests.count == 1 }
        await clock.nextDeadline(in: .seconds(30))
        clock.advance(by: .seconds(29))
        #expect(!request.isOver)
        // The server may not have seen bytes that were sent before.
        clock.advance(by: .seconds(1))
        await request.until { $0.isOver }
        #expect(request.names == ["onFailure"] && request.text(0, "took") == "30s")
        let errors = [error, "no answer within 30.0 seconds"]
        #expect(errors.contains(request.text(0, "error") ?? ""))
        await server.stop()
    }

    @Test(arguments: [
        ("", "the connection was closed before the answer was complete"),
        ("HTTP/1.1 200 OK\r\nContent-Le", "the connection was closed before the answer was complete"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", "the connection was closed before the answer was complete"),
        ("SSH-2.0-OpenSSH\r\n", "the answer is not HTTP"), ("\u{0}\u{1}\r\n\r\n", "the answer is not HTTP"),
    ])
    func `reports the problem with an answer`(bytes: String, error: String) async throws {
        for end in [Reply.End.close, .halfClose] {
            let server = try await WebServer.start { _ in Reply(bytes: bytes, end: end) }
            let answer = await ask("http://127.0.0.1:\(server.port)/")
            #expect(answer.names == ["onFailure"] && answer.text(0, "error")?.hasPrefix(error) == true)
            #expect(answer.text(0, "json") == Value.null.text)
            await server.stop()
        }
    }

    @Test(arguments: ["HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"])
    func `an endless header is an error, not endless memory`(beginning: String) async throws {
        let server = try await WebServer.start { _ in
            Reply(bytes: beginning, end: .endless("X-More: \(String(repeating: "x", count: 1_000))\r\n"))
        }
        let answer = await ask("http://127.0.0.1:\(server.port)/")
        #expect(answer.names == ["onFailure"] && answer.text(0, "error") == "the answer's header is too large")
        await server.stop()
    }

    @Test func `unfinished answers fail at the time limit`() async throws {
        let server = try await WebServer.start { _ in
            Reply(bytes: "HTTP/1.1 100 Continue\r\n\r\n", end: .endless("HTTP/1.1 103 Early Hints\r\nX: y\r\n\r\n"))
        }
        let request = begin("http://127.0.0.1:\(server.port)/")
        await server.until { $0.requests.count == 1 }
        await clock.nextDeadline(in: .seconds(30))
        clock.advance(by: .seconds(30))
        await request.until { $0.isOver }
        #expect(request.names == ["onFailure"] && request.text(0, "error") == "no answer within 30.0 seconds")
        await server.stop()
    }

    @Test func `reports why a connection failed`() async throws {
        let closed = try ClosedPort()
        defer { withExtendedLifetime(closed) {} }
        let refused = await ask("http://127.0.0.1:\(closed.port)/")
        #expect(refused.names == ["onFailure"] && refused.text(0, "error") == "Connection refused")
        #expect(refused.value(0, "status") == .int(0))
        let nobody = await ask("http://nowhere.invalid/")
        #expect(["the name is not known", "no name server answers for now"].contains(nobody.text(0, "error") ?? ""))
        let silent = SilentPort()
        let waiting = begin("http://127.0.0.1:\(silent.port)/", ["timeout": time("3s")])
        await clock.nextDeadline(in: .seconds(3))
        clock.advance(by: .seconds(3))
        await waiting.until { $0.isOver }
        let error = try #require(waiting.text(0, "error"))
        #expect(error == "no answer within 3.0 seconds")
    }

    @Test(arguments: ["", "HTTP/1.1 200 OK\r\n\r\nabc"])
    func `cancelling it closes the connection, and nothing is reported`(bytes: String) async throws {
        let server = try await WebServer.start { _ in Reply(bytes: bytes, end: .silence) }
        let request = begin("http://127.0.0.1:\(server.port)/")
        await server.until { $0.requests.count == 1 }
        await request.cancel()
        #expect(request.names == [] && request.failures == [])
        await server.stop()
    }

    @Test func `makes a request over a UNIX socket`() async throws {
        let folder = TemporaryDirectory()
        let server = try await WebServer.start(socket: folder("web.sock")) { request in
            switch request.path {
            case "/here": .redirect("/a?b")
            case "/there": .redirect("http://127.0.0.1/")
            default: .ok(request.path)
            }
        }
        let host = folder("web.sock").replacing("/", with: "%2F")
        for path in ["a?b", "here"] {
            let answer = await ask("http+unix://\(host)/\(path)")
            #expect(
                answer.names == ["onSuccess"] && answer.text(0, "body") == "/a?b", "\(answer.text(0, "error") ?? "")")
        }
        let there = await ask("http+unix://\(host)/there")
        #expect(
            there.names == ["onFailure"] && there.text(0, "error")?.hasPrefix("the redirect leads from or to") == true)
        await server.stop()
        let gone = await ask("http+unix://%2Fno%2Fsuch.sock/")
        #expect(gone.names == ["onFailure"] && gone.text(0, "error") == "No such file or directory")
    }

    @Test func `a shutdown ends a running request and its connection`() async throws {
        let server = try await WebServer.start { _ in Reply(bytes: "", end: .silence) }
        let effect = HTTPEffect()
        let request = Sensing(effect, ["url": .string("http://127.0.0.1:\(server.port)/")], clock: clock)
        await server.until { $0.requests.count == 1 }
        await effect.shutDown()
        await request.until { $0.isOver }
        #expect(request.names == ["onFailure"] && request.text(0, "error") == "the daemon is stopping")
        await server.stop()
    }

    @Test func `many servers and many requests leave no connection open`() async throws {
        let server = try await WebServer.start(on: "0.0.0.0") { .ok($0.path) }
        let effect = HTTPEffect()
        await withTaskGroup(of: Void.self) { group in
            for worker in 0..<10 {
                group.addTask {
                    for number in 0..<60 {
                        let url = "http://127.0.\(worker).\(number + 1):\(server.port)/\(number)"
                        let request = Sensing(effect, ["url": .string(url)], clock: clock)
                        if number % 10 == 9 {
                            await request.cancel()
                        } else {
                            await request.until { $0.isOver }
                            #expect(request.text(0, "body") == "/\(number)", "\(request.text(0, "error") ?? "")")
                        }
                    }
                }
            }
        }
        await server.until { $0.requests.count >= 540 && $0.closed == $0.opened }
        await effect.shutDown()
        // A later request starts a new thread.
        let again = Sensing(effect, ["url": .string("http://127.0.0.1:\(server.port)/again")], clock: clock)
        await again.until { $0.isOver }
        #expect(again.text(0, "body") == "/again")
        await effect.shutDown()
        await effect.shutDown()
        await server.stop()
    }
}

private typealias Reply = WebServer.Reply
