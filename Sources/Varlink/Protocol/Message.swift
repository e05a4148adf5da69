/// A call as it travels: `{"method": …, "parameters": …, "more": true}`.
public struct CallMessage: Sendable, Hashable {
    /// How a call wants to be answered. At most one of the flags of the protocol can be set.
    public enum Mode: Sendable, Hashable {
        /// One reply.
        case single
        /// Any number of replies.
        case more
        /// No reply, not even an error.
        case oneway
        /// One reply, then another protocol on the same connection.
        case upgrade
    }

    /// The qualified name of the method.
    public var method: String
    /// The parameters; absent, null and `{}` are the same.
    public var parameters: JSONObject
    /// How the call wants to be answered.
    public var mode: Mode

    /// A call.
    public init(method: String, parameters: JSONObject = [:], mode: Mode = .single) {
        self.method = method
        self.parameters = parameters
        self.mode = mode
    }

    /// Reads a call from one message without its NUL.
    ///
    /// - Throws: ``VarlinkError`` (`protocolViolation`) for anything after which the connection is to be closed:
    ///   no JSON object, no method, a flag that is no bool, two flags, an unknown member without a vendor's prefix.
    public init(
        parsing bytes: Span<UInt8>,
        maximumDepth: Int = JSONValue.defaultMaximumDepth
    ) throws(VarlinkError) {
        var header = try MessageHeader(parsing: bytes, maximumDepth: maximumDepth)
        guard let method = try header.takeString("method") else {
            throw MessageHeader.violation("the call has no method")
        }
        parameters = try header.takeParameters()
        self.method = method
        mode = .single
        for (name, flag) in [("more", Mode.more), ("oneway", .oneway), ("upgrade", .upgrade)]
        where try header.takeFlag(name) {
            guard mode == .single else { throw MessageHeader.violation("the call has two flags at once") }
            mode = flag
        }
        try header.finish()
    }

    /// The message without its NUL.
    public func serialized() -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(256)
        bytes.append(contentsOf: #"{"method":"#.utf8)
        JSONValue.write(method, to: &bytes)
        switch mode {
        case .single: break
        case .more: bytes.append(contentsOf: #","more":true"#.utf8)
        case .oneway: bytes.append(contentsOf: #","oneway":true"#.utf8)
        case .upgrade: bytes.append(contentsOf: #","upgrade":true"#.utf8)
        }
        if !parameters.isEmpty {
            bytes.append(contentsOf: #","parameters":"#.utf8)
            JSONValue.write(parameters, to: &bytes)
        }
        bytes.append(UInt8(ascii: "}"))
        return bytes
    }
}

/// A reply as it travels: `{"parameters": …, "continues": true}` or `{"error": …, "parameters": …}`.
public struct ReplyMessage: Sendable, Hashable {
    /// The parameters; absent, null and `{}` are the same.
    public var parameters: JSONObject
    /// Whether more replies to the same call follow. Never with an error.
    public var continues: Bool
    /// The qualified name of the error, when it is one.
    public var error: String?

    /// A reply that is no error.
    public init(parameters: JSONObject, continues: Bool = false) {
        self.parameters = parameters
        self.continues = continues
        self.error = nil
    }

    /// A reply that is an error.
    public init(error: ErrorReply) {
        self.parameters = error.parameters
        self.continues = false
        self.error = error.name
    }

    /// Reads a reply from one message without its NUL.
    ///
    /// - Throws: ``VarlinkError`` (`protocolViolation`) for anything after which the connection is to be closed.
    public init(
        parsing bytes: Span<UInt8>,
        maximumDepth: Int = JSONValue.defaultMaximumDepth
    ) throws(VarlinkError) {
        var header = try MessageHeader(parsing: bytes, maximumDepth: maximumDepth)
        parameters = try header.takeParameters()
        continues = try header.takeFlag("continues")
        error = try header.takeString("error")
        guard error == nil || !continues else { throw MessageHeader.violation("an error reply says that it continues") }
        try header.finish()
    }

    /// The message without its NUL.
    public func serialized() -> [UInt8] { serialized(upTo: .max) }

    /// The message without its NUL; of one that is longer than a limit a beginning, which is longer than the limit too.
    package func serialized(upTo limit: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(256)
        bytes.append(UInt8(ascii: "{"))
        if continues { bytes.append(contentsOf: #""continues":true,"#.utf8) }
        if let error {
            bytes.append(contentsOf: #""error":"#.utf8)
            JSONValue.write(error, to: &bytes)
            bytes.append(UInt8(ascii: ","))
        }
        bytes.append(contentsOf: #""parameters":"#.utf8)
        JSONValue.write(parameters, to: &bytes, limit: limit)
        bytes.append(UInt8(ascii: "}"))
        return bytes
    }
}

/// The members of a message while they are taken out one by one; what is left in the end must bear a vendor's prefix.
private struct MessageHeader {
    private var members: JSONObject

    init(parsing bytes: Span<UInt8>, maximumDepth: Int) throws(VarlinkError) {
        let value: JSONValue
        do throws(JSONSyntaxError) {
            value = try JSONValue(parsing: bytes, maximumDepth: maximumDepth)
        } catch {
            throw VarlinkError(.protocolViolation, "the message cannot be read", cause: error)
        }
        guard case .object(let members) = value else { throw Self.violation("the message is no object") }
        self.members = members
    }

    mutating func takeString(_ name: String) throws(VarlinkError) -> String? {
        guard let value = members.removeValue(forKey: name) else { return nil }
        guard case .string(let text) = value, !text.isEmpty else {
            throw Self.violation("the member '\(name)' is no text or empty")
        }
        return text
    }

    mutating func takeFlag(_ name: String) throws(VarlinkError) -> Bool {
        guard let value = members.removeValue(forKey: name) else { return false }
        guard case .bool(let flag) = value else { throw Self.violation("the member '\(name)' is no bool") }
        return flag
    }

    mutating func takeParameters() throws(VarlinkError) -> JSONObject {
        switch members.removeValue(forKey: "parameters") {
        case nil, .null: return [:]
        case .object(let parameters): return parameters
        default: throw Self.violation("the parameters are no object")
        }
    }

    func finish() throws(VarlinkError) {
        // A vendor's member is named like something within an interface: it has a dot.
        for name in members.keys where !name.contains(".") || name.hasPrefix(".") || name.hasSuffix(".") {
            throw Self.violation("the message has a member '\(name.prefix(64))', which no one knows")
        }
    }

    static func violation(_ message: String) -> VarlinkError {
        VarlinkError(.protocolViolation, message)
    }
}
