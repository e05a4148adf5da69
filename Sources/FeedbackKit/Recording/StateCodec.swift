/// The types of state that can be saved: reads and writes `any State` by the type's identity.
///
///     let codec = StateCodec {
///         VolumeState.self
///         MutedState.self
///     }
///     decoder.userInfo[.stateCodec] = codec
///
/// A state is saved as `{ "type": identity, "value": … }`. A type that was renamed keeps reading old saved states if it
/// keeps its identity.
public struct StateCodec: Sendable {
    /// A type in the codec.
    public struct Entry: Sendable {
        let entry: TypeRegistry<any State>.Entry
    }

    let registry: TypeRegistry<any State>

    /// Puts types together. Two types of one identity are a programming error, and stop the program with a message that
    /// names it.
    public init(@StateCodecBuilder _ types: () -> [Entry]) {
        registry = TypeRegistry(types().map(\.entry), noun: "state", codec: "StateCodec")
    }

    /// The identities of all types, sorted.
    public var identities: [String] { registry.identities }
}

/// Puts types of state together.
@resultBuilder
public enum StateCodecBuilder {
    /// One type.
    public static func buildExpression<S: State & Codable>(_ type: S.Type) -> [StateCodec.Entry] {
        [
            StateCodec.Entry(
                entry: .init(
                    identity: S.identity, type: ObjectIdentifier(type), decode: { try S(from: $0) },
                    encode: { value, encoder in try (value as? S)?.encode(to: encoder) }))
        ]
    }
    /// One after the other.
    public static func buildBlock(_ parts: [StateCodec.Entry]...) -> [StateCodec.Entry] { parts.flatMap(\.self) }
    /// `if` without `else`.
    public static func buildOptional(_ part: [StateCodec.Entry]?) -> [StateCodec.Entry] { part ?? [] }
    /// `if` with `else`.
    public static func buildEither(first: [StateCodec.Entry]) -> [StateCodec.Entry] { first }
    /// `if` with `else`.
    public static func buildEither(second: [StateCodec.Entry]) -> [StateCodec.Entry] { second }
}

/// A state together with how it is written. Decoding one needs a ``StateCodec`` in the decoder's
/// `userInfo[.stateCodec]`.
public struct CodedState: Codable, Sendable {
    /// The state.
    public let state: any State
    private let write: @Sendable (any State, any Encoder) throws -> Void

    /// A state of a type that the codec knows; throws a ``RecordingError`` that names the type if it does not.
    public init(_ state: any State, codec: StateCodec) throws(RecordingError) {
        let type = type(of: state)
        write = try codec.registry.entry(of: type, identity: type.identity).encode
        self.state = state
    }

    /// Decodes a state of a type that the codec knows.
    public init(from decoder: any Decoder) throws {
        guard let codec = decoder.userInfo[.stateCodec] as? StateCodec else {
            throw TypeRegistry<any State>.missing("StateCodec", key: "stateCodec")
        }
        let container = try decoder.container(keyedBy: CodedKey.self)
        let entry = try codec.registry.entry(container.decode(String.self, forKey: .type))
        state = try entry.decode(container.superDecoder(forKey: .value))
        write = entry.encode
    }

    /// Encodes the state and its type's identity.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodedKey.self)
        try container.encode(type(of: state).identity, forKey: .type)
        try write(state, container.superEncoder(forKey: .value))
    }
}
