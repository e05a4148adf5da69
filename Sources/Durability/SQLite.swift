import CSQLite
import Glibc

/// An error of SQLite.
struct SQLiteError: Error, Equatable {
    /// The extended result code.
    var code: Int32
    /// The error number of the last system call that failed during the call of SQLite, of errno(3), or 0.
    var number: Int32 = 0
    /// SQLite's text.
    var text = ""

    /// A Boolean value that indicates whether a sync failed. Linux reports such a failure once, and drops the data.
    var isFailedSync: Bool { code == SQLITE_IOERR | 4 << 8 || code == SQLITE_IOERR | 5 << 8 }

    /// A Boolean value that indicates whether the file or the disk below it is damaged.
    var isDamage: Bool {
        [SQLITE_CORRUPT, SQLITE_NOTADB].contains(code & 0xff)
            // A page that cannot be read: SQLITE_IOERR_READ and SQLITE_IOERR_CORRUPTFS.
            || [SQLITE_IOERR | 1 << 8, SQLITE_IOERR | 33 << 8].contains(code)
    }

    /// The trouble to report.
    var trouble: StoreTrouble {
        switch (code & 0xff, number) {
        case (SQLITE_BUSY, _), (SQLITE_LOCKED, _): .locked
        case (SQLITE_FULL, _), (SQLITE_IOERR, ENOSPC), (SQLITE_IOERR, EDQUOT): .full
        case (SQLITE_READONLY, _), (SQLITE_IOERR, EROFS), (SQLITE_CANTOPEN, EROFS): .readOnly
        case (SQLITE_CORRUPT, _), (SQLITE_NOTADB, _): .damaged(text)
        default: .database(code: code, number: number)
        }
    }
}

/// A connection to a database. Only one thread uses it at a time.
final class SQLiteConnection {
    fileprivate let handle: OpaquePointer
    private let path: String
    private var descriptor: Int32 = -1
    /// The number of pages in the log that are not in the database, as of the last commit or checkpoint.
    private(set) var logPages: Int32 = 0
    /// The lock is released after the connection has ended.
    private let lock: LockFile

    /// Opens a database, and creates it if it is missing. Neither opening nor closing moves the log into the database.
    init(path: String, lock: LockFile) throws(SQLiteError) {
        var opened: OpaquePointer?
        let flags =
            SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
            | SQLITE_OPEN_NOFOLLOW
        errno = 0
        let code = sqlite3_open_v2(path, &opened, flags, nil)
        guard let opened else { throw SQLiteError(code: SQLITE_NOMEM) }
        handle = opened
        self.path = path
        self.lock = lock
        try check(code)
        // An exclusive lock needs a file that can be written.
        guard sqlite3_db_readonly(handle, nil) != 1 else { throw SQLiteError(code: SQLITE_READONLY) }
        try check(csqlite_configure(handle, SQLITE_DBCONFIG_DEFENSIVE, 1))
        // An own checkpoint reports its failure. That of a close does not, would sync again after a failed sync, and deletes the log.
        try check(csqlite_configure(handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1))
    }

    deinit {
        sqlite3_close_v2(handle)
        if descriptor >= 0 { close(descriptor) }
    }

    /// Returns a descriptor that reads the database. It stays open as long as the connection, because its close ends SQLite's locks.
    func reader() throws(StoreTrouble) -> Int32 {
        if descriptor < 0 { descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) }
        guard descriptor >= 0 else { throw StoreTrouble(errno, at: "open") }
        return descriptor
    }

    /// Runs statements whose rows do not matter.
    func run(_ text: String) throws(SQLiteError) {
        errno = 0
        try check(sqlite3_exec(handle, text, nil, nil, nil))
    }

    /// Returns the first column of all rows, as text.
    func texts(_ text: String) throws(SQLiteError) -> [String] {
        let statement = try SQLiteStatement(self, text)
        var rows: [String] = []
        while try statement.step() { rows.append(statement.text(0)) }
        return rows
    }

    /// Returns the number in the only row.
    func number(_ text: String) throws(SQLiteError) -> Int64 {
        let statement = try SQLiteStatement(self, text)
        return try statement.step() ? statement.number(0) : 0
    }

    /// Ends the transaction that a failed statement has left. Returns `false` if that fails.
    func rollBack() -> Bool {
        sqlite3_get_autocommit(handle) != 0 || sqlite3_exec(handle, "ROLLBACK", nil, nil, nil) == SQLITE_OK
    }

    /// Begins to count the pages in the log. SQLite moves no log into the database by itself from then on.
    func countLogPages() {
        let context = Unmanaged.passUnretained(self).toOpaque()
        // The connection calls it in a commit, and lives no longer than this object.
        _ = sqlite3_wal_hook(
            handle,
            { context, _, _, pages in
                if let context {
                    Unmanaged<SQLiteConnection>.fromOpaque(context).takeUnretainedValue().logPages = pages
                }
                return SQLITE_OK
            }, context)
    }

    /// Moves the log into the database, and syncs both. The next commit writes to the beginning of the log.
    ///
    /// - Parameter isEmptied: Whether the file of the log becomes empty. Otherwise it keeps its size. Then the next commits cost a
    ///   little less, because the file system has no new size to write down.
    func checkpoint(isEmptied: Bool) throws(SQLiteError) {
        var all: Int32 = 0
        var moved: Int32 = 0
        errno = 0
        let mode = isEmptied ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_RESTART
        try check(sqlite3_wal_checkpoint_v2(handle, nil, mode, &all, &moved))
        guard all == moved else { throw SQLiteError(code: SQLITE_BUSY, text: "the log was not moved as a whole") }
        logPages = 0
    }

    fileprivate func check(_ code: Int32) throws(SQLiteError) {
        // SQLite itself does not keep the number of a failed write in a commit.
        let number = errno
        guard code != SQLITE_OK else { return }
        throw SQLiteError(code: code, number: number, text: String(cString: sqlite3_errmsg(handle)))
    }
}

/// A prepared statement. It keeps its connection.
final class SQLiteStatement {
    private let connection: SQLiteConnection
    private let handle: OpaquePointer

    init(_ connection: SQLiteConnection, _ text: String) throws(SQLiteError) {
        var prepared: OpaquePointer?
        let flags = UInt32(SQLITE_PREPARE_PERSISTENT)
        try connection.check(sqlite3_prepare_v3(connection.handle, text, -1, flags, &prepared, nil))
        guard let prepared else { throw SQLiteError(code: SQLITE_MISUSE) }
        self.connection = connection
        handle = prepared
    }

    deinit { sqlite3_finalize(handle) }

    /// A value of a parameter.
    enum Value {
        case number(Int64)
        case text(String)
        case bytes([UInt8])

        /// A number whose bits are stored in SQLite's signed number.
        static func bits(_ number: UInt64) -> Value { .number(Int64(bitPattern: number)) }
    }

    /// Ends the reading and sets the parameters.
    func bind(_ values: [Value]) throws(SQLiteError) {
        sqlite3_reset(handle)
        for (index, value) in zip(Int32(1)..., values) {
            switch value {
            case .number(let number): try connection.check(sqlite3_bind_int64(handle, index, number))
            case .bytes(let bytes):
                try connection.check(csqlite_bind_bytes(handle, index, bytes, bytes.count))
            case .text(let text):
                let bytes = Array(text.utf8)
                try connection.check(csqlite_bind_text(handle, index, bytes, bytes.count))
            }
        }
    }

    /// Runs to the next row. Returns `false` at the end; then the statement holds no lock.
    func step() throws(SQLiteError) -> Bool {
        errno = 0
        let code = sqlite3_step(handle)
        if code == SQLITE_ROW { return true }
        let failure = Result { () throws(SQLiteError) in
            if code != SQLITE_DONE { try connection.check(code) }
        }
        sqlite3_reset(handle)
        try failure.get()
        return false
    }

    /// Ends the reading.
    func reset() { sqlite3_reset(handle) }

    /// Runs to the end.
    func run(_ values: [Value]) throws(SQLiteError) {
        try bind(values)
        while try step() {}
    }

    func number(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }

    func bits(_ column: Int32) -> UInt64 { UInt64(bitPattern: number(column)) }

    func text(_ column: Int32) -> String { String(decoding: bytes(column), as: UTF8.self) }

    func bytes(_ column: Int32) -> [UInt8] {
        guard let first = sqlite3_column_blob(handle, column) else { return [] }
        return Array(UnsafeRawBufferPointer(start: first, count: Int(sqlite3_column_bytes(handle, column))))
    }

    /// Returns whether the columns have the types: `i` for a number, `t` for text, `b` for bytes.
    func hasTypes(_ types: String) -> Bool {
        zip(Int32(0)..., types).allSatisfy { column, type in
            let expected = type == "i" ? SQLITE_INTEGER : type == "t" ? SQLITE_TEXT : SQLITE_BLOB
            return sqlite3_column_type(handle, column) == expected
        }
    }
}

/// The lock that keeps a second process from the store. It is a file of its own, because SQLite's locks end as soon as the process
/// closes any descriptor of the database.
final class LockFile {
    private let descriptor: Int32

    /// Takes the lock, without waiting.
    init(path: String) throws(StoreTrouble) {
        let opened = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard opened >= 0 else { throw StoreTrouble(errno, at: "open") }
        guard flock(opened, LOCK_EX | LOCK_NB) == 0 else {
            let number = errno
            close(opened)
            throw number == EWOULDBLOCK ? .locked : StoreTrouble(number, at: "flock")
        }
        descriptor = opened
    }

    deinit { close(descriptor) }
}

extension StoreTrouble {
    /// The trouble behind an error number of errno(3).
    init(_ number: Int32, at call: String) {
        switch number {
        case ENOSPC, EDQUOT: self = .full
        case EROFS: self = .readOnly
        default: self = .system(call: call, number: number)
        }
    }
}
