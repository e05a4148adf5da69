public import CommonExpression
import Synchronization

/// A state of a watched system, or the value of a watched bus.
public struct Change<Subject: Sendable>: Sendable {
    /// When it came to be.
    public let time: Timestamp
    /// Whether it was there before the watch began.
    public let isReplayed: Bool
    /// The state or the value.
    public let subject: Subject
    /// How many changes this watcher missed just before this one, because it read too slowly.
    public var dropped: Int
}

/// What a watcher sees, from when it began to watch until what it watches ends.
public struct Changes<Subject: Sendable>: AsyncSequence, Sendable {
    let stream: AsyncStream<Change<Subject>>
    let dropped: Dropped

    /// Goes through the changes.
    public struct AsyncIterator: AsyncIteratorProtocol {
        var base: AsyncStream<Change<Subject>>.Iterator
        let dropped: Dropped

        /// The next change; `nil` at the end.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> Change<Subject>? {
            guard var change = await base.next(isolation: actor) else { return nil }
            change.dropped = dropped.take()
            return change
        }

        /// The next change; `nil` at the end.
        public mutating func next() async -> Change<Subject>? {
            await next(isolation: nil)
        }
    }

    /// The next change; `nil` at the end, or when the task is cancelled, which is the end.
    public func next() async -> Change<Subject>? {
        for await change in self { return change }
        return nil
    }

    /// Goes through the changes; only one may.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(base: stream.makeAsyncIterator(), dropped: dropped)
    }
}

/// Counts what a watcher misses. What is dropped is the oldest, so it lies just before what is read next.
final class Dropped: Sendable {
    private let count = Mutex(0)

    func add() { count.withLock { $0 += 1 } }

    func take() -> Int {
        count.withLock { count in
            defer { count = 0 }
            return count
        }
    }
}
