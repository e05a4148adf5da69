/// One call as its handler sees it.
public struct MethodCall: Sendable {
    /// The qualified name of the method.
    public let method: String
    /// The parameters, which agree with the definition.
    public let parameters: JSONObject
    /// How the call wants to be answered.
    public let mode: CallMessage.Mode
    /// Who calls.
    public let peer: VarlinkPeer

    private let sink: @Sendable (JSONObject) async throws -> Void

    /// A call whose replies before the last go to a function; made by the service, or by a test of a handler.
    ///
    /// - Parameter sink: takes the parameters of one reply and returns when the next may come.
    public init(
        method: String,
        parameters: JSONObject,
        mode: CallMessage.Mode,
        peer: VarlinkPeer,
        sink: @escaping @Sendable (JSONObject) async throws -> Void
    ) {
        self.method = method
        self.parameters = parameters
        self.mode = mode
        self.peer = peer
        self.sink = sink
    }

    /// Whether the caller takes more than one reply.
    public var wantsMore: Bool { mode == .more }

    /// Sends a reply after which others follow, and waits while the client does not keep up with reading.
    ///
    /// - Throws: ``ServiceError/expectedMore`` when the caller takes only one reply; ``VarlinkError`` when the
    ///   connection is gone or the call is already answered.
    public func send(_ parameters: JSONObject) async throws {
        guard mode == .more else { throw ServiceError.expectedMore }
        try await sink(parameters)
    }

    /// Sends a reply after which others follow; see ``send(_:)-(JSONObject)``.
    public func send(_ reply: some Encodable) async throws {
        try await send(Self.parameters(of: reply))
    }

    /// The parameters as a value.
    ///
    /// - Throws: ``ServiceError/invalidParameter(parameter:)`` with the path of what does not fit.
    public func decodeParameters<Parameters: Decodable>(as type: Parameters.Type = Parameters.self) throws -> Parameters
    {
        do {
            return try JSONValue.object(parameters).decode(type)
        } catch let error as DecodingError {
            throw ServiceError.invalidParameter(parameter: error.path)
        }
    }

    /// The parameters of a reply given as a value, which must encode as an object.
    static func parameters(of reply: some Encodable) throws -> JSONObject {
        let value = try JSONValue(encoding: reply)
        guard case .object(let parameters) = value else {
            throw VarlinkError(.unexpectedValue, "a reply is to be an object, but is \(value.kind)")
        }
        return parameters
    }
}

extension DecodingError {
    /// The place within the parameters: `filter.names[2]`.
    var path: String {
        let context: Context
        var keys: [any CodingKey] = []
        switch self {
        case .keyNotFound(let key, let found):
            context = found
            keys = [key]
        case .typeMismatch(_, let found), .valueNotFound(_, let found), .dataCorrupted(let found):
            context = found
        @unknown default: return ""
        }
        return (context.codingPath + keys).reduce(into: "") { path, key in
            if let index = key.intValue {
                path += "[\(index)]"
            } else {
                path += path.isEmpty ? key.stringValue : ".\(key.stringValue)"
            }
        }
    }
}
