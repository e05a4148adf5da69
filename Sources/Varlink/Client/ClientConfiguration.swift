/// What a client allows a service to cost.
public struct ClientConfiguration: Sendable {
    /// The longest reply accepted, in bytes.
    public var maximumMessageLength = 16 << 20
    /// How deep JSON may be nested in a reply.
    public var maximumDepth = JSONValue.defaultMaximumDepth
    /// How many replies of a stream wait for their reader before the client stops reading from the service.
    public var maximumWaitingReplies = 16
    /// How long connecting may take.
    public var connectLimit: Duration = .seconds(5)
    /// How long a call may take when it is made without a limit of its own; nil is for ever.
    public var callLimit: Duration? = .seconds(45)

    /// A configuration with the limits above.
    public init() {}
}
