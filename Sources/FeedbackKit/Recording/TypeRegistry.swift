/// The types that a codec knows, by their identity.
struct TypeRegistry<Value: Sendable>: Sendable {
    /// How values of one type are read and written.
    struct Entry: Sendable {
        let identity: String
        let type: ObjectIdentifier
        let decode: @Sendable (any Decoder) throws -> Value
        let encode: @Sendable (Value, any Encoder) throws -> Void
    }

    private let byIdentity: [String: Entry]
    private let byType: [ObjectIdentifier: Entry]
    private let noun: String
    private let codec: String

    /// Puts types together. Two types of one identity are a programming error.
    init(_ entries: [Entry], noun: String, codec: String) {
        byIdentity = Dictionary(entries.map { ($0.identity, $0) }) { first, second in
            precondition(
                first.type == second.type,
                "two types of \(noun) have the identity \(first.identity): give one of them another")
            return first
        }
        byType = Dictionary(entries.map { ($0.type, $0) }) { first, _ in first }
        self.noun = noun
        self.codec = codec
    }

    var identities: [String] { byIdentity.keys.sorted() }

    func entry(_ identity: String) throws(RecordingError) -> Entry {
        guard let entry = byIdentity[identity] else { throw unknown(identity) }
        return entry
    }

    func entry(of type: any Any.Type, identity: String) throws(RecordingError) -> Entry {
        guard let entry = byType[ObjectIdentifier(type)] else { throw unknown(identity) }
        return entry
    }

    private func unknown(_ identity: String) -> RecordingError {
        let known = identities.prefix(20).joined(separator: ", ") + (identities.count > 20 ? ", …" : "")
        return RecordingError(
            .unknownType,
            """
            the \(noun) \(identity.prefix(200)) is not in the \(codec), which knows \(known.isEmpty ? "none" : known); \
            add the type, or give a known one this identity
            """)
    }

    /// The error for a decoder that has no codec.
    static func missing(_ codec: String, key: String) -> RecordingError {
        RecordingError(
            .missingCodec,
            "there is no \(codec) to read or write with: set userInfo[.\(key)] of the decoder to one")
    }
}

/// How a value and its type stand in the data.
enum CodedKey: String, CodingKey {
    case type, value
}
