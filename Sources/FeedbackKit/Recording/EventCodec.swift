/// The event types that can be saved. The codec reads and writes `any Event` by the type's identity.
///
///     let codec = EventCodec {
///         IncreaseEvent.self
///         DecreaseEvent.self
///     }
///     decoder.userInfo[.eventCodec] = codec
///
/// An event is saved as `{ "type": identity, "value": … }`. A renamed type still reads old recordings if it keeps its
/// identity. The default identity of a private or local type does not contain its file or function; see
/// ``Event/identity``.
public struct EventCodec: Sendable {
    /// An event type in the codec.
    public struct Entry: Sendable {
        let entry: TypeRegistry<any Event>.Entry
    }

    let registry: TypeRegistry<any Event>

    /// Creates a codec from event types. Two types with one identity are a programming error; the initializer stops the
    /// program with a message that names the identity.
    public init(@EventCodecBuilder _ types: () -> [Entry]) {
        registry = TypeRegistry(types().map(\.entry), noun: "event", codec: "EventCodec")
    }

    /// The sorted identities of all types.
    public var identities: [String] { registry.identities }
}

/// Combines event types.
@resultBuilder
public enum EventCodecBuilder: CodecBuilder {
    /// An event type in the codec.
    public typealias Entry = EventCodec.Entry

    /// Accepts one type.
    public static func buildExpression<E: Event & Codable>(_ type: E.Type) -> [Entry] {
        [
            Entry(
                entry: .init(
                    identity: E.identity, type: ObjectIdentifier(type), decode: { try E(from: $0) },
                    encode: { value, encoder in try (value as? E)?.encode(to: encoder) }))
        ]
    }
}

/// An event with its encoding. Decoding one requires an ``EventCodec`` in the decoder's `userInfo[.eventCodec]`.
public struct CodedEvent: Codable, Sendable {
    /// The event.
    public let event: any Event
    private let write: TypeRegistry<any Event>.Write

    /// Wraps an event; throws a ``RecordingError`` that names the type if the codec does not contain it.
    public init(_ event: any Event, codec: EventCodec) throws(RecordingError) {
        let type = type(of: event)
        write = try codec.registry.entry(of: type, identity: type.identity).encode
        self.event = event
    }

    /// Decodes an event whose type the codec contains.
    public init(from decoder: any Decoder) throws {
        guard let codec = decoder.userInfo[.eventCodec] as? EventCodec else {
            throw TypeRegistry<any Event>.missing("EventCodec", key: "eventCodec")
        }
        (event, write) = try codec.registry.read(from: decoder)
    }

    /// Encodes the event and its type's identity.
    public func encode(to encoder: any Encoder) throws {
        try TypeRegistry.write(event, identity: type(of: event).identity, to: encoder, by: write)
    }
}
