/// The entries that wait for a store, and what its thread does next. It has no lock, thread or clock.
struct StoreQueue {
    /// A waiting change or milestone.
    struct Entry: Sendable {
        enum Content: Sendable {
            case change(PartChange)
            case milestone(StoreMilestone)
        }

        var content: Content
        var done: @Sendable (StoreOutcome) -> Void
        /// The time of the call, in nanoseconds since the boot.
        var since: Int64
    }

    /// A waiting look.
    struct Read: Sendable {
        var reading: StoreReading
        var done: @Sendable (Result<StorePage, StoreTrouble>) -> Void
    }

    /// The work for the thread.
    enum Work {
        case commit([Entry])
        case read(Read)
        /// The thread waits for a signal.
        case wait
        /// The queue is empty and takes no more.
        case finish
    }

    /// The action after a call.
    enum Action: Equatable {
        case doNothing
        case wake
        case refuse(StoreTrouble)
    }

    private enum Phase { case new, loading, open, closing, closed, failed }

    private var phase = Phase.new
    private var isWaiting = false
    private var entries: [Entry] = []
    private var reads: [Read] = []
    /// A Boolean value that indicates whether the last work was a commit. Then a look is next, so that neither waits for long.
    private var readIsNext = false
    /// The number of entries that the thread has taken and not reported.
    private var taken = 0
    private var takenSince: Int64?

    /// The time of the oldest entry without an outcome.
    var pendingSince: Int64? { takenSince ?? entries.first?.since }

    /// A Boolean value that indicates whether the store is loaded, and neither closed nor failed.
    var isOpen: Bool { phase == .open }

    /// The number of entries without an outcome.
    var pending: Int { entries.count + taken }

    /// Begins to load. Returns `false` if that has happened before.
    mutating func load() -> Bool {
        guard phase == .new else { return false }
        phase = .loading
        return true
    }

    /// Takes entries from now on.
    mutating func loaded() { phase = .open }

    /// Adds an entry.
    mutating func put(_ entry: Entry) -> Action {
        // After a failed sync nobody may go on.
        guard phase != .failed else { return .doNothing }
        guard phase == .open else { return .refuse(.closed) }
        guard pending < StoreLimits.queue else { return .refuse(.queueFull) }
        entries.append(entry)
        return wake()
    }

    /// Adds a look.
    mutating func read(_ read: Read) -> Action {
        guard phase == .open else { return .refuse(.closed) }
        guard reads.count < StoreLimits.reads else { return .refuse(.queueFull) }
        reads.append(read)
        return wake()
    }

    /// Takes nothing more. Returns `nil` if there is no thread that could finish.
    mutating func close() -> Action? {
        switch phase {
        case .new, .loading, .closed, .failed: return nil
        case .closing: return .doNothing
        case .open:
            phase = .closing
            return wake()
        }
    }

    /// Returns the next work: all entries, so that the caller releases them.
    mutating func next() -> Work {
        // A store that closes refuses the looks: they must not use up the time to close it.
        if phase == .open, !reads.isEmpty, readIsNext || entries.isEmpty {
            readIsNext = false
            return .read(reads.removeFirst())
        }
        guard let first = entries.first else {
            guard phase != .closing else { return .finish }
            isWaiting = true
            return .wait
        }
        readIsNext = true
        takenSince = first.since
        taken = entries.count
        defer { entries = [] }
        return .commit(entries)
    }

    /// Notes that the thread has reported the outcomes of entries. The time is that of the next entry that it has taken.
    mutating func reported(_ count: Int, nextSince: Int64?) {
        taken -= count
        takenSince = nextSince
    }

    /// Ends for good, and returns the entries that wait, so that the caller releases them.
    ///
    /// After a failure they get no outcome, and the oldest time stays.
    mutating func end(failed: Bool) -> [Entry] {
        phase = failed ? .failed : .closed
        if failed { takenSince = pendingSince }
        defer { entries = [] }
        return entries
    }

    /// Returns the looks that get no answer any more after ``end(failed:)``, so that the caller refuses them.
    mutating func endReads() -> [Read] {
        defer { reads = [] }
        return reads
    }

    private mutating func wake() -> Action {
        defer { isWaiting = false }
        return isWaiting ? .wake : .doNothing
    }
}
