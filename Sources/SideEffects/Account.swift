import Glibc
import SystemPackage

/// Another user for a command, like `User=` of systemd (systemd.exec(5)).
struct Account: Sendable {
    let user: uid_t
    let group: gid_t
    /// All groups of the user (initgroups(3)).
    let groups: [gid_t]
    /// The changes to the environment. A value of nil removes the variable.
    let environment: [String: String?]

    /// Looks up an account by its name or number, and another group if given. May block.
    static func find(_ user: String, group: String?) throws(SensingProblem) -> Account {
        guard geteuid() == 0 else {
            throw SensingProblem(
                "only a daemon that runs as root can run a command as another user, and this one is user \(geteuid())")
        }
        let known = try withRecord("user", user) { record, buffer, size, found in
            user.allSatisfy(\.isASCIIDigit)
                ? uid_t(user).map { getpwuid_r($0, record, buffer, size, &found) } ?? ENOENT
                : getpwnam_r(user, record, buffer, size, &found)
        } read: { (found: passwd) in
            Known(
                user: found.pw_uid, group: found.pw_gid, name: text(found.pw_name), home: text(found.pw_dir),
                shell: text(found.pw_shell))
        }
        let own = try group.map { name throws(SensingProblem) in try find(group: name) } ?? known.group
        var environment: [String: String?] = ["USER": known.name, "LOGNAME": known.name]
        // These values mean that the user has no home directory or shell.
        environment.updateValue(["", "/", "/nonexistent"].contains(known.home) ? nil : known.home, forKey: "HOME")
        environment.updateValue(noShells.contains(known.shell) ? nil : known.shell, forKey: "SHELL")
        return Account(
            user: known.user, group: own, groups: groups(of: known.name, own), environment: environment)
    }

    /// The program that switches to another user and runs the command (setpriv(1), of Debian's util-linux). Switching
    /// between fork and exec is not safe in a process with several threads: setuid(3) waits for locks that other
    /// threads may hold.
    static let program = "/usr/bin/setpriv"

    /// Returns the command that runs another one as this account.
    ///
    /// - Parameter directory: The working directory, entered with the account's own permissions (env(1)); nil for the
    ///   current one.
    func command(_ program: String, _ arguments: [String], in directory: String?) -> [String] {
        [
            Self.program, "--reuid", "\(user)", "--regid", "\(group)", "--groups",
            groups.map { "\($0)" }.joined(separator: ","), "--",
            // env(1) would treat a program with '=' in its name as a variable. setpriv accepts any name.
        ] + (directory.map { ["/usr/bin/env", "--chdir=\($0)", "--", Self.program, "--"] } ?? []) + [program]
            + arguments
    }

    /// The database's record of a user.
    private struct Known {
        var user: uid_t
        var group: gid_t
        var name: String
        var home: String
        var shell: String
    }

    private static let noShells: Set = [
        "", "/usr/sbin/nologin", "/sbin/nologin", "/bin/nologin", "/usr/bin/nologin", "/bin/false", "/usr/bin/false",
    ]

    private static func find(group name: String) throws(SensingProblem) -> gid_t {
        try withRecord("group", name) { record, buffer, size, found in
            name.allSatisfy(\.isASCIIDigit)
                ? gid_t(name).map { getgrgid_r($0, record, buffer, size, &found) } ?? ENOENT
                : getgrnam_r(name, record, buffer, size, &found)
        } read: { (found: Glibc.group) in
            found.gr_gid
        }
    }

    /// Reads a record, whose texts may take up to a mebibyte.
    private static func withRecord<Record, Result>(
        _ kind: String, _ name: String,
        _ ask: (
            UnsafeMutablePointer<Record>, UnsafeMutablePointer<CChar>, Int, inout UnsafeMutablePointer<Record>?
        ) -> Int32,
        read: (Record) -> Result
    ) throws(SensingProblem) -> Result {
        let record = UnsafeMutablePointer<Record>.allocate(capacity: 1)
        defer { record.deallocate() }
        var size = 4_096
        while true {
            let buffer = UnsafeMutablePointer<CChar>.allocate(capacity: size)
            defer { buffer.deallocate() }
            var found: UnsafeMutablePointer<Record>?
            let failure = ask(record, buffer, size, &found)
            if failure == ERANGE, size < 1_048_576 {
                size *= 4
                continue
            }
            if let found { return read(found.pointee) }
            // Some databases return these codes for an unknown name (getpwnam(3)).
            guard [0, ENOENT, ESRCH, EBADF, EPERM].contains(failure) else {
                throw SensingProblem("cannot look up the \(kind) '\(name)'", Errno(rawValue: failure))
            }
            throw SensingProblem("there is no \(kind) '\(name)'")
        }
    }

    private static func groups(of name: String, _ group: gid_t) -> [gid_t] {
        // NGROUPS_MAX of Linux, the most groups of a user.
        let limit: Int32 = 65_536
        var count: Int32 = 64
        while true {
            var groups: [gid_t] = Array(repeating: 0, count: Int(count))
            var found = count
            if getgrouplist(name, group, &groups, &found) >= 0 { return Array(groups.prefix(Int(found))) }
            guard count < limit else { return [group] }
            count = min(limit, max(count * 2, found))
        }
    }

    private static func text(_ pointer: UnsafeMutablePointer<CChar>?) -> String {
        pointer.map { String(cString: $0) } ?? ""
    }
}

extension Character {
    fileprivate var isASCIIDigit: Bool { isASCII && isWholeNumber }
}
