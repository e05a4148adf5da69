import Glibc

/// A reason why the service manager did not perform a request.
public struct ServiceManagerError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of error; more may be added.
    public struct Code: Sendable, Hashable {
        private let name: String

        /// The bus does not exist or does not answer.
        public static let unreachable = Code(name: "unreachable")
        /// The connection was lost. The outcome of a job is unknown.
        public static let lost = Code(name: "lost")
        /// The service manager refused, because the unit does not exist or the action is not permitted.
        public static let refused = Code(name: "refused")
        /// Too many requests at once.
        public static let busy = Code(name: "busy")
    }

    /// The kind of error.
    public let code: Code
    /// The problem, its reason, and the remedy.
    public let message: String

    /// Creates an error.
    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// Creates an error from a result of libsystemd, which is a negative number of errno(3).
    init(_ code: Code, _ subject: String, result: Int32) {
        self.init(code, "\(subject): \(String(cString: strerror(-result)))")
    }

    /// ``message``.
    public var description: String { message }
}
