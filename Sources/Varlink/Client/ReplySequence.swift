import StrictJSON

/// The replies to a call with `more`, as they arrive.
///
/// The sequence ends after the last reply. It throws ``ErrorReply`` if the service ends with an error, and
/// ``VarlinkError`` if the connection fails. All iterators share one stream of replies. Cancelling the task that waits
/// for a reply, or dropping the sequence before its end, closes the connection.
public struct ReplySequence<Reply>: AsyncSequence, Sendable {
    private let stream: ReplyStream
    private let decode: @Sendable (JSONObject) throws -> Reply

    init(_ stream: ReplyStream, decode: @escaping @Sendable (JSONObject) throws -> Reply) {
        self.stream = stream
        self.decode = decode
    }

    /// Returns the replies one by one.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let stream: ReplyStream
        fileprivate let decode: @Sendable (JSONObject) throws -> Reply

        /// Returns the next reply, or nil after the last.
        public mutating func next() async throws -> Reply? {
            try await stream.next().map(decode)
        }
    }

    /// Returns an iterator over the replies that were not returned yet.
    public func makeAsyncIterator() -> Iterator {
        Iterator(stream: stream, decode: decode)
    }
}

/// One stream of replies. Its release notifies the client.
final class ReplyStream: Sendable {
    private let client: VarlinkClient
    private let number: Int

    init(client: VarlinkClient, number: Int) {
        self.client = client
        self.number = number
    }

    deinit {
        client.dropStream(number, nil)
    }

    func next() async throws -> JSONObject? {
        guard !Task.isCancelled else {
            client.dropStream(number, CancellationError())
            throw CancellationError()
        }
        return try await client.nextReply(of: number)
    }
}
