/// An interface and the functions that answer its methods, as they are registered with a service.
///
/// A method that is declared and has no function is answered with `MethodNotImplemented`.
///
/// An error a function throws is sent when it is ``ErrorReplyConvertible``. Any other error is a fault of the service:
/// it goes to ``ServiceConfiguration/observe``, and the client is answered with the interface's own
/// `error InternalError (message: string)` where it declares one, and disconnected where it does not.
public struct InterfaceImplementation: Sendable {
    /// Answers a call with the parameters of its last (mostly its only) reply.
    public typealias Handler = @Sendable (MethodCall) async throws -> JSONObject

    /// The answer to a call that asks for another protocol on the same connection.
    public struct Upgrade: Sendable {
        /// The parameters of the reply, the last message of Varlink.
        public var reply: JSONObject
        /// Serves the other protocol; when it returns or throws, the connection is closed. It is cancelled when the
        /// client goes away.
        public var serve: @Sendable (UpgradedConnection) async throws -> Void

        /// An answer.
        public init(
            reply: JSONObject = [:], serve: @escaping @Sendable (UpgradedConnection) async throws -> Void
        ) {
            self.reply = reply
            self.serve = serve
        }
    }

    /// Answers a call with `upgrade`, or throws an error to answer with, after which the connection goes on as it is.
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

    /// The interface without any function.
    public init(_ definition: InterfaceDefinition) {
        self.definition = definition
        methods = [:]
        for case .method(let method) in definition.members {
            methods[method.name] = Method(definition: method)
        }
    }

    /// Registers the function for a method, in JSON.
    ///
    /// - Parameters:
    ///   - name: the method, without the interface.
    ///   - requiresMore: whether a call without `more` is answered with `ExpectedMore` right away.
    ///   - takesLong: whether an answer may take more than a moment to compute or to write. Such a call runs on a thread that
    ///     serves no connection, wherever the others run.
    ///   - handler: the function. It is cancelled when the client goes away.
    /// - Throws: ``VarlinkError`` (`invalidDefinition`) when the interface declares no such method.
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

    /// Registers the function for calls of a method with `upgrade`, beside that for other calls if there is one. Where
    /// there is none, a call with `upgrade` is answered with `MethodNotImplemented`, and so is one without where there
    /// is only this one.
    ///
    /// - Throws: ``VarlinkError`` (`invalidDefinition`) when the interface declares no such method.
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

    /// Registers the function for a method, typed. Parameters that cannot be decoded are answered with
    /// `InvalidParameter`.
    ///
    /// - Throws: ``VarlinkError`` (`invalidDefinition`) when the interface declares no such method.
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
