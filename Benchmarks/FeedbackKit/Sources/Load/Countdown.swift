import Synchronization

/// A number that several tasks count down.
final class Countdown: Sendable {
    private let left = Atomic(0)

    func begin(_ count: Int) { left.store(count, ordering: .sequentiallyConsistent) }

    /// Counts one down. Returns `true` for the last one.
    func isLast() -> Bool { left.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 }
}
