import Glibc
import SocketFile

/// A socket bound to a path of the file system that this process owns.
///
/// If two programs start at once, only one gets the path. While a program serves a path, it holds a lock (flock(2)) on
/// the file `PATH.lock`. Only under this lock does it inspect, remove or replace a stale socket file. It removes the
/// lock file while it still holds the lock. A program that waited for the lock compares inodes, sees that the locked
/// file is no longer at the path, and starts again.
struct SocketPath {
    /// The longest path that fits into a socket address (unix(7)), without the closing NUL.
    static let maximumLength = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1

    /// The number of attempts with a lock file that disappears.
    private static let maximumLockAttempts = 16

    let path: String
    /// The listening socket. The caller that takes it over closes it.
    private(set) var descriptor: Int32
    /// The lock; nil for an inherited socket, which needs none because its listening keeps other programs away.
    private let lock: Int32?
    private let file: SocketFile

    /// Binds a new socket to the path and listens.
    ///
    /// - Parameters:
    ///   - path: The path of the socket file. Its directory exists.
    ///   - mode: The permissions of the file. It never has more, not even for a moment.
    ///   - backlog: The number of connections that the kernel keeps before they are accepted.
    /// - Throws: ``VarlinkError`` with `addressInUse`, `notASocket`, `invalidPath`, `accessDenied` or `system`.
    init(binding path: String, mode: UInt16, backlog: Int32) throws(VarlinkError) {
        try self.init(binding: path, mode: mode, backlog: backlog, underLock: nil)
    }

    private init(binding path: String, mode: UInt16, backlog: Int32, underLock held: Int32?) throws(VarlinkError) {
        var address = try Self.address(path)
        try Self.check(path)
        let lock: Int32
        if let held { lock = held } else { lock = try Self.lock(path) }
        do throws(VarlinkError) {
            try Self.removeStaleFile(path, &address)
            (descriptor, file) = try Self.bind(path, mode: mode, backlog: backlog)
        } catch {
            if held == nil {
                unlink(Self.lockPath(path))
                close(lock)
            }
            throw error
        }
        self.lock = lock
        self.path = path
    }

    /// Binds a new socket to the path of this one, whose file was removed. The new one keeps other programs away like
    /// this one.
    ///
    /// - Throws: The errors of ``init(binding:mode:backlog:)``. On an error this socket stays in use.
    func rebind(mode: UInt16, backlog: Int32) throws(VarlinkError) -> SocketPath {
        // The lock file may have been removed as well.
        let kept = lock.flatMap { lock in
            let identity = FileIdentity(ofDescriptor: lock)
            return identity != nil && FileIdentity(at: Self.lockPath(path)) == identity ? lock : nil
        }
        let new = try SocketPath(binding: path, mode: mode, backlog: backlog, underLock: kept)
        if kept == nil, let lock { close(lock) }
        return new
    }

    /// Returns this path with another socket that was bound to it earlier.
    func listening(on descriptor: Int32) -> SocketPath {
        var other = self
        other.descriptor = descriptor
        return other
    }

    /// Removes the file if this process still owns it.
    func removeFile() { file.remove() }

    /// A Boolean value that indicates whether the file is still at the path.
    var isInPlace: Bool { file.isInPlace }

    /// Finds the file of a listening socket that another program has bound. Returns nil if the socket has no path or
    /// its file was removed.
    init?(inheriting descriptor: Int32) {
        guard let path = Self.boundPath(descriptor), let file = SocketFile(existingAt: path) else { return nil }
        self.path = path
        self.descriptor = descriptor
        self.file = file
        lock = nil
    }

    /// Returns the path to which a socket is bound, or nil if it has none.
    static func boundPath(_ descriptor: Int32) -> String? {
        var address = sockaddr_un()
        var length = socklen_t(MemoryLayout<sockaddr_un>.size)
        let result = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
        }
        guard result == 0, address.sun_family == sa_family_t(AF_UNIX) else { return nil }
        let room = Int(length) - (MemoryLayout<sockaddr_un>.size - MemoryLayout.size(ofValue: address.sun_path))
        let bytes = withUnsafeBytes(of: &address.sun_path) { Array($0.prefix(max(0, room)).prefix { $0 != 0 }) }
        return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
    }

    /// Changes the permissions of the socket file if this process still owns it. On an error the file is unchanged.
    func setPermissions(mode: UInt16, group: UInt32?) throws(VarlinkError) {
        do throws(SocketFile.Failure) {
            try file.setPermissions(mode: mode, group: group)
        } catch {
            throw Self.error(error, "change the permissions of", path)
        }
    }

    /// Removes the lock, and the socket file if this process still owns it and it need not stay. Does not close the
    /// descriptor.
    func release(keepingFile isKept: Bool) {
        if !isKept { file.remove() }
        guard let lock else { return }
        unlink(Self.lockPath(path))
        close(lock)
    }

    private static func check(_ path: String) throws(VarlinkError) {
        do throws(SocketFile.Failure) {
            try SocketFile.check(path)
        } catch {
            throw Self.error(error, "bind to", path)
        }
    }

    private static func lockPath(_ path: String) -> String { path + ".lock" }

    private static func lock(_ path: String) throws(VarlinkError) -> Int32 {
        let lockPath = lockPath(path)
        for _ in 0..<maximumLockAttempts {
            let descriptor = open(lockPath, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
            guard descriptor >= 0 else { throw SystemError.error(errno, "open the lock file", lockPath) }
            guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
                let number = errno
                close(descriptor)
                guard number == EWOULDBLOCK else { throw SystemError.error(number, "lock", lockPath) }
                throw inUse(path)
            }
            let identity = FileIdentity(ofDescriptor: descriptor)
            if identity != nil, FileIdentity(at: lockPath) == identity { return descriptor }
            close(descriptor)
        }
        throw inUse(path)
    }

    private static func removeStaleFile(_ path: String, _ address: inout sockaddr_un) throws(VarlinkError) {
        guard let existing = FileIdentity(at: path) else { return }
        guard existing.isSocket else {
            throw VarlinkError(
                .notASocket,
                "'\(path)' exists and is not a socket; remove it or choose another path"
            )
        }
        let probe = try newSocket()
        defer { close(probe) }
        guard connect(probe, &address) != 0 else { throw inUse(path) }
        switch errno {
        case ECONNREFUSED:
            guard unlink(path) == 0 || errno == ENOENT else {
                throw SystemError.error(errno, "remove the stale socket", path)
            }
        case ENOENT: return
        // A full backlog or a socket of another type means that another program serves the path.
        case EAGAIN, EPROTOTYPE: throw inUse(path)
        default: throw SystemError.error(errno, "check whether another program serves", path)
        }
    }

    private static func bind(
        _ path: String, mode: UInt16, backlog: Int32
    ) throws(VarlinkError) -> (Int32, SocketFile) {
        let descriptor = try newSocket()
        let file: SocketFile
        do throws(SocketFile.Failure) {
            file = try SocketFile(binding: descriptor, to: path, mode: mode)
        } catch {
            close(descriptor)
            throw Self.error(error, "bind to", path)
        }
        guard listen(descriptor, backlog) == 0 else {
            let number = errno
            file.remove()
            close(descriptor)
            throw SystemError.error(number, "listen on", path)
        }
        return (descriptor, file)
    }

    private static func error(_ failure: SocketFile.Failure, _ doing: String, _ path: String) -> VarlinkError {
        switch failure {
        case .system(let number): return SystemError.error(number, doing, path)
        case .replaced:
            return VarlinkError(.system, "cannot \(doing) '\(path)': another program has moved or removed it")
        case .directory(let directory, let flaw):
            let remedy = flaw.remedy(directory).map { "; forbid that with: \($0)" } ?? ""
            let number: Int32? = if case .unreachable(let number) = flaw { number } else { nil }
            return VarlinkError(
                number.map(SystemError.code) ?? .accessDenied,
                "cannot \(doing) '\(path)': \(flaw.reason(directory))\(remedy)", errorNumber: number)
        }
    }

    /// Creates a non-blocking UNIX stream socket that no other program inherits.
    static func newSocket() throws(VarlinkError) -> Int32 {
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let descriptor = socket(AF_UNIX, type, 0)
        guard descriptor >= 0 else {
            let number = errno
            throw VarlinkError(
                .system, "cannot make a socket: \(SystemError.text(number))", errorNumber: number)
        }
        return descriptor
    }

    private static func connect(_ descriptor: Int32, _ address: inout sockaddr_un) -> Int32 {
        withSocketAddress(&address) { Glibc.connect(descriptor, $0, $1) }
    }

    private static func withSocketAddress(
        _ address: inout sockaddr_un,
        _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }

    /// Returns whether the file at a path, after following links, is not a socket.
    static func isOther(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT != S_IFSOCK
    }

    /// Returns the socket address of a path.
    static func address(_ path: String) throws(VarlinkError) -> sockaddr_un {
        let bytes = Array(path.utf8)
        guard !bytes.isEmpty, bytes.count <= maximumLength, !bytes.contains(0) else {
            throw VarlinkError(
                .invalidPath,
                "'\(path)' cannot be the path of a socket: a path has 1 to \(maximumLength) bytes and no NUL"
            )
        }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        return address
    }

    private static func inUse(_ path: String) -> VarlinkError {
        VarlinkError(.addressInUse, "another program serves '\(path)'; stop it or choose another path")
    }

    /// Checks that a given descriptor, for example from socket activation, is a listening UNIX stream socket.
    static func checkListening(_ descriptor: Int32) throws(VarlinkError) {
        guard option(SO_DOMAIN, descriptor) == AF_UNIX,
            option(SO_TYPE, descriptor) == Int32(SOCK_STREAM.rawValue),
            option(SO_ACCEPTCONN, descriptor) == 1
        else {
            throw VarlinkError(
                .notListening,
                "descriptor \(descriptor) is not a listening UNIX stream socket; in a socket unit write 'ListenStream=/PATH'"
            )
        }
    }

    private static func option(_ name: Int32, _ descriptor: Int32) -> Int32? {
        var value: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        return getsockopt(descriptor, SOL_SOCKET, name, &value, &length) == 0 ? value : nil
    }
}
