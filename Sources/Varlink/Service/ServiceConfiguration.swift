/// What a service says of itself, whom it serves, and what it allows a client to cost.
public struct ServiceConfiguration: Sendable {
    /// What a peer asks to be allowed.
    public enum Request: Sendable, Hashable {
        /// To be connected at all. When refused, the first call is answered with `PermissionDenied` and the
        /// connection closed.
        case connection
        /// To call the method of that qualified name. When refused, the call is answered with `PermissionDenied`.
        case call(method: String)
    }

    /// What happens within a service that its program may want to log or count.
    public enum Event: Sendable {
        /// A peer was connected.
        case connected(VarlinkPeer)
        /// A peer was sent away at once because there were too many connections, in all or of its user.
        case refused(VarlinkPeer)
        /// A connection was ended because of what the peer did or did not do.
        case dropped(VarlinkPeer, VarlinkError)
        /// A connection came to its end.
        case disconnected(VarlinkPeer)
        /// A handler failed with an error that is no reply, or replied what its interface does not declare.
        case failed(method: String, any Error)
        /// Handlers that did not end in time although they were cancelled, when the service was closed.
        case abandoned(count: Int)
    }

    /// Where handlers run.
    public enum HandlerExecution: Sendable {
        /// On the event loop of the connection: fastest for handlers that do little and wait without blocking.
        case eventLoop
        /// On Swift's shared pool.
        case sharedPool
    }

    /// Who made the service; told by GetInfo like the next three.
    public var vendor: String
    /// What the service is called.
    public var product: String
    /// Its version.
    public var version: String
    /// Where to read about it.
    public var url: String

    /// The longest message a client may send, in bytes.
    public var maximumMessageLength = 1 << 20
    /// The longest reply a handler may give, in bytes.
    public var maximumReplyLength = 16 << 20
    /// How deep JSON may be nested in a message.
    public var maximumDepth = JSONValue.defaultMaximumDepth
    /// How many connections there may be.
    public var maximumConnections = 4096
    /// How many connections one user may have.
    public var maximumConnectionsPerUser = 1024
    /// How many of ``maximumConnections`` are kept for peers who have precedence.
    public var reservedConnections = 0
    /// How many connections peers may have in all who may not be connected, and wait to be told so.
    public var maximumUnwelcomeConnections = 64
    /// How many bytes of replies may wait for a client to read before handlers have to wait, too.
    public var maximumUnsentBytes = 1 << 16
    /// How many bytes of replies may wait in all for clients to read, beyond twice ``maximumUnsentBytes`` of each: of long replies.
    /// Who leaves more unread is disconnected. The last quarter is for peers who have precedence.
    public var maximumUnreadBytes = 128 << 20
    /// How many of them may be for one user.
    public var maximumUnreadBytesPerUser = 64 << 20
    /// How many bytes of further calls are read from a client while one of its calls is running.
    public var maximumReadAhead = 1 << 16
    /// How many bytes may lie here in all that clients have sent: of messages that are not yet whole, that wait, and whose
    /// call is running. Who sends beyond is disconnected. The last quarter is for peers who have precedence.
    public var maximumHeldBytes = 64 << 20
    /// How many of them may be of one user.
    public var maximumHeldBytesPerUser = 16 << 20
    /// How many bytes a peer may send who may not be connected.
    public var maximumUnwelcomeBytes = 4096
    /// How many connections the kernel keeps for the service before they are accepted.
    public var backlog: Int32 = 4096

    /// How long a client may rest between calls before it is disconnected; nil is for ever.
    public var idleLimit: Duration?
    /// How long one who may not be connected may take until its first call, which is answered with `PermissionDenied`.
    public var unwelcomeLimit: Duration = .seconds(5)
    /// How long a client may take from the first byte of a message to its last.
    public var messageLimit: Duration = .seconds(45)
    /// How long a client may leave replies unread once ``maximumUnsentBytes`` of them wait.
    public var unreadLimit: Duration = .seconds(45)

    /// Whether replies are checked against the interface before they are sent.
    public var checksReplies = true
    /// Where handlers run.
    public var handlerExecution = HandlerExecution.eventLoop

    /// Says whether a peer may do something. Called on an event loop: it must not block.
    public var authorize: @Sendable (Request, VarlinkPeer) -> Bool = { _, _ in true }
    /// Says whether a peer has precedence where connections or room become scarce. Called on an event loop: it must not
    /// block.
    public var hasPrecedence: @Sendable (VarlinkPeer) -> Bool = { _ in false }
    /// Told what happens. Called on an event loop: it must not block.
    public var observe: @Sendable (Event) -> Void = { _ in }

    /// A configuration with the limits above.
    public init(vendor: String, product: String, version: String, url: String) {
        self.vendor = vendor
        self.product = product
        self.version = version
        self.url = url
    }
}
