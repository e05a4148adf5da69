import NIOCore

/// A connection as its task and the service see it. Every access runs on the event loop.
struct ConnectionGate: Sendable {
    private let connection: NIOLoopBound<ServiceConnection>
    private let eventLoop: any EventLoop

    /// Creates a gate. Must be called on the event loop.
    init(connection: ServiceConnection, eventLoop: any EventLoop) {
        self.connection = NIOLoopBound(connection, eventLoop: eventLoop)
        self.eventLoop = eventLoop
    }

    func nextCall() async -> ServiceConnection.Request? {
        await withCheckedContinuation { continuation in
            onEventLoop { $0.nextCall(continuation) }
        }
    }

    func send(_ bytes: ByteBuffer, replyTo call: Int) async throws {
        try await withCheckedThrowingContinuation { continuation in
            onEventLoop { $0.send(bytes, replyTo: call, continuation) }
        }
    }

    func finish(_ bytes: ByteBuffer?, call: Int) {
        onEventLoop { $0.finish(bytes, call: call) }
    }

    func upgrade(_ bytes: ByteBuffer, call: Int) async -> UpgradedConnection? {
        await withCheckedContinuation { continuation in
            onEventLoop { $0.upgrade(bytes, call: call, continuation) }
        }
    }

    func close(_ error: VarlinkError?) {
        onEventLoop { $0.close(error) }
    }

    func drain(servingFirstCall: Bool) {
        onEventLoop { $0.drain(servingFirstCall: servingFirstCall) }
    }

    private func onEventLoop(_ body: @escaping @Sendable (ServiceConnection) -> Void) {
        if eventLoop.inEventLoop {
            body(connection.value)
        } else {
            eventLoop.execute { body(connection.value) }
        }
    }
}
