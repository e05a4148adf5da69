import NIOCore

/// One connection of a service: the channel handler that feeds a ``ConnectionMachine``, and the only task that serves
/// its calls. The task belongs to the connection, is cancelled when the channel closes, and its end is reported to
/// `onEnd`.
final class ServiceConnection: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// A message that is to be served.
    struct Request: Sendable {
        let message: ByteBuffer
        let call: Int
    }

    /// How many bytes of replies are put together at most.
    static let longestBatch = 32 * 1024

    private let peer: VarlinkPeer
    private let configuration: ServiceConfiguration
    private let dispatcher: Dispatcher
    private let isWelcome: Bool
    private let heldBytes: HeldBytes
    private let unreadBytes: HeldBytes
    private let owner: HeldBytes.Owner
    private let onEnd: @Sendable () -> Void

    private var machine: ConnectionMachine
    private var context: ChannelHandlerContext?
    private var task: Task<Void, Never>?
    private var demand: CheckedContinuation<Request?, Never>?
    private var unsent: [CheckedContinuation<Void, any Error>] = []
    /// How many bytes of last replies are written and not yet on their way.
    private var unflushed = 0
    /// Whether somebody looks soon whether they are.
    private var looksForUnflushed = false
    private var isReadHeldBack = false
    /// How many bytes are counted as held by this connection.
    private var counted = 0
    /// How many bytes are counted as left unread by this client.
    private var countedUnread = 0
    private var runningTimer = ConnectionMachine.Timer.doNothing
    private var scheduled: Scheduled<Void>?

    /// - Parameters:
    ///   - isWelcome: whether the peer may be connected; if not, its first call is answered with `PermissionDenied`.
    ///   - hasPrecedence: whether it has where room becomes scarce.
    ///   - heldBytes: what all connections hold of what was sent.
    ///   - unreadBytes: what lies here of replies to all.
    ///   - onEnd: called once when the serving task has ended.
    init(
        peer: VarlinkPeer,
        configuration: ServiceConfiguration,
        dispatcher: Dispatcher,
        isWelcome: Bool,
        hasPrecedence: Bool,
        heldBytes: HeldBytes,
        unreadBytes: HeldBytes,
        onEnd: @escaping @Sendable () -> Void
    ) {
        self.peer = peer
        self.configuration = configuration
        self.dispatcher = dispatcher
        self.isWelcome = isWelcome
        self.heldBytes = heldBytes
        self.unreadBytes = unreadBytes
        owner = HeldBytes.Owner(user: peer.userID, hasPrecedence: hasPrecedence)
        self.onEnd = onEnd
        let most = isWelcome ? Int.max : configuration.maximumUnwelcomeBytes
        machine = ConnectionMachine(
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
            isWelcome: isWelcome,
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
            let message = "what clients have sent is more than there is room for"
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
        // Whatever it was, the stream of bytes cannot be trusted to go on.
        context.close(promise: nil)
    }

    func read(context: ChannelHandlerContext) {
        // What carries another protocol has held back before, if it wants no more for now.
        if machine.isUpgraded || machine.wantsBytes {
            context.read()
        } else {
            isReadHeldBack = true
        }
    }

    // MARK: Serving

    /// Waits for the next call; nil when there will be none.
    func nextCall(_ continuation: CheckedContinuation<Request?, Never>) {
        demand = continuation
        perform(machine.demand())
    }

    /// Writes a reply before the last; the continuation is resumed when the client keeps up.
    func send(_ bytes: ByteBuffer, replyTo call: Int, _ continuation: CheckedContinuation<Void, any Error>) {
        guard machine.accepts(replyTo: call), let context else {
            continuation.resume(throwing: VarlinkError(.connectionClosed, "nobody waits for this reply any longer"))
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

    /// Writes the last reply, if there is one, and ends the call.
    ///
    /// It is on its way when the next call is asked for and there is none yet: the replies to calls that came together go
    /// together.
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

    /// A call is being served while replies to others are not yet on their way: they wait for it no longer than this turn of
    /// the event loop, and no more of them than a client may leave unread.
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

    /// Writes the reply to a call that asks for another protocol, and hands the connection over; what the client has sent
    /// behind the call is the beginning of that protocol. Nil when the client has gone.
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

    /// Closes: at once with the error of the client, if it made one; otherwise once the replies that are still unsent
    /// are on their way, for which it has the time a client has for reading them.
    func close(_ error: VarlinkError?) {
        flushAll()
        // That may have closed the channel, which drops the context.
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

    /// Serves no further call: closes now or when the running call is answered.
    func drain(servingFirstCall: Bool) {
        perform(machine.drain(servingFirstCall: servingFirstCall))
    }

    private func perform(_ action: ConnectionMachine.Action) {
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

    /// Counts what is held now; `false`: there is no room for it.
    private func count() -> Bool {
        let held = machine.heldBytes > HeldBytes.free ? machine.heldBytes : 0
        guard heldBytes.change(from: counted, to: held, owner) else { return false }
        counted = held
        return true
    }

    /// Counts what waits for the client to read it; `false`: there is no room for it. What every client may leave is not
    /// counted, so that most are never looked at.
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

    /// Drops a client that leaves more unread than there is room for.
    private func checkUnread() {
        guard !countUnread() else { return }
        close(VarlinkError(.noRoom, "the replies that clients leave unread are more than there is room for"))
    }

    /// Brings reading and the clock in line with the machine.
    private func settle() {
        // More comes only where it is looked at.
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

    private func limit(_ timer: ConnectionMachine.Timer) -> Duration? {
        switch timer {
        case .doNothing: nil
        case .idle: isWelcome ? configuration.idleLimit : configuration.unwelcomeLimit
        case .message: isWelcome ? configuration.messageLimit : configuration.unwelcomeLimit
        case .unread: configuration.unreadLimit
        }
    }

    private func expire(_ timer: ConnectionMachine.Timer) {
        let message =
            switch timer {
            case .doNothing, .idle: "the client rested longer than allowed"
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
