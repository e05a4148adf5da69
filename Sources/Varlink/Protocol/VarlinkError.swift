/// A failure of a socket, a connection or a message. The answer of a service is an ``ErrorReply`` instead.
public struct VarlinkError: Error, Sendable, CustomStringConvertible {
    /// The kind of failure. Codes may be added.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private let name: String

        private init(_ name: String) { self.name = name }

        /// Another program already serves the path.
        public static let addressInUse = Code("addressInUse")
        /// The file at the path is not a socket. It was not touched.
        public static let notASocket = Code("notASocket")
        /// The path does not fit into a socket address (107 bytes on Linux) or contains a NUL.
        public static let invalidPath = Code("invalidPath")
        /// A given descriptor is not a listening UNIX stream socket.
        public static let notListening = Code("notListening")
        /// The path has no file, so nobody serves it.
        public static let noSocket = Code("noSocket")
        /// The path has a socket, but nobody listens on it. Its program has ended without removing it.
        public static let notRunning = Code("notRunning")
        /// The operating system refuses access to the path.
        public static let accessDenied = Code("accessDenied")
        /// Another failure of the operating system.
        public static let system = Code("system")
        /// The peer closed the connection, or this side did.
        public static let connectionClosed = Code("connectionClosed")
        /// The peer violated the protocol.
        public static let protocolViolation = Code("protocolViolation")
        /// A message exceeds the limit.
        public static let messageTooLarge = Code("messageTooLarge")
        /// Clients have sent more unprocessed bytes than the limit.
        public static let noRoom = Code("noRoom")
        /// A time limit has passed.
        public static let timedOut = Code("timedOut")
        /// A value cannot be encoded, or a reply cannot be decoded into the type asked for.
        public static let unexpectedValue = Code("unexpectedValue")
        /// A definition contradicts itself or a function registered with it.
        public static let invalidDefinition = Code("invalidDefinition")

        /// The name of the code.
        public var description: String { name }
    }

    /// The kind of failure.
    public let code: Code
    /// The event, its cause, and the remedy if it is known: one line, no capital, no full stop.
    public let message: String
    /// The underlying error.
    public let cause: (any Error)?
    /// The operating system's error number (errno(3)); nil if it gave none.
    public let errorNumber: Int32?

    /// Creates a failure.
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
