import Glibc
import Synchronization
import SystemPackage

/// What is at a path, and notice of when that may have changed (inotify(7)).
///
/// It watches every directory on the way, as far as there are any, through symbolic links too, and what is at the end. Each
/// look goes the way anew, so that it does not matter which part was renamed, replaced, removed or made.
final class PathWatch: Sendable {
    /// What is at the path.
    struct Observation: Sendable, Equatable {
        /// What kind of thing.
        enum Kind: String, Sendable {
            case file
            case directory
            case other
            case none
        }

        var kind = Kind.none
        var size: Int64 = 0
        var modifiedSeconds: Int64 = 0
        var modifiedNanoseconds: Int32 = 0
        var content: [UInt8] = []
        /// What tells one thing from another that looks like it.
        fileprivate var identity: [Int64] = []
    }

    /// What a look finds.
    struct Look: Sendable {
        var observation: Observation?
        /// What could not be seen or watched.
        var problem: String?
        /// Whether the system told of a change that need not show in the observation.
        var isModified: Bool
        /// The entry of a directory that changed last; empty: none.
        var entry: String
    }

    /// Which events of a watch matter.
    private struct Interest {
        /// Entries of a directory on the way.
        var names: Set<String> = []
        /// Whether it is what the path leads to.
        var isTarget = false
    }

    private struct Machine {
        var watches: [Int32: Interest] = [:]
        var isRelevant = false
        var isModified = false
        var entry = ""
    }

    /// How many symbolic links there may be on the way, as for the system (path_resolution(7)).
    private static let linkLimit = 40
    /// How much is read with one call, and how often before others have their turn.
    private static let chunk = 16 * 1024
    private static let burst = 64
    /// What is asked of every watch: the directory's entries and itself.
    private static let mask =
        UInt32(IN_CREATE) | UInt32(IN_DELETE) | UInt32(IN_MOVED_FROM) | UInt32(IN_MOVED_TO) | UInt32(IN_ATTRIB)
        | UInt32(IN_DELETE_SELF) | UInt32(IN_MOVE_SELF)

    /// For waiting; the watch closes it when nobody has it any more.
    let descriptor: Int32
    private let path: String
    private let contentLimit: Int
    private let machine = Mutex(Machine())

    /// Watches a path, from the first look on.
    init(_ path: String, contentLimit: Int) throws {
        descriptor = inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC))
        self.path = path
        self.contentLimit = contentLimit
        guard descriptor >= 0 else {
            let failure = Errno(rawValue: errno)
            throw SensingProblem(
                "cannot watch \(path)", failure,
                hint: failure == .tooManyOpenFiles
                    ? "raise fs.inotify.max_user_instances or LimitNOFILE=" : nil)
        }
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    // Events

    /// Takes in what the system has told. Whether any of it matters.
    func drain() -> Bool {
        machine.withLock { machine in
            var buffer = [UInt8](repeating: 0, count: Self.chunk)
            for _ in 0..<Self.burst {
                let count = read(descriptor, &buffer, buffer.count)
                guard count > 0 else { break }
                buffer.withUnsafeBytes { Self.take(UnsafeRawBufferPointer(rebasing: $0[..<count]), &machine) }
            }
            return machine.isRelevant
        }
    }

    /// Takes in events: `struct inotify_event`, each with its name, padded with NUL.
    private static func take(_ bytes: UnsafeRawBufferPointer, _ machine: inout Machine) {
        let header = MemoryLayout<inotify_event>.size
        var offset = 0
        while offset + header <= bytes.count {
            let watch = bytes.loadUnaligned(fromByteOffset: offset, as: Int32.self)
            let mask = bytes.loadUnaligned(fromByteOffset: offset + 4, as: UInt32.self)
            let length = Int(bytes.loadUnaligned(fromByteOffset: offset + 12, as: UInt32.self))
            let end = min(bytes.count, offset + header + length)
            let name = String(decoding: bytes[(offset + header)..<end].prefix { $0 != 0 }, as: UTF8.self)
            offset = end
            if mask & UInt32(IN_Q_OVERFLOW) != 0 {
                // Something was not told: it may have been anything.
                machine.isRelevant = true
                machine.isModified = true
                machine.entry = ""
                continue
            }
            guard let interest = machine.watches[watch] else { continue }
            if mask & UInt32(IN_IGNORED) != 0 { machine.watches[watch] = nil }
            if interest.isTarget {
                machine.isRelevant = true
                if mask & UInt32(IN_MODIFY) != 0 || !name.isEmpty { machine.isModified = true }
                if !name.isEmpty { machine.entry = name }
            } else if name.isEmpty || interest.names.contains(name) {
                machine.isRelevant = true
            }
        }
    }

    // Looking

    /// Goes to the path, watches what is on the way, and looks at what is there. May block.
    func look() -> Look {
        machine.withLock { machine in
            var look = Look(isModified: machine.isModified, entry: machine.entry)
            machine.isRelevant = false
            machine.isModified = false
            machine.entry = ""
            // First the watches: what happens after they are there is told.
            if let failure = walk(&machine) {
                let hint =
                    switch failure {
                    case .noSpace: "; raise fs.inotify.max_user_watches"
                    case .permissionDenied: "; the daemon needs permission to read what is on the way"
                    default: ""
                    }
                look.problem = "cannot watch \(path): \(failure)\(hint)"
            }
            do {
                look.observation = try observation()
            } catch {
                look.problem = "cannot look at \(path): \(error)"
            }
            return look
        }
    }

    /// Watches each directory on the way and what is at its end. What could not be watched, if anything.
    private func walk(_ machine: inout Machine) -> Errno? {
        var wanted: [Int32: Interest] = [:]
        var failure: Errno?
        func watch(_ path: String, _ more: UInt32, _ change: (inout Interest) -> Void) {
            let number = inotify_add_watch(descriptor, path, Self.mask | more | UInt32(IN_MASK_ADD))
            if number >= 0 {
                change(&wanted[number, default: Interest()])
            } else if errno != ENOENT, errno != ENOTDIR {
                failure = failure ?? Errno(rawValue: errno)
            }
        }
        var rest: [String] = Self.components(path).reversed()
        var current: [String] = []
        var links = 0
        walk: while true {
            let directory = "/" + current.joined(separator: "/")
            guard let name = rest.popLast() else {
                watch(directory, UInt32(IN_MODIFY)) { $0.isTarget = true }
                break
            }
            if name == ".." {
                _ = current.popLast()
                continue
            }
            watch(directory, UInt32(IN_ONLYDIR)) { $0.names.insert(name) }
            let next = "/" + (current + [name]).joined(separator: "/")
            var status = stat()
            guard lstat(next, &status) == 0 else { break }
            switch status.st_mode & S_IFMT {
            case S_IFDIR: current.append(name)
            case S_IFLNK:
                links += 1
                guard links <= Self.linkLimit, let target = Self.target(of: next) else { break walk }
                if target.hasPrefix("/") { current = [] }
                rest += Self.components(target).reversed()
            default:
                if rest.isEmpty { watch(next, UInt32(IN_MODIFY)) { $0.isTarget = true } }
                break walk
            }
        }
        for number in machine.watches.keys where wanted[number] == nil { inotify_rm_watch(descriptor, number) }
        machine.watches = wanted
        return failure
    }

    private static func components(_ path: String) -> [String] {
        path.split(separator: "/").map(String.init).filter { $0 != "." }
    }

    /// Where a symbolic link leads.
    private static func target(of link: String) -> String? {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(PATH_MAX)) { room in
            guard let start = room.baseAddress else { return nil }
            let count = readlink(link, start, room.count)
            return count > 0
                ? String(
                    decoding: UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(room)[..<count]), as: UTF8.self)
                : nil
        }
    }

    /// What is there. Throws what the system says if that cannot be seen.
    private func observation() throws(Errno) -> Observation {
        var status = stat()
        guard stat(path, &status) == 0 else {
            let failure = Errno(rawValue: errno)
            // A way that leads nowhere is nothing there.
            guard failure == .noSuchFileOrDirectory || failure == .notDirectory else { throw failure }
            return Observation()
        }
        var content: [UInt8] = []
        if contentLimit > 0, status.st_mode & S_IFMT == S_IFREG {
            // What has become a pipe or a device meanwhile is neither waited for nor read.
            let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
            guard file >= 0 else {
                if errno == ENOENT { return Observation() }
                throw Errno(rawValue: errno)
            }
            defer { close(file) }
            guard fstat(file, &status) == 0 else { throw Errno(rawValue: errno) }
            if status.st_mode & S_IFMT == S_IFREG { content = try Self.beginning(of: file, contentLimit) }
        }
        let kind: Observation.Kind =
            switch status.st_mode & S_IFMT {
            case S_IFREG: .file
            case S_IFDIR: .directory
            default: .other
            }
        return Observation(
            kind: kind, size: Int64(status.st_size), modifiedSeconds: Int64(status.st_mtim.tv_sec),
            modifiedNanoseconds: Int32(truncatingIfNeeded: status.st_mtim.tv_nsec), content: content,
            identity: [
                Int64(truncatingIfNeeded: status.st_dev), Int64(truncatingIfNeeded: status.st_ino),
                Int64(status.st_ctim.tv_sec), Int64(status.st_ctim.tv_nsec),
            ])
    }

    /// The first bytes of a file.
    private static func beginning(of file: Int32, _ limit: Int) throws(Errno) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: limit)
        var count = 0
        while count < limit {
            let more = bytes.withUnsafeMutableBytes {
                pread(file, $0.baseAddress.map { $0 + count }, limit - count, off_t(count))
            }
            if more < 0, errno == EINTR { continue }
            guard more >= 0 else { throw Errno(rawValue: errno) }
            if more == 0 { break }
            count += more
        }
        bytes.removeLast(limit - count)
        return bytes
    }
}
