public import StrictJSON

/// A call as its handler sees it.
public struct MethodCall: Sendable {
    /// The qualified name of the method.
    public let method: String
    /// The parameters, which match the definition.
    public let parameters: JSONObject
    /// The kind of answer that the caller expects.
    public let mode: CallMessage.Mode
    /// The caller.
    public let peer: VarlinkPeer

    private let sink: @Sendable (JSONObject) async throws -> Void

    /// Creates a call for the service or for a test of a handler.
    ///
    /// - Parameter sink: Receives the parameters of each reply before the last. Returns when the next reply may follow.
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

    /// A Boolean value that indicates whether the caller accepts several replies.
    public var wantsMore: Bool { mode == .more }

    /// Sends a reply that is not the last. Waits while the client does not keep up with reading.
    ///
    /// - Throws: ``ServiceError/expectedMore`` if the caller accepts only one reply; ``VarlinkError`` if the connection
    ///   is closed or the call is already answered.
    public func send(_ parameters: JSONObject) async throws {
        guard mode == .more else { throw ServiceError.expectedMore }
        try await sink(parameters)
    }

    /// Sends a reply that is not the last; see ``send(_:)-(JSONObject)``.
    public func send(_ reply: some Encodable) async throws {
        try await send(Self.parameters(of: reply))
    }

    /// Decodes the parameters as a value.
    ///
    /// - Throws: ``ServiceError/invalidParameter(parameter:)`` with the path of the part that does not fit.
    public func decodeParameters<Parameters: Decodable>(as type: Parameters.Type = Parameters.self) throws -> Parameters
    {
        do {
            return try JSONValue.object(parameters).decode(type)
        } catch let error as DecodingError {
            throw ServiceError.invalidParameter(parameter: error.path)
        }
    }

    /// Returns the parameters of a reply given as a value, which must encode as an object.
    static func parameters(of reply: some Encodable) throws -> JSONObject {
        let value = try JSONValue(encoding: reply)
        guard case .object(let parameters) = value else {
            throw VarlinkError(.unexpectedValue, "a reply must be an object, but is \(value.kind)")
        }
        return parameters
    }
}

extension DecodingError {
    /// The path within the parameters, such as `filter.names[2]`.
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
