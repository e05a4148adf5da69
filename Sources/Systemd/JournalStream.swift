import Glibc

/// Whether what a process writes goes to the journal.
public enum JournalStream {
    /// Whether a descriptor is the connection to the journal which systemd gave to this process.
    ///
    /// systemd sets `$JOURNAL_STREAM` to the device and inode numbers of that connection; a descriptor that was since
    /// redirected has others. Source: systemd.exec(5), "Environment variables in spawned processes".
    ///
    /// - Parameter descriptor: A descriptor, such as 2 for standard error. For a closed one the answer is no.
    public static func isConnected(_ descriptor: Int32) -> Bool {
        isConnected(descriptor, journalStream: Environment["JOURNAL_STREAM"])
    }

    /// The same question with `$JOURNAL_STREAM` as a parameter: `DEVICE:INODE` in decimal; anything else is a no.
    package static func isConnected(_ descriptor: Int32, journalStream: String?) -> Bool {
        guard let parts = journalStream?.split(separator: ":", omittingEmptySubsequences: false), parts.count == 2,
            let device = UInt(parts[0]), let inode = UInt(parts[1])
        else { return false }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return false }
        return UInt(status.st_dev) == device && UInt(status.st_ino) == inode
    }
}
