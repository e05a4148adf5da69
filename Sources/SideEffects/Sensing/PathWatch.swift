import Glibc
import Synchronization
import SystemPackage

/// The content of a path, and notice of possible changes (inotify(7)).
///
/// It watches every existing directory on the path, also through symbolic links, and the target. Each look walks the
/// path again, so it does not matter which part was renamed, replaced, removed or created.
final class PathWatch: Sendable {
    /// The state of the path.
    struct Observation: Sendable, Equatable {
        /// The kind of file.
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
        /// The identity of the file, which distinguishes it from another one with the same properties.
        fileprivate var identity: [Int64] = []
    }

    /// The result of a look.
    struct Look: Sendable {
        var observation: Observation?
        /// The reason why a part could not be read or watched.
        var problem: String?
        /// A Boolean value that indicates whether the system reported a change that the observation may not show.
        var isModified: Bool
        /// The entry of a directory that changed last; empty if none did.
        var entry: String
    }

    /// The relevant events of a watch.
    private struct Interest {
        /// Entries of a directory on the path.
        var names: Set<String> = []
        /// A Boolean value that indicates whether the watch is on the target of the path.
        var isTarget = false
    }

    private struct State {
        var watches: [Int32: Interest] = [:]
        var isRelevant = false
        var isModified = false
        var entry = ""
    }

    /// The most symbolic links on a path, as for the system (path_resolution(7)).
    private static let linkLimit = 40
    /// The bytes of one read, and the most reads before other tasks run.
    private static let chunk = 16 * 1024
    private static let burst = 64
    /// The events of every watch: those of the directory's entries and of itself.
    private static let mask =
        UInt32(IN_CREATE) | UInt32(IN_DELETE) | UInt32(IN_MOVED_FROM) | UInt32(IN_MOVED_TO) | UInt32(IN_ATTRIB)
        | UInt32(IN_DELETE_SELF) | UInt32(IN_MOVE_SELF)

    /// The descriptor for waiting. The watch closes it on release.
    let descriptor: Int32
    private let path: String
    private let contentLimit: Int
    private let state = Mutex(State())

    /// Watches a path from the first look on.
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

    // MARK: Events

    /// Reads reported events. Returns whether one of them is relevant.
    func drain() -> Bool {
        state.withLock { state in
            var buffer = [UInt8](repeating: 0, count: Self.chunk)
            for _ in 0..<Self.burst {
                let count = read(descriptor, &buffer, buffer.count)
                guard count > 0 else { break }
                buffer.withUnsafeBytes { Self.take(UnsafeRawBufferPointer(rebasing: $0[..<count]), &state) }
            }
            return state.isRelevant
        }
    }

    /// Processes events: `struct inotify_event`, each with its name, padded with NUL.
    private static func take(_ bytes: UnsafeRawBufferPointer, _ state: inout State) {
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
                // The kernel dropped events, which may have been relevant.
                state.isRelevant = true
                state.isModified = true
                state.entry = ""
                continue
            }
            guard let interest = state.watches[watch] else { continue }
            if mask & UInt32(IN_IGNORED) != 0 { state.watches[watch] = nil }
            if interest.isTarget {
                state.isRelevant = true
                if mask & UInt32(IN_MODIFY) != 0 || !name.isEmpty { state.isModified = true }
                if !name.isEmpty { state.entry = name }
            } else if name.isEmpty || interest.names.contains(name) {
                state.isRelevant = true
            }
        }
    }

    // MARK: Looking

    /// Walks the path, watches its parts, and reads the target. May block.
    func look() -> Look {
        state.withLock { state in
            var look = Look(isModified: state.isModified, entry: state.entry)
            state.isRelevant = false
            state.isModified = false
            state.entry = ""
            // Watches come first, so that changes after reading are reported.
            if let failure = walk(&state) {
                let hint =
                    switch failure {
                    case .noSpace: "; raise fs.inotify.max_user_watches"
                    case .permissionDenied: "; the daemon needs permission to read every directory on the path"
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

    /// Watches each directory on the path and the target. Returns the error of the first part that could not be
    /// watched.
    private func walk(_ state: inout State) -> Errno? {
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
        for number in state.watches.keys where wanted[number] == nil { inotify_rm_watch(descriptor, number) }
        state.watches = wanted
        return failure
    }

    private static func components(_ path: String) -> [String] {
        path.split(separator: "/").map(String.init).filter { $0 != "." }
    }

    /// Returns the target of a symbolic link.
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

    /// Returns the state of the target. Throws the system's error if it cannot be read.
    private func observation() throws(Errno) -> Observation {
        var status = stat()
        guard stat(path, &status) == 0 else {
            let failure = Errno(rawValue: errno)
            // An incomplete path means that the file does not exist.
            guard failure == .noSuchFileOrDirectory || failure == .notDirectory else { throw failure }
            return Observation()
        }
        var content: [UInt8] = []
        if contentLimit > 0, status.st_mode & S_IFMT == S_IFREG {
            // The file may have been replaced by a pipe or a device, which must neither block nor be read.
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

    /// Returns the first bytes of a file.
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
