import NIOCore

/// A connection that carries another protocol after a call with `upgrade`, from the first byte after the reply.
///
/// Received bytes wait for the reader, up to ``maximumUnreadBytes`` plus one read. Then reading from the peer stops.
/// Writing waits while the peer does not keep up. The connection has no time limit, because the other protocol has its
/// own.
public final class UpgradedConnection: Sendable {
    /// The bytes that may wait for their reader before reading from the peer stops.
    public static let maximumUnreadBytes = 1 << 16

    private let channel: any Channel
    private let handler: NIOLoopBound<UpgradedHandler>
    /// The owner, which closes the connection when it is released, and so must live as long as the connection.
    private let owner: (any AnyObject & Sendable)?

    fileprivate init(
        channel: any Channel, handler: NIOLoopBound<UpgradedHandler>, owner: (any AnyObject & Sendable)?
    ) {
        self.channel = channel
        self.handler = handler
        self.owner = owner
    }

    /// Returns the received bytes that were not read, or waits for more; nil when the peer has ended its side.
    ///
    /// - Throws: `CancellationError` if the task is cancelled while it waits.
    public func read() async throws -> [UInt8]? {
        let reader = UpgradedHandler.Reader()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                onEventLoop { $0.read(reader, continuation) }
                if Task.isCancelled { onEventLoop { $0.cancel(reader) } }
            }
        } onCancel: {
            onEventLoop { $0.cancel(reader) }
        }
    }

    /// Writes, and waits while the peer does not keep up with reading.
    ///
    /// - Throws: ``VarlinkError`` (`connectionClosed`) if the connection is closed or this side has ended it;
    ///   `CancellationError` if the task is cancelled while it waits. The connection is then closed, because the number
    ///   of bytes that reached the peer is unknown.
    public func write(_ bytes: [UInt8]) async throws {
        let buffer = ByteBuffer(bytes: bytes)
        let writer = UpgradedHandler.Writer()
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                onEventLoop { $0.write(buffer, writer, continuation) }
                if Task.isCancelled { onEventLoop { $0.cancel(writer) } }
            }
        } onCancel: {
            onEventLoop { $0.cancel(writer) }
        }
    }

    /// Ends the output of this side. Reading is still possible.
    public func finishWriting() async {
        try? await channel.close(mode: .output).get()
    }

    /// Closes the connection in both directions.
    public func close() async {
        try? await channel.close().get()
    }

    private func onEventLoop(_ body: @escaping @Sendable (UpgradedHandler) -> Void) {
        if channel.eventLoop.inEventLoop {
            body(handler.value)
        } else {
            channel.eventLoop.execute { [handler] in body(handler.value) }
        }
    }

    fileprivate static func make(
        _ handler: UpgradedHandler, _ context: ChannelHandlerContext, owner: (any AnyObject & Sendable)?
    ) -> UpgradedConnection {
        UpgradedConnection(
            channel: context.channel, handler: NIOLoopBound(handler, eventLoop: context.eventLoop), owner: owner)
    }
}

/// Keeps received bytes for their reader, and stops reading from the peer if the reader does not keep up. It runs on
/// its event loop, after the handler that spoke Varlink.
///
/// It keeps its continuations without a lock, because only the event loop resumes them, also for cancelled tasks.
final class UpgradedHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer
    typealias Continuation = CheckedContinuation<[UInt8]?, any Error>

    /// A reader that waits for bytes.
    final class Reader: Sendable {}
    /// A writer that waits for the peer to keep up.
    final class Writer: Sendable {}

    private var context: ChannelHandlerContext?
    private var unread: ByteBuffer
    private var hasEnded: Bool
    private var readers = CircularBuffer<(reader: Reader, continuation: Continuation)>()
    private var writers: [(writer: Writer, continuation: CheckedContinuation<Void, any Error>)] = []
    private var isReadHeldBack = false
    /// A Boolean value that indicates whether a write failed, so that nothing more can be written.
    private var hasFailed = false

    private init(unread: ByteBuffer, hasEnded: Bool) {
        self.unread = unread
        self.hasEnded = hasEnded
    }

    /// Adds a handler after the one that spoke Varlink; nil if the channel is closed.
    ///
    /// - Parameters:
    ///   - rest: The bytes received after the last message.
    ///   - hasEnded: Whether the peer has ended its side.
    ///   - readsOn: Whether the previous handler has held back a read.
    ///   - owner: An object that lives as long as the connection.
    static func takeOver(
        _ context: ChannelHandlerContext,
        behind other: some ChannelHandler,
        rest: ByteBuffer,
        hasEnded: Bool,
        readsOn: Bool,
        owner: (any AnyObject & Sendable)?
    ) -> UpgradedConnection? {
        let handler = UpgradedHandler(unread: rest, hasEnded: hasEnded)
        let pipeline = context.pipeline.syncOperations
        guard (try? pipeline.addHandler(handler, position: .after(other))) != nil else { return nil }
        let connection = UpgradedConnection.make(handler, context, owner: owner)
        if readsOn { context.channel.read() }
        return connection
    }

    // MARK: Channel

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        end()
        self.context = nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        unread.writeBuffer(&bytes)
        feed()
    }

    func read(context: ChannelHandlerContext) {
        if unread.readableBytes < UpgradedConnection.maximumUnreadBytes {
            context.read()
        } else {
            isReadHeldBack = true
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if let event = event as? ChannelEvent, event == .inputClosed {
            hasEnded = true
            feed()
        } else {
            context.fireUserInboundEventTriggered(event)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        end()
        context.fireChannelInactive()
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable {
            for (_, continuation) in writers { continuation.resume() }
            writers = []
        }
        context.fireChannelWritabilityChanged()
    }

    // MARK: Reading and writing

    func read(_ reader: Reader, _ continuation: Continuation) {
        readers.append((reader, continuation))
        feed()
    }

    func cancel(_ reader: Reader) {
        guard let index = readers.firstIndex(where: { $0.reader === reader }) else { return }
        readers.remove(at: index).continuation.resume(throwing: CancellationError())
    }

    func write(_ bytes: ByteBuffer, _ writer: Writer, _ continuation: CheckedContinuation<Void, any Error>) {
        guard let context, context.channel.isActive else {
            continuation.resume(throwing: Self.closed)
            return
        }
        let promise = context.eventLoop.makePromise(of: Void.self)
        promise.futureResult.assumeIsolated().whenFailure { _ in self.hasFailed = true }
        context.writeAndFlush(wrapOutboundOut(bytes), promise: promise)
        // All checks come first, because writing may close the channel, which drops the context.
        guard let context = self.context, !hasFailed else {
            continuation.resume(throwing: Self.closed)
            return
        }
        if context.channel.isWritable {
            continuation.resume()
        } else {
            writers.append((writer, continuation))
        }
    }

    /// Cancels a write that still waits, and closes the connection.
    func cancel(_ writer: Writer) {
        guard let index = writers.firstIndex(where: { $0.writer === writer }) else { return }
        writers.remove(at: index).continuation.resume(throwing: CancellationError())
        context?.close(promise: nil)
    }

    /// Gives available bytes to the waiting reader.
    private func feed() {
        while let first = readers.first {
            if unread.readableBytes > 0 {
                readers.removeFirst()
                let bytes = Array(unread.readableBytesView)
                unread = ByteBuffer()
                first.continuation.resume(returning: bytes)
            } else if hasEnded {
                readers.removeFirst()
                first.continuation.resume(returning: nil)
            } else {
                break
            }
        }
        if isReadHeldBack, unread.readableBytes < UpgradedConnection.maximumUnreadBytes, let context {
            isReadHeldBack = false
            context.read()
        }
    }

    private func end() {
        hasEnded = true
        feed()
        for (_, continuation) in writers { continuation.resume(throwing: Self.closed) }
        writers = []
    }

    private static let closed = VarlinkError(.connectionClosed, "the peer closed the connection")
}
