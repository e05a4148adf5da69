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

    struct Method: Sendable {
        let definition: InterfaceDefinition.MethodDefinition
        let requiresMore: Bool
        let handler: Handler?
    }

    /// The interface.
    public let definition: InterfaceDefinition
    private(set) var methods: [String: Method]

    /// The interface without any function.
    public init(_ definition: InterfaceDefinition) {
        self.definition = definition
        methods = [:]
        for case .method(let method) in definition.members {
            methods[method.name] = Method(definition: method, requiresMore: false, handler: nil)
        }
    }

    /// Registers the function for a method, in JSON.
    ///
    /// - Parameters:
    ///   - name: the method, without the interface.
    ///   - requiresMore: whether a call without `more` is answered with `ExpectedMore` right away.
    ///   - handler: the function. It is cancelled when the client goes away.
    /// - Throws: ``VarlinkError`` (`invalidDefinition`) when the interface declares no such method.
    public mutating func register(
        _ name: String,
        requiresMore: Bool = false,
        handler: @escaping Handler
    ) throws(VarlinkError) {
        guard let method = methods[name] else {
            throw VarlinkError(.invalidDefinition, "the interface '\(definition.name)' has no method '\(name)'")
        }
        methods[name] = Method(definition: method.definition, requiresMore: requiresMore, handler: handler)
    }

    /// Registers the function for a method, typed. Parameters that cannot be decoded are answered with
    /// `InvalidParameter`.
    ///
    /// - Throws: ``VarlinkError`` (`invalidDefinition`) when the interface declares no such method.
    public mutating func register<Parameters: Decodable & SendableMetatype, Reply: Encodable & SendableMetatype>(
        _ name: String,
        requiresMore: Bool = false,
        handler: @escaping @Sendable (Parameters, MethodCall) async throws -> Reply
    ) throws(VarlinkError) {
        try register(name, requiresMore: requiresMore) { call in
            try MethodCall.parameters(of: await handler(call.decodeParameters(), call))
        }
    }
}
