/// A store of the states of systems and the values of buses, which survive the end of the process.
///
/// A store has one writer. It takes changes from any thread, in the order of the calls, and commits several at once.
package protocol PartStore: Sendable {
    /// Opens the store and returns its contents. It may be called once, before anything else.
    ///
    /// It changes nothing that the store holds. The contents survive a power cut. An error leaves the store closed.
    func load() throws(StoreTrouble) -> StoreContents

    /// Queues a change.
    ///
    /// - Parameters:
    ///   - change: The change.
    ///   - done: Receives the outcome, in the order of the calls, once the change is on the disk or was refused. It must return
    ///     quickly. It is never called if the store fails for good. A change that the queue does not take is refused before
    ///     `put` returns.
    func put(_ change: PartChange, done: @escaping @Sendable (StoreOutcome) -> Void)

    /// Queues a milestone of this life of the process, in order with the changes. `done` is that of a change.
    func mark(_ milestone: StoreMilestone, done: @escaping @Sendable (StoreOutcome) -> Void)

    /// Queues a look into the store, which changes nothing.
    ///
    /// - Parameters:
    ///   - reading: The question.
    ///   - done: Receives the answer, on the thread of the store between two commits, or the trouble, which may be before
    ///     `read` returns. It must return quickly.
    func read(_ reading: StoreReading, done: @escaping @Sendable (Result<StorePage, StoreTrouble>) -> Void)

    /// The metrics of the store.
    var metrics: StoreMetrics { get }

    /// Commits the queue, notes a clean end, and closes the store. It blocks the thread, at most for a limit.
    ///
    /// Returns `false` if the limit has passed, the store failed, or the clean end could not be noted.
    func close(within limit: Duration) -> Bool
}

/// The identity of a part.
package struct PartKey: Sendable, Hashable {
    /// The kind: 1 is a system, 2 is a bus.
    package var kind: UInt8
    /// The name, which is unique in its kind.
    package var name: String

    package init(kind: UInt8, name: String) {
        self.kind = kind
        self.name = name
    }
}

/// A new state of one part, or its removal.
package struct PartChange: Sendable {
    /// The part.
    package var key: PartKey
    /// The incarnation that makes the change. A part takes no change of a lower epoch.
    package var epoch: UInt64
    /// The phase of supervision. The host gives it a meaning.
    package var phase: UInt8
    /// Returns the new body; `nil` removes the part. It runs on the thread of the store.
    package var encode: @Sendable () -> [UInt8]?

    package init(key: PartKey, epoch: UInt64, phase: UInt8 = 0, encode: @escaping @Sendable () -> [UInt8]?) {
        self.key = key
        self.epoch = epoch
        self.phase = phase
        self.encode = encode
    }
}

/// The outcome of a change.
package enum StoreOutcome: Sendable, Hashable {
    /// The change survives a crash and a power cut.
    case synced
    /// The store does not have the change. Later changes may succeed.
    case refused(StoreTrouble)
}

/// A moment in the life of a process that the store counts.
package enum StoreMilestone: Sendable, Hashable {
    /// The host has read the contents and begins: one more in ``StoreHead/starts``. A host waits for the outcome before it starts
    /// any system, because the commit also takes ``StoreContents/life``.
    case started
    /// The host is ready: ``StoreHead/starts`` is 0 again.
    case ready
}

/// A reason why a store cannot be opened, or why it refuses a change.
package enum StoreTrouble: Error, Sendable, Hashable {
    /// Another process has the store open.
    case locked
    /// A newer program wrote the store. Nothing in it was touched. The value is the version of its format.
    case newer(Int32)
    /// The file is a database of another application. The value is that application's id.
    case foreign(Int32)
    /// The file is damaged as a whole. The value is a reason for experts.
    case damaged(String)
    /// The disk, a quota or the limit of the store is exhausted.
    case full
    /// The file system, the directory or the file is read-only.
    case readOnly
    /// The file of the database is no longer in its place. Changes to it would be lost, or would be in files that no start reads.
    case gone
    /// SQLite reports an error: its extended result code, and an error number of errno(3) or 0.
    case database(code: Int32, number: Int32)
    /// A system call failed with an error number of errno(3).
    case system(call: String, number: Int32)
    /// The body is larger than ``StoreLimits/body``.
    case tooLarge
    /// The part has a change of a higher epoch.
    case superseded
    /// ``StoreLimits/queue`` changes wait already.
    case queueFull
    /// The store was not loaded, or is closed or closing.
    case closed
}

/// The limits of every store.
package enum StoreLimits {
    /// The largest number of changes in one transaction.
    package static let changes = 1_000
    /// The number of encoded bytes at which a transaction takes no more changes.
    package static let bytes = 1 << 20
    /// The largest body of a part, in bytes.
    package static let body = 16 << 20
    /// The largest number of waiting changes and milestones.
    package static let queue = 65_536
    /// The largest number of waiting looks.
    package static let reads = 8
}

/// The contents of a store when it is opened.
package struct StoreContents: Sendable, Hashable {
    /// The parts without a flaw, by kind and name.
    package var parts: [StoredPart] = []
    /// The damage that was found. If it is not empty, parts may be missing or may have an earlier state.
    package var flaws: [StoreFlaw] = []
    /// The head as the previous life left it.
    package var head: StoreHead
    /// The number of this life, at least 1. No earlier life that committed anything had the same.
    package var life: UInt64

    /// Returns the epoch of an incarnation of this life. Incarnations are counted for the whole host.
    package func epoch(incarnation: UInt32) -> UInt64 { life << 32 | UInt64(incarnation) }
}

/// A part as it is stored.
package struct StoredPart: Sendable, Hashable {
    package var key: PartKey
    package var epoch: UInt64
    /// The number of the change, which only grows.
    package var order: UInt64
    package var phase: UInt8
    package var body: [UInt8]

    /// The checksum over all fields, in the store with an id.
    func sum(store: [UInt8]) -> UInt64 {
        var sum = Checksum()
        sum.add(store)
        sum.add(UInt64(key.kind))
        sum.add(Array(key.name.utf8))
        sum.add(epoch)
        sum.add(order)
        sum.add(UInt64(phase))
        sum.add(body)
        return sum.value
    }
}

/// Damage in a store that could be opened.
///
/// A store whose structure is damaged takes no changes. If its files have other damage, ``PartStore/load()`` copies them before anything
/// overwrites them, into a directory `damaged-…` in that of the store. If that fails, changes are refused, and each one tries it again.
/// A store keeps at most three copies. Later damage is not copied until somebody removes one.
package enum StoreFlaw: Sendable, Hashable {
    /// A row that does not fit its checksum. It is not among the parts. The values are its columns as far as they can be read.
    case row(kind: Int64, name: String, body: [UInt8])
    /// The number of rows differs from the head's.
    case count(found: UInt64, expected: UInt64)
    /// The sum of the checksums differs from the head's: a row vanished, appeared twice or is out of date, or the head is damaged.
    case digest
    /// SQLite finds damage in the file's structure, or the disk cannot read it. Parts behind it may be missing. The value is a text for
    /// experts.
    case structure(String)
    /// The store lacks acknowledged changes: the last change that it has, and the last one acknowledged since the boot.
    case lostTail(stored: UInt64, acknowledged: UInt64)
    /// The copy of the head belongs to another store: this store was replaced. The values are the number of changes that the other
    /// store had taken, and whether this one is new.
    case replaced(changes: UInt64, isNew: Bool)
    /// The copy of the head cannot be read, so a lost tail cannot be noticed.
    case unreadableCopy

    /// The flaw without the body of its row, which can be large.
    var withoutBody: StoreFlaw {
        if case .row(let kind, let name, _) = self { .row(kind: kind, name: name, body: []) } else { self }
    }
}

/// Metrics of a store.
package struct StoreMetrics: Sendable, Hashable {
    /// The size of the store on the disk, in bytes, after the last commit.
    package var bytes: Int64 = 0
    /// The time of the oldest change or milestone without an outcome, in nanoseconds since the boot; `nil` if none waits.
    package var pendingSince: Int64?
    /// The number of failed commits, checkpoints and copies since the store was opened.
    package var errors = 0
    /// The number of commits since the store was opened.
    package var commits = 0
    /// The number of changes and milestones without an outcome.
    package var pending = 0
    /// The wall clock at the last commit since the store was opened, in nanoseconds since 1970; `nil` before it.
    package var lastCommit: Int64?
    /// The times that the commits took, each with its sync.
    package var durations = CommitDurations()

    package init() {}
}
