package import NIOCore

/// Splits a stream of bytes into messages at each NUL byte.
///
/// It is a value without a socket: ``append(_:)`` adds bytes, and ``next()`` removes messages. It never examines a byte
/// twice. As soon as more than ``maximumLength`` bytes have arrived without a NUL, ``next()`` throws, and it throws
/// from then on.
package struct FrameDecoder: Sendable {
    /// The longest message in bytes, its NUL not counted.
    package let maximumLength: Int

    private var buffer = ByteBuffer()
    private var scanned = 0

    /// Creates a decoder without bytes.
    package init(maximumLength: Int) {
        self.maximumLength = maximumLength
    }

    /// The bytes that ``next()`` has not returned yet.
    package var bufferedBytes: Int { buffer.readableBytes }

    /// The memory of these bytes.
    package var bufferedCapacity: Int { buffer.storageCapacity }

    /// Adds received bytes.
    package mutating func append(_ bytes: ByteBuffer) {
        if buffer.readableBytes == 0 {
            buffer = bytes
            scanned = 0
        } else {
            buffer.writeImmutableBuffer(bytes)
        }
    }

    /// Removes the next whole message and returns it without its NUL; nil if more bytes are needed.
    ///
    /// - Throws: ``VarlinkError`` with the code `messageTooLarge`.
    /// - Complexity: O(n) in the bytes not examined before.
    package mutating func next() throws(VarlinkError) -> ByteBuffer? {
        let view = buffer.readableBytesView
        let unscanned = view[(view.startIndex + scanned)...]
        guard let end = unscanned.firstIndex(of: 0) else {
            scanned = view.count
            guard view.count <= maximumLength else { throw tooLarge() }
            // A few bytes may have arrived in a large buffer, which would stay allocated until the rest arrives.
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
            // Copying the rest keeps removed messages from holding the whole buffer.
            buffer = ByteBuffer(buffer: buffer)
        }
        return message
    }

    /// Removes and returns all bytes. They belong to another protocol.
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
