import NIOCore
import Synchronization

/// One end of a connection in memory. Bytes written to it are read from the other end. Both ends use one event loop.
///
/// It behaves like a connected UNIX stream socket. While the other end does not read, writes queue and the channel
/// stops being writable. An end of output is read as an end of input. A close is also read as an end of input, and
/// discards bytes that were not yet transferred.
final class MemoryChannel: Channel, ChannelCore {
    private struct State {
        /// The other end, until one of the two is closed.
        var peer: MemoryChannel?
        /// Writes for which the other end has no room, oldest first. The first `flushed` of them may leave.
        var outbox = CircularBuffer<(bytes: ByteBuffer, promise: EventLoopPromise<Void>?)>()
        var outboxBytes = 0
        var flushed = 0
        /// Received bytes that were not read.
        var inbox = ByteBuffer()
        var readsAutomatically = true
        var isReadPending = false
        var isDelivering = false
        var isOutputClosed = false
        var outputClosing: EventLoopPromise<Void>?
        /// A Boolean value that indicates whether the input has ended; `isPeerGone` indicates whether the other end is
        /// closed.
        var hasInputEnded = false
        var isPeerGone = false
        var isInputEndTold = false
        var isActivated = false
        var isClosed = false
    }

    let eventLoop: any EventLoop
    let allocator = ByteBufferAllocator()
    private let highMark: Int
    private let largestRead: Int
    private let closePromise: EventLoopPromise<Void>
    private let state: NIOLoopBoundBox<State>
    private let writable = Atomic(true)
    private let active = Atomic(false)
    /// The pipeline, set before the channel is shared.
    private let ownPipeline = Mutex<ChannelPipeline?>(nil)

    private init(on eventLoop: any EventLoop, highMark: Int, largestRead: Int) {
        self.eventLoop = eventLoop
        self.highMark = max(1, highMark)
        self.largestRead = max(1, largestRead)
        closePromise = eventLoop.makePromise()
        state = NIOLoopBoundBox(State(), eventLoop: eventLoop)
        ownPipeline.withLock { $0 = ChannelPipeline(channel: self) }
    }

    /// Creates two ends, which begin when ``activate()`` is called on both. Must be called on the event loop.
    ///
    /// - Parameters:
    ///   - highMark: The bytes that may wait on each side before a channel is no longer writable.
    ///   - largestRead: The most bytes that are read at a time.
    static func pair(
        on eventLoop: any EventLoop, highMark: Int, largestRead: Int
    ) -> (near: MemoryChannel, far: MemoryChannel) {
        let near = MemoryChannel(on: eventLoop, highMark: highMark, largestRead: largestRead)
        let far = MemoryChannel(on: eventLoop, highMark: highMark, largestRead: largestRead)
        near.state.value.peer = far
        far.state.value.peer = near
        return (near, far)
    }

    /// Activates the channel.
    func activate() {
        guard !state.value.isClosed, !state.value.isActivated else { return }
        state.value.isActivated = true
        active.store(true, ordering: .releasing)
        pipeline.syncOperations.fireChannelRegistered()
        pipeline.syncOperations.fireChannelActive()
        readIfAutomatic()
        deliverSoon()
    }

    // MARK: Channel

    var closeFuture: EventLoopFuture<Void> { closePromise.futureResult }
    var pipeline: ChannelPipeline {
        guard let pipeline = ownPipeline.withLock({ $0 }) else { preconditionFailure("set by the initializer") }
        return pipeline
    }
    var localAddress: SocketAddress? { nil }
    var remoteAddress: SocketAddress? { nil }
    var parent: (any Channel)? { nil }
    var isWritable: Bool { writable.load(ordering: .acquiring) }
    var isActive: Bool { active.load(ordering: .acquiring) }
    var _channelCore: any ChannelCore { self }

    func setOption<Option: ChannelOption>(_ option: Option, value: Option.Value) -> EventLoopFuture<Void> {
        guard option is ChannelOptions.Types.AutoReadOption, let value = value as? Bool else {
            return eventLoop.makeFailedFuture(ChannelError.operationUnsupported)
        }
        return eventLoop.submit { [self] in
            state.value.readsAutomatically = value
            readIfAutomatic()
        }
    }

    func getOption<Option: ChannelOption>(_ option: Option) -> EventLoopFuture<Option.Value> {
        eventLoop.makeFailedFuture(ChannelError.operationUnsupported)
    }

    // MARK: What the pipeline asks for

    func localAddress0() throws -> SocketAddress { throw ChannelError.operationUnsupported }
    func remoteAddress0() throws -> SocketAddress { throw ChannelError.operationUnsupported }
    func register0(promise: EventLoopPromise<Void>?) { promise?.fail(ChannelError.operationUnsupported) }
    func registerAlreadyConfigured0(promise: EventLoopPromise<Void>?) {
        promise?.fail(ChannelError.operationUnsupported)
    }
    func bind0(to: SocketAddress, promise: EventLoopPromise<Void>?) { promise?.fail(ChannelError.operationUnsupported) }
    func connect0(to: SocketAddress, promise: EventLoopPromise<Void>?) {
        promise?.fail(ChannelError.operationUnsupported)
    }
    func triggerUserOutboundEvent0(_ event: Any, promise: EventLoopPromise<Void>?) {
        promise?.fail(ChannelError.operationUnsupported)
    }
    func channelRead0(_ data: NIOAny) {}
    func errorCaught0(error: any Error) {}

    func write0(_ data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard !state.value.isClosed, !state.value.isOutputClosed else {
            promise?.fail(state.value.isClosed ? ChannelError.ioOnClosedChannel : ChannelError.outputClosed)
            return
        }
        let bytes = unwrapData(data, as: ByteBuffer.self)
        state.value.outbox.append((bytes, promise))
        state.value.outboxBytes += bytes.readableBytes
        updateWritability()
    }

    func flush0() {
        state.value.flushed = state.value.outbox.count
        handOver()
    }

    func read0() {
        state.value.isReadPending = true
        deliverSoon()
    }

    func close0(error: any Error, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        guard !state.value.isClosed else {
            promise?.fail(ChannelError.alreadyClosed)
            return
        }
        switch mode {
        case .input: promise?.fail(ChannelError.operationUnsupported)
        case .output:
            guard !state.value.isOutputClosed else {
                promise?.fail(ChannelError.outputClosed)
                return
            }
            state.value.isOutputClosed = true
            state.value.outputClosing = promise
            handOver()
        case .all:
            close(error)
            promise?.succeed()
        }
    }

    // MARK: From one end to the other

    /// Transfers flushed writes to the other end, up to its room.
    private func handOver() {
        guard let peer = state.value.peer else { return }
        while state.value.flushed > 0, let first = state.value.outbox.first {
            let room = highMark - peer.state.value.inbox.readableBytes
            guard room > 0 || first.bytes.readableBytes == 0 else { break }
            var bytes = first.bytes
            if var piece = bytes.readSlice(length: min(room, bytes.readableBytes)) {
                state.value.outboxBytes -= piece.readableBytes
                peer.state.value.inbox.writeBuffer(&piece)
            }
            if bytes.readableBytes == 0 {
                state.value.outbox.removeFirst()
                state.value.flushed -= 1
                first.promise?.succeed()
            } else {
                state.value.outbox[state.value.outbox.startIndex].bytes = bytes
            }
        }
        if state.value.isOutputClosed, state.value.outbox.isEmpty {
            peer.state.value.hasInputEnded = true
            let promise = state.value.outputClosing
            state.value.outputClosing = nil
            promise?.succeed()
        }
        updateWritability()
        peer.deliverSoon()
    }

    private func updateWritability() {
        let bytes = state.value.outboxBytes
        let isWritable = isWritable
        guard isWritable ? bytes > highMark : bytes < max(1, highMark / 2) else { return }
        writable.store(!isWritable, ordering: .releasing)
        pipeline.syncOperations.fireChannelWritabilityChanged()
    }

    /// Delivers in a later turn of the event loop, so that two ends that answer each other do not nest calls.
    private func deliverSoon() {
        guard !state.value.isDelivering, state.value.isActivated, !state.value.isClosed else { return }
        state.value.isDelivering = true
        eventLoop.assumeIsolated().execute { [self] in
            state.value.isDelivering = false
            deliver()
        }
    }

    private func deliver() {
        guard !state.value.isClosed else { return }
        // After the peer has closed, all bytes are delivered whether or not a read is pending, then the end.
        let isWanted = state.value.isReadPending || state.value.isPeerGone
        if isWanted, state.value.inbox.readableBytes > 0 {
            state.value.isReadPending = false
            let length = min(largestRead, state.value.inbox.readableBytes)
            guard let bytes = state.value.inbox.readSlice(length: length) else { return }
            if state.value.inbox.readableBytes == 0 { state.value.inbox = ByteBuffer() }
            pipeline.syncOperations.fireChannelRead(NIOAny(bytes))
            pipeline.syncOperations.fireChannelReadComplete()
            readIfAutomatic()
            state.value.peer?.handOver()
            deliverSoon()
        } else if state.value.isPeerGone {
            close(ChannelError.eof)
        } else if isWanted, state.value.hasInputEnded, !state.value.isInputEndTold {
            state.value.isInputEndTold = true
            state.value.isReadPending = false
            pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        }
    }

    private func readIfAutomatic() {
        let now = state.value
        guard now.readsAutomatically, now.isActivated, !now.isReadPending, !now.isInputEndTold, !now.isClosed else {
            return
        }
        pipeline.syncOperations.read()
    }

    private func close(_ error: any Error) {
        let peer = state.value.peer
        let wasActive = state.value.isActivated
        let outbox = state.value.outbox
        let outputClosing = state.value.outputClosing
        var over = State()
        over.isClosed = true
        state.value = over
        active.store(false, ordering: .releasing)
        for (_, promise) in outbox { promise?.fail(error) }
        outputClosing?.fail(error)
        if let peer {
            peer.state.value.peer = nil
            peer.state.value.hasInputEnded = true
            peer.state.value.isPeerGone = true
            peer.deliverSoon()
        }
        if wasActive {
            pipeline.syncOperations.fireChannelInactive()
            pipeline.syncOperations.fireChannelUnregistered()
        }
        eventLoop.assumeIsolated().execute { [self] in
            removeHandlers(pipeline: pipeline)
            closePromise.succeed()
        }
    }
}
