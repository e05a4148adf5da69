/// The state types that can be saved. The codec reads and writes `any State` by the type's identity.
///
///     let codec = StateCodec {
///         VolumeState.self
///         MutedState.self
///     }
///     decoder.userInfo[.stateCodec] = codec
///
/// A state is saved as `{ "type": identity, "value": … }`. A renamed type still reads old saved states if it keeps its
/// identity. The default identity of a private or local type does not contain its file or function; see
/// ``State/identity``.
public struct StateCodec: Sendable {
    /// A state type in the codec.
    public struct Entry: Sendable {
        let entry: TypeRegistry<any State>.Entry
    }

    let registry: TypeRegistry<any State>

    /// Creates a codec from state types. Two types with one identity are a programming error; the initializer stops the
    /// program with a message that names the identity.
    public init(@StateCodecBuilder _ types: () -> [Entry]) {
        registry = TypeRegistry(types().map(\.entry), noun: "state", codec: "StateCodec")
    }

    /// The sorted identities of all types.
    public var identities: [String] { registry.identities }
}

/// Combines state types.
@resultBuilder
public enum StateCodecBuilder: CodecBuilder {
    /// A state type in the codec.
    public typealias Entry = StateCodec.Entry

    /// Accepts one type.
    public static func buildExpression<S: State & Codable>(_ type: S.Type) -> [Entry] {
        [
            Entry(
                entry: .init(
                    identity: S.identity, type: ObjectIdentifier(type), decode: { try S(from: $0) },
                    encode: { value, encoder in try (value as? S)?.encode(to: encoder) }))
        ]
    }
}

/// A state with its encoding. Decoding one requires a ``StateCodec`` in the decoder's `userInfo[.stateCodec]`.
public struct CodedState: Codable, Sendable {
    /// The state.
    public let state: any State
    private let write: TypeRegistry<any State>.Write

    /// Wraps a state; throws a ``RecordingError`` that names the type if the codec does not contain it.
    public init(_ state: any State, codec: StateCodec) throws(RecordingError) {
        let type = type(of: state)
        write = try codec.registry.entry(of: type, identity: type.identity).encode
        self.state = state
    }

    /// Decodes a state whose type the codec contains.
    public init(from decoder: any Decoder) throws {
        guard let codec = decoder.userInfo[.stateCodec] as? StateCodec else {
            throw TypeRegistry<any State>.missing("StateCodec", key: "stateCodec")
        }
        (state, write) = try codec.registry.read(from: decoder)
    }

    /// Encodes the state and its type's identity.
    public func encode(to encoder: any Encoder) throws {
        try TypeRegistry.write(state, identity: type(of: state).identity, to: encoder, by: write)
    }
}
