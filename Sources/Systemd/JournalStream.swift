import Glibc

/// Detects whether the output of a process goes to the journal.
public enum JournalStream {
    /// Returns whether a descriptor is the connection to the journal that systemd gave to this process.
    ///
    /// systemd sets `$JOURNAL_STREAM` to the device and inode numbers of that connection. A descriptor that was
    /// redirected later has others. Source: systemd.exec(5), "Environment variables in spawned processes".
    ///
    /// - Parameter descriptor: A descriptor, such as 2 for standard error. For a closed one the result is `false`.
    public static func isConnected(_ descriptor: Int32) -> Bool {
        isConnected(descriptor, journalStream: Environment["JOURNAL_STREAM"])
    }

    /// Returns the same with `$JOURNAL_STREAM` as a parameter: `DEVICE:INODE` in decimal. For any other text the result
    /// is `false`.
    package static func isConnected(_ descriptor: Int32, journalStream: String?) -> Bool {
        guard let parts = journalStream?.split(separator: ":", omittingEmptySubsequences: false), parts.count == 2,
            let device = UInt(parts[0]), let inode = UInt(parts[1])
        else { return false }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return false }
        return UInt(status.st_dev) == device && UInt(status.st_ino) == inode
    }
}
