import Synchronization

/// A flag that records a start.
final class Started: Sendable {
    private let value = Atomic(false)

    /// Sets the flag and returns its old value.
    func exchange() -> Bool { value.exchange(true, ordering: .relaxed) }
}
