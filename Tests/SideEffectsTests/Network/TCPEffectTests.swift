import CommonExpression
import FeedbackKitTesting
import SideEffects
import Testing
import TestSupport

@Suite(.timeLimit(.minutes(5))) struct `The side effect tcp` {
    private let clock = ManualClock()

    private func attempt(_ host: String, _ port: Int, _ more: [String: Value] = [:]) -> Sensing {
        let arguments = ["host": Value.string(host), "port": .int(Int64(port))].merging(more) { $1 }
        return Sensing(TCPEffect(), arguments, clock: clock)
    }

    @Test(arguments: ["127.0.0.1", "::1"]) func `connects, reports the address, and closes`(address: String)
        async throws
    {
        let server = try await LoopbackServer.start(on: address)
        let attempt = attempt(address, server.port)
        await attempt.until { $0.isOver }
        #expect(attempt.names == ["onSuccess"] && attempt.text(0, "address") == address)
        #expect(attempt.text(0, "banner") == "" && attempt.value(0, "took")?.type == .duration)
        await server.until { $0.opened == 1 && $0.closed == 1 }
        await server.stop()
    }

    @Test func `tries each address of a name`() async throws {
        let server = try await LoopbackServer.start(on: "127.0.0.1")
        let attempt = attempt("localhost", server.port)
        await attempt.until { $0.isOver }
        #expect(attempt.names == ["onSuccess"] && attempt.text(0, "address") == "127.0.0.1")
        await server.stop()
    }

    @Test(
        arguments: [
            ("220 mail.example ESMTP\r\n250 more\r\n", 100, "220 mail.example ESMTP"),
            ("SSH-2.0-x\n", 100, "SSH-2.0-x"),
            ("0123456789", 4, "0123"), ("0123456789", 10, "0123456789"), ("\n", 10, ""),
        ])
    func `waits for the greeting`(greeting: String, limit: Int, banner: String) async throws {
        let server = try await LoopbackServer.start(greeting: Array(greeting.utf8))
        let attempt = attempt("127.0.0.1", server.port, ["banner": .int(Int64(limit))])
        await attempt.until { $0.isOver }
        #expect(attempt.names == ["onSuccess"] && attempt.text(0, "banner") == banner)
        await server.until { $0.closed == 1 }
        await server.stop()
    }

    @Test func `accepts a short greeting when the other side ends its output`() async throws {
        let server = try await LoopbackServer.start(greeting: [0x68, 0x69, 0xff], manner: .close)
        let attempt = attempt("127.0.0.1", server.port, ["banner": .int(100)])
        await attempt.until { $0.isOver }
        #expect(attempt.names == ["onSuccess"] && attempt.text(0, "banner") == "hi\u{fffd}")
        await server.stop()
    }

    @Test func `a connection that ends before the greeting is a failure`() async throws {
        let server = try await LoopbackServer.start(manner: .close)
        let attempt = attempt("127.0.0.1", server.port, ["banner": .int(100)])
        await attempt.until { $0.isOver }
        #expect(attempt.names == ["onFailure"])
        #expect(attempt.text(0, "error") == "the connection was closed before an answer")
        await server.stop()
    }

    @Test func `a missing greeting fails at the time limit`() async throws {
        let server = try await LoopbackServer.start()
        let attempt = attempt("127.0.0.1", server.port, ["banner": .int(100)])
        await server.until { $0.opened == 1 }
        await clock.nextDeadline(in: .seconds(5))
        clock.advance(by: .seconds(4))
        #expect(attempt.names == [])
        clock.advance(by: .seconds(1))
        await attempt.until { $0.isOver }
        #expect(attempt.names == ["onFailure"] && attempt.text(0, "took") == "5s")
        let error = try #require(attempt.text(0, "error"))
        // The event loop may or may not have reported the connection by then.
        #expect(
            ["connected to 127.0.0.1, but no answer came within 5.0 seconds", "no connection within 5.0 seconds"]
                .contains(error))
        await server.until { $0.closed == 1 }
        await server.stop()
    }

    @Test func `a port at which nobody listens refuses`() async throws {
        let closed = try ClosedPort()
        defer { withExtendedLifetime(closed) {} }
        let attempt = attempt("127.0.0.1", closed.port)
        await attempt.until { $0.isOver }
        #expect(attempt.names == ["onFailure"] && attempt.text(0, "error") == "Connection refused")
    }

    @Test func `if no address accepts a connection, the error names each`() async throws {
        let closed = try ClosedPort()
        defer { withExtendedLifetime(closed) {} }
        let attempt = attempt("localhost", closed.port)
        await attempt.until { $0.isOver }
        #expect(attempt.names == ["onFailure"])
        let error = try #require(attempt.text(0, "error"))
        #expect(error == "Connection refused" || error.contains("127.0.0.1: Connection refused; "))
    }

    @Test func `a host that does not answer fails at the time limit, and leaks no socket`() async throws {
        let silent = SilentPort()
        let attempt = attempt("127.0.0.1", silent.port, ["timeout": time("2s")])
        await suspend(while: !silent.isAwaited)
        await clock.nextDeadline(in: .seconds(2))
        clock.advance(by: .seconds(2))
        await attempt.until { $0.isOver }
        #expect(attempt.names == ["onFailure"] && attempt.text(0, "error") == "no connection within 2.0 seconds")
        #expect(await silent.isLeftAlone())
    }

    @Test func `cancelling it while it connects closes the socket, and nothing is reported`() async throws {
        let silent = SilentPort()
        let attempt = attempt("127.0.0.1", silent.port)
        await suspend(while: !silent.isAwaited)
        await attempt.cancel()
        #expect(await silent.isLeftAlone())
        #expect(attempt.names == [])
    }

    @Test func `cancelling it while it waits for the greeting closes the connection`() async throws {
        let server = try await LoopbackServer.start()
        let attempt = attempt("127.0.0.1", server.port, ["banner": .int(10)])
        await server.until { $0.opened == 1 }
        await attempt.cancel()
        await server.until { $0.closed == 1 }
        #expect(attempt.names == [])
        await server.stop()
    }

    @Test func `an unknown name is a failure`() async {
        let attempt = attempt("nowhere.invalid", 80)
        await attempt.until { $0.isOver }
        #expect(attempt.names == ["onFailure"])
        // Without a network nobody knows that the name does not exist.
        #expect(["the name is not known", "no name server answers for now"].contains(attempt.text(0, "error") ?? ""))
    }

    @Test func `a thousand attempts leak nothing`() async throws {
        let server = try await LoopbackServer.start(greeting: Array("hello\n".utf8))
        await withTaskGroup(of: Void.self) { group in
            for worker in 0..<10 {
                group.addTask {
                    for number in 0..<100 {
                        let attempt = self.attempt("127.0.0.1", server.port, ["banner": .int(10)])
                        if (worker + number) % 10 == 0 {
                            await attempt.cancel()
                        } else {
                            await attempt.until { $0.isOver }
                            #expect(attempt.text(0, "banner") == "hello")
                        }
                    }
                }
            }
        }
        await server.until { $0.opened >= 900 && $0.closed == $0.opened }
        await server.stop()
    }
}
