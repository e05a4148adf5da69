import CSQLite
import Glibc

/// Opens and verifies stores.
enum StoreReader {
    /// The result of a verification.
    struct Verified {
        var contents: StoreContents
        /// The head from which this life goes on. Its sums fit the rows that are there.
        var head: StoreHead
        /// A Boolean value that indicates whether the parts and the flaws have their bodies.
        var keepsBodies = true
        var unreadable: Set<PartKey> = []
        /// The damage in the structure of the file.
        var damage: String?
    }

    /// The application id, "MedS".
    static let application: Int32 = 0x4D65_6453
    /// The version of the format.
    static let version: Int32 = 1

    private static let schema = [
        """
        CREATE TABLE head(id INTEGER PRIMARY KEY CHECK(id = 1), store BLOB, life INTEGER, ord INTEGER, rows INTEGER, \
        digest INTEGER, wall INTEGER, boottime INTEGER, boot BLOB, clean INTEGER, starts INTEGER)
        """,
        """
        CREATE TABLE part(kind INTEGER, name TEXT, epoch INTEGER, ord INTEGER, phase INTEGER, body BLOB, sum INTEGER, \
        PRIMARY KEY(kind, name)) WITHOUT ROWID
        """,
    ]

    /// Opens a store, and creates it if it is missing.
    static func open(_ settings: DiskStoreSettings) throws(StoreTrouble) -> (file: StoreFile, contents: StoreContents) {
        let directory = try directory(settings.directory)
        let lock = try LockFile(path: directory + "/lock")
        let log = StoreFile.size(directory + "/db-wal")
        // SQLite deletes the log of an empty database.
        guard StoreFile.size(directory + "/db") > 0 || log == 0 else {
            throw .damaged("db is missing or empty, but db-wal is not")
        }
        if log > 0 { try rewrite(directory + "/db-wal") }
        let connection = try reporting { () throws(SQLiteError) in
            let connection = try SQLiteConnection(path: directory + "/db", lock: lock)
            // Before the first look at the database; otherwise SQLite makes a file of shared memory.
            try connection.run("PRAGMA locking_mode = EXCLUSIVE")
            return connection
        }
        let isNew = try identify(connection)
        // A new store has its tables before it has a log.
        guard !isNew || log == 0 else { throw .damaged("db has no tables, but db-wal is not empty") }
        try reporting { () throws(SQLiteError) in try configure(connection, isNew: isNew, limit: settings.limit) }
        let copy = settings.headCopy.map(HeadCopyFile.init(path:))
        let verified = try verify(connection, copy: copy?.read() ?? .missing)
        let file = try reporting { () throws(SQLiteError) in
            try StoreFile(connection, directory: directory, copy: copy, verified: verified)
        }
        // SQLite syncs the directory for a new database and a new log, but reports no failure of that.
        try sync(directory)
        return (file, verified.contents)
    }

    /// Makes the last part of a directory's path if it is missing, and returns the path without symbolic links.
    private static func directory(_ path: String) throws(StoreTrouble) -> String {
        let isNew = mkdir(path, 0o700) == 0
        guard isNew || errno == EEXIST else { throw StoreTrouble(errno, at: "mkdir") }
        guard let resolved = realpath(path, nil) else { throw StoreTrouble(errno, at: "realpath") }
        defer { free(resolved) }
        let directory = String(cString: resolved)
        do throws(StoreTrouble) {
            // Otherwise a power cut could take a new directory with all that is in it. An earlier life may have made it without the sync.
            try sync(directory + "/..")
        } catch {
            guard !isNew, error == .system(call: "open", number: EACCES) else { throw error }
        }
        return directory
    }

    /// Writes the log of an earlier life once more, and syncs it.
    ///
    /// Its end may be in the memory of the system alone: a failed sync drops it, but leaves it there as if it were synced. So nothing may
    /// be read from it before it is on the disk. A checkpoint would not do instead. A power cut before its end would leave the older log
    /// on the disk beside a newer database, and SQLite would put old pages between new ones.
    private static func rewrite(_ log: String) throws(StoreTrouble) {
        let descriptor = Glibc.open(log, O_RDWR | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { throw StoreTrouble(errno, at: "open") }
        defer { close(descriptor) }
        var piece = [UInt8](repeating: 0, count: 1 << 20)
        var offset: off_t = 0
        while true {
            let count = pread(descriptor, &piece, piece.count, offset)
            guard count >= 0 else { throw StoreTrouble(errno, at: "pread") }
            guard count > 0 else { break }
            let written = pwrite(descriptor, piece, count, offset)
            guard written > 0 else { throw StoreTrouble(errno, at: "pwrite") }
            offset += off_t(written)
        }
        guard fsync(descriptor) == 0 else { throw StoreTrouble(errno, at: "fsync") }
    }

    /// Syncs the names in a directory.
    static func sync(_ directory: String) throws(StoreTrouble) {
        let descriptor = Glibc.open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw StoreTrouble(errno, at: "open") }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw StoreTrouble(errno, at: "fsync") }
    }

    /// Returns whether the database is empty. One that is not this version's is trouble; nothing has been written to it then.
    private static func identify(_ connection: SQLiteConnection) throws(StoreTrouble) -> Bool {
        let (id, number, tables) = try reporting { () throws(SQLiteError) in
            (
                Int32(truncatingIfNeeded: try connection.number("PRAGMA application_id")),
                Int32(truncatingIfNeeded: try connection.number("PRAGMA user_version")),
                try connection.texts("SELECT sql FROM sqlite_schema ORDER BY name")
            )
        }
        if id == 0, number == 0, tables.isEmpty { return true }
        guard id == application else { throw .foreign(id) }
        guard number <= version else { throw .newer(number) }
        guard number == version, tables == schema else {
            throw .damaged("the schema is not that of version \(version)")
        }
        return false
    }

    /// Applies the settings, and creates the tables of an empty database.
    private static func configure(_ connection: SQLiteConnection, isNew: Bool, limit: Int64) throws(SQLiteError) {
        try connection.run(
            """
            PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0; \
            PRAGMA secure_delete = OFF; PRAGMA temp_store = MEMORY; PRAGMA cell_size_check = ON; \
            PRAGMA trusted_schema = OFF; PRAGMA max_page_count = \(max(1, limit / 4096))
            """)
        if isNew { try create(connection) }
        let mode = try connection.texts("PRAGMA journal_mode = WAL")
        guard mode == ["wal"] else { throw SQLiteError(code: SQLITE_READONLY, text: "no write-ahead log") }
        // A build of SQLite may have another default for the write-ahead log.
        guard try connection.number("PRAGMA synchronous") == 2 else {
            throw SQLiteError(code: SQLITE_ERROR, text: "commits would not be synced")
        }
    }

    /// Creates the tables, with a rollback journal: a damaged write-ahead log leaves them, so that it cannot be mistaken for that of a
    /// new store.
    private static func create(_ connection: SQLiteConnection) throws(SQLiteError) {
        try connection.run("PRAGMA page_size = 4096; PRAGMA auto_vacuum = INCREMENTAL; BEGIN IMMEDIATE")
        let statements = ["PRAGMA application_id = \(application)", "PRAGMA user_version = \(version)"] + schema
        for statement in statements { try connection.run(statement) }
        let head = StoreHead(store: (0..<16).map { _ in .random(in: 0...255) })
        try StoreFile.write(head, by: try SQLiteStatement(connection, StoreFile.replaceHead))
        try connection.run("COMMIT")
    }

    /// Compares the rows with their checksums, and the head with the rows and with its copy.
    private static func verify(
        _ connection: SQLiteConnection, copy: HeadCopyFile.Reading, keepsBodies: Bool = true
    ) throws(StoreTrouble) -> Verified {
        let (head, digest) = try reporting { () throws(SQLiteError) in try readHead(connection) }
        var verified = Verified(
            contents: StoreContents(head: head, life: 1), head: head, keepsBodies: keepsBodies)
        let structure = try damage { () throws(SQLiteError) in
            let lines = try connection.texts("PRAGMA quick_check(1)")
            return lines == ["ok"] ? nil : lines.joined(separator: "; ")
        }
        let reading = try damage { () throws(SQLiteError) in
            try readRows(connection, into: &verified)
            return nil
        }
        if let damage = structure ?? reading {
            verified.damage = damage
            verified.contents.flaws.insert(.structure(damage), at: 0)
        }
        let found = verified.head
        if found.rows != head.rows {
            verified.contents.flaws.append(.count(found: found.rows, expected: head.rows))
        }
        var expected = head
        expected.sums = found.sums
        if expected.digest != digest { verified.contents.flaws.append(.digest) }
        verified.contents.head.sums = found.sums
        var lives = [head.life] + verified.contents.parts.map { $0.epoch >> 32 }
        var orders = [head.order] + verified.contents.parts.map(\.order)
        switch copy {
        case .missing: break
        case .unreadable: verified.contents.flaws.append(.unreadableCopy)
        case .copy(let copy) where copy.store != head.store:
            verified.contents.flaws.append(.replaced(changes: copy.order, isNew: head.life == 0))
        case .copy(let copy):
            lives.append(copy.life)
            orders.append(copy.order)
            if copy.order > head.order {
                verified.contents.flaws.append(.lostTail(stored: head.order, acknowledged: copy.order))
            }
        }
        // Damaged numbers may be near the end of their range.
        verified.contents.life = (lives.filter { $0 < 1 << 31 }.max() ?? 0) + 1
        verified.head.order = orders.filter { $0 < 1 << 62 }.max() ?? 0
        verified.head.starts = min(head.starts, 1 << 31)
        return verified
    }

    /// Returns the head and the stored digest.
    private static func readHead(_ connection: SQLiteConnection) throws(SQLiteError) -> (StoreHead, UInt64) {
        let statement = try SQLiteStatement(
            connection, "SELECT store, life, ord, rows, wall, boottime, boot, clean, starts, digest FROM head")
        guard try statement.step(), statement.hasTypes("biiiiibiii"), statement.bytes(0).count == 16 else {
            throw SQLiteError(code: SQLITE_CORRUPT, text: "the head is missing or damaged")
        }
        var head = StoreHead(store: statement.bytes(0))
        head.life = statement.bits(1)
        head.order = statement.bits(2)
        head.rows = statement.bits(3)
        head.time = StoreTime(wall: statement.number(4), boottime: statement.number(5), boot: statement.bytes(6))
        head.isClean = statement.number(7) == 1
        head.starts = statement.bits(8)
        return (head, statement.bits(9))
    }

    /// Reads all rows. An error leaves those before it.
    private static func readRows(_ connection: SQLiteConnection, into verified: inout Verified) throws(SQLiteError) {
        let store = verified.head.store
        verified.head.rows = 0
        verified.head.sums = 0
        let statement = try SQLiteStatement(connection, "\(rows) ORDER BY kind, name")
        while try statement.step() {
            verified.head.rows += 1
            verified.head.sums &+= statement.bits(6)
            let row = row(of: statement, in: store)
            if var part = row.part {
                if !verified.keepsBodies { part.body = [] }
                verified.contents.parts.append(part)
                continue
            }
            if let key = row.key { verified.unreadable.insert(key) }
            verified.contents.flaws.append(verified.keepsBodies ? row.flaw : row.flaw.withoutBody)
        }
    }

    /// The selection of rows that ``row(of:in:)`` reads.
    static let rows = "SELECT kind, name, epoch, ord, phase, body, sum FROM part"

    /// Returns the present row of a statement: its key, the part unless it has a flaw, and that flaw.
    static func row(
        of statement: SQLiteStatement, in store: [UInt8]
    ) -> (key: PartKey?, part: StoredPart?, flaw: StoreFlaw) {
        let (kind, name, body) = (statement.number(0), statement.text(1), statement.bytes(5))
        let key = UInt8(exactly: kind).map { PartKey(kind: $0, name: name) }
        let flaw = StoreFlaw.row(kind: kind, name: name, body: body)
        guard let key, let phase = UInt8(exactly: statement.number(4)), statement.hasTypes("itiiibi") else {
            return (key, nil, flaw)
        }
        let part = StoredPart(key: key, epoch: statement.bits(2), order: statement.bits(3), phase: phase, body: body)
        return (key, part.sum(store: store) == statement.bits(6) ? part : nil, flaw)
    }

    /// Verifies an open store. The contents have no bodies.
    static func check(
        _ connection: SQLiteConnection, copy: HeadCopyFile.Reading
    ) throws(StoreTrouble) -> StoreContents {
        // Otherwise pages in memory would hide damage in the file.
        try reporting { () throws(SQLiteError) in try connection.run("PRAGMA shrink_memory") }
        var contents = try verify(connection, copy: copy, keepsBodies: false).contents
        contents.head.rows = UInt64(contents.parts.count)
        return contents
    }

    /// Returns the damage that a reading finds or ends with; `nil` for an undamaged file.
    private static func damage(_ body: () throws(SQLiteError) -> String?) throws(StoreTrouble) -> String? {
        do throws(SQLiteError) { return try body() } catch {
            guard error.isDamage else { throw error.trouble }
            return error.text
        }
    }

    private static func reporting<Value>(
        _ body: () throws(SQLiteError) -> Value
    ) throws(StoreTrouble) -> Value {
        do throws(SQLiteError) { return try body() } catch { throw error.trouble }
    }
}
