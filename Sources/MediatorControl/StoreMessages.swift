public import StrictJSON

/// The place of a system's state, or of a bus's value, in the store.
public struct PersistenceStatus: Codable, Sendable, Hashable {
    /// Whether the present state or value is on the disk, so that it survives a crash and a power cut.
    public var stored: Bool
    /// The time of its commit (RFC 3339, UTC); nil without one, and for a commit before the daemon started.
    public var since: String?
    /// The last commit of the run of the daemon from whose state it went on (RFC 3339, UTC); nil if it began in its initial state.
    public var restored: String?
    /// The reason why it is not stored, and mostly the remedy, as a clause; nil if it is stored.
    public var reason: String?

    /// A place in the store.
    public init(stored: Bool, since: String? = nil, restored: String? = nil, reason: String? = nil) {
        self.stored = stored
        self.since = since
        self.restored = restored
        self.reason = reason
    }
}

/// The mode of a daemon's store.
public enum StoreMode: String, Codable, Sendable, Hashable, CaseIterable {
    /// No configuration has needed a store since the start.
    case unneeded
    /// The store cannot be used, so what persists runs in memory.
    case inMemory
    /// It is in use.
    case open
    /// It has failed for good, and the daemon ends.
    case failed
    /// The daemon has closed it and is about to end.
    case closed
}

/// A part that persists or has a stored state.
public struct StoredPart: Codable, Sendable, Hashable {
    /// A system or a bus.
    public var part: PartKind
    /// Its name.
    public var name: String
    /// Whether it persists in the active configuration.
    public var configured: Bool
    /// The place of its state.
    public var persistence: PersistenceStatus

    /// A part.
    public init(part: PartKind, name: String, configured: Bool, persistence: PersistenceStatus) {
        self.part = part
        self.name = name
        self.configured = configured
        self.persistence = persistence
    }
}

/// The store as a whole. All counts are from the opening of the store.
public struct StoreDescription: Codable, Sendable, Hashable {
    /// Its mode.
    public var mode: StoreMode
    /// The reason why it cannot be used, with the remedy; nil if it can.
    public var reason: String?
    /// Its directory; nil before it is opened.
    public var directory: String?
    /// Its size on the disk, in bytes.
    public var bytes: Int
    /// The number of runs of the daemon that have written to it, with this one; nil before it is opened.
    public var life: Int?
    /// The starts before this one that never became ready, in a row; nil before it is opened.
    public var failedStarts: Int?
    /// Whether the run before closed it; nil before it is opened.
    public var closedInOrder: Bool?
    /// The time of the last commit (RFC 3339, UTC).
    public var lastCommit: String?
    /// The number of commits.
    public var commits: Int
    /// The number of failed commits, checkpoints and copies.
    public var errors: Int
    /// The number of changes that wait for the disk.
    public var pending: Int
    /// The time since which the oldest of them waits (RFC 3339, UTC); nil if none waits.
    public var pendingSince: String?
    /// The number of parts whose newest state the store has refused. The daemon tries again if that can help.
    public var refused: Int
    /// A time in seconds that half of the commits did not exceed; nil before the first one. It is a power of two of nanoseconds.
    public var p50: Double?
    /// The same for 99 of 100.
    public var p99: Double?
    /// The damage that was found when it was opened, a line each.
    public var damage: [String]
    /// The systems, then the buses, by name: the first 10,000.
    public var parts: [StoredPart]
    /// The number of further parts; nil if all are listed.
    public var leftOut: Int?

    /// A description.
    public init(
        mode: StoreMode,
        reason: String? = nil,
        directory: String? = nil,
        bytes: Int = 0,
        life: Int? = nil,
        failedStarts: Int? = nil,
        closedInOrder: Bool? = nil,
        lastCommit: String? = nil,
        commits: Int = 0,
        errors: Int = 0,
        pending: Int = 0,
        pendingSince: String? = nil,
        refused: Int = 0,
        p50: Double? = nil,
        p99: Double? = nil,
        damage: [String] = [],
        parts: [StoredPart] = [],
        leftOut: Int? = nil
    ) {
        self.mode = mode
        self.reason = reason
        self.directory = directory
        self.bytes = bytes
        self.life = life
        self.failedStarts = failedStarts
        self.closedInOrder = closedInOrder
        self.lastCommit = lastCommit
        self.commits = commits
        self.errors = errors
        self.pending = pending
        self.pendingSince = pendingSince
        self.refused = refused
        self.p50 = p50
        self.p99 = p99
        self.damage = damage
        self.parts = parts
        self.leftOut = leftOut
    }
}

/// The reply to `DescribeStore`.
public struct DescribeStoreReply: Codable, Sendable, Hashable {
    /// The store.
    public var store: StoreDescription

    /// A reply.
    public init(store: StoreDescription) {
        self.store = store
    }
}

/// The reply to `CheckStore`.
public struct CheckStoreReply: Codable, Sendable, Hashable {
    /// The number of undamaged states.
    public var states: Int
    /// The damage, a line each; empty for an undamaged store.
    public var damage: [String]

    /// A reply.
    public init(states: Int, damage: [String]) {
        self.states = states
        self.damage = damage
    }
}

/// A reply to `ExportStore`: one state.
public struct ExportStoreReply: Codable, Sendable, Hashable {
    /// A system or a bus; nil if the store has no state at all.
    public var part: PartKind?
    /// Its name; empty if the store has no state at all.
    public var name: String
    /// Whether the system has ended, so that it begins in its initial state at the next start.
    public var ended: Bool
    /// The state or value as the store has it; nil if it is damaged or too large.
    public var content: JSONValue?
    /// The reason why the content is missing; nil with a content.
    public var damage: String?

    /// A reply.
    public init(
        part: PartKind?, name: String, ended: Bool = false, content: JSONValue? = nil, damage: String? = nil
    ) {
        self.part = part
        self.name = name
        self.ended = ended
        self.content = content
        self.damage = damage
    }
}

/// The parameters of `ForgetStored`.
public struct ForgetStoredParameters: Codable, Sendable, Hashable {
    /// A system or a bus.
    public var part: PartKind
    /// Its name.
    public var name: String

    /// Parameters.
    public init(part: PartKind, name: String) {
        self.part = part
        self.name = name
    }
}
