import NIOCore
import Varlink

/// The first byte says the longest message, the second how the rest is cut, the rest is what a peer sends.
///
/// The fuzzer calls it with new inputs, and `StoredInputTests` with the stored ones.
enum FrameSubject {
    static func exercise(_ bytes: [UInt8]) {
        guard bytes.count >= 2 else { return }
        let limit = Int(bytes[0])
        let stream = Array(bytes[2...])
        let expected = Frames(of: stream, limit: limit)
        var cuts = Cuts(seed: bytes[1])
        let found = Frames(decoding: cuts.pieces(of: stream), limit: limit)
        precondition(found == expected, "cut differently")
        for message in expected.messages { check(message) }
        drive(stream, limit: limit, &cuts)
    }
}

/// The messages of a stream, and whether it ends with one that is too long.
private struct Frames: Equatable {
    var messages: [[UInt8]] = []
    var isTooLong = false
    var rest = 0

    /// The expected messages.
    init(of stream: [UInt8], limit: Int) {
        var message: [UInt8] = []
        for byte in stream {
            if byte == 0 {
                messages.append(message)
                message = []
            } else {
                message.append(byte)
                if message.count > limit {
                    isTooLong = true
                    return
                }
            }
        }
        rest = message.count
    }

    /// The messages that the decoder finds.
    init(decoding pieces: [ArraySlice<UInt8>], limit: Int) {
        var decoder = FrameDecoder(maximumLength: limit)
        do {
            for piece in pieces {
                decoder.append(ByteBuffer(bytes: piece))
                while let message = try decoder.next() { messages.append(Array(message.readableBytesView)) }
            }
            rest = decoder.bufferedBytes
        } catch {
            isTooLong = true
        }
    }
}

/// Cuts bytes into pieces, the same for the same seed.
private struct Cuts {
    private var state: UInt64

    init(seed: UInt8) { state = UInt64(seed) &* 0x9E37_79B9_7F4A_7C15 | 1 }

    mutating func next(below bound: Int) -> Int {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return Int(state % UInt64(bound))
    }

    mutating func pieces(of bytes: [UInt8]) -> [ArraySlice<UInt8>] {
        var pieces: [ArraySlice<UInt8>] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            let length = min(rest.count, 1 + next(below: 17))
            pieces.append(rest.prefix(length))
            rest = rest.dropFirst(length)
        }
        return pieces
    }
}

/// A message that is a call or a reply is the same when it is written and read again.
private func check(_ bytes: [UInt8]) {
    if let call = try? CallMessage(parsing: bytes.span) {
        let written = call.serialized()
        precondition(!written.contains(0))
        precondition((try? CallMessage(parsing: written.span)) == call)
    }
    if let reply = try? ReplyMessage(parsing: bytes.span) {
        let written = reply.serialized()
        precondition(!written.contains(0))
        precondition((try? ReplyMessage(parsing: written.span)) == reply)
    }
}

/// Gives the stream to the machine of a connection, with every other event in between. Calls come once, in order, one
/// at a time, and none comes after the end.
private func drive(_ stream: [UInt8], limit: Int, _ cuts: inout Cuts) {
    var machine = ConnectionStateMachine(maximumMessageLength: limit, maximumReadAhead: 16)
    var served = 0
    var isServing = false
    var isOver = false
    func took(_ action: ConnectionStateMachine.Action) {
        switch action {
        case .doNothing: break
        case .serve(let message, let call):
            precondition(!isOver && !isServing && call == served + 1 && message.readableBytes <= limit)
            precondition(machine.accepts(replyTo: call))
            (served, isServing) = (call, true)
        case .close: isOver = true
        }
        if isOver { precondition(!machine.wantsBytes && machine.timer == .doNothing) }
    }
    for piece in cuts.pieces(of: stream) {
        took(machine.receive(ByteBuffer(bytes: piece)))
        for _ in 0..<cuts.next(below: 3) {
            switch cuts.next(below: 16) {
            case 0: took(machine.drain())
            case 1: took(machine.endInput())
            case 2, 3: took(machine.setOutputBlocked(cuts.next(below: 2) == 0))
            case 4 where isServing:
                guard machine.upgrade(served) != nil else { break }
                precondition(machine.isUpgraded && !machine.accepts(replyTo: served))
                return
            case 5:
                machine.close()
                isOver = true
            case 6...10 where isServing:
                machine.finish(served)
                isServing = false
            default: if !isServing { took(machine.demand()) }
            }
        }
    }
}
