import Durability
import Glibc
import Synchronization
import TestSupport
import Testing

/// A directory with the files of a store, and what its test needs to write and to read them.
final class TestStore: Sendable {
    let directory = TemporaryDirectory()
    let failures = Mutex<[StoreTrouble]>([])

    /// The directory of the store.
    var path: String { directory("store") }
    /// The path of the copy of the head.
    var headCopy: String { directory("head") }

    /// Creates a closed store over the files.
    func store(_ change: (inout DiskStoreSettings) -> Void = { _ in }) throws -> DiskStore {
        var settings = DiskStoreSettings(
            directory: path, headCopy: headCopy,
            startThread: { body in
                Task { await onThreads(1) { _ in body() } }
                return true
            },
            failed: { [self] trouble in failures.withLock { $0.append(trouble) } })
        change(&settings)
        return try DiskStore(settings)
    }

    /// Opens the files, closes them without a change, and returns the contents.
    func contents() async throws -> StoreContents {
        let store = try store()
        let contents = try store.load()
        #expect(await store.closed())
        return contents
    }

    /// The bytes of files, by name.
    typealias Image = [String: [UInt8]]

    /// The bytes of the store's files and of the copy of the head.
    func image() throws -> Image {
        var image: Image = [:]
        for name in ["db", "db-wal", "head"] { image[name] = try Self.read(file(name)) }
        return image
    }

    /// Replaces files.
    func restore(_ image: Image) throws {
        mkdir(path, 0o700)
        for (name, bytes) in image { try Self.write(file(name), bytes) }
    }

    /// The names of the copies that were made of damaged files.
    func copies() throws -> [String] {
        let stream = try #require(opendir(path))
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            // An entry is only as long as its name (getdents(2)), so the field is read in place, up to its zero.
            let field = entry.pointer(to: \.d_name).map { UnsafeRawPointer($0).assumingMemoryBound(to: CChar.self) }
            if let name = field.map({ String(cString: $0) }), name.hasPrefix("damaged") { names.append(name) }
        }
        return names
    }

    /// The path of a file of an image.
    func file(_ name: String) -> String { name == "head" ? headCopy : path + "/" + name }

    static func read(_ path: String) throws -> [UInt8] {
        let file = try #require(fopen(path, "re"))
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 65_536)
        while case let count = fread(&piece, 1, piece.count, file), count > 0 { bytes += piece[..<count] }
        return bytes
    }

    static func write(_ path: String, _ bytes: [UInt8]) throws {
        let file = try #require(fopen(path, "we"))
        defer { fclose(file) }
        try #require(fwrite(bytes, 1, bytes.count, file) == bytes.count)
    }
}

extension PartStore {
    /// Puts a change, and returns its outcome.
    func put(_ change: PartChange) async -> StoreOutcome {
        await withCheckedContinuation { continuation in put(change) { continuation.resume(returning: $0) } }
    }

    /// Puts changes at once, and returns the outcomes in the order in which they came, with the numbers of the changes.
    ///
    /// - Parameters:
    ///   - changes: The changes.
    ///   - wait: It runs after the last call, before the first outcome is awaited.
    func put(
        _ changes: [PartChange], beforeWaiting wait: () -> Void = {}
    ) async -> [(number: Int, outcome: StoreOutcome)] {
        let outcomes = AsyncStream.makeStream(of: (number: Int, outcome: StoreOutcome).self)
        for (number, change) in changes.enumerated() {
            put(change) { outcomes.continuation.yield((number, $0)) }
        }
        wait()
        var found: [(number: Int, outcome: StoreOutcome)] = []
        guard !changes.isEmpty else { return [] }
        for await outcome in outcomes.stream {
            found.append(outcome)
            if found.count == changes.count { break }
        }
        return found
    }

    /// Holds the thread of the store in a change of the part "held", until the semaphore is signalled.
    func held() async -> ThreadSemaphore {
        let (holder, semaphore) = (Gate(), ThreadSemaphore())
        let change = PartChange(key: PartKey(kind: 1, name: "held"), epoch: 1) {
            holder.open()
            semaphore.wait()
            return []
        }
        put(change) { _ in }
        await holder.opened()
        return semaphore
    }

    /// Marks a milestone, and returns its outcome.
    func mark(_ milestone: StoreMilestone) async -> StoreOutcome {
        await withCheckedContinuation { continuation in mark(milestone) { continuation.resume(returning: $0) } }
    }

    /// Closes the store on a thread of its own.
    func closed() async -> Bool {
        let result = Mutex(false)
        await onThreads(1) { _ in
            let isClosed = close(within: waitLimit)
            result.withLock { $0 = isClosed }
        }
        return result.withLock { $0 }
    }
}

/// An object that looks at a store when it is released, which must not happen under the lock of the store.
final class Looker: Sendable {
    private let store: any PartStore

    init(at store: any PartStore) { self.store = store }

    deinit { _ = store.metrics }

    /// A change that keeps the object.
    var change: PartChange { PartChange(key: PartKey(kind: 1, name: "a"), epoch: 1) { [self] in keep([1]) } }

    func keep<Value>(_ value: Value) -> Value { value }
}

extension PartChange {
    /// A change of the system with a name.
    static func system(_ name: String, _ body: String, epoch: UInt64 = 1, phase: UInt8 = 0) -> PartChange {
        PartChange(key: PartKey(kind: 1, name: name), epoch: epoch, phase: phase) { Array(body.utf8) }
    }

    /// The removal of the system with a name.
    static func removal(_ name: String, epoch: UInt64 = 1) -> PartChange {
        PartChange(key: PartKey(kind: 1, name: name), epoch: epoch) { nil }
    }
}

extension StoreContents {
    /// The bodies of the systems, by name.
    var bodies: [String: String] {
        Dictionary(uniqueKeysWithValues: parts.map { ($0.key.name, String(decoding: $0.body, as: UTF8.self)) })
    }
}

/// A generator with a seed (splitmix64).
struct SeededGenerator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var z = state
        z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
        return z ^ (z >> 31)
    }
}
