import Synchronization

/// Notes that something has been started.
final class Started: Sendable {
    private let value = Atomic(false)

    /// Notes it, and answers whether it had been noted before.
    func exchange() -> Bool { value.exchange(true, ordering: .relaxed) }
}
