public import StrictJSON

/// A wait of a system that is pending.
public struct Wait: Codable, Sendable, Hashable {
    /// The name of the system.
    public var system: String
    /// The reason, in the words of the configuration: `after`, `every`, `at`, `debounce`, `throttle`, `timeout`, `retry`, `for`,
    /// `ready`, `restart` or `stop`.
    public var kind: String
    /// The name of the feedback; nil: the system itself waits.
    public var feedback: String?
    /// The key of the run; nil: it has none.
    public var key: JSONValue?
    /// The end of the wait, as the calendar stands now (RFC 3339, UTC).
    public var due: String
    /// The consequence, in words.
    public var action: String

    /// A wait.
    public init(
        system: String, kind: String, feedback: String? = nil, key: JSONValue? = nil, due: String, action: String
    ) {
        self.system = system
        self.kind = kind
        self.feedback = feedback
        self.key = key
        self.due = due
        self.action = action
    }
}

/// The parameters of `ListWaits`.
public struct ListWaitsParameters: Codable, Sendable, Hashable {
    /// The name of the system; nil: all systems.
    public var system: String?

    /// The parameters.
    public init(system: String? = nil) { self.system = system }
}

/// The reply to `ListWaits`.
public struct ListWaitsReply: Codable, Sendable, Hashable {
    /// The waits, the first to end first.
    public var waits: [Wait]
    /// The number of later waits that were left out.
    public var leftOut: Int

    /// A reply.
    public init(waits: [Wait], leftOut: Int = 0) {
        self.waits = waits
        self.leftOut = leftOut
    }
}
