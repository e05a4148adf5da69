import Glibc

/// One assignment of the notification protocol, such as `READY=1`, to be sent by a ``Notifier``.
///
/// Source: sd_notify(3), "Well-known assignments". A service manager ignores the assignments which it does not know,
/// so sending a newer one to an older systemd does no harm.
public struct NotifyMessage: Sendable, Hashable {
    /// The longest text of ``status(_:)`` that is sent, in bytes of UTF-8; longer text is cut, and ends in "…".
    public static let statusLimit = 1024

    /// What is sent: one or more lines `KEY=value`, without a newline at the end.
    public let assignment: String

    private init(_ assignment: String) {
        self.assignment = assignment
    }

    /// Start-up is finished, or the reload announced by ``reloading(monotonic:)`` is.
    public static let ready = NotifyMessage("READY=1")

    /// Shutdown has begun.
    public static let stopping = NotifyMessage("STOPPING=1")

    /// The watchdog's timer may start anew.
    public static let watchdog = NotifyMessage("WATCHDOG=1")

    /// One line for people, shown by `systemctl status`.
    ///
    /// The protocol separates assignments by newlines and refuses NUL, so every run of white space and control
    /// characters becomes one space, and none is left at either end.
    ///
    /// - Parameter text: The line; beyond ``statusLimit`` bytes it is cut at a character's boundary.
    public static func status(_ text: String) -> NotifyMessage {
        NotifyMessage("STATUS=\(singleLine(text, limit: statusLimit))")
    }

    /// A reload has begun; ``ready`` must follow when it is over.
    ///
    /// - Parameter monotonic: The time of `CLOCK_MONOTONIC` at which the reload began. systemd 253 and later need it
    ///   from a unit of `Type=notify-reload`, to tell this reload from one before it.
    public static func reloading(monotonic: Duration = monotonicNow()) -> NotifyMessage {
        NotifyMessage("RELOADING=1\nMONOTONIC_USEC=\(microseconds(of: monotonic))")
    }

    /// Asks for more time to start, to stop or to reload: the present phase may last this much longer from now.
    ///
    /// - Parameter duration: The time from now; a negative one counts as zero.
    public static func extendTimeout(_ duration: Duration) -> NotifyMessage {
        NotifyMessage("EXTEND_TIMEOUT_USEC=\(microseconds(of: duration))")
    }

    /// The error for which the service fails, as a number of errno(3).
    public static func errno(_ code: Int32) -> NotifyMessage {
        NotifyMessage("ERRNO=\(code)")
    }

    /// The exit status with which the service is going to end.
    public static func exitStatus(_ status: Int32) -> NotifyMessage {
        NotifyMessage("EXIT_STATUS=\(status)")
    }

    /// Goes with a descriptor that is to be kept under a name, whether anything can be read from it or not.
    static func store(_ name: String) -> NotifyMessage {
        NotifyMessage("FDSTORE=1\nFDNAME=\(name)\nFDPOLL=0")
    }

    /// What is kept under a name is to be closed.
    public static func discard(_ name: String) -> NotifyMessage {
        NotifyMessage("FDSTOREREMOVE=1\nFDNAME=\(name)")
    }

    /// The process which the service manager is to regard as the service's main one.
    public static func mainPID(_ pid: Int32) -> NotifyMessage {
        NotifyMessage("MAINPID=\(pid)")
    }

    /// The present time of `CLOCK_MONOTONIC`.
    public static func monotonicNow() -> Duration {
        var now = timespec()
        // Cannot fail: the clock exists on every Linux, and the address is valid.
        _ = clock_gettime(CLOCK_MONOTONIC, &now)
        return .seconds(now.tv_sec) + .nanoseconds(now.tv_nsec)
    }

    /// Whole microseconds of a duration, rounded down, held within what the protocol's unsigned numbers can say.
    static func microseconds(of duration: Duration) -> UInt64 {
        let (seconds, attoseconds) = duration.components
        guard duration > .zero else { return 0 }
        let (whole, overflowed) = UInt64(seconds).multipliedReportingOverflow(by: 1_000_000)
        let (sum, carried) = whole.addingReportingOverflow(UInt64(attoseconds) / 1_000_000_000_000)
        // The largest number means "infinity" to systemd, so stay one below it.
        return overflowed || carried ? .max - 1 : min(sum, .max - 1)
    }

    /// `text` on one line and within `limit` bytes of UTF-8.
    private static func singleLine(_ text: String, limit: Int) -> String {
        let ellipsis = "…"
        var line = ""
        var size = 0
        // Where the line is to be cut if what follows does not fit, the ellipsis included.
        var cut = line.endIndex
        var isSpacePending = false
        for character in text {
            if character.isWhitespace || character.unicodeScalars.contains(where: isControl) {
                isSpacePending = size > 0
                continue
            }
            let piece = isSpacePending ? " \(character)" : String(character)
            isSpacePending = false
            guard size + piece.utf8.count <= limit else { return line[..<cut] + ellipsis }
            line += piece
            size += piece.utf8.count
            if size + ellipsis.utf8.count <= limit { cut = line.endIndex }
        }
        return line
    }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.generalCategory == .control
    }
}
