package import NIOCore

/// Cuts a stream of bytes into messages at each NUL byte.
///
/// A value that knows no socket: bytes are put in with ``append(_:)``, messages are taken out with ``next()``. It never
/// looks at a byte twice, and it never holds back that a message is too long: as soon as more than ``maximumLength``
/// bytes lie there without a NUL, ``next()`` throws, and goes on throwing.
package struct FrameDecoder: Sendable {
    /// The longest message in bytes, its NUL not counted.
    package let maximumLength: Int

    private var buffer = ByteBuffer()
    private var scanned = 0

    /// A decoder without bytes.
    package init(maximumLength: Int) {
        self.maximumLength = maximumLength
    }

    /// How many bytes lie here that ``next()`` has not yet given out.
    package var bufferedBytes: Int { buffer.readableBytes }

    /// How much memory they take.
    package var bufferedCapacity: Int { buffer.storageCapacity }

    /// Adds bytes as they come from the peer.
    package mutating func append(_ bytes: ByteBuffer) {
        if buffer.readableBytes == 0 {
            buffer = bytes
            scanned = 0
        } else {
            buffer.writeImmutableBuffer(bytes)
        }
    }

    /// Takes out the next whole message without its NUL, or nil when more bytes are needed.
    ///
    /// - Throws: ``VarlinkError`` with the code `messageTooLarge`.
    /// - Complexity: O(n) in the bytes not looked at before.
    package mutating func next() throws(VarlinkError) -> ByteBuffer? {
        let view = buffer.readableBytesView
        let unscanned = view[(view.startIndex + scanned)...]
        guard let end = unscanned.firstIndex(of: 0) else {
            scanned = view.count
            guard view.count <= maximumLength else { throw tooLarge() }
            // Little may have come with room for much, which would be kept until the rest comes.
            if buffer.storageCapacity > 4 * (view.count + 256) { buffer = ByteBuffer(bytes: view) }
            return nil
        }
        let length = end - view.startIndex
        guard length <= maximumLength else { throw tooLarge() }
        scanned = 0
        let message = buffer.readSlice(length: length)
        buffer.moveReaderIndex(forwardBy: 1)
        if buffer.readableBytes == 0 {
            buffer = ByteBuffer()
        } else if buffer.readerIndex > 1 << 16 {
            // What was taken out shares its storage with the rest only until the rest is copied away.
            buffer = ByteBuffer(buffer: buffer)
        }
        return message
    }

    /// Takes out everything that lies here, cut or not: what follows belongs to another protocol.
    package mutating func takeRest() -> ByteBuffer {
        defer {
            buffer = ByteBuffer()
            scanned = 0
        }
        return buffer
    }

    private func tooLarge() -> VarlinkError {
        VarlinkError(
            .messageTooLarge,
            "the peer sends a message of more than \(maximumLength) bytes, the limit of this connection"
        )
    }
}
