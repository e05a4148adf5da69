public import StrictJSON

extension Value {
    /// A value from JSON: null, Booleans, numbers, text, lists, and maps with keys of type `string`. A number without fraction
    /// and exponent is an `int`, a `uint` if it is too large for that, and a `double` if it is too large for both. Every other
    /// number is a `double`, also `1.0`.
    public init(_ json: JSONValue) {
        switch json {
        case .null: self = .null
        case .bool(let value): self = .bool(value)
        case .int(let value): self = .int(value)
        case .uint(let value): self = .uint(value)
        case .double(let value): self = .double(value)
        case .string(let value): self = .string(value)
        case .array(let elements): self = .list(elements.map(Value.init))
        case .object(let members):
            self = .map(Dictionary(uniqueKeysWithValues: members.map { (.string($0), Value($1)) }))
        }
    }

    /// Parses one JSON text (RFC 8259), strictly.
    ///
    /// - Throws: `JSONSyntaxError` if the text is not JSON, or nested too deeply for a value.
    /// - Complexity: O(n) in the length of the text.
    public init(parsingJSON bytes: some Sequence<UInt8>) throws(JSONSyntaxError) {
        let bytes = Array(bytes)
        self.init(try JSONValue(parsing: bytes.span, maximumDepth: Self.deepestLevel - 1))
    }
}
