import Glibc

/// The users and groups of the machine. Each look may block: the database may be elsewhere (nsswitch.conf(5)).
package struct Accounts: Sendable {
    /// Returns the number of a user; nil if no user has this name, or the lookup fails.
    package var user: @Sendable (_ name: String) -> UInt32?
    /// Returns the number of a group; nil if no group has this name, or the lookup fails.
    package var group: @Sendable (_ name: String) -> UInt32?
    /// The name of a user; nil if that cannot be found out.
    package var userName: @Sendable (_ number: UInt32) -> String?

    /// Accounts of one's own making.
    package init(
        user: @escaping @Sendable (String) -> UInt32?, group: @escaping @Sendable (String) -> UInt32?,
        userName: @escaping @Sendable (UInt32) -> String?
    ) {
        self.user = user
        self.group = group
        self.userName = userName
    }

    /// The machine's (getpwnam_r(3), getgrnam_r(3), getpwuid_r(3)).
    package static let machine = Accounts(
        user: { name in
            record { (record: UnsafeMutablePointer<passwd>, buffer, size, found) in
                getpwnam_r(name, record, buffer, size, &found)
            } read: {
                $0.pw_uid
            }
        },
        group: { name in
            record { (record: UnsafeMutablePointer<Glibc.group>, buffer, size, found) in
                getgrnam_r(name, record, buffer, size, &found)
            } read: {
                $0.gr_gid
            }
        },
        userName: { number in
            record { (record: UnsafeMutablePointer<passwd>, buffer, size, found) in
                getpwuid_r(number, record, buffer, size, &found)
            } read: {
                $0.pw_name.map { String(cString: $0) }
            } ?? nil
        })

    /// Reads a record, whose texts have no more room than a mebibyte.
    private static func record<Record, Result>(
        _ ask: (
            UnsafeMutablePointer<Record>, UnsafeMutablePointer<CChar>, Int, inout UnsafeMutablePointer<Record>?
        ) -> Int32,
        read: (Record) -> Result
    ) -> Result? {
        let record = UnsafeMutablePointer<Record>.allocate(capacity: 1)
        defer { record.deallocate() }
        var size = 4_096
        while size <= 1_048_576 {
            let buffer = UnsafeMutablePointer<CChar>.allocate(capacity: size)
            defer { buffer.deallocate() }
            var found: UnsafeMutablePointer<Record>?
            let failure = ask(record, buffer, size, &found)
            guard failure == ERANGE else { return failure == 0 ? found.map { read($0.pointee) } : nil }
            size *= 4
        }
        return nil
    }
}
