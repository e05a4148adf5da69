import Glibc

/// Why a question to the service manager's interface could not be answered.
public struct SystemdError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of error; more may be added.
    public struct Code: Sendable, Hashable {
        private let name: String

        /// `$WATCHDOG_USEC` or `$WATCHDOG_PID` does not hold a number.
        public static let malformedWatchdog = Code(name: "malformedWatchdog")
    }

    /// The kind of error.
    public let code: Code
    /// What is wrong, why, and what to do.
    public let message: String
    /// The number of errno(3) which libsystemd returned.
    public let errno: Int32

    /// An error of libsystemd, described.
    init(code: Code, message: String, errno: Int32) {
        self.code = code
        self.message = message
        self.errno = errno
    }

    /// ``message`` with the system's words for ``errno``.
    public var description: String {
        "\(message) (\(String(cString: strerror(errno))))"
    }
}
