import Glibc

/// The directory in which the file of a UNIX socket lies, opened.
package struct SocketDirectory: ~Copyable {
    /// A reason for which nobody can rely on a socket in a directory.
    package enum Flaw: Error, Hashable {
        /// The directory cannot be opened; the number is one of errno(3).
        case unreachable(Int32)
        case link
        case notDirectory
        /// The directory belongs to another user than root and the one who relies on it.
        case owner(UInt32)
        case writableByGroup
        case writableByOthers

        /// The reason in words.
        package func reason(_ directory: String) -> String {
            switch self {
            case .unreachable(let number):
                "cannot open the directory '\(directory)': \(String(cString: strerror(number)))"
            case .link: "'\(directory)' is a symbolic link, and no directory"
            case .notDirectory: "'\(directory)' is no directory"
            case .owner(let user):
                "'\(directory)' is owned by another user (\(user)), who could put another socket there"
            case .writableByGroup:
                "members of a group can write to '\(directory)', and could put another socket there"
            case .writableByOthers: "others can write to '\(directory)', and could put another socket there"
            }
        }

        /// The command that removes the flaw; nil if there is no such command.
        package func remedy(_ directory: String) -> String? {
            switch self {
            case .writableByGroup, .writableByOthers: "chmod go-w '\(directory)'"
            case .unreachable, .link, .notDirectory, .owner: nil
            }
        }
    }

    /// Opens a thing by its name alone (open(2)), which Swift's module of the C library does not have.
    static let byName: Int32 = 0o10000000

    let descriptor: Int32

    /// Opens a directory. A symbolic link at its end is followed, or is a flaw.
    package init(_ path: String, followsLink: Bool) throws(Flaw) {
        let descriptor = open(path, Self.byName | O_CLOEXEC | (followsLink ? 0 : O_NOFOLLOW))
        guard descriptor >= 0 else { throw .unreachable(errno) }
        self.descriptor = descriptor
    }

    deinit { close(descriptor) }

    /// Checks that only a user and root can replace what lies in the directory.
    ///
    /// - Parameters:
    ///   - user: the user who relies on it.
    ///   - allowsSticky: whether others may make files of their own there, which a sticky directory such as `/tmp` lets
    ///     them do, while it keeps them from touching those of others.
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

    /// The directory and the name that a path consists of.
    package static func split(_ path: String) -> (directory: String, name: String) {
        guard let slash = path.lastIndex(of: "/") else { return (".", path) }
        return (slash == path.startIndex ? "/" : String(path[..<slash]), String(path[path.index(after: slash)...]))
    }
}
