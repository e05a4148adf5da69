import Glibc
public import Varlink

/// Where the socket of the control interface lies.
public enum ControlSocket {
    /// The name of the socket file.
    public static let fileName = ControlInterface.name
    /// The path of the system's daemon.
    public static let systemPath = "/run/mediatord/\(fileName)"
    /// The environment variable that overrides the path.
    public static let environmentVariable = "MEDIATORD_SOCKET"

    /// The path for this process: its environment and its effective user.
    public static var defaultPath: String {
        path(environment: { name in getenv(name).map { String(cString: $0) } }, userID: geteuid())
    }

    /// The path for an environment and a user: what `MEDIATORD_SOCKET` says; `/run/mediatord/` for root;
    /// `$XDG_RUNTIME_DIR/mediatord/`; `/tmp/mediatord-UID/`. An empty variable counts as none.
    public static func path(environment: (String) -> String?, userID: UInt32) -> String {
        if let path = environment(environmentVariable), !path.isEmpty { return path }
        if userID == 0 { return systemPath }
        if let runtime = environment("XDG_RUNTIME_DIR"), !runtime.isEmpty { return "\(runtime)/mediatord/\(fileName)" }
        return "/tmp/mediatord-\(userID)/\(fileName)"
    }

    /// Where a client looks: what `MEDIATORD_SOCKET` says, else the user's own daemon if its socket is there, else the
    /// system's if that is there.
    public static func clientPath(environment: (String) -> String?, userID: UInt32) -> String {
        let own = path(environment: environment, userID: userID)
        if let path = environment(environmentVariable), !path.isEmpty { return path }
        return access(own, F_OK) != 0 && access(systemPath, F_OK) == 0 ? systemPath : own
    }

    private static let otherPath = "choose another path with --socket or \(environmentVariable)"

    /// Makes the directory of a socket path if it is not there (only the last one, with the permissions 0755 for root
    /// and 0700 for others), and makes sure that nobody else can replace what is put into it: it belongs to this user
    /// or to root, is no link, and is not writable by others.
    ///
    /// - Parameters:
    ///   - userID: for whom; nil is the effective user of this process.
    ///   - mayMake: whether the directory may be made.
    /// - Throws: ``/Varlink/VarlinkError`` with `accessDenied` or `system`.
    public static func prepareDirectory(
        ofPath path: String, userID: UInt32? = nil, mayMake: Bool = true
    ) throws(VarlinkError) {
        let userID = userID ?? geteuid()
        guard let slash = path.lastIndex(of: "/"), slash != path.startIndex else { return }
        let directory = String(path[..<slash])
        guard mayMake || access(directory, F_OK) == 0 || errno != ENOENT else {
            throw VarlinkError(
                .system, "there is no directory '\(directory)' for the control socket; make it, or \(otherPath)")
        }
        if mkdir(directory, userID == 0 ? 0o755 : 0o700) != 0, errno != EEXIST {
            let number = errno
            throw VarlinkError(
                SystemError.code(of: number),
                "cannot make the directory '\(directory)' of the control socket: \(SystemError.text(number)); "
                    + (number == ENOENT ? "make the directory in which it is to lie, or \(otherPath)" : otherPath),
                errorNumber: number)
        }
        var status = stat()
        guard lstat(directory, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
            let kind = status.st_mode & S_IFMT == S_IFLNK ? "a symbolic link, and no directory" : "no directory"
            throw VarlinkError(.accessDenied, "'\(directory)' is \(kind); \(otherPath)", errorNumber: ENOTDIR)
        }
        guard status.st_uid == userID || status.st_uid == 0 else {
            throw VarlinkError(
                .accessDenied,
                "'\(directory)' is owned by another user (\(status.st_uid)), who could put another socket there; "
                    + "run as that user, or \(otherPath)")
        }
        let isSticky = status.st_mode & S_ISVTX != 0
        guard isSticky || status.st_mode & S_IWOTH == 0 else {
            throw VarlinkError(
                .accessDenied,
                "others can write to '\(directory)', and could put another socket there; "
                    + "take them the right to (chmod o-w '\(directory)'), or \(otherPath)")
        }
    }
}
