import Glibc

/// The file of a UNIX socket (unix(7)) that this process has bound or inherited.
///
/// Its directory belongs to this user or root, and nobody else can replace files in it. The file never has more
/// permissions than requested. Later changes use a descriptor of the file itself.
package struct SocketFile: Sendable {
    /// A reason why the file is not available.
    package enum Failure: Error, Hashable {
        /// A socket in the directory is not safe.
        case directory(String, SocketDirectory.Flaw)
        /// The system refused. The value is an error number of errno(3).
        case system(Int32)
        /// Another process moved or removed the file while it was created.
        case replaced
    }

    /// The file's path.
    package let path: String
    private let identity: FileIdentity

    /// Checks that nobody else can replace the file at a path.
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
        // Linux gives the file the permissions of the unbound socket, minus the process's umask, which all threads
        // share.
        guard fchmod(descriptor, mode_t(mode)) == 0, Self.bind(descriptor, path) == 0 else { throw .system(errno) }
        // The file is opened in the checked directory, even if the path now leads to another one.
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

    /// Finds the file of a socket that another process has bound; nil if the path has no socket.
    package init?(existingAt path: String) {
        guard let identity = FileIdentity(at: path), identity.isSocket else { return nil }
        self.path = path
        self.identity = identity
    }

    /// A Boolean value that indicates whether the file is still at its path.
    package var isInPlace: Bool { FileIdentity(at: path) == identity }

    /// Removes the file if it is still at its path.
    package func remove() {
        if isInPlace { unlink(path) }
    }

    /// Changes the permissions of the file. Does nothing if another file is now at the path. On an error the file is
    /// unchanged.
    ///
    /// - Parameter group: The file's group; nil to keep it.
    package func setPermissions(mode: UInt16, group: UInt32?) throws(Failure) {
        let file = open(path, SocketDirectory.byName | O_NOFOLLOW | O_CLOEXEC)
        guard file >= 0 else { return }
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0, FileIdentity(status) == identity else { return }
        // A process without permission to change groups can still set the current one.
        let other = group.flatMap { $0 == status.st_gid ? nil : $0 }
        if let other, fchownat(file, "", uid_t.max, other, Self.emptyPath) != 0 { throw .system(errno) }
        guard Self.change(file, mode) == 0 else {
            let number = errno
            if other != nil { fchownat(file, "", uid_t.max, status.st_gid, Self.emptyPath) }
            throw .system(number)
        }
    }

    /// Selects the descriptor itself (`AT_EMPTY_PATH` of fchownat(2)). Swift's module of the C library does not have
    /// this flag.
    private static let emptyPath: Int32 = 0x1000

    /// Changes the permissions of a file opened by its name (`O_PATH`), which fchmod(2) does not support. This needs
    /// `/proc` unless the permissions are already right.
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

/// The inode that identifies a file. The system does not reuse it while a socket is bound to it.
package struct FileIdentity: Hashable, Sendable {
    private let device: UInt64
    private let inode: UInt64
    /// A Boolean value that indicates whether the file is a socket.
    package let isSocket: Bool

    /// Identifies the file at the path without following links; nil if the path has no file.
    package init?(at path: String) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return nil }
        self.init(status)
    }

    /// Identifies an open file; nil if the descriptor is not open.
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
