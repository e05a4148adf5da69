public import CommonExpression
import Synchronization

/// A state of a watched system, or the value of a watched bus.
public struct Change<Subject: Sendable>: Sendable {
    /// Counts the changes since the watch began, those this watcher missed included.
    let number: UInt64
    /// When it came to be.
    public let time: Timestamp
    /// Whether it was there before the watch began.
    public let isReplayed: Bool
    /// The state or the value.
    public let subject: Subject
    /// How many changes this watcher missed just before this one, because it read too slowly.
    public fileprivate(set) var dropped = 0

    init(number: UInt64, time: Timestamp, isReplayed: Bool, subject: Subject) {
        self.number = number
        self.time = time
        self.isReplayed = isReplayed
        self.subject = subject
    }
}

/// What a watcher sees, from when it began to watch until what it watches ends. One may read it, one change at a time.
public final class Changes<Subject: Sendable>: AsyncSequence, Sendable {
    typealias Stream = AsyncStream<HeavyLoad<Change<Subject>>.Item>

    private let stream: Stream
    private let load: HeavyLoad<Change<Subject>>
    /// The number of the change read last.
    private let last = Mutex<UInt64>(0)

    init(stream: Stream, load: HeavyLoad<Change<Subject>>) {
        self.stream = stream
        self.load = load
    }

    /// The next change; `nil` at the end, or when the task is cancelled, which is the end.
    public func next() async -> Change<Subject>? { await next(pace: nil) }

    /// The same, which waits until it may be looked at.
    public func next(pace: (any WatchPace)?) async -> Change<Subject>? {
        for await item in stream {
            await pace?.begin(ofSize: item.size)
            defer { pace?.end(isTold: true) }
            guard var change = load.leave(item) else { continue }
            change.dropped = last.withLock { last in
                defer { last = change.number }
                return Int(change.number - last) - 1
            }
            return change
        }
        return nil
    }

    /// Goes through the changes.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let changes: Changes

        /// The next change; `nil` at the end.
        public mutating func next() async -> Change<Subject>? { await changes.next() }

        /// The next change; `nil` at the end.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> Change<Subject>? {
            await changes.next()
        }
    }

    /// Goes through the changes.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(changes: self) }
}
