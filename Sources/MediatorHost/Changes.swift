public import CommonExpression
import Synchronization

/// A state of a watched system, or the value of a watched bus.
public struct Change<Subject: Sendable>: Sendable {
    /// The number of the change since the watch began. The count includes changes that the watcher missed.
    let number: UInt64
    /// The time at which the system entered the state, or the bus received the value.
    public let time: Timestamp
    /// A Boolean value that indicates whether the state or the value existed before the watch began.
    public let isReplayed: Bool
    /// The state or the value.
    public let subject: Subject
    /// The number of changes that the watcher missed just before this one, because it read too slowly.
    public fileprivate(set) var dropped = 0

    init(number: UInt64, time: Timestamp, isReplayed: Bool, subject: Subject) {
        self.number = number
        self.time = time
        self.isReplayed = isReplayed
        self.subject = subject
    }
}

/// The changes of a system or a bus, from the beginning of a watch until the system or the bus ends.
///
/// The sequence supports one reader, which reads one change at a time.
public final class Changes<Subject: Sendable>: AsyncSequence, Sendable {
    typealias Stream = AsyncStream<HeavyLoad<Change<Subject>>.Item>

    private let stream: Stream
    private let load: HeavyLoad<Change<Subject>>
    /// The number of the last change read.
    private let last = Mutex<UInt64>(0)

    init(stream: Stream, load: HeavyLoad<Change<Subject>>) {
        self.stream = stream
        self.load = load
    }

    /// Returns the next change, or `nil` at the end. Cancelling the task ends the sequence.
    public func next() async -> Change<Subject>? { await next(pace: nil) }

    /// Returns the next change, or `nil` at the end.
    ///
    /// - Parameter pace: The pace of the watcher, which delays each change. `nil` means no delay.
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

    /// An iterator over the changes.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let changes: Changes

        /// Returns the next change, or `nil` at the end.
        public mutating func next() async -> Change<Subject>? { await changes.next() }

        /// Returns the next change, or `nil` at the end.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> Change<Subject>? {
            await changes.next()
        }
    }

    /// Returns an iterator over the changes.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(changes: self) }
}
