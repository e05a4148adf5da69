import Glibc

/// The file of a UNIX socket (unix(7)) that this process has bound, or was given.
///
/// Its directory belongs to this user or to root, and nobody else can replace files there. The file never has more
/// permissions than asked for. Later changes go through a descriptor of the file itself.
package struct SocketFile: Sendable {
    /// A reason for which there is no file.
    package enum Failure: Error, Hashable {
        /// The directory is not one in which a socket is safe.
        case directory(String, SocketDirectory.Flaw)
        /// The system refuses; the number is one of errno(3).
        case system(Int32)
        /// Somebody has moved or removed the file while it was made.
        case replaced
    }

    /// The file's path.
    package let path: String
    private let identity: FileIdentity

    /// Checks that nobody else can replace what is at a path.
    package static func check(_ path: String) throws(Failure) {
        _ = try directory(of: path)
    }

    private static func directory(of path: String) throws(Failure) -> SocketDirectory {
        let place = SocketDirectory.split(path).directory
        do throws(SocketDirectory.Flaw) {
            let directory = try SocketDirectory(place, followsLink: true)
            try directory.check(for: geteuid(), allowsSticky: true)
            return directory
        } catch {
            throw .directory(place, error)
        }
    }

    /// Binds a new socket to an unused path.
    package init(binding descriptor: Int32, to path: String, mode: UInt16) throws(Failure) {
        let directory = try Self.directory(of: path)
        let name = SocketDirectory.split(path).name
        // Linux gives the file the permissions of the unbound socket, less the umask of the process, which threads share.
        guard fchmod(descriptor, mode_t(mode)) == 0, Self.bind(descriptor, path) == 0 else { throw .system(errno) }
        // The file is looked for in the directory that was checked, whatever the path leads to by now.
        let file = openat(directory.descriptor, name, SocketDirectory.byName | O_NOFOLLOW | O_CLOEXEC)
        guard file >= 0 else { throw .replaced }
        defer { close(file) }
        guard let identity = FileIdentity(ofDescriptor: file), identity.isSocket else { throw .replaced }
        guard Self.change(file, mode) == 0 else {
            let number = errno
            unlinkat(directory.descriptor, name, 0)
            throw .system(number)
        }
        self.path = path
        self.identity = identity
    }

    /// The file of a socket that somebody else has bound; nil where there is no socket.
    package init?(existingAt path: String) {
        guard let identity = FileIdentity(at: path), identity.isSocket else { return nil }
        self.path = path
        self.identity = identity
    }

    /// Whether the file is still at its path.
    package var isThere: Bool { FileIdentity(at: path) == identity }

    /// Removes the file, if it is still there.
    package func remove() {
        if isThere { unlink(path) }
    }

    /// Changes who may open the file; nothing where another file is at the path by now. If that fails, the file is as it
    /// was.
    ///
    /// - Parameter group: the file's group; nil leaves it as it is.
    package func setPermissions(mode: UInt16, group: UInt32?) throws(Failure) {
        let file = open(path, SocketDirectory.byName | O_NOFOLLOW | O_CLOEXEC)
        guard file >= 0 else { return }
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0, FileIdentity(status) == identity else { return }
        // A process that may not change groups can still keep the present one.
        let other = group.flatMap { $0 == status.st_gid ? nil : $0 }
        if let other, fchownat(file, "", uid_t.max, other, Self.emptyPath) != 0 { throw .system(errno) }
        guard Self.change(file, mode) == 0 else {
            let number = errno
            if other != nil { fchownat(file, "", uid_t.max, status.st_gid, Self.emptyPath) }
            throw .system(number)
        }
    }

    /// Means the descriptor itself (`AT_EMPTY_PATH` of fchownat(2)), which Swift's module of the C library does not have.
    private static let emptyPath: Int32 = 0x1000

    /// Changes the permissions of the file behind a descriptor of a name (`O_PATH`), which fchmod(2) does not accept. This needs
    /// `/proc`, except where the permissions are right already.
    private static func change(_ file: Int32, _ mode: UInt16) -> Int32 {
        var status = stat()
        if fstat(file, &status) == 0, status.st_mode & 0o7777 == mode_t(mode) { return 0 }
        return chmod("/proc/self/fd/\(file)", mode_t(mode))
    }

    private static func bind(_ descriptor: Int32, _ path: String) -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = path.utf8
        guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else {
            errno = ENAMETOOLONG
            return -1
        }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }
}

/// The inode by which one file is told from another. It is not given to another file while a socket is bound to it.
package struct FileIdentity: Hashable, Sendable {
    private let device: UInt64
    private let inode: UInt64
    /// Whether it is a socket.
    package let isSocket: Bool

    /// The file at the path itself, links not followed; nil when there is none.
    package init?(at path: String) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return nil }
        self.init(status)
    }

    /// The file that is open; nil when the descriptor is not.
    package init?(ofDescriptor descriptor: Int32) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return nil }
        self.init(status)
    }

    init(_ status: stat) {
        device = UInt64(status.st_dev)
        inode = UInt64(status.st_ino)
        isSocket = status.st_mode & S_IFMT == S_IFSOCK
    }
}
