import NIOCore
import StrictJSON

/// The channel handler of a client. It keeps the waiting calls in order and gives each reply to the first. It runs on
/// its event loop.
///
/// It keeps its continuations without a lock, because only the event loop resumes them, also for cancelled tasks.
final class ClientConnection: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer
    typealias ReplyContinuation = CheckedContinuation<JSONObject, any Error>
    typealias UpgradeContinuation = CheckedContinuation<(reply: JSONObject, connection: UpgradedConnection), any Error>
    typealias StreamContinuation = CheckedContinuation<JSONObject?, any Error>

    /// A call that waits for its reply or replies.
    private enum Waiter {
        case single(ReplyContinuation, timeout: Scheduled<Void>?)
        case more
        /// A call that asks for another protocol. Nothing is sent after it until it is answered.
        case upgrade(UpgradeContinuation, timeout: Scheduled<Void>?, owner: any AnyObject & Sendable)
        /// The caller no longer waits. The reply will be discarded.
        case abandoned
    }

    /// The replies of a call with `more` that its reader has not taken yet.
    private struct Stream {
        var replies = CircularBuffer<JSONObject>()
        var readers = CircularBuffer<StreamContinuation>()
        var end: Result<Void, any Error>?
    }

    private let configuration: ClientConfiguration
    private var context: ChannelHandlerContext?
    private var frames: FrameDecoder
    /// The calls without a last reply, oldest first.
    private var waiters = CircularBuffer<(number: Int, waiter: Waiter)>()
    private var streams: [Int: Stream] = [:]
    /// The reason why nothing more will arrive.
    private var end: VarlinkError?
    private var inputHasEnded = false
    private var isReadHeldBack = false
    /// A Boolean value that indicates whether the last call asks for another protocol.
    private var isUpgrading = false
    /// A Boolean value that indicates whether the connection carries another protocol.
    private var isUpgraded = false

    init(configuration: ClientConfiguration) {
        self.configuration = configuration
        frames = FrameDecoder(maximumLength: configuration.maximumMessageLength)
    }

    // MARK: Channel

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        inputHasEnded = true
        pump()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isUpgraded else {
            context.fireChannelRead(data)
            return
        }
        guard end == nil else { return }
        frames.append(unwrapInboundIn(data))
        pump()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if let event = event as? ChannelEvent, event == .inputClosed, !isUpgraded {
            inputHasEnded = true
            pump()
        } else {
            context.fireUserInboundEventTriggered(event)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        inputHasEnded = true
        pump()
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    func read(context: ChannelHandlerContext) {
        if !isUpgraded, isHeadStreamFull {
            isReadHeldBack = true
        } else {
            context.read()
        }
    }

    // MARK: Calls

    func call(_ bytes: ByteBuffer, number: Int, limit: Duration?, _ continuation: ReplyContinuation) {
        guard let context, end == nil, !isUpgrading else {
            continuation.resume(throwing: end ?? refusal)
            return
        }
        let timeout = limit.map { limit in
            context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(limit)) {
                self.abandon(number, VarlinkError(.timedOut, "the service did not answer within \(limit)"))
            }
        }
        waiters.append((number, .single(continuation, timeout: timeout)))
        context.writeAndFlush(wrapOutboundOut(bytes), promise: nil)
    }

    /// Begins a call with `more`. Throws if the connection is closed.
    func callMore(_ bytes: ByteBuffer, number: Int) throws {
        guard let context, end == nil, !isUpgrading else { throw end ?? refusal }
        waiters.append((number, .more))
        streams[number] = Stream()
        context.writeAndFlush(wrapOutboundOut(bytes), promise: nil)
    }

    func oneway(_ bytes: ByteBuffer, _ promise: EventLoopPromise<Void>) {
        guard let context, end == nil, !isUpgrading else {
            promise.fail(end ?? refusal)
            return
        }
        context.writeAndFlush(wrapOutboundOut(bytes), promise: promise)
    }

    /// Begins a call with `upgrade`, which owns the connection. Cancelling it closes the connection, because the
    /// current protocol is then unknown.
    func upgrade(
        _ bytes: ByteBuffer,
        number: Int,
        limit: Duration?,
        owner: any AnyObject & Sendable,
        _ continuation: UpgradeContinuation
    ) {
        guard let context, end == nil, !isUpgrading else {
            continuation.resume(throwing: end ?? refusal)
            return
        }
        let timeout = limit.map { limit in
            context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(limit)) {
                self.abandonUpgrade(number, VarlinkError(.timedOut, "the service did not answer within \(limit)"))
            }
        }
        isUpgrading = true
        waiters.append((number, .upgrade(continuation, timeout: timeout, owner: owner)))
        context.writeAndFlush(wrapOutboundOut(bytes), promise: nil)
    }

    /// Cancels a call with `upgrade` and closes the connection.
    func abandonUpgrade(_ number: Int, _ error: any Error) {
        guard let index = waiters.firstIndex(where: { $0.number == number }),
            case .upgrade(let continuation, let timeout, _) = waiters[index].waiter
        else { return }
        waiters[index].waiter = .abandoned
        timeout?.cancel()
        continuation.resume(throwing: error)
        fail(VarlinkError(.connectionClosed, "the connection was closed because a call with 'upgrade' was cancelled"))
    }

    /// The reason why no call can be made although the connection is open.
    private var refusal: VarlinkError {
        isUpgrading
            ? VarlinkError(
                .connectionClosed, "the connection will carry another protocol, so no other call is possible")
            : Self.closed()
    }

    /// Ends a call that waits for one reply. The reply is discarded when it arrives.
    func abandon(_ number: Int, _ error: any Error) {
        guard let index = waiters.firstIndex(where: { $0.number == number }),
            case .single(let continuation, let timeout) = waiters[index].waiter
        else { return }
        waiters[index].waiter = .abandoned
        timeout?.cancel()
        continuation.resume(throwing: error)
    }

    /// Returns the next reply of a stream; nil after its last.
    func nextReply(of number: Int, _ continuation: StreamContinuation) {
        guard streams[number] != nil else {
            continuation.resume(returning: nil)
            return
        }
        if let reply = streams[number]?.replies.popFirst() {
            continuation.resume(returning: reply)
            pump()
        } else if let end = streams[number]?.end {
            streams[number] = nil
            continuation.resume(with: end.map { nil })
        } else {
            streams[number]?.readers.append(continuation)
        }
    }

    /// Drops a stream whose reader is gone. Varlink cannot cancel a call, so the connection is closed unless the stream
    /// has ended.
    func dropStream(_ number: Int, _ error: (any Error)?) {
        guard let stream = streams.removeValue(forKey: number) else { return }
        for reader in stream.readers {
            if let error { reader.resume(throwing: error) } else { reader.resume(returning: nil) }
        }
        guard stream.end == nil else { return }
        if let index = waiters.firstIndex(where: { $0.number == number }) { waiters[index].waiter = .abandoned }
        fail(
            VarlinkError(
                .connectionClosed, "the connection was closed because one of its streams was not read to its end"))
    }

    // MARK: Replies

    private var isHeadStreamFull: Bool {
        guard let head = waiters.first, case .more = head.waiter, let stream = streams[head.number] else {
            return false
        }
        return stream.replies.count >= configuration.maximumWaitingReplies
    }

    /// Passes on received messages, up to the room of their readers.
    private func pump() {
        while end == nil, !isUpgraded, !isHeadStreamFull {
            do throws(VarlinkError) {
                guard let frame = try frames.next() else {
                    if inputHasEnded { fail(Self.closed()) }
                    break
                }
                let reply = try ReplyMessage(
                    parsing: frame.readableBytesUInt8Span,
                    maximumDepth: configuration.maximumDepth
                )
                try deliver(reply)
            } catch {
                fail(error)
            }
        }
        if isReadHeldBack, !isHeadStreamFull, let context {
            isReadHeldBack = false
            context.read()
        }
    }

    private func deliver(_ reply: ReplyMessage) throws(VarlinkError) {
        guard let (number, waiter) = waiters.first else {
            throw VarlinkError(.protocolViolation, "the service replied without a call")
        }
        let result = reply.error.map { name in
            Result<JSONObject, any Error>.failure(ErrorReply(name, parameters: reply.parameters))
        }
        switch waiter {
        case .single(let continuation, let timeout):
            guard !reply.continues else { throw Self.unwantedContinuation() }
            waiters.removeFirst()
            timeout?.cancel()
            continuation.resume(with: result ?? .success(reply.parameters))
        case .upgrade(let continuation, let timeout, let owner):
            guard !reply.continues else { throw Self.unwantedContinuation() }
            waiters.removeFirst()
            timeout?.cancel()
            upgrade(result ?? .success(reply.parameters), owner, continuation)
        case .abandoned:
            guard !reply.continues else { throw Self.unwantedContinuation() }
            waiters.removeFirst()
        case .more:
            if !reply.continues { waiters.removeFirst() }
            guard var stream = streams.removeValue(forKey: number) else { return }
            switch result {
            case .failure(let error): stream.end = .failure(error)
            default:
                if let reader = stream.readers.popFirst() {
                    reader.resume(returning: reply.parameters)
                } else {
                    stream.replies.append(reply.parameters)
                }
                if !reply.continues { stream.end = .success(()) }
            }
            finish(&stream)
            streams[number] = stream
        }
    }

    private func upgrade(
        _ result: Result<JSONObject, any Error>,
        _ owner: any AnyObject & Sendable,
        _ continuation: UpgradeContinuation
    ) {
        isUpgrading = false
        guard case .success(let parameters) = result, let context else {
            continuation.resume(with: result.flatMap { _ in .failure(Self.closed()) })
            return
        }
        isUpgraded = true
        end = VarlinkError(.connectionClosed, "the connection carries another protocol, so no call is possible")
        let wasHeldBack = isReadHeldBack
        isReadHeldBack = false
        let connection = UpgradedHandler.takeOver(
            context, behind: self, rest: frames.takeRest(), hasEnded: inputHasEnded, readsOn: wasHeldBack, owner: owner)
        guard let connection else {
            continuation.resume(throwing: Self.closed())
            return
        }
        continuation.resume(returning: (parameters, connection))
    }

    /// Ends a stream for the readers that wait for more replies.
    private func finish(_ stream: inout Stream) {
        guard let end = stream.end, stream.replies.isEmpty else { return }
        for (index, reader) in stream.readers.enumerated() {
            // Only the first reader gets the error. The stream has ended for all.
            reader.resume(with: index == 0 ? end.map { nil } : .success(nil))
        }
        if !stream.readers.isEmpty { stream.end = .success(()) }
        stream.readers.removeAll()
    }

    /// Ends all calls and streams for one reason.
    private func fail(_ error: VarlinkError) {
        guard end == nil else { return }
        end = error
        frames = FrameDecoder(maximumLength: 0)
        let open = waiters
        waiters.removeAll()
        for (number, waiter) in open {
            switch waiter {
            case .single(let continuation, let timeout):
                timeout?.cancel()
                continuation.resume(throwing: error)
            case .upgrade(let continuation, let timeout, _):
                timeout?.cancel()
                continuation.resume(throwing: error)
            case .abandoned: break
            case .more:
                guard var stream = streams.removeValue(forKey: number) else { continue }
                stream.end = .failure(error)
                finish(&stream)
                streams[number] = stream
            }
        }
        context?.close(promise: nil)
    }

    private static func closed() -> VarlinkError {
        VarlinkError(.connectionClosed, "the service closed the connection")
    }

    private static func unwantedContinuation() -> VarlinkError {
        VarlinkError(.protocolViolation, "the service continues a reply although 'more' was not requested")
    }
}
