public import StrictJSON

/// The pause of a system.
public struct Pause: Codable, Sendable, Hashable {
    /// Since when (RFC 3339, UTC).
    public var since: String
    /// The user who asked for it.
    public var uid: Int
    /// The name of that user, if it is known.
    public var user: String?

    /// A pause.
    public init(since: String, uid: Int, user: String? = nil) {
        self.since = since
        self.uid = uid
        self.user = user
    }
}

/// The reply to `PauseSystem` and `ResumeSystem`.
public struct PauseReply: Codable, Sendable, Hashable {
    /// Whether it was not so already.
    public var changed: Bool

    /// A reply.
    public init(changed: Bool) {
        self.changed = changed
    }
}

/// The reply to `DescribeKinds`.
public struct DescribeKindsReply: Codable, Sendable, Hashable {
    /// The text that the daemon prints with `--print-kinds`.
    public var document: JSONValue

    /// A reply.
    public init(document: JSONValue) {
        self.document = document
    }
}

/// The levels of the log, from the least grave.
public enum LogLevel: String, Codable, Sendable, Hashable, CaseIterable {
    case trace, debug, info, notice, warning, error, critical
}

/// The parameters of `SetLogLevel`.
public struct SetLogLevelParameters: Codable, Sendable, Hashable {
    /// The new log level; nil for the level of the start.
    public var level: LogLevel?

    /// Parameters.
    public init(level: LogLevel?) {
        self.level = level
    }
}

/// The reply to `ReadLogLevel` and `SetLogLevel`.
public struct LogLevelReply: Codable, Sendable, Hashable {
    /// The least grave level that is logged.
    public var level: LogLevel
    /// The log level of the daemon's start.
    public var given: LogLevel

    /// A reply.
    public init(level: LogLevel, given: LogLevel) {
        self.level = level
        self.given = given
    }
}
