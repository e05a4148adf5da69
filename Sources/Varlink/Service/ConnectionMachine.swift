package import NIOCore

/// What a connection of a service does next: a value that knows no channel, task or clock.
///
/// Calls of one connection are answered one after the other. The machine keeps the bytes of further calls until the
/// running one is answered and its reply is on its way, and says when to read more and which limit of time is running.
///
///     awaitingDemand ──demand──▶ receiving ──message──▶ serving(n) ──finish──▶ awaitingDemand
///            │                        │                      │
///            └────────────────────────┴──── close ───────────┼──▶ closed
///                                                             └──▶ upgraded ──close──▶ closed
package struct ConnectionMachine: Sendable {
    private enum Phase: Sendable, Equatable {
        /// Nobody asks for a call yet.
        case awaitingDemand
        /// The next call is wanted.
        case receiving
        /// The call of that number is running.
        case serving(Int)
        /// The connection carries another protocol, of which the machine knows nothing.
        case upgraded
        /// It is over.
        case closed
    }

    /// What the one who has asked for a call gets.
    package enum Action {
        /// Nothing for now.
        case doNothing
        /// The message of the next call, and its number.
        case serve(ByteBuffer, call: Int)
        /// The connection has come to its end and is to be closed; with the error of the peer, if it made one.
        case close(VarlinkError?)
    }

    /// Which limit of time is running.
    package enum Timer: Hashable, Sendable {
        /// None.
        case doNothing
        /// The client rests between calls.
        case idle
        /// The client has begun a message.
        case message
        /// The client does not read its replies.
        case unread
    }

    private var phase = Phase.awaitingDemand
    private var frames: FrameDecoder
    private var inputHasEnded = false
    private var outputIsBlocked = false
    private var isDraining = false
    /// Whether, while it drains, the first call is still served.
    private var servesFirstCall = false
    private var callCount = 0
    /// The length of the message whose call is running.
    private var servedBytes = 0
    private let maximumReadAhead: Int

    /// A connection that has just been made.
    ///
    /// - Parameters:
    ///   - maximumMessageLength: the longest message accepted, in bytes.
    ///   - maximumReadAhead: how many bytes of further calls are read while a call is running.
    package init(maximumMessageLength: Int, maximumReadAhead: Int) {
        frames = FrameDecoder(maximumLength: maximumMessageLength)
        self.maximumReadAhead = maximumReadAhead
    }

    /// The next call is wanted.
    package mutating func demand() -> Action {
        guard phase == .awaitingDemand else { return phase == .closed ? .close(nil) : .doNothing }
        phase = .receiving
        return advance()
    }

    /// Bytes have come.
    package mutating func receive(_ bytes: ByteBuffer) -> Action {
        guard phase != .closed else { return .doNothing }
        frames.append(bytes)
        return advance()
    }

    /// The client sends no more; what it has sent is still answered.
    package mutating func endInput() -> Action {
        inputHasEnded = true
        return advance()
    }

    /// Whether replies can be written without piling up.
    package mutating func setOutputBlocked(_ isBlocked: Bool) -> Action {
        outputIsBlocked = isBlocked
        return advance()
    }

    /// No further call is to be served; of a client that has not called yet, the first one nevertheless, if that is wanted.
    package mutating func drain(servingFirstCall: Bool = false) -> Action {
        isDraining = true
        servesFirstCall = servingFirstCall
        return advance()
    }

    /// Whether a reply to the call of that number may still be written.
    package func accepts(replyTo call: Int) -> Bool { phase == .serving(call) }

    /// The call of that number is answered.
    package mutating func finish(_ call: Int) {
        guard phase == .serving(call) else { return }
        phase = .awaitingDemand
        servedBytes = 0
    }

    /// How many bytes lie here that the client has sent: of the call that is running and of what comes behind it.
    package var heldBytes: Int { frames.bufferedBytes + servedBytes }

    /// The call of that number is answered with another protocol, which begins with these bytes; nil when the call may
    /// no longer be answered. `hasEnded` says whether the client has ended its side already.
    package mutating func upgrade(_ call: Int) -> (rest: ByteBuffer, hasEnded: Bool)? {
        guard phase == .serving(call) else { return nil }
        phase = .upgraded
        servedBytes = 0
        return (frames.takeRest(), inputHasEnded)
    }

    /// Whether the connection carries another protocol.
    package var isUpgraded: Bool { phase == .upgraded }

    /// The connection is gone.
    package mutating func close() {
        phase = .closed
        servedBytes = 0
        frames = FrameDecoder(maximumLength: 0)
    }

    /// Whether more is to be read from the client now.
    package var wantsBytes: Bool {
        switch phase {
        case .closed, .upgraded: false
        case .receiving where !outputIsBlocked: !inputHasEnded
        default: !inputHasEnded && frames.bufferedBytes < maximumReadAhead
        }
    }

    /// The limit of time that is running.
    package var timer: Timer {
        switch phase {
        case .closed, .upgraded: .doNothing
        case _ where outputIsBlocked: .unread
        case .awaitingDemand, .serving: .doNothing
        case .receiving: frames.bufferedBytes > 0 ? .message : .idle
        }
    }

    private mutating func advance() -> Action {
        guard phase == .receiving else { return .doNothing }
        if isDraining, !servesFirstCall || callCount > 0 { return end(nil) }
        guard !outputIsBlocked else { return .doNothing }
        do throws(VarlinkError) {
            if let message = try frames.next() {
                callCount += 1
                servedBytes = message.readableBytes
                phase = .serving(callCount)
                return .serve(message, call: callCount)
            }
        } catch {
            return end(error)
        }
        guard inputHasEnded else { return .doNothing }
        return end(
            frames.bufferedBytes == 0
                ? nil : VarlinkError(.protocolViolation, "the client closed in the middle of a message")
        )
    }

    private mutating func end(_ error: VarlinkError?) -> Action {
        close()
        return .close(error)
    }
}
