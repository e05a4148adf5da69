package import NIOCore

/// The state machine of a service's connection: a value without channel, task or clock.
///
/// Calls of one connection are answered one after the other. The machine keeps the bytes of further calls until the
/// running one is answered and its reply is sent. It determines when to read more and which time limit runs.
///
/// ```
/// awaitingDemand ──demand──▶ receiving ──message──▶ serving(n) ──finish──▶ awaitingDemand
///        │                        │                      │
///        └────────────────────────┴──── close ───────────┼──▶ closed
///                                                         └──▶ upgraded ──close──▶ closed
/// ```
package struct ConnectionStateMachine: Sendable {
    private enum Phase: Sendable, Equatable {
        /// No call is wanted yet.
        case awaitingDemand
        /// The next call is wanted.
        case receiving
        /// The call with that number is running.
        case serving(Int)
        /// The connection carries another protocol, which the machine does not handle.
        case upgraded
        /// The connection is closed.
        case closed
    }

    /// The response to a demand for a call.
    package enum Action {
        /// No response yet.
        case doNothing
        /// The message of the next call, and its number.
        case serve(ByteBuffer, call: Int)
        /// The connection ended and must be closed; with the error of the peer, if it made one.
        case close(VarlinkError?)
    }

    /// The time limit that is running.
    package enum Timer: Hashable, Sendable {
        /// None.
        case doNothing
        /// The client pauses between calls.
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
    /// A Boolean value that indicates whether a draining connection still serves its first call.
    private var servesFirstCall = false
    private var callCount = 0
    /// The length of the message whose call is running.
    private var servedBytes = 0
    private let maximumReadAhead: Int

    /// Creates the state of a new connection.
    ///
    /// - Parameters:
    ///   - maximumMessageLength: The longest message accepted, in bytes.
    ///   - maximumReadAhead: The bytes of further calls that are read while a call is running.
    package init(maximumMessageLength: Int, maximumReadAhead: Int) {
        frames = FrameDecoder(maximumLength: maximumMessageLength)
        self.maximumReadAhead = maximumReadAhead
    }

    /// Demands the next call.
    package mutating func demand() -> Action {
        guard phase == .awaitingDemand else { return phase == .closed ? .close(nil) : .doNothing }
        phase = .receiving
        return advance()
    }

    /// Adds received bytes.
    package mutating func receive(_ bytes: ByteBuffer) -> Action {
        guard phase != .closed else { return .doNothing }
        frames.append(bytes)
        return advance()
    }

    /// Ends the input. Messages that have arrived are still answered.
    package mutating func endInput() -> Action {
        inputHasEnded = true
        return advance()
    }

    /// Records whether replies would pile up if written.
    package mutating func setOutputBlocked(_ isBlocked: Bool) -> Action {
        outputIsBlocked = isBlocked
        return advance()
    }

    /// Serves no further call. If wanted, a client that has not called yet still has its first call served.
    package mutating func drain(servingFirstCall: Bool = false) -> Action {
        isDraining = true
        servesFirstCall = servingFirstCall
        return advance()
    }

    /// Returns whether a reply to the call with that number may still be written.
    package func accepts(replyTo call: Int) -> Bool { phase == .serving(call) }

    /// Ends the call with that number.
    package mutating func finish(_ call: Int) {
        guard phase == .serving(call) else { return }
        phase = .awaitingDemand
        servedBytes = 0
    }

    /// The bytes from the client: those of the running call and those after it.
    package var heldBytes: Int { frames.bufferedBytes + servedBytes }

    /// Answers the call with that number with another protocol, which begins with the returned bytes; nil if the call
    /// can no longer be answered. `hasEnded` indicates whether the client has already ended its side.
    package mutating func upgrade(_ call: Int) -> (rest: ByteBuffer, hasEnded: Bool)? {
        guard phase == .serving(call) else { return nil }
        phase = .upgraded
        servedBytes = 0
        return (frames.takeRest(), inputHasEnded)
    }

    /// A Boolean value that indicates whether the connection carries another protocol.
    package var isUpgraded: Bool { phase == .upgraded }

    /// Closes the connection.
    package mutating func close() {
        phase = .closed
        servedBytes = 0
        frames = FrameDecoder(maximumLength: 0)
    }

    /// A Boolean value that indicates whether to read more from the client.
    package var wantsBytes: Bool {
        switch phase {
        case .closed, .upgraded: false
        case .receiving where !outputIsBlocked: !inputHasEnded
        default: !inputHasEnded && frames.bufferedBytes < maximumReadAhead
        }
    }

    /// The time limit that is running.
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
