import CommonExpression
import FeedbackKitTesting
import Foundation
import SideEffects
import Testing

@Suite(.timeLimit(.minutes(5))) struct `The side effect notify` {
    private let clock = ManualClock()

    private func send(_ url: String, _ more: [String: Value]) async -> Sensing {
        let message = Sensing(NotifyEffect(), ["url": .string(url)].merging(more) { $1 }, clock: clock)
        await message.until { $0.isOver }
        return message
    }

    @Test func `sends a message as JSON`() async throws {
        let server = try await WebServer.start { _ in .ok(#"{"id": 7}"#, status: "202 Accepted") }
        let message = await send(
            "http://127.0.0.1:\(server.port)/hook?key=1",
            [
                "title": .string("The disk\n is full"), "text": .string("97 % — \"/srv\""),
                "priority": .string("urgent"),
                "fields": .map([.string("disk"): .string("/srv"), .string("used"): .string("97")]),
                "headers": .map([.string("Authorization"): .string("Bearer x")]),
            ])
        #expect(message.names == ["onSuccess"] && message.value(0, "status") == .int(202))
        #expect(message.value(0, "json") == .map([.string("id"): .int(7)]))
        await server.stop()
        let request = try #require(server.requests.first)
        #expect(request.method == "POST" && request.path == "/hook?key=1")
        #expect(request.headers["content-type"] == "application/json" && request.headers["authorization"] == "Bearer x")
        #expect(
            request.body
                == #"{"fields":{"disk":"/srv","used":"97"},"priority":"urgent","system":"test","text":"97 % — \"/srv\"","title":"The disk\n is full"}"#
        )
    }

    @Test func `has a default title, priority and type`() async throws {
        let server = try await WebServer.start { _ in .ok("") }
        let message = await send(
            "http://127.0.0.1:\(server.port)/",
            ["text": .string("hello"), "headers": .map([.string("content-type"): .string("application/x+json")])])
        #expect(message.names == ["onSuccess"])
        await server.stop()
        let request = try #require(server.requests.first)
        #expect(request.headers["content-type"] == "application/x+json")
        #expect(request.body == #"{"fields":{},"priority":"normal","system":"test","text":"hello","title":"test"}"#)
    }

    @Test(arguments: ["301 Moved", "307 Temporary Redirect", "404 Not Found", "500 Broken"])
    func `fails unless the server accepts the message`(status: String) async throws {
        let server = try await WebServer.start { _ in .ok("sorry", status: status, more: "Location: /other\r\n") }
        let message = await send("http://127.0.0.1:\(server.port)/", ["text": .string("hello")])
        #expect(message.names == ["onFailure"] && message.text(0, "body") == "sorry")
        #expect(message.text(0, "error") == "the status \(status.prefix(3)) is not an expected one")
        #expect(server.requests.count == 1)
        await server.stop()
    }

    @Test func `succeeds however long the answer is`() async throws {
        let server = try await WebServer.start { _ in
            WebServer.Reply(
                bytes: "HTTP/1.1 200 OK\r\n\r\n", end: .endless(String(repeating: "x", count: 10_000)))
        }
        let message = await send("http://127.0.0.1:\(server.port)/", ["text": .string("hello")])
        #expect(message.names == ["onSuccess"] && message.text(0, "body")?.count == 65_536)
        await server.stop()
    }

    @Test func `reports why the message could not be sent`() async throws {
        let closed = try ClosedPort()
        defer { withExtendedLifetime(closed) {} }
        let message = await send("http://127.0.0.1:\(closed.port)/", ["text": .string("hello")])
        #expect(message.names == ["onFailure"] && message.text(0, "error") == "Connection refused")
    }
}
