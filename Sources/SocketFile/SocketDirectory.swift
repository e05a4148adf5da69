import Glibc

/// The open directory of a UNIX socket's file.
package struct SocketDirectory: ~Copyable {
    /// A reason why a socket in a directory is not safe.
    package enum Flaw: Error, Hashable {
        /// The directory cannot be opened. The value is an error number of errno(3).
        case unreachable(Int32)
        case link
        case notDirectory
        /// The directory belongs to a user other than root and the user of the socket.
        case owner(UInt32)
        case writableByGroup
        case writableByOthers

        /// Returns the reason as a clause.
        package func reason(_ directory: String) -> String {
            switch self {
            case .unreachable(let number):
                "cannot open the directory '\(directory)': \(String(cString: strerror(number)))"
            case .link: "'\(directory)' is a symbolic link, not a directory"
            case .notDirectory: "'\(directory)' is not a directory"
            case .owner(let user):
                "'\(directory)' is owned by another user (\(user)), who could put another socket there"
            case .writableByGroup:
                "members of a group can write to '\(directory)', and could put another socket there"
            case .writableByOthers: "others can write to '\(directory)', and could put another socket there"
            }
        }

        /// Returns the command that removes the flaw; nil if no command does.
        package func remedy(_ directory: String) -> String? {
            switch self {
            case .writableByGroup, .writableByOthers: "chmod go-w '\(directory)'"
            case .unreachable, .link, .notDirectory, .owner: nil
            }
        }
    }

    /// Opens a file by its name alone (open(2)). Swift's module of the C library does not have this flag.
    static let byName: Int32 = 0o10000000

    let descriptor: Int32

    /// Opens a directory. A symbolic link as its last component is followed or is a flaw.
    package init(_ path: String, followsLink: Bool) throws(Flaw) {
        let descriptor = open(path, Self.byName | O_CLOEXEC | (followsLink ? 0 : O_NOFOLLOW))
        guard descriptor >= 0 else { throw .unreachable(errno) }
        self.descriptor = descriptor
    }

    deinit { close(descriptor) }

    /// Checks that only a user and root can replace files in the directory.
    ///
    /// - Parameters:
    ///   - user: The user who uses the socket.
    ///   - allowsSticky: Whether other users may create files in the directory. A sticky directory such as `/tmp` lets
    ///     them do so, but protects the files of others.
    package func check(for user: UInt32, allowsSticky: Bool) throws(Flaw) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw .unreachable(errno) }
        switch status.st_mode & S_IFMT {
        case S_IFDIR: break
        case S_IFLNK: throw .link
        default: throw .notDirectory
        }
        guard status.st_uid == user || status.st_uid == 0 else { throw .owner(status.st_uid) }
        if allowsSticky, status.st_mode & S_ISVTX != 0 { return }
        guard status.st_mode & S_IWOTH == 0 else { throw .writableByOthers }
        guard status.st_mode & S_IWGRP == 0 else { throw .writableByGroup }
    }

    /// Returns the directory and the name in a path.
    package static func split(_ path: String) -> (directory: String, name: String) {
        guard let slash = path.lastIndex(of: "/") else { return (".", path) }
        return (slash == path.startIndex ? "/" : String(path[..<slash]), String(path[path.index(after: slash)...]))
    }
}
