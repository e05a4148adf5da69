public import StrictJSON

/// A call message: `{"method": …, "parameters": …, "more": true}`.
public struct CallMessage: Sendable, Hashable {
    /// The kind of answer that a call expects. The protocol allows at most one of its flags.
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
    /// The parameters. Absent, null and `{}` are the same.
    public var parameters: JSONObject
    /// The kind of answer that the call expects.
    public var mode: Mode

    /// Creates a call.
    public init(method: String, parameters: JSONObject = [:], mode: Mode = .single) {
        self.method = method
        self.parameters = parameters
        self.mode = mode
    }

    /// Reads a call from one message without its NUL.
    ///
    /// - Throws: ``VarlinkError`` (`protocolViolation`), after which the connection must close. The message is not a
    ///   JSON object, has no method, or has an unknown member without a vendor's prefix. Or a flag is not a bool, or
    ///   there are two.
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

/// A reply message: `{"parameters": …, "continues": true}` or `{"error": …, "parameters": …}`.
public struct ReplyMessage: Sendable, Hashable {
    /// The parameters. Absent, null and `{}` are the same.
    public var parameters: JSONObject
    /// A Boolean value that indicates whether more replies to the same call follow. An error never has more.
    public var continues: Bool
    /// The qualified name of the error, if the reply is an error.
    public var error: String?

    /// Creates a reply that is not an error.
    public init(parameters: JSONObject, continues: Bool = false) {
        self.parameters = parameters
        self.continues = continues
        self.error = nil
    }

    /// Creates a reply that is an error.
    public init(error: ErrorReply) {
        self.parameters = error.parameters
        self.continues = false
        self.error = error.name
    }

    /// Reads a reply from one message without its NUL.
    ///
    /// - Throws: ``VarlinkError`` (`protocolViolation`) for any violation after which the connection must close.
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

    /// Returns the message without its NUL. If the message is longer than the limit, the result is a prefix that is
    /// also longer than the limit.
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

/// The members of a message, which are removed one by one. Members that remain must have a vendor's prefix.
private struct MessageHeader {
    private var members: JSONObject

    init(parsing bytes: Span<UInt8>, maximumDepth: Int) throws(VarlinkError) {
        let value: JSONValue
        do throws(JSONSyntaxError) {
            value = try JSONValue(parsing: bytes, maximumDepth: maximumDepth)
        } catch {
            throw VarlinkError(.protocolViolation, "the message cannot be read", cause: error)
        }
        guard case .object(let members) = value else { throw Self.violation("the message is not an object") }
        self.members = members
    }

    mutating func takeString(_ name: String) throws(VarlinkError) -> String? {
        guard let value = members.removeValue(forKey: name) else { return nil }
        guard case .string(let text) = value, !text.isEmpty else {
            throw Self.violation("the member '\(name)' is empty or not a string")
        }
        return text
    }

    mutating func takeFlag(_ name: String) throws(VarlinkError) -> Bool {
        guard let value = members.removeValue(forKey: name) else { return false }
        guard case .bool(let flag) = value else { throw Self.violation("the member '\(name)' is not a bool") }
        return flag
    }

    mutating func takeParameters() throws(VarlinkError) -> JSONObject {
        switch members.removeValue(forKey: "parameters") {
        case nil, .null: return [:]
        case .object(let parameters): return parameters
        default: throw Self.violation("the parameters are not an object")
        }
    }

    func finish() throws(VarlinkError) {
        // A vendor's member has a dot, like the name of an interface's member.
        for name in members.keys where !name.contains(".") || name.hasPrefix(".") || name.hasSuffix(".") {
            throw Self.violation("the message has an unknown member '\(name.prefix(64))'")
        }
    }

    static func violation(_ message: String) -> VarlinkError {
        VarlinkError(.protocolViolation, message)
    }
}
