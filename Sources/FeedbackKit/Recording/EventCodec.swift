/// The types of event that can be saved: reads and writes `any Event` by the type's identity.
///
///     let codec = EventCodec {
///         IncreaseEvent.self
///         DecreaseEvent.self
///     }
///     decoder.userInfo[.eventCodec] = codec
///
/// An event is saved as `{ "type": identity, "value": … }`. A type that was renamed keeps reading old recordings if it
/// keeps its identity.
public struct EventCodec: Sendable {
    /// A type in the codec.
    public struct Entry: Sendable {
        let entry: TypeRegistry<any Event>.Entry
    }

    let registry: TypeRegistry<any Event>

    /// Puts types together. Two types of one identity are a programming error, and stop the program with a message that
    /// names it.
    public init(@EventCodecBuilder _ types: () -> [Entry]) {
        registry = TypeRegistry(types().map(\.entry), noun: "event", codec: "EventCodec")
    }

    /// The identities of all types, sorted.
    public var identities: [String] { registry.identities }
}

/// Puts types of event together.
@resultBuilder
public enum EventCodecBuilder: CodecBuilder {
    /// A type in the codec.
    public typealias Entry = EventCodec.Entry

    /// One type.
    public static func buildExpression<E: Event & Codable>(_ type: E.Type) -> [Entry] {
        [
            Entry(
                entry: .init(
                    identity: E.identity, type: ObjectIdentifier(type), decode: { try E(from: $0) },
                    encode: { value, encoder in try (value as? E)?.encode(to: encoder) }))
        ]
    }
}

/// An event together with how it is written. Decoding one needs an ``EventCodec`` in the decoder's
/// `userInfo[.eventCodec]`.
public struct CodedEvent: Codable, Sendable {
    /// The event.
    public let event: any Event
    private let write: TypeRegistry<any Event>.Write

    /// An event of a type that the codec knows; throws a ``RecordingError`` that names the type if it does not.
    public init(_ event: any Event, codec: EventCodec) throws(RecordingError) {
        let type = type(of: event)
        write = try codec.registry.entry(of: type, identity: type.identity).encode
        self.event = event
    }

    /// Decodes an event of a type that the codec knows.
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
