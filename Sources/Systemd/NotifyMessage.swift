import Glibc

/// One assignment of the notification protocol, such as `READY=1`, for a ``Notifier``.
///
/// Source: sd_notify(3), "Well-known assignments". A service manager ignores unknown assignments, so sending a newer
/// one to an older systemd does no harm.
public struct NotifyMessage: Sendable, Hashable {
    /// The longest text of ``status(_:)``, in bytes of UTF-8. Longer text is cut and ends in "…".
    public static let statusLimit = 1024

    /// The text: one or more lines `KEY=value`, without a newline at the end.
    public let assignment: String

    private init(_ assignment: String) {
        self.assignment = assignment
    }

    /// Start-up is finished, or the reload that ``reloading(monotonic:)`` announced.
    public static let ready = NotifyMessage("READY=1")

    /// Shutdown has begun.
    public static let stopping = NotifyMessage("STOPPING=1")

    /// Resets the watchdog's timer.
    public static let watchdog = NotifyMessage("WATCHDOG=1")

    /// Returns one line of status for people, shown by `systemctl status`.
    ///
    /// The protocol separates assignments by newlines and refuses NUL. Every run of white space and control characters
    /// therefore becomes one space, and is removed at both ends.
    ///
    /// - Parameter text: The line. Beyond ``statusLimit`` bytes it is cut at a character's boundary.
    public static func status(_ text: String) -> NotifyMessage {
        NotifyMessage("STATUS=\(singleLine(text, limit: statusLimit))")
    }

    /// Announces that a reload has begun. ``ready`` must follow when it ends.
    ///
    /// - Parameter monotonic: The time of `CLOCK_MONOTONIC` at which the reload began. For a unit of
    ///   `Type=notify-reload`, systemd 253 and later need it to distinguish this reload from an earlier one.
    public static func reloading(monotonic: Duration = monotonicNow()) -> NotifyMessage {
        NotifyMessage("RELOADING=1\nMONOTONIC_USEC=\(microseconds(of: monotonic))")
    }

    /// Requests more time to start, to stop or to reload: the current phase may last this much longer from now.
    ///
    /// - Parameter duration: The time from now. A negative value counts as zero.
    public static func extendTimeout(_ duration: Duration) -> NotifyMessage {
        NotifyMessage("EXTEND_TIMEOUT_USEC=\(microseconds(of: duration))")
    }

    /// Returns the error with which the service fails, as a number of errno(3).
    public static func errno(_ code: Int32) -> NotifyMessage {
        NotifyMessage("ERRNO=\(code)")
    }

    /// Returns the exit status with which the service will exit.
    public static func exitStatus(_ status: Int32) -> NotifyMessage {
        NotifyMessage("EXIT_STATUS=\(status)")
    }

    /// Accompanies a descriptor to keep under a name, whether or not it is readable.
    static func store(_ name: String) -> NotifyMessage {
        NotifyMessage("FDSTORE=1\nFDNAME=\(name)\nFDPOLL=0")
    }

    /// Requests that the descriptors under a name be closed.
    public static func discard(_ name: String) -> NotifyMessage {
        NotifyMessage("FDSTOREREMOVE=1\nFDNAME=\(name)")
    }

    /// Declares the main process of the service.
    public static func mainPID(_ pid: Int32) -> NotifyMessage {
        NotifyMessage("MAINPID=\(pid)")
    }

    /// Returns the current time of `CLOCK_MONOTONIC`.
    public static func monotonicNow() -> Duration {
        var now = timespec()
        // This cannot fail: the clock exists on every Linux, and the address is valid.
        _ = clock_gettime(CLOCK_MONOTONIC, &now)
        return .seconds(now.tv_sec) + .nanoseconds(now.tv_nsec)
    }

    /// Returns the whole microseconds of a duration, rounded down and within the range of the protocol.
    static func microseconds(of duration: Duration) -> UInt64 {
        let (seconds, attoseconds) = duration.components
        guard duration > .zero else { return 0 }
        let (whole, overflowed) = UInt64(seconds).multipliedReportingOverflow(by: 1_000_000)
        let (sum, carried) = whole.addingReportingOverflow(UInt64(attoseconds) / 1_000_000_000_000)
        // The largest number means "infinity" to systemd, so the result stays below it.
        return overflowed || carried ? .max - 1 : min(sum, .max - 1)
    }

    /// Returns `text` on one line and within `limit` bytes of UTF-8.
    private static func singleLine(_ text: String, limit: Int) -> String {
        let ellipsis = "…"
        var line = ""
        var size = 0
        // The position of the cut if the rest does not fit, including the ellipsis.
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
