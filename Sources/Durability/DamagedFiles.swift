import Glibc

/// Copies of the files of a damaged store.
///
/// A commit after a flaw writes over pages that may hold lost changes, so the files are copied first. A copy is a directory
/// `damaged-CHECKSUM` in the directory of the store, and its files have their usual names. The name depends on the flaws, so that each
/// damage is copied once.
package struct DamagedFiles {
    /// The directory of the store.
    var directory: String
    /// The name of the copy.
    var name: String

    /// The largest number of copies. Further damage is not copied until somebody removes one: the first copies have the most.
    static let limit = 3

    private static let prefix = "damaged-"
    private static let files = ["db", "db-wal"]
    private var unfinished: String { directory + "/damaged.new" }

    /// Returns `nil` if none of the flaws is in the files.
    init?(directory: String, flaws: [StoreFlaw]) {
        let flaws = flaws.filter { flaw in
            switch flaw {
            case .replaced, .unreadableCopy: false
            default: true
            }
        }
        guard !flaws.isEmpty else { return nil }
        var sum = Checksum()
        for flaw in flaws {
            switch flaw {
            case .row(let kind, let name, let body):
                sum.add(UInt64(bitPattern: kind))
                sum.add(Array(name.utf8))
                sum.add(body)
            default: sum.add(Array("\(flaw)".utf8))
            }
        }
        self.directory = directory
        name = Self.prefix + String(sum.value, radix: 16)
    }

    /// Returns the path of the copy of the files in which a store's contents were found, or `nil` without such a copy.
    package static func copy(of contents: StoreContents, in directory: String) -> String? {
        guard let files = DamagedFiles(directory: directory, flaws: contents.flaws) else { return nil }
        let path = directory + "/" + files.name
        return access(path, F_OK) == 0 ? path : nil
    }

    /// Makes the copy, unless it is there or there are enough. It survives a power cut then.
    func copy(reader: () throws(StoreTrouble) -> Int32) throws(StoreTrouble) {
        let names = try Self.copies(in: directory)
        guard !names.contains(name), names.count < Self.limit else { return }
        removeUnfinished()
        do throws(StoreTrouble) {
            try Self.check(mkdir(unfinished, 0o700), "mkdir")
            try Self.copy(try reader(), to: unfinished + "/db")
            let log = open(directory + "/db-wal", O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
            try Self.check(log, "open")
            defer { close(log) }
            try Self.copy(log, to: unfinished + "/db-wal")
            try StoreReader.sync(unfinished)
            try Self.check(rename(unfinished, directory + "/" + name), "rename")
            try StoreReader.sync(directory)
        } catch {
            // It may have filled the disk.
            removeUnfinished()
            throw error
        }
    }

    private func removeUnfinished() {
        for file in Self.files { unlink(unfinished + "/" + file) }
        rmdir(unfinished)
    }

    /// Returns the names of the copies.
    private static func copies(in directory: String) throws(StoreTrouble) -> Set<String> {
        guard let stream = opendir(directory) else { throw StoreTrouble(errno, at: "opendir") }
        defer { closedir(stream) }
        var names: Set<String> = []
        while let entry = readdir(stream) {
            // An entry is only as long as its name (getdents(2)), so the field is read in place, up to its zero.
            let field = entry.pointer(to: \.d_name).map { UnsafeRawPointer($0).assumingMemoryBound(to: CChar.self) }
            if let name = field.map({ String(cString: $0) }), name.hasPrefix(prefix) { names.insert(name) }
        }
        return names
    }

    /// Copies all bytes of a file, and syncs them.
    private static func copy(_ source: Int32, to path: String) throws(StoreTrouble) {
        let target = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        try check(target, "open")
        defer { close(target) }
        var piece = [UInt8](repeating: 0, count: 1 << 20)
        var offset: off_t = 0
        while true {
            let count = pread(source, &piece, piece.count, offset)
            try check(Int32(count), "pread")
            guard count > 0 else { break }
            let written = write(target, piece, count)
            try check(Int32(written), "write")
            // A short write reports that the disk is full at the next call only.
            guard written == count else { throw .full }
            offset += off_t(count)
        }
        try check(fsync(target), "fsync")
    }

    private static func check(_ result: Int32, _ call: String) throws(StoreTrouble) {
        if result < 0 { throw StoreTrouble(errno, at: call) }
    }
}
