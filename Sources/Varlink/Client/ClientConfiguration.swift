import StrictJSON

/// The limits of a client for a service.
public struct ClientConfiguration: Sendable {
    /// The longest reply accepted, in bytes.
    public var maximumMessageLength = 16 << 20
    /// The deepest nesting of JSON in a reply.
    public var maximumDepth = JSONValue.defaultMaximumDepth
    /// The number of replies of a stream that may wait for their reader before the client stops reading.
    public var maximumWaitingReplies = 16
    /// The time limit for connecting.
    public var connectLimit: Duration = .seconds(5)
    /// The time limit of a call that has no limit of its own; nil for none.
    public var callLimit: Duration? = .seconds(45)

    /// Creates a configuration with the limits above.
    public init() {}
}
