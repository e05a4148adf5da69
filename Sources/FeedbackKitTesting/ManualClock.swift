import Synchronization

/// A clock that stands still until it is told to advance.
///
/// Code under test sleeps on it; the test waits until it does (``sleepers(atLeast:)``), then advances the clock. No
/// real time passes, and nothing depends on how fast the machine is.
public final class ManualClock: Clock, Sendable {
    /// A moment, counted from the clock's beginning.
    public struct Instant: InstantProtocol {
        /// How long after the beginning.
        public let offset: Swift.Duration

        /// A moment so long after the beginning.
        public init(offset: Swift.Duration) {
            self.offset = offset
        }

        /// The moment so much later.
        public func advanced(by duration: Swift.Duration) -> Instant { Instant(offset: offset + duration) }

        /// How long it is from here to there.
        public func duration(to other: Instant) -> Swift.Duration { other.offset - offset }

        /// Whether one is before the other.
        public static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
    }

    private struct Sleeper {
        let id: UInt64
        let deadline: Instant
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct Waiter {
        let id: UInt64
        let count: Int
        let continuation: CheckedContinuation<Void, Never>
    }

    private struct Machine {
        var now = Instant(offset: .zero)
        var nextID: UInt64 = 1
        var sleepers: [Sleeper] = []
        var cancelled: Set<UInt64> = []
        var waiters: [Waiter] = []

        mutating func takeSatisfiedWaiters() -> [Waiter] {
            let satisfied = waiters.filter { $0.count <= sleepers.count }
            waiters.removeAll { $0.count <= sleepers.count }
            return satisfied
        }
    }

    private let machine = Mutex(Machine())

    /// A clock at its beginning.
    public init() {}

    /// What time it is.
    public var now: Instant { machine.withLock { $0.now } }

    /// Exact.
    public var minimumResolution: Swift.Duration { .nanoseconds(1) }

    /// How many sleep.
    public var sleeperCount: Int { machine.withLock { $0.sleepers.count } }

    /// When the first sleeper wakes; `nil` if none sleeps.
    public var nextDeadline: Instant? { machine.withLock { $0.sleepers.map(\.deadline).min() } }

    /// Sleeps until the clock has been advanced to the deadline. Throws `CancellationError` when the task is cancelled.
    public func sleep(until deadline: Instant, tolerance: Swift.Duration? = nil) async throws {
        let id = machine.withLock { machine in
            defer { machine.nextID += 1 }
            return machine.nextID
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                enum Outcome {
                    case wake, cancel
                    case sleep([Waiter])
                }
                let outcome: Outcome = machine.withLock { machine in
                    if machine.cancelled.remove(id) != nil { return .cancel }
                    if deadline <= machine.now { return .wake }
                    machine.sleepers.append(Sleeper(id: id, deadline: deadline, continuation: continuation))
                    return .sleep(machine.takeSatisfiedWaiters())
                }
                switch outcome {
                case .wake: continuation.resume()
                case .cancel: continuation.resume(throwing: CancellationError())
                case .sleep(let waiters): for waiter in waiters { waiter.continuation.resume() }
                }
            }
        } onCancel: {
            let sleeper: Sleeper? = machine.withLock { machine in
                guard let index = machine.sleepers.firstIndex(where: { $0.id == id }) else {
                    machine.cancelled.insert(id)
                    return nil
                }
                return machine.sleepers.remove(at: index)
            }
            sleeper?.continuation.resume(throwing: CancellationError())
        }
        machine.withLock { _ = $0.cancelled.remove(id) }
    }

    /// Returns once at least so many sleep, or when the calling task is cancelled.
    public func sleepers(atLeast count: Int) async {
        let id = machine.withLock { machine in
            defer { machine.nextID += 1 }
            return machine.nextID
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
                let isOver = machine.withLock { machine in
                    if machine.sleepers.count >= count || Task.isCancelled { return true }
                    machine.waiters.append(Waiter(id: id, count: count, continuation: continuation))
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            let waiter: Waiter? = machine.withLock { machine in
                guard let index = machine.waiters.firstIndex(where: { $0.id == id }) else { return nil }
                return machine.waiters.remove(at: index)
            }
            waiter?.continuation.resume()
        }
    }

    /// Advances the clock and wakes, in the order of their deadlines, those who slept until a moment passed thereby.
    ///
    /// The clock jumps: whoever wakes sees the time at the end of the advance, so that something which sleeps again and
    /// again wakes once. Advance step by step, or use a ``Simulation``, where it should wake each time.
    ///
    /// - Parameter duration: a negative one advances nothing; a clock does not go back.
    /// - Complexity: O(*n* log *n*) for *n* sleepers.
    public func advance(by duration: Swift.Duration) {
        let due: [Sleeper] = machine.withLock { machine in
            machine.now = machine.now.advanced(by: max(.zero, duration))
            let now = machine.now
            let due = machine.sleepers.filter { $0.deadline <= now }
            machine.sleepers.removeAll { $0.deadline <= now }
            return due.sorted { ($0.deadline, $0.id) < ($1.deadline, $1.id) }
        }
        for sleeper in due { sleeper.continuation.resume() }
    }
}
