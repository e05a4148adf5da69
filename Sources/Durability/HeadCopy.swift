import Glibc

/// A copy of the head beside the store, in a directory that lives until the next boot.
///
/// A store behind its copy has lost a tail. SQLite cannot notice that: recovery ends at the first damaged frame of the write-ahead
/// log, without an error.
struct HeadCopy: Equatable {
    var store: [UInt8]
    var life: UInt64
    var order: UInt64

    init(_ head: StoreHead) {
        store = head.store
        life = head.life
        order = head.order
    }

    /// Decodes a copy; `nil` if it is damaged.
    init?(bytes: [UInt8]) {
        guard bytes.count == Self.length else { return nil }
        func number(at offset: Int) -> UInt64 {
            bytes[offset..<offset + 8].reversed().reduce(0) { $0 << 8 | UInt64($1) }
        }
        store = Array(bytes[8..<24])
        life = number(at: 24)
        order = number(at: 32)
        guard self.bytes == bytes else { return nil }
    }

    /// The length of an encoded copy.
    static let length = 48

    /// The encoded copy: a name with a version, the id of the store, life and order, and a checksum; numbers are little-endian.
    var bytes: [UInt8] {
        func bytes(of number: UInt64) -> [UInt8] {
            (0..<8).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
        }
        let fields = Array("MedHead1".utf8) + store + bytes(of: life) + bytes(of: order)
        var sum = Checksum()
        sum.add(fields)
        return fields + bytes(of: sum.value)
    }
}

/// The file of the copy. Only one thread uses it at a time.
final class HeadCopyFile {
    private let path: String
    private var descriptor: Int32 = -1

    init(path: String) { self.path = path }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// The result of a reading.
    enum Reading {
        case missing
        case copy(HeadCopy)
        case unreadable
    }

    /// Reads the copy.
    func read() -> Reading {
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard file >= 0 else { return errno == ENOENT ? .missing : .unreadable }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: HeadCopy.length + 1)
        let count = Glibc.read(file, &bytes, bytes.count)
        // A process that ended before its first write leaves an empty file.
        if count == 0 { return .missing }
        guard count > 0, let copy = HeadCopy(bytes: Array(bytes.prefix(count))) else { return .unreadable }
        return .copy(copy)
    }

    /// Replaces the copy. Returns `false` if the system refuses.
    ///
    /// One write within a page is not torn when the process ends. After a power cut the copy does not matter.
    func write(_ copy: HeadCopy) -> Bool {
        if descriptor < 0 { descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600) }
        let bytes = copy.bytes
        return descriptor >= 0 && pwrite(descriptor, bytes, bytes.count, 0) == bytes.count
    }
}
