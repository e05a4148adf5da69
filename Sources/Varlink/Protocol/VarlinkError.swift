/// What went wrong with a socket, a connection or a message; not an error a service answered with (``ErrorReply``).
public struct VarlinkError: Error, Sendable, CustomStringConvertible {
    /// What kind of failure it is. Codes may be added.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private let name: String

        private init(_ name: String) { self.name = name }

        /// Another program serves the path already.
        public static let addressInUse = Code("addressInUse")
        /// What lies at the path is no socket; it is left alone.
        public static let notASocket = Code("notASocket")
        /// The path has no room in a socket address (107 bytes on Linux) or holds a NUL.
        public static let invalidPath = Code("invalidPath")
        /// A descriptor handed in is no listening UNIX stream socket.
        public static let notListening = Code("notListening")
        /// There is no file at the path, so nobody serves it.
        public static let noSocket = Code("noSocket")
        /// There is a socket at the path, but nobody listens on it: whoever did has ended without removing it.
        public static let notRunning = Code("notRunning")
        /// The operating system refuses access to the path.
        public static let accessDenied = Code("accessDenied")
        /// Another failure of the operating system.
        public static let system = Code("system")
        /// The peer closed the connection, or this side did.
        public static let connectionClosed = Code("connectionClosed")
        /// The peer broke the rules of the protocol.
        public static let protocolViolation = Code("protocolViolation")
        /// A message beyond the limit.
        public static let messageTooLarge = Code("messageTooLarge")
        /// What clients have sent and was not yet dealt with is more than there is room for.
        public static let noRoom = Code("noRoom")
        /// The time given for something has passed.
        public static let timedOut = Code("timedOut")
        /// A value cannot be encoded, or a reply cannot be decoded into the type asked for.
        public static let unexpectedValue = Code("unexpectedValue")
        /// A definition that contradicts itself or what was registered with it.
        public static let invalidDefinition = Code("invalidDefinition")

        /// The name of the code.
        public var description: String { name }
    }

    /// What kind of failure it is.
    public let code: Code
    /// What happened, why, and what to do about it where that is known: one line, no capital, no full stop.
    public let message: String
    /// The error below this one.
    public let cause: (any Error)?
    /// The number of errno(3) that the operating system gave; nil: it gave none.
    public let errorNumber: Int32?

    /// A failure.
    public init(_ code: Code, _ message: String, cause: (any Error)? = nil, errorNumber: Int32? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
        self.errorNumber = errorNumber
    }

    /// The message, with its cause.
    public var description: String {
        if let cause { "\(message): \(cause)" } else { message }
    }
}
