/// The types in a codec, by their identity.
struct TypeRegistry<Value: Sendable>: Sendable {
    /// The functions that read and write values of one type.
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

    /// Creates a registry. Two types with one identity are a programming error.
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

    /// Returns the error for a decoder without a codec.
    static func missing(_ codec: String, key: String) -> RecordingError {
        RecordingError(
            .missingCodec,
            "there is no \(codec) to read or write with: set userInfo[.\(key)] of the decoder to one")
    }
}

extension TypeRegistry {
    /// A function that writes a value of a registered type.
    typealias Write = @Sendable (Value, any Encoder) throws -> Void

    /// Reads a value and returns it with the function that writes it.
    func read(from decoder: any Decoder) throws -> (value: Value, write: Write) {
        let container = try decoder.container(keyedBy: CodedKey.self)
        let entry = try entry(container.decode(String.self, forKey: .type))
        return (try entry.decode(container.superDecoder(forKey: .value)), entry.encode)
    }

    /// Writes a value with its type's identity.
    static func write(_ value: Value, identity: String, to encoder: any Encoder, by write: Write) throws {
        var container = encoder.container(keyedBy: CodedKey.self)
        try container.encode(identity, forKey: .type)
        try write(value, container.superEncoder(forKey: .value))
    }
}

/// Combines the types of a codec.
public protocol CodecBuilder {
    /// A type in the codec.
    associatedtype Entry
}

extension CodecBuilder {
    /// Joins the parts in order.
    public static func buildBlock(_ parts: [Entry]...) -> [Entry] { parts.flatMap(\.self) }
    /// Supports `if` without `else`.
    public static func buildOptional(_ part: [Entry]?) -> [Entry] { part ?? [] }
    /// Supports `if` with `else`.
    public static func buildEither(first: [Entry]) -> [Entry] { first }
    /// Supports `if` with `else`.
    public static func buildEither(second: [Entry]) -> [Entry] { second }
    /// Supports `for`.
    public static func buildArray(_ parts: [[Entry]]) -> [Entry] { parts.flatMap(\.self) }
}

/// The keys of a value and its type in the data.
enum CodedKey: String, CodingKey {
    case type, value
}
