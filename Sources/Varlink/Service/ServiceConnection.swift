import NIOCore

/// One connection of a service: the channel handler that feeds a ``ConnectionStateMachine``, and the one task that
/// serves its calls. The connection owns the task and cancels it when the channel closes. `onEnd` reports the end of
/// the task.
final class ServiceConnection: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// A message to serve.
    struct Request: Sendable {
        let message: ByteBuffer
        let call: Int
    }

    /// The most bytes of replies that are combined into one write.
    static let longestBatch = 32 * 1024

    private let peer: VarlinkPeer
    private let configuration: ServiceConfiguration
    private let dispatcher: Dispatcher
    private let isAuthorized: Bool
    private let heldBytes: ByteBudget
    private let unreadBytes: ByteBudget
    private let owner: ByteBudget.Owner
    private let onEnd: @Sendable () -> Void

    private var machine: ConnectionStateMachine
    private var context: ChannelHandlerContext?
    private var task: Task<Void, Never>?
    private var demand: CheckedContinuation<Request?, Never>?
    private var unsent: [CheckedContinuation<Void, any Error>] = []
    /// The bytes of last replies that are written and not yet flushed.
    private var unflushed = 0
    /// A Boolean value that indicates whether a flush is scheduled.
    private var looksForUnflushed = false
    private var isReadHeldBack = false
    /// The bytes that the budget counts for this connection.
    private var counted = 0
    /// The unread bytes that the budget counts for this client.
    private var countedUnread = 0
    private var runningTimer = ConnectionStateMachine.Timer.doNothing
    private var scheduled: Scheduled<Void>?

    /// - Parameters:
    ///   - isAuthorized: Whether the peer may connect. Otherwise its first call is answered with `PermissionDenied`.
    ///   - hasPrecedence: Whether the peer has precedence when room becomes scarce.
    ///   - heldBytes: The bytes sent by all clients.
    ///   - unreadBytes: The unread bytes of replies to all clients.
    ///   - onEnd: Called once, when the serving task has ended.
    init(
        peer: VarlinkPeer,
        configuration: ServiceConfiguration,
        dispatcher: Dispatcher,
        isAuthorized: Bool,
        hasPrecedence: Bool,
        heldBytes: ByteBudget,
        unreadBytes: ByteBudget,
        onEnd: @escaping @Sendable () -> Void
    ) {
        self.peer = peer
        self.configuration = configuration
        self.dispatcher = dispatcher
        self.isAuthorized = isAuthorized
        self.heldBytes = heldBytes
        self.unreadBytes = unreadBytes
        owner = ByteBudget.Owner(user: peer.userID, hasPrecedence: hasPrecedence)
        self.onEnd = onEnd
        let most = isAuthorized ? Int.max : configuration.maximumUnauthorizedBytes
        machine = ConnectionStateMachine(
            maximumMessageLength: min(configuration.maximumMessageLength, most),
            maximumReadAhead: min(configuration.maximumReadAhead, most)
        )
    }

    // MARK: Channel

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        let gate = ConnectionGate(connection: self, eventLoop: context.eventLoop)
        let server = CallServer(
            gate: gate,
            peer: peer,
            configuration: configuration,
            dispatcher: dispatcher,
            isAuthorized: isAuthorized,
            hasPrecedence: owner.hasPrecedence
        )
        let executor: EventLoopTaskExecutor? =
            switch configuration.handlerExecution {
            case .eventLoop: EventLoopTaskExecutor(context.eventLoop)
            case .sharedPool: nil
            }
        task = Task(executorPreference: executor) { [onEnd] in
            await server.run()
            onEnd()
        }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        end()
        self.context = nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !machine.isUpgraded else {
            context.fireChannelRead(data)
            return
        }
        let action = machine.receive(unwrapInboundIn(data))
        guard count() else {
            let message = "clients have sent more data than the limit allows"
            return perform(.close(VarlinkError(.noRoom, message)))
        }
        perform(action)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if let event = event as? ChannelEvent, event == .inputClosed, !machine.isUpgraded {
            perform(machine.endInput())
        } else {
            context.fireUserInboundEventTriggered(event)
        }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        let isWritable = context.channel.isWritable
        let action = machine.setOutputBlocked(!isWritable)
        if isWritable {
            _ = countUnread()
            for waiting in unsent { waiting.resume() }
            unsent = []
        }
        perform(action)
        context.fireChannelWritabilityChanged()
    }

    func channelInactive(context: ChannelHandlerContext) {
        end()
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // After an error, the rest of the byte stream cannot be trusted.
        context.close(promise: nil)
    }

    func read(context: ChannelHandlerContext) {
        // The handler of another protocol holds reads back itself.
        if machine.isUpgraded || machine.wantsBytes {
            context.read()
        } else {
            isReadHeldBack = true
        }
    }

    // MARK: Serving

    /// Waits for the next call; nil if no further call will come.
    func nextCall(_ continuation: CheckedContinuation<Request?, Never>) {
        demand = continuation
        perform(machine.demand())
    }

    /// Writes a reply that is not the last. Resumes the continuation when the client keeps up.
    func send(_ bytes: ByteBuffer, replyTo call: Int, _ continuation: CheckedContinuation<Void, any Error>) {
        guard machine.accepts(replyTo: call), let context else {
            continuation.resume(throwing: VarlinkError(.connectionClosed, "the caller no longer waits for this reply"))
            return
        }
        context.writeAndFlush(wrapOutboundOut(bytes), promise: nil)
        // Writing may have closed the channel, which drops the context.
        guard machine.accepts(replyTo: call), self.context != nil else {
            continuation.resume(throwing: VarlinkError(.connectionClosed, "the client closed the connection"))
            return
        }
        if context.channel.isWritable {
            continuation.resume()
        } else {
            unsent.append(continuation)
            checkUnread()
        }
    }

    /// Writes the last reply, if given, and ends the call.
    ///
    /// The replies are flushed when the next call is wanted and none has arrived. Replies to calls that arrived
    /// together are therefore sent together.
    func finish(_ bytes: ByteBuffer?, call: Int) {
        if let bytes, machine.accepts(replyTo: call), let context {
            unflushed += bytes.readableBytes
            context.write(wrapOutboundOut(bytes), promise: nil)
        }
        machine.finish(call)
        settle()
    }

    private func flush() {
        guard unflushed > 0 else { return }
        flushAll()
        checkUnread()
    }

    private func flushAll() {
        guard unflushed > 0 else { return }
        unflushed = 0
        context?.flush()
    }

    /// Schedules a flush while a call is being served. Replies to earlier calls then wait only for the current turn of
    /// the event loop, and at most as many bytes wait as a client may leave unread.
    private func flushSoon() {
        guard unflushed > 0, let context else { return }
        guard unflushed < Self.longestBatch else { return flush() }
        guard !looksForUnflushed else { return }
        looksForUnflushed = true
        context.eventLoop.assumeIsolated().execute {
            self.looksForUnflushed = false
            self.flush()
        }
    }

    /// Writes the reply to a call that asks for another protocol and hands the connection over. Bytes that the client
    /// sent after the call belong to that protocol. Returns nil if the client has disconnected.
    func upgrade(_ bytes: ByteBuffer, call: Int, _ continuation: CheckedContinuation<UpgradedConnection?, Never>) {
        guard let context, machine.accepts(replyTo: call) else {
            continuation.resume(returning: nil)
            return
        }
        context.writeAndFlush(wrapOutboundOut(bytes), promise: nil)
        // Writing may have closed the channel, which drops the context.
        guard self.context != nil, let (rest, hasEnded) = machine.upgrade(call) else {
            continuation.resume(returning: nil)
            return
        }
        settle()
        let wasHeldBack = isReadHeldBack
        isReadHeldBack = false
        continuation.resume(
            returning: UpgradedHandler.takeOver(
                context, behind: self, rest: rest, hasEnded: hasEnded, readsOn: wasHeldBack, owner: nil))
    }

    /// Closes the connection: at once after an error of the client, otherwise after unsent replies are written. The
    /// client has the usual time limit for reading them.
    func close(_ error: VarlinkError?) {
        flushAll()
        // Flushing may have closed the channel, which drops the context.
        guard let context else { return }
        machine.close()
        if let error {
            configuration.observe(.dropped(peer, error))
            context.close(promise: nil)
            return
        }
        let channel = context.channel
        let limit = context.eventLoop.scheduleTask(in: TimeAmount(configuration.unreadLimit)) {
            channel.close(promise: nil)
        }
        context.writeAndFlush(wrapOutboundOut(ByteBuffer())).whenComplete { _ in
            limit.cancel()
            channel.close(promise: nil)
        }
        settle()
    }

    /// Serves no further call. Closes now, or after the running call is answered.
    func drain(servingFirstCall: Bool) {
        perform(machine.drain(servingFirstCall: servingFirstCall))
    }

    private func perform(_ action: ConnectionStateMachine.Action) {
        switch action {
        case .doNothing: flush()
        case .serve(let message, let call):
            flushSoon()
            demand?.resume(returning: Request(message: message, call: call))
            demand = nil
        case .close(let error):
            demand?.resume(returning: nil)
            demand = nil
            close(error)
        }
        settle()
    }

    /// Updates the count of held bytes. Returns `false` if a limit is exceeded.
    private func count() -> Bool {
        let held = machine.heldBytes > ByteBudget.free ? machine.heldBytes : 0
        guard heldBytes.change(from: counted, to: held, owner) else { return false }
        counted = held
        return true
    }

    /// Updates the count of unread bytes. Returns `false` if a limit is exceeded. The bytes that every client may leave
    /// unread do not count, so most clients cause no work.
    private func countUnread() -> Bool {
        var unread = 0
        if let context, !context.channel.isWritable {
            let waiting = try? context.channel.syncOptions?.getOption(.bufferedWritableBytes)
            unread = max(0, (waiting ?? 0) - 2 * configuration.maximumUnsentBytes)
        }
        guard unreadBytes.change(from: countedUnread, to: unread, owner) else { return false }
        countedUnread = unread
        return true
    }

    /// Disconnects the client if it leaves too much unread.
    private func checkUnread() {
        guard !countUnread() else { return }
        close(VarlinkError(.noRoom, "clients leave more replies unread than the limit allows"))
    }

    /// Makes reading and the timer match the state of the machine.
    private func settle() {
        // The count can exceed the limit only in `channelRead`, which checks it.
        _ = count()
        guard let context else { return }
        if isReadHeldBack, machine.wantsBytes {
            isReadHeldBack = false
            context.read()
        }
        let timer = machine.timer
        guard timer != runningTimer else { return }
        runningTimer = timer
        scheduled?.cancel()
        scheduled = nil
        guard let limit = limit(timer) else { return }
        scheduled = context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(limit)) { self.expire(timer) }
    }

    private func limit(_ timer: ConnectionStateMachine.Timer) -> Duration? {
        switch timer {
        case .doNothing: nil
        case .idle: isAuthorized ? configuration.idleLimit : configuration.unauthorizedLimit
        case .message: isAuthorized ? configuration.messageLimit : configuration.unauthorizedLimit
        case .unread: configuration.unreadLimit
        }
    }

    private func expire(_ timer: ConnectionStateMachine.Timer) {
        let message =
            switch timer {
            case .doNothing, .idle: "the client was idle longer than the limit"
            case .message: "the client did not finish its message in time"
            case .unread: "the client did not read its replies in time"
            }
        close(VarlinkError(.timedOut, message))
    }

    private func end() {
        machine.close()
        _ = count()
        _ = unreadBytes.change(from: countedUnread, to: 0, owner)
        countedUnread = 0
        scheduled?.cancel()
        scheduled = nil
        task?.cancel()
        task = nil
        demand?.resume(returning: nil)
        demand = nil
        for waiting in unsent {
            waiting.resume(throwing: VarlinkError(.connectionClosed, "the client closed the connection"))
        }
        unsent = []
    }
}
