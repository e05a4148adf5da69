import NIOCore
import StrictJSON

/// Serves the calls of one connection in order, until the last.
struct CallServer: Sendable {
    let gate: ConnectionGate
    let peer: VarlinkPeer
    let configuration: ServiceConfiguration
    let dispatcher: Dispatcher
    let isAuthorized: Bool
    let hasPrecedence: Bool

    func run() async {
        guard await configuration.admit(.connection, peer) else { return gate.close(nil) }
        while let request = await gate.nextCall() {
            guard await configuration.admit(.call(bytes: request.message.readableBytes), peer) else {
                return gate.close(nil)
            }
            guard await serve(request) else { break }
        }
    }

    /// Serves a call. Returns false if the connection must close.
    private func serve(_ request: ServiceConnection.Request) async -> Bool {
        let message: CallMessage
        do throws(VarlinkError) {
            message = try CallMessage(
                parsing: request.message.readableBytesUInt8Span,
                maximumDepth: configuration.maximumDepth
            )
        } catch {
            gate.close(error)
            return false
        }
        guard isAuthorized else {
            let reply =
                message.mode == .oneway
                ? nil : try? frame(ReplyMessage(error: ServiceError.permissionDenied.errorReply), to: message.method)
            gate.finish(reply, call: request.call)
            gate.close(nil)
            return false
        }
        // Computing a long answer and writing it as JSON would block the other connections of the event loop.
        guard dispatcher.takesLong(message.method) else { return await answer(message, call: request.call) }
        return await withTaskExecutorPreference(LongCallExecutor.of(precedence: hasPrecedence)) {
            await answer(message, call: request.call)
        }
    }

    private func answer(_ message: CallMessage, call: Int) async -> Bool {
        let outcome = await dispatcher.run(message, peer: peer) { [gate] reply in
            let bytes: ByteBuffer
            do throws(VarlinkError) {
                bytes = try frame(reply, to: message.method)
            } catch {
                throw dispatcher.refusal(of: reply, to: message.method) ?? error
            }
            try await gate.send(bytes, replyTo: call)
        }
        if case .upgrade(let reply, let serve) = outcome {
            await upgrade(reply, serve, message, call: call)
            return false
        }
        return finish(outcome, message, call: call)
    }

    /// Hands the connection over, and closes it when the other protocol ends.
    private func upgrade(
        _ reply: ReplyMessage,
        _ serve: @Sendable (UpgradedConnection) async throws -> Void,
        _ message: CallMessage,
        call: Int
    ) async {
        do {
            let bytes = try frame(reply, to: message.method)
            if let connection = await gate.upgrade(bytes, call: call) { try await serve(connection) }
        } catch {
            if !Task.isCancelled { configuration.observe(.failed(method: message.method, error)) }
        }
        gate.close(nil)
    }

    private func finish(_ outcome: Dispatcher.Outcome, _ message: CallMessage, call request: Int) -> Bool {
        guard message.mode != .oneway else {
            gate.finish(nil, call: request)
            return true
        }
        switch outcome {
        case .reply(let reply):
            do throws(VarlinkError) {
                gate.finish(try frame(reply, to: message.method), call: request)
                return true
            } catch {
                configuration.observe(.failed(method: message.method, error))
                guard let refusal = dispatcher.refusal(of: reply, to: message.method),
                    let bytes = try? frame(ReplyMessage(error: refusal), to: message.method)
                else { fallthrough }
                gate.finish(bytes, call: request)
                return true
            }
        case .fault, .upgrade:
            gate.finish(nil, call: request)
            gate.close(nil)
            return false
        }
    }

    /// Returns a reply with its closing NUL.
    private func frame(_ reply: ReplyMessage, to method: String) throws(VarlinkError) -> ByteBuffer {
        let bytes = reply.serialized(upTo: configuration.maximumReplyLength)
        configuration.didReply(.init(method: method, bytes: bytes.count, continues: reply.continues), peer)
        guard bytes.count <= configuration.maximumReplyLength else {
            throw VarlinkError(
                .messageTooLarge,
                "a reply is longer than the limit of \(configuration.maximumReplyLength) bytes; most of it is "
                    + "\(JSONValue.largestPart(of: reply.parameters))"
            )
        }
        var buffer = ByteBufferAllocator().buffer(capacity: bytes.count + 1)
        buffer.writeBytes(bytes)
        buffer.writeInteger(UInt8(0))
        return buffer
    }
}
