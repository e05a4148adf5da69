/// The replies to a call with `more`, as they come.
///
/// Ends after the last reply; throws ``ErrorReply`` when the service ends with an error and ``VarlinkError`` when the
/// connection fails. There is one stream of replies however many iterators are made of it. Cancelling the task that
/// waits for a reply, or dropping the sequence before its end, closes the connection.
public struct ReplySequence<Reply>: AsyncSequence, Sendable {
    private let stream: ReplyStream
    private let decode: @Sendable (JSONObject) throws -> Reply

    init(_ stream: ReplyStream, decode: @escaping @Sendable (JSONObject) throws -> Reply) {
        self.stream = stream
        self.decode = decode
    }

    /// Takes the replies one by one.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let stream: ReplyStream
        fileprivate let decode: @Sendable (JSONObject) throws -> Reply

        /// The next reply, or nil after the last.
        public mutating func next() async throws -> Reply? {
            try await stream.next().map(decode)
        }
    }

    /// An iterator over the replies that nobody has taken yet.
    public func makeAsyncIterator() -> Iterator {
        Iterator(stream: stream, decode: decode)
    }
}

/// One stream of replies; when nobody holds it any longer, the client is told.
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
