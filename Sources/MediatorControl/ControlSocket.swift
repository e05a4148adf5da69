import Glibc
import SocketFile
public import Varlink

/// The place of the control socket.
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

    /// The path that a client uses: `MEDIATORD_SOCKET`, else the socket of the user's own daemon if it exists, else the
    /// system's if that exists.
    ///
    /// If another user owns the directory or can write to it, the socket may be an impostor's, and the client ignores it.
    ///
    /// - Parameter onIgnored: called with the reason, in a sentence, when the user's own socket is ignored.
    public static func clientPath(
        environment: (String) -> String?, userID: UInt32, onIgnored: (String) -> Void
    ) -> String {
        let own = path(environment: environment, userID: userID)
        if let path = environment(environmentVariable), !path.isEmpty { return path }
        if own == systemPath { return own }
        let runtime = environment("XDG_RUNTIME_DIR").flatMap { $0.isEmpty ? nil : $0 }
        do throws(Unreliable) {
            // The directory of all users, /tmp, belongs to the machine.
            if let runtime { try checkReliable(runtime, userID, followsLink: true) }
            try checkReliable(SocketDirectory.split(own).directory, userID, followsLink: false)
        } catch {
            // A directory that is not there is no reason to say anything.
            if case .unreachable = error.flaw {} else if access(own, F_OK) == 0 { onIgnored(error.advice(own)) }
            return error.isAbsent && access(systemPath, F_OK) != 0 ? own : systemPath
        }
        return access(own, F_OK) != 0 && access(systemPath, F_OK) == 0 ? systemPath : own
    }

    /// A directory that does not show who has put a socket into it.
    private struct Unreliable: Error {
        let directory: String
        let flaw: SocketDirectory.Flaw

        /// Whether the directory is missing.
        var isAbsent: Bool { flaw == .unreachable(ENOENT) }

        func advice(_ socket: String) -> String {
            let remedy = flaw.remedy(directory).map { "forbid that with `\($0)`, or " } ?? ""
            return "ignored the socket '\(socket)': \(flaw.reason(directory)); \(remedy)name a socket that you trust "
                + "with --socket or \(environmentVariable)"
        }
    }

    private static func checkReliable(
        _ directory: String, _ userID: UInt32, followsLink: Bool
    ) throws(Unreliable) {
        do throws(SocketDirectory.Flaw) {
            try SocketDirectory(directory, followsLink: followsLink).check(for: userID, allowsSticky: false)
        } catch {
            throw Unreliable(directory: directory, flaw: error)
        }
    }

    private static let otherPath = "choose another path with --socket or \(environmentVariable)"

    /// Makes the directory of a socket path if it is missing (only the last part, with the permissions 0755 for root
    /// and 0700 for others). Makes sure that nobody else can replace files in it: it belongs to this user or to root,
    /// is no link, and is not writable by others.
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
        if !make(directory, mode: userID == 0 ? 0o755 : 0o700), errno != EEXIST {
            let number = errno
            throw VarlinkError(
                SystemError.code(of: number),
                "cannot make the directory '\(directory)' of the control socket: \(SystemError.text(number)); "
                    + (number == ENOENT ? "make the directory in which it is to lie, or \(otherPath)" : otherPath),
                errorNumber: number)
        }
        do throws(SocketDirectory.Flaw) {
            try SocketDirectory(directory, followsLink: false).check(for: userID, allowsSticky: true)
        } catch {
            let advice = error.remedy(directory).map { "forbid that with `\($0)`, or " } ?? ""
            let isOwned = if case .owner = error { true } else { false }
            let number: Int32? =
                switch error {
                case .unreachable(let number): number
                case .link, .notDirectory: ENOTDIR
                case .owner, .writableByGroup, .writableByOthers: nil
                }
            throw VarlinkError(
                .accessDenied, "\(error.reason(directory)); \(isOwned ? "run as that user, or " : advice)\(otherPath)",
                errorNumber: number)
        }
    }

    /// Makes a directory with exactly the given permissions, whatever the umask of the process is. Returns `false` and sets
    /// `errno` if it cannot.
    private static func make(_ directory: String, mode: mode_t) -> Bool {
        guard mkdir(directory, mode) == 0 else { return false }
        // Somebody who may write to the directory above could have put something else here.
        let descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return false }
        let isOwn = status.st_uid == geteuid() && status.st_mode & 0o777 & ~mode == 0
        return !isOwn || fchmod(descriptor, status.st_mode & 0o7000 | mode) == 0
    }
}
