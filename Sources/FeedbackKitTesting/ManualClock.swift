import Synchronization

/// A clock that stands still until a test advances it.
///
/// Code under test sleeps on the clock. The test waits for the next deadline with ``nextDeadline(in:)``, then advances the
/// clock. No real time passes, and nothing depends on the speed of the machine.
public final class ManualClock: Clock, Sendable {
    /// An instant, relative to the clock's start.
    public struct Instant: InstantProtocol {
        /// The duration since the start.
        public let offset: Swift.Duration

        /// Creates an instant at this offset from the start.
        public init(offset: Swift.Duration) {
            self.offset = offset
        }

        /// Returns the instant that is later by `duration`.
        public func advanced(by duration: Swift.Duration) -> Instant { Instant(offset: offset + duration) }

        /// Returns the duration from this instant to another.
        public func duration(to other: Instant) -> Swift.Duration { other.offset - offset }

        /// Returns whether one instant is before the other.
        public static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
    }

    private struct Sleeper {
        let id: UInt64
        let deadline: Instant
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct Waiter {
        let id: UInt64
        let deadline: Instant
        let continuation: CheckedContinuation<Void, Never>
    }

    /// The storage that the lock guards. One move of the clock resumes many sleepers, and one sleeper many waiters.
    private struct State {
        var now = Instant(offset: .zero)
        var nextID: UInt64 = 1
        var sleepers: [Sleeper] = []
        var cancelled: Set<UInt64> = []
        var waiters: [Waiter] = []

        var nextDeadline: Instant? { sleepers.lazy.map(\.deadline).min() }

        mutating func takeSatisfiedWaiters() -> [Waiter] {
            guard !waiters.isEmpty, let next = nextDeadline else { return [] }
            let satisfied = waiters.filter { $0.deadline == next }
            waiters.removeAll { $0.deadline == next }
            return satisfied
        }
    }

    private let state = Mutex(State())

    /// Creates a clock at its start.
    public init() {}

    /// The current instant.
    public var now: Instant { state.withLock { $0.now } }

    /// The resolution: one nanosecond.
    public var minimumResolution: Swift.Duration { .nanoseconds(1) }

    /// The deadlines of everything that waits by this clock, earliest first.
    public var deadlines: [Instant] { state.withLock { $0.sleepers.map(\.deadline).sorted() } }

    /// The earliest deadline of everything that waits by this clock, or `nil` if nothing waits.
    public var nextDeadline: Instant? { state.withLock { $0.nextDeadline } }

    /// Sleeps until the clock has been advanced to the deadline. Throws `CancellationError` when the task is cancelled.
    public func sleep(until deadline: Instant, tolerance: Swift.Duration? = nil) async throws {
        let id = state.withLock { state in
            defer { state.nextID += 1 }
            return state.nextID
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                enum Outcome {
                    case wake, cancel
                    case sleep([Waiter])
                }
                let outcome: Outcome = state.withLock { state in
                    if state.cancelled.remove(id) != nil { return .cancel }
                    if deadline <= state.now { return .wake }
                    state.sleepers.append(Sleeper(id: id, deadline: deadline, continuation: continuation))
                    return .sleep(state.takeSatisfiedWaiters())
                }
                switch outcome {
                case .wake: continuation.resume()
                case .cancel: continuation.resume(throwing: CancellationError())
                case .sleep(let waiters): for waiter in waiters { waiter.continuation.resume() }
                }
            }
        } onCancel: {
            let (sleeper, waiters): (Sleeper?, [Waiter]) = state.withLock { state in
                guard let index = state.sleepers.firstIndex(where: { $0.id == id }) else {
                    state.cancelled.insert(id)
                    return (nil, [])
                }
                return (state.sleepers.remove(at: index), state.takeSatisfiedWaiters())
            }
            sleeper?.continuation.resume(throwing: CancellationError())
            for waiter in waiters { waiter.continuation.resume() }
        }
        state.withLock { _ = $0.cancelled.remove(id) }
    }

    /// Returns when the earliest deadline is this long from now, or when the calling task is cancelled.
    ///
    /// A test uses it to know that a wait has begun before it advances the clock:
    ///
    /// ```swift
    /// loop.send(.start)
    /// await clock.nextDeadline(in: .seconds(5))
    /// clock.advance(by: .seconds(5))
    /// ```
    ///
    /// It asks for a time, not for the number of waits, because one task may sleep for many waits. If several waits begin at
    /// once, wait until all of them have begun with ``SettlingPool/settled()``.
    public func nextDeadline(in duration: Swift.Duration) async {
        let (id, deadline) = state.withLock { state in
            defer { state.nextID += 1 }
            return (state.nextID, state.now.advanced(by: duration))
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
                let isOver = state.withLock { state in
                    if state.nextDeadline == deadline || Task.isCancelled { return true }
                    state.waiters.append(Waiter(id: id, deadline: deadline, continuation: continuation))
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            let waiter: Waiter? = state.withLock { state in
                guard let index = state.waiters.firstIndex(where: { $0.id == id }) else { return nil }
                return state.waiters.remove(at: index)
            }
            waiter?.continuation.resume()
        }
    }

    /// Advances the clock and wakes the sleepers whose deadline has passed, in the order of their deadlines.
    ///
    /// The clock jumps: every woken task sees the time at the end of the advance. A task that sleeps repeatedly
    /// therefore wakes once. To wake it each time, advance in steps or use a ``Simulation``.
    ///
    /// - Parameter duration: The duration; a negative one has no effect, because a clock does not go back.
    /// - Complexity: O(*n* log *n*) for *n* sleepers.
    public func advance(by duration: Swift.Duration) {
        let (due, waiters): ([Sleeper], [Waiter]) = state.withLock { state in
            state.now = state.now.advanced(by: max(.zero, duration))
            let now = state.now
            let due = state.sleepers.filter { $0.deadline <= now }
            state.sleepers.removeAll { $0.deadline <= now }
            return (due.sorted { ($0.deadline, $0.id) < ($1.deadline, $1.id) }, state.takeSatisfiedWaiters())
        }
        for sleeper in due { sleeper.continuation.resume() }
        for waiter in waiters { waiter.continuation.resume() }
    }
}
