import Synchronization

/// The journal of a host, with the count of its incarnations.
final class HostJournal: Sendable {
    private let journal: any StateJournal
    private let count = Atomic<UInt32>(0)

    init(_ journal: any StateJournal) { self.journal = journal }

    /// Counts an incarnation, and returns its number.
    ///
    /// Called when an incarnation becomes the running one, not when it is made: until then, its predecessor may still restart.
    func nextIncarnation() -> UInt32 { count.wrappingAdd(1, ordering: .relaxed).newValue }

    /// Queues a change. Called without a lock.
    func write(_ change: HostChange, done: @escaping @Sendable (Bool) -> Void = { _ in }) {
        journal.write(change, done: done)
    }
}
