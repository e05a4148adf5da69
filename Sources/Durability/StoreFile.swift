import Glibc

/// An entry of a transaction.
enum EncodedEntry {
    case change(EncodedChange)
    case milestone(StoreMilestone)
}

/// A change whose body is encoded.
struct EncodedChange {
    var key: PartKey
    var epoch: UInt64
    var phase: UInt8
    /// The new body; `nil` removes the part.
    var body: [UInt8]?
}

/// A failed commit or checkpoint.
enum StoreFailure: Error {
    /// Nothing was committed, and the store can go on.
    case refused(StoreTrouble)
    /// The disk and the memory may differ, so the store must not go on.
    case failed(StoreTrouble)

    /// The reason.
    var trouble: StoreTrouble {
        switch self {
        case .refused(let trouble), .failed(let trouble): trouble
        }
    }
}

/// The open files of a store. Only one thread uses them at a time.
final class StoreFile {
    private let directory: String
    let connection: SQLiteConnection
    private let find: SQLiteStatement
    private let replace: SQLiteStatement
    private let remove: SQLiteStatement
    private let headStatement: SQLiteStatement
    let copy: HeadCopyFile?
    private let life: UInt64
    /// The result of the last commit.
    private var ledger: Ledger
    /// The damage that forbids any change, which could destroy more.
    private let damage: String?
    /// The files to copy before the first change.
    private var damagedFiles: DamagedFiles?
    /// The device and number of the database's file, if the system tells them.
    private let identity: [UInt64]?
    /// The length of the used part of the log at which the next checkpoint is due, in bytes.
    private var dueLog = StoreFile.fullLog

    /// The id of the store.
    var store: [UInt8] { ledger.head.store }

    /// The values that change with a commit.
    private struct Ledger {
        var head: StoreHead
        /// The epochs of removed parts in this life. Earlier lives have lower epochs.
        var removed: [PartKey: UInt64] = [:]
        /// The rows that do not fit their checksums. Their epochs mean nothing.
        var unreadable: Set<PartKey>
    }

    /// The length of a page in the log, with its header, in bytes.
    private static let logPage: Int64 = 24 + 4096
    private static let fullLog: Int64 = 4 << 20
    /// The size of the log that an idle store leaves. A checkpoint costs two syncs.
    private static let idleLog: Int64 = 1 << 20

    /// Creates the statements of a store that was verified.
    init(
        _ connection: SQLiteConnection, directory: String, copy: HeadCopyFile?, verified: StoreReader.Verified
    ) throws(SQLiteError) {
        self.directory = directory
        self.connection = connection
        self.copy = copy
        life = verified.contents.life
        ledger = Ledger(head: verified.head, unreadable: verified.unreadable)
        damage = verified.damage
        damagedFiles = DamagedFiles(directory: directory, flaws: verified.contents.flaws)
        identity = Self.identity(directory + "/db")
        find = try SQLiteStatement(connection, "SELECT epoch, sum FROM part WHERE kind = ? AND name = ?")
        replace = try SQLiteStatement(connection, "REPLACE INTO part VALUES(?, ?, ?, ?, ?, ?, ?)")
        remove = try SQLiteStatement(connection, "DELETE FROM part WHERE kind = ? AND name = ?")
        headStatement = try SQLiteStatement(connection, Self.replaceHead)
        connection.countLogPages()
    }

    /// The size of the store on the disk, in bytes.
    var bytes: Int64 { Self.size(directory + "/db") + log }

    private var log: Int64 { Self.size(directory + "/db-wal") }

    /// Whether this life has changed anything.
    var hasChanged: Bool { ledger.head.life == life }

    /// Returns the size of a file, 0 if it is missing. It opens nothing, because a close would end SQLite's locks.
    static func size(_ path: String) -> Int64 {
        var status = stat()
        return stat(path, &status) == 0 ? Int64(status.st_size) : 0
    }

    /// Returns the device and number of a file; `nil` if it is missing.
    private static func identity(_ path: String) -> [UInt64]? {
        var status = stat()
        return stat(path, &status) == 0 ? [UInt64(status.st_dev), UInt64(status.st_ino)] : nil
    }

    /// Whether the database's file is in its place. Somebody may have moved or removed it.
    var isInPlace: Bool { identity == nil || Self.identity(directory + "/db") == identity }

    /// Checks that the database is in its place, and copies damaged files, unless that is done. Before that the store must not change.
    func prepare() throws(StoreTrouble) {
        guard isInPlace else { throw .gone }
        if let damage { throw .damaged(damage) }
        try damagedFiles?.copy { () throws(StoreTrouble) in try connection.reader() }
        damagedFiles = nil
    }

    /// Commits entries in one transaction, and returns the outcome of each one. They are on the disk then. The store is prepared.
    func commit(
        _ entries: some Collection<EncodedEntry>, closes: Bool = false, at time: StoreTime
    ) throws(StoreFailure) -> [StoreOutcome] {
        var next = ledger
        next.head.advance(life: life, closes: closes, time: time)
        var outcomes: [StoreOutcome] = []
        do throws(SQLiteError) {
            try connection.run("BEGIN IMMEDIATE")
            for entry in entries {
                switch entry {
                case .change(let change): outcomes.append(try apply(change, to: &next))
                case .milestone(let milestone):
                    next.head.note(milestone)
                    outcomes.append(.synced)
                }
            }
            // Each commit has a number, so that its loss can be noticed.
            if next.head.order == ledger.head.order { next.head.order += 1 }
            try Self.write(next.head, by: headStatement)
            try connection.run("COMMIT")
        } catch {
            guard !error.isFailedSync, connection.rollBack() else { throw .failed(error.trouble) }
            throw .refused(error.trouble)
        }
        ledger = next
        return outcomes
    }

    /// Copies the head of the last commit. Returns `false` if that fails.
    ///
    /// Before the first commit of this life the copy stays: it may know a later life or change than the store.
    func copyHead() -> Bool {
        guard hasChanged, let copy else { return true }
        return copy.write(HeadCopy(ledger.head))
    }

    /// Moves the log into the database if much of it is used. The file of the log then keeps its size, unless that is far beyond
    /// the usual one. An idle store empties a file of 1 MiB or more, however much of it is used.
    func checkpoint(isIdle: Bool) throws(StoreFailure) {
        let used = Int64(connection.logPages) * Self.logPage
        guard isIdle ? log >= Self.idleLog : used >= dueLog else { return }
        do throws(StoreFailure) {
            try checkpoint(isEmptied: isIdle || log > 2 * Self.fullLog)
            dueLog = Self.fullLog
        } catch {
            // The log keeps all data, so the next attempt can wait.
            dueLog = used + Self.fullLog
            throw error
        }
    }

    /// Moves the log into the database.
    func checkpoint(isEmptied: Bool) throws(StoreFailure) {
        do throws(SQLiteError) { try connection.checkpoint(isEmptied: isEmptied) } catch {
            throw error.isFailedSync ? .failed(error.trouble) : .refused(error.trouble)
        }
    }

    private func apply(_ change: EncodedChange, to next: inout Ledger) throws(SQLiteError) -> StoreOutcome {
        let key: [SQLiteStatement.Value] = [.number(Int64(change.key.kind)), .text(change.key.name)]
        let old = try row(key)
        let epoch = next.unreadable.contains(change.key) ? nil : old?.epoch ?? next.removed[change.key]
        if let epoch, change.epoch < epoch { return .refused(.superseded) }
        next.unreadable.remove(change.key)
        next.head.order += 1
        if let old {
            next.head.rows -= 1
            next.head.sums &-= old.sum
        }
        guard let body = change.body else {
            next.removed[change.key] = change.epoch
            if old != nil { try remove.run(key) }
            return .synced
        }
        let part = StoredPart(
            key: change.key, epoch: change.epoch, order: next.head.order, phase: change.phase, body: body)
        let sum = part.sum(store: next.head.store)
        next.head.rows += 1
        next.head.sums &+= sum
        try replace.run(
            key + [
                .bits(part.epoch), .bits(part.order), .number(Int64(part.phase)), .bytes(body), .bits(sum),
            ])
        return .synced
    }

    private func row(_ key: [SQLiteStatement.Value]) throws(SQLiteError) -> (epoch: UInt64, sum: UInt64)? {
        try find.bind(key)
        defer { find.reset() }
        return try find.step() ? (find.bits(0), find.bits(1)) : nil
    }

    /// The statement that writes the head.
    static let replaceHead = "REPLACE INTO head VALUES(1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"

    static func write(_ head: StoreHead, by statement: SQLiteStatement) throws(SQLiteError) {
        try statement.run([
            .bytes(head.store), .bits(head.life), .bits(head.order), .bits(head.rows), .bits(head.digest),
            .number(head.time.wall), .number(head.time.boottime), .bytes(head.time.boot), .number(head.isClean ? 1 : 0),
            .bits(head.starts),
        ])
    }
}
