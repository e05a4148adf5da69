import Glibc

/// A reason why a question about the service manager's interface cannot be answered.
public struct SystemdError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of error; more may be added.
    public struct Code: Sendable, Hashable {
        private let name: String

        /// `$WATCHDOG_USEC` or `$WATCHDOG_PID` does not hold a number.
        public static let malformedWatchdog = Code(name: "malformedWatchdog")
    }

    /// The kind of error.
    public let code: Code
    /// The problem, its reason, and the remedy.
    public let message: String
    /// The number of errno(3) that libsystemd returned.
    public let errno: Int32

    /// Creates an error from a result of libsystemd.
    init(code: Code, message: String, errno: Int32) {
        self.code = code
        self.message = message
        self.errno = errno
    }

    /// ``message`` with the system's text for ``errno``.
    public var description: String {
        "\(message) (\(String(cString: strerror(errno))))"
    }
}
