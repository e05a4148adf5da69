import CLinux
import CSystemd
import Glibc
import Synchronization

/// An entry of the journal (systemd.journal-fields(7)).
public struct JournalEntry: Sendable, Hashable {
    /// When it was received, in microseconds since the beginning of 1970.
    public var microseconds: UInt64
    /// Where it is, as `journalctl --after-cursor=` takes it.
    public var cursor: String
    /// Its fields; of one that has several values, the first. What is not UTF-8 is replaced.
    public var fields: [String: String]

    /// An entry.
    public init(microseconds: UInt64, cursor: String, fields: [String: String]) {
        self.microseconds = microseconds
        self.cursor = cursor
        self.fields = fields
    }
}

/// Why the journal cannot be read.
public struct JournalError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What is wrong, and what to do.
    public let message: String
    /// Whether only a file was made shorter while it was read, so that it goes on with a new reader.
    public let isOfCutFile: Bool

    package init(_ message: String, isOfCutFile: Bool = false) {
        self.message = message
        self.isOfCutFile = isOfCutFile
    }

    /// What libsystemd says about a thing: a negative number of errno(3).
    init(_ subject: String, _ result: Int32) {
        self.init("\(subject): \(String(cString: strerror(-result)))")
    }

    /// ``message``.
    public var description: String { message }
}

/// Reads the journal forward (sd-journal(3)). Its calls may block for as long as a disk likes.
public final class JournalReader: Sendable {
    /// Where it begins.
    public enum Beginning: Sendable, Hashable {
        /// Behind the last entry there is.
        case now
        /// At the first one since the machine began; those before do not match.
        case boot
        /// Behind the entry of a cursor, or where that would be.
        case after(String)
        /// At the first one.
        case head
    }

    /// How much of a field is read, in bytes.
    public static let fieldLimit = 16 * 1024
    /// How many fields of an entry are read, and how many bytes of all of them.
    public static let limits = (fields: 64, bytes: 64 * 1024)

    private struct Machine {
        /// libsystemd's object; it may be used by one thread after the other.
        let journal: OpaquePointer
        /// Whether it stands at an entry that has not been read.
        var isAtEntry = false
        /// Whether something was read that is not there: what is mapped of that goes on to be zeros, so nothing can be believed.
        var isSpoilt = false
    }

    /// Can be read when there may be more; then ``process()`` is due. Closed when nobody has the reader any more.
    public let descriptor: Int32
    /// Whether the descriptor tells of everything; it does not where the journal lies on a network file system.
    public let isReliable: Bool
    /// What the reader stands behind at the beginning.
    public let position: Beginning
    /// Whether what cannot be read is passed over.
    public let passesDamage: Bool
    private let machine: Mutex<Machine>

    /// Opens the journal of this machine.
    ///
    /// journald makes files shorter when it has done with them. Who reads beyond the end then has to open the journal anew
    /// (``JournalError/isOfCutFile``), and is told the rest. A disk that cannot read a block looks the same, each time: then only
    /// a reader that passes over what is damaged comes any further.
    ///
    /// - Parameters:
    ///   - matches: what fields must be, all of them.
    ///   - priority: how grave an entry must be at least, from 0, the gravest, to 7; `nil`: it need not have a
    ///     priority.
    ///   - beginning: where to begin.
    ///   - passesDamage: whether what cannot be read is passed over, and what follows from that is what libsystemd
    ///     makes of damaged files, in place of an error.
    public init(
        matches: [String: String] = [:], priority: Int? = nil, beginning: Beginning, passesDamage: Bool = false
    ) throws(JournalError) {
        let (opened, isCut) = Self.guarded { () -> Result<Opened, JournalError> in
            Result { () throws(JournalError) in try Self.open(matches, priority, beginning) }
        }
        // Closing it reads from its files, too.
        let result = isCut && !passesDamage ? .failure(Self.cutFile) : opened
        if case .failure = result, case .success(let opened) = opened { Self.close(opened.journal) }
        let journal = try result.get()
        descriptor = journal.descriptor
        isReliable = journal.isReliable
        position = journal.position
        self.passesDamage = passesDamage
        machine = Mutex(Machine(journal: journal.journal, isAtEntry: journal.isAtEntry))
    }

    /// What is known of a journal that has been opened.
    private struct Opened {
        var journal: OpaquePointer
        var descriptor: Int32
        var isReliable: Bool
        var position: Beginning
        var isAtEntry: Bool
    }

    private static func open(
        _ matches: [String: String], _ priority: Int?, _ beginning: Beginning
    ) throws(JournalError) -> Opened {
        var journal: OpaquePointer?
        // SD_JOURNAL_LOCAL_ONLY: what other machines have sent is left out.
        let result = sd_journal_open(&journal, 1)
        guard result >= 0, let journal else { throw JournalError("cannot open the journal", result) }
        do throws(JournalError) {
            guard sd_journal_has_persistent_files(journal) > 0 || sd_journal_has_runtime_files(journal) > 0 else {
                throw JournalError(
                    "there is no journal that may be read; its readers are the members of the group systemd-journal")
            }
            // Before anything is looked for: what comes from here on is told. It looks at the files again.
            let descriptor = sd_journal_get_fd(journal)
            guard descriptor >= 0 else { throw JournalError("cannot watch the journal", descriptor) }
            let isReliable = sd_journal_reliable_fd(journal) > 0
            sd_journal_set_data_threshold(journal, fieldLimit)
            // As long as nothing else is looked for.
            let boot = beginning == .boot ? try boot(journal) : nil
            if let boot { try match(journal, "_BOOT_ID", boot) }
            for (field, value) in matches { try match(journal, field, value) }
            if let priority { for number in 0...max(0, priority) { try match(journal, "PRIORITY", "\(number)") } }
            let (position, isAtEntry) = try seek(journal, beginning)
            return Opened(
                journal: journal, descriptor: descriptor, isReliable: isReliable, position: position,
                isAtEntry: isAtEntry)
        } catch {
            sd_journal_close(journal)
            throw error
        }
    }

    deinit {
        machine.withLock { Self.close($0.journal) }
    }

    private static func close(_ journal: OpaquePointer) {
        _ = guarded { sd_journal_close(journal) }
    }

    private static let cutFile = JournalError(
        "a file of the journal cannot be read, or has become shorter while it was read", isOfCutFile: true)

    /// Reads from the files of the journal; whether something of that was not there.
    private static func guarded<Result>(_ body: () -> Result) -> (result: Result, isCut: Bool) {
        let before = linux_journal_faults()
        linux_journal_begin()
        let result = body()
        linux_journal_end()
        return (result, linux_journal_faults() != before)
    }

    /// Reads from the files of the journal. Of what is not there nothing is believed.
    private func reading<Success>(
        _ machine: inout Machine, _ body: (inout Machine) throws(JournalError) -> Success
    ) throws(JournalError) -> Success {
        guard !machine.isSpoilt else { throw Self.cutFile }
        let (result, isCut) = Self.guarded { () -> Result<Success, JournalError> in
            Result { () throws(JournalError) in try body(&machine) }
        }
        guard !isCut || passesDamage else {
            machine.isSpoilt = true
            throw Self.cutFile
        }
        return try result.get()
    }

    private static func match(_ journal: OpaquePointer, _ field: String, _ value: String) throws(JournalError) {
        let text = "\(field)=\(value)"
        let result = sd_journal_add_match(journal, text, text.utf8.count)
        guard result >= 0 else { throw JournalError("cannot look for \(field) in the journal", result) }
    }

    /// The boot that the last entry is of, which is this one: the system's own word for it may be another where a sandbox
    /// hides that of a container. `nil`: there is no entry.
    private static func boot(_ journal: OpaquePointer) throws(JournalError) -> String? {
        var (time, id) = (UInt64(0), sd_id128_t())
        var result = sd_journal_seek_tail(journal)
        if result >= 0 { result = sd_journal_previous(journal) }
        if result == 0 { return nil }
        if result > 0 { result = sd_journal_get_monotonic_usec(journal, &time, &id) }
        guard result >= 0 else { throw JournalError("cannot tell which boot of the machine this is", result) }
        return withUnsafeBytes(of: &id) { bytes in
            bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        }
    }

    private static func seek(
        _ journal: OpaquePointer, _ beginning: Beginning
    ) throws(JournalError) -> (position: Beginning, isAtEntry: Bool) {
        func check(_ result: Int32) throws(JournalError) -> Bool {
            guard result >= 0 else { throw JournalError("cannot find the place in the journal", result) }
            return result > 0
        }
        switch beginning {
        case .now:
            _ = try check(sd_journal_seek_tail(journal))
            if try check(sd_journal_previous(journal)) {
                return (.after(try cursor(journal)), false)
            }
            // There is none yet: the first one that comes is new.
            _ = try check(sd_journal_seek_head(journal))
            return (.head, false)
        case .boot, .head:
            _ = try check(sd_journal_seek_head(journal))
            return (beginning, false)
        case .after(let cursor):
            guard !cursor.isEmpty, sd_journal_seek_cursor(journal, cursor) >= 0 else {
                throw JournalError("'\(cursor.prefix(200))' is no cursor of the journal")
            }
            // It stands at the entry, or at the one behind where that was.
            guard try check(sd_journal_next(journal)) else { return (beginning, false) }
            return (beginning, try !check(sd_journal_test_cursor(journal, cursor)))
        }
    }

    private static func cursor(_ journal: OpaquePointer) throws(JournalError) -> String {
        var text: UnsafeMutablePointer<CChar>?
        let result = sd_journal_get_cursor(journal, &text)
        guard result >= 0, let text else { throw JournalError("cannot tell the place in the journal", result) }
        defer { free(text) }
        return String(cString: text)
    }

    /// Takes in that something has happened: files may have come or gone.
    public func process() throws(JournalError) {
        let result = try machine.withLock { machine throws(JournalError) in
            try reading(&machine) { machine in sd_journal_process(machine.journal) }
        }
        guard result >= 0 else { throw JournalError("cannot watch the journal", result) }
    }

    /// The next entries, and how many were passed over since they are damaged or gone: at most so many; none at all only if there
    /// are no more for now.
    public func read(limit: Int) throws(JournalError) -> (entries: [JournalEntry], damaged: Int) {
        try machine.withLock { machine throws(JournalError) in
            try reading(&machine) { machine throws(JournalError) in
                var entries: [JournalEntry] = []
                var damaged = 0
                while entries.count + damaged < limit {
                    let before = linux_journal_faults()
                    do throws(JournalError) {
                        guard try Self.advance(&machine) else { break }
                    } catch {
                        // What has been read is not lost with what cannot be.
                        guard entries.isEmpty, damaged == 0 else { break }
                        throw error
                    }
                    // One that has just been removed, or is not as it should be, is passed over.
                    if let entry = try? Self.entry(machine.journal), linux_journal_faults() == before {
                        entries.append(entry)
                    } else {
                        damaged += 1
                    }
                }
                return (entries, damaged)
            }
        }
    }

    /// Passes over the next entries, at most so many: how many, and where that was, if that can be read; `nil`: there is none.
    public func skip(limit: Int) throws(JournalError) -> (count: Int, cursor: String?)? {
        try machine.withLock { machine throws(JournalError) in
            try reading(&machine) { machine throws(JournalError) in
                var count = 0
                while count < limit, try Self.advance(&machine) { count += 1 }
                guard count > 0 else { return nil }
                let before = linux_journal_faults()
                let cursor = try Self.cursor(machine.journal)
                return (count, linux_journal_faults() != before ? nil : cursor)
            }
        }
    }

    private static func advance(_ machine: inout Machine) throws(JournalError) -> Bool {
        if machine.isAtEntry {
            machine.isAtEntry = false
            return true
        }
        let result = sd_journal_next(machine.journal)
        guard result >= 0 else { throw JournalError("cannot read the journal", result) }
        return result > 0
    }

    private static func entry(_ journal: OpaquePointer) throws(JournalError) -> JournalEntry {
        var time: UInt64 = 0
        let result = sd_journal_get_realtime_usec(journal, &time)
        guard result >= 0 else { throw JournalError("cannot read the time of an entry", result) }
        var fields: [String: String] = [:]
        var bytes = 0
        var data: UnsafeRawPointer?
        var count = 0
        sd_journal_restart_data(journal)
        while fields.count < limits.fields, sd_journal_enumerate_available_data(journal, &data, &count) > 0 {
            guard let data else { break }
            let field = UnsafeRawBufferPointer(start: data, count: min(count, fieldLimit))
            guard let end = field.firstIndex(of: UInt8(ascii: "=")) else { continue }
            let name = String(decoding: field[..<end], as: UTF8.self)
            // The rest of a long entry is left out, but not what says what it is about.
            guard bytes + field.count <= limits.bytes || ["MESSAGE", "PRIORITY", "_SYSTEMD_UNIT"].contains(name) else {
                continue
            }
            bytes += field.count
            if fields[name] == nil { fields[name] = String(decoding: field[(end + 1)...], as: UTF8.self) }
        }
        return JournalEntry(microseconds: time, cursor: try cursor(journal), fields: fields)
    }
}
