public import StrictJSON

/// An interface and the functions that answer its methods, for registration with a service.
///
/// A declared method without a function is answered with `MethodNotImplemented`.
///
/// If a function throws an ``ErrorReplyConvertible``, the service sends that error. Any other error is a fault of the
/// service and goes to ``ServiceConfiguration/observe``. The client then receives the interface's own `error
/// InternalError (message: string)` if it is declared. Otherwise it is disconnected.
public struct InterfaceImplementation: Sendable {
    /// Answers a call with the parameters of its last reply, which is usually the only one.
    public typealias Handler = @Sendable (MethodCall) async throws -> JSONObject

    /// The answer to a call that asks for another protocol on the same connection.
    public struct Upgrade: Sendable {
        /// The parameters of the reply, the last message of Varlink.
        public var reply: JSONObject
        /// Serves the other protocol. The connection closes when it returns or throws. It is cancelled when the client
        /// disconnects.
        public var serve: @Sendable (UpgradedConnection) async throws -> Void

        /// Creates an answer.
        public init(
            reply: JSONObject = [:], serve: @escaping @Sendable (UpgradedConnection) async throws -> Void
        ) {
            self.reply = reply
            self.serve = serve
        }
    }

    /// Answers a call with `upgrade`. If it throws an error, the error is sent and the connection continues with
    /// Varlink.
    public typealias UpgradeHandler = @Sendable (MethodCall) async throws -> Upgrade

    struct Method: Sendable {
        let definition: InterfaceDefinition.MethodDefinition
        var requiresMore = false
        var takesLong = false
        var handler: Handler?
        var upgrade: UpgradeHandler?
    }

    /// The interface.
    public let definition: InterfaceDefinition
    private(set) var methods: [String: Method]

    /// The names of the methods whose calls run on a thread that serves no connection.
    package var methodsThatTakeLong: Set<String> { Set(methods.filter(\.value.takesLong).keys) }

    /// Creates an implementation without functions.
    public init(_ definition: InterfaceDefinition) {
        self.definition = definition
        methods = [:]
        for case .method(let method) in definition.members {
            methods[method.name] = Method(definition: method)
        }
    }

    /// Registers the function of a method, with JSON values.
    ///
    /// - Parameters:
    ///   - name: The method, without the interface.
    ///   - requiresMore: Whether a call without `more` is answered with `ExpectedMore` at once.
    ///   - takesLong: Whether computing or writing an answer may take more than a moment. Such a call runs on a thread
    ///     that serves no connection, wherever other calls run.
    ///   - handler: The function. It is cancelled when the client disconnects.
    /// - Throws: ``VarlinkError`` (`invalidDefinition`) if the interface does not declare the method.
    public mutating func register(
        _ name: String,
        requiresMore: Bool = false,
        takesLong: Bool = false,
        handler: @escaping Handler
    ) throws(VarlinkError) {
        var method = try declared(name)
        method.requiresMore = requiresMore
        method.takesLong = takesLong
        method.handler = handler
        methods[name] = method
    }

    /// Registers the function for calls of a method with `upgrade`. A method may also have a function for other calls.
    /// A call for which the method has no function is answered with `MethodNotImplemented`.
    ///
    /// - Throws: ``VarlinkError`` (`invalidDefinition`) if the interface does not declare the method.
    public mutating func registerUpgrade(
        _ name: String,
        handler: @escaping UpgradeHandler
    ) throws(VarlinkError) {
        var method = try declared(name)
        method.upgrade = handler
        methods[name] = method
    }

    private func declared(_ name: String) throws(VarlinkError) -> Method {
        guard let method = methods[name] else {
            throw VarlinkError(.invalidDefinition, "the interface '\(definition.name)' has no method '\(name)'")
        }
        return method
    }

    /// Registers the function of a method, with typed values. Parameters that cannot be decoded are answered with
    /// `InvalidParameter`.
    ///
    /// - Throws: ``VarlinkError`` (`invalidDefinition`) if the interface does not declare the method.
    public mutating func register<Parameters: Decodable & SendableMetatype, Reply: Encodable & SendableMetatype>(
        _ name: String,
        requiresMore: Bool = false,
        takesLong: Bool = false,
        handler: @escaping @Sendable (Parameters, MethodCall) async throws -> Reply
    ) throws(VarlinkError) {
        try register(name, requiresMore: requiresMore, takesLong: takesLong) { call in
            try MethodCall.parameters(of: await handler(call.decodeParameters(), call))
        }
    }
}
