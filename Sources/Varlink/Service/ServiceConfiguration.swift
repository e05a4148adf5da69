import StrictJSON

/// The description of a service, its access rules, and its limits for clients.
public struct ServiceConfiguration: Sendable {
    /// A request for permission by a peer.
    public enum Request: Sendable, Hashable {
        /// To connect. If refused, the first call is answered with `PermissionDenied` and the connection is closed.
        case connection
        /// To call the method with that qualified name. If refused, the call is answered with `PermissionDenied`.
        case call(method: String)
    }

    /// Work that the service is about to do for a peer.
    public enum Work: Sendable, Hashable {
        /// To serve a new connection.
        case connection
        /// To serve a call whose message has that number of bytes. The call may turn out to be invalid, unknown or refused.
        case call(bytes: Int)
    }

    /// A reply that the service has made.
    public struct Reply: Sendable, Hashable {
        /// The qualified name of the called method.
        public let method: String
        /// The length of the reply. A reply that is longer than ``maximumReplyLength`` is not sent, but counts.
        public let bytes: Int
        /// A Boolean value that indicates whether another reply to the same call follows.
        public let continues: Bool
    }

    /// An event within a service that its program may log or count.
    public enum Event: Sendable {
        /// A peer was connected.
        case connected(VarlinkPeer)
        /// A peer was disconnected at once, because there were too many connections in total or of its user.
        case refused(VarlinkPeer)
        /// A connection was closed because the peer broke a rule or a limit.
        case dropped(VarlinkPeer, VarlinkError)
        /// A connection ended.
        case disconnected(VarlinkPeer)
        /// A handler failed with an error that is not a reply, or replied with something that its interface does not
        /// declare.
        case failed(method: String, any Error)
        /// Handlers were cancelled when the service was closed, but did not end in time.
        case abandoned(count: Int)
    }

    /// The executor of handlers.
    public enum HandlerExecution: Sendable {
        /// The event loop of the connection. It is the fastest choice for handlers that do little and never block.
        case eventLoop
        /// On Swift's shared pool.
        case sharedPool
    }

    /// The vendor. GetInfo returns it, like the next three properties.
    public var vendor: String
    /// The product name.
    public var product: String
    /// The version.
    public var version: String
    /// The address of the documentation.
    public var url: String

    /// The longest message that a client may send, in bytes.
    public var maximumMessageLength = 1 << 20
    /// The longest reply that a handler may give, in bytes.
    public var maximumReplyLength = 16 << 20
    /// The deepest nesting of JSON in a message.
    public var maximumDepth = JSONValue.defaultMaximumDepth
    /// The most connections.
    public var maximumConnections = 4096
    /// The most connections of one user.
    public var maximumConnectionsPerUser = 1024
    /// The number of ``maximumConnections`` that is reserved for peers with precedence.
    public var reservedConnections = 0
    /// The most connections of peers that may not connect and wait for `PermissionDenied`.
    public var maximumUnauthorizedConnections = 64
    /// The bytes of replies that may wait for a client before handlers must wait.
    public var maximumUnsentBytes = 1 << 16
    /// The most bytes of replies that may wait for all clients, beyond twice ``maximumUnsentBytes`` for each; only long
    /// replies exceed that. A client that exceeds it is disconnected. The last quarter is reserved for peers with
    /// precedence.
    public var maximumUnreadBytes = 128 << 20
    /// The most of these bytes for one user.
    public var maximumUnreadBytesPerUser = 64 << 20
    /// The bytes of further calls that are read from a client while one of its calls is running.
    public var maximumReadAhead = 1 << 16
    /// The most bytes that clients have sent in total: incomplete messages, waiting messages, and messages whose call
    /// is running. A client that exceeds it is disconnected. The last quarter is reserved for peers with precedence.
    public var maximumHeldBytes = 64 << 20
    /// The most of these bytes for one user.
    public var maximumHeldBytesPerUser = 16 << 20
    /// The bytes that a peer without permission to connect may send.
    public var maximumUnauthorizedBytes = 4096
    /// The number of connections that the kernel keeps before the service accepts them.
    public var backlog: Int32 = 4096

    /// The longest pause between calls before the client is disconnected; nil for no limit.
    public var idleLimit: Duration?
    /// The time within which a peer without permission must send its first call, which is answered with
    /// `PermissionDenied`.
    public var unauthorizedLimit: Duration = .seconds(5)
    /// The longest time from the first byte of a message to its last.
    public var messageLimit: Duration = .seconds(45)
    /// The longest time that a client may leave replies unread when ``maximumUnsentBytes`` of them wait.
    public var unreadLimit: Duration = .seconds(45)

    /// A Boolean value that indicates whether replies are checked against the interface before they are sent.
    public var checksReplies = true
    /// The executor of handlers.
    public var handlerExecution = HandlerExecution.eventLoop

    /// Decides whether a peer has a permission. It is called on an event loop and must not block.
    public var authorize: @Sendable (Request, VarlinkPeer) -> Bool = { _, _ in true }
    /// Decides whether a peer has precedence when connections or memory become scarce. It is called on an event loop
    /// and must not block.
    public var hasPrecedence: @Sendable (VarlinkPeer) -> Bool = { _ in false }
    /// Waits until the service may work for a peer, and returns whether it may. It is called once for each connection, and
    /// before each message is parsed, so before any permission is checked. The connection's next calls wait, too. If it returns
    /// `false`, the connection ends.
    public var admit: @Sendable (Work, VarlinkPeer) async -> Bool = { _, _ in true }
    /// Receives each reply to a peer before it is sent, error or not. It must not block.
    public var didReply: @Sendable (Reply, VarlinkPeer) -> Void = { _, _ in }
    /// Receives events. It is called on an event loop and must not block.
    public var observe: @Sendable (Event) -> Void = { _ in }

    /// Creates a configuration with the limits above.
    public init(vendor: String, product: String, version: String, url: String) {
        self.vendor = vendor
        self.product = product
        self.version = version
        self.url = url
    }
}
