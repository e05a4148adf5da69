import Glibc

/// Why the service manager did not do what it was asked.
public struct ServiceManagerError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of error; more may be added.
    public struct Code: Sendable, Hashable {
        private let name: String

        /// There is no bus to connect to, or nobody answers there.
        public static let unreachable = Code(name: "unreachable")
        /// The connection was lost: what became of a job is unknown.
        public static let lost = Code(name: "lost")
        /// The service manager refused: there is no such unit, or it is not allowed.
        public static let refused = Code(name: "refused")
        /// Too much is asked of it at once.
        public static let busy = Code(name: "busy")
    }

    /// The kind of error.
    public let code: Code
    /// What is wrong, why, and what to do.
    public let message: String

    /// An error.
    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// What libsystemd says about a thing: a negative number of errno(3).
    init(_ code: Code, _ subject: String, result: Int32) {
        self.init(code, "\(subject): \(String(cString: strerror(-result)))")
    }

    /// ``message``.
    public var description: String { message }
}
