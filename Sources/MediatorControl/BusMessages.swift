public import StrictJSON

/// Whether a bus remembers its last value.
public enum BusKind: String, Codable, Sendable, Hashable, CaseIterable {
    /// It does not.
    case passthrough
    /// The bus keeps its last value, and gives it to each new reader.
    case currentValue
}

/// A bus at a glance.
public struct BusSummary: Codable, Sendable, Hashable {
    /// The name of the bus.
    public var name: String
    /// The description in its configuration.
    public var description: String?
    /// Whether it remembers its last value.
    public var kind: BusKind
    /// The type of its values as the configuration writes it.
    public var valueType: String
    /// The value it remembers.
    public var value: JSONValue?
    /// Whether the value is cut because it is long; nil if it is whole.
    public var cut: Bool?
    /// Since when it has that value (RFC 3339, UTC).
    public var since: String?
    /// The number of values that were published.
    public var published: Int
    /// The number of values that were dropped because too many waited.
    public var dropped: Int
    /// The number of links that read it.
    public var readers: Int
    /// The number of links that write it.
    public var writers: Int

    /// A summary.
    public init(
        name: String,
        description: String? = nil,
        kind: BusKind,
        valueType: String,
        value: JSONValue? = nil,
        cut: Bool? = nil,
        since: String? = nil,
        published: Int = 0,
        dropped: Int = 0,
        readers: Int = 0,
        writers: Int = 0
    ) {
        self.name = name
        self.description = description
        self.kind = kind
        self.valueType = valueType
        self.value = value
        self.cut = cut
        self.since = since
        self.published = published
        self.dropped = dropped
        self.readers = readers
        self.writers = writers
    }
}

/// Everything about a bus.
public struct BusDescription: Codable, Sendable, Hashable {
    /// The bus at a glance.
    public var summary: BusSummary
    /// The place of its definition: file and line.
    public var source: String?
    /// The fields of its value; empty when the value is no structure.
    public var fields: [Field]
    /// The limit on values that wait.
    public var limit: Int
    /// The policy for values beyond the limit, such as `dropOldest`.
    public var overflow: String
    /// The names of the links that touch it.
    public var links: [String]
    /// The use that other programs make of it, as declared: `write`, `read` or `both`; nil for none.
    public var fromOutside: String?
    /// The place of its value in the store; nil if it does not persist.
    public var persistence: PersistenceStatus?

    /// A description.
    public init(
        summary: BusSummary,
        source: String? = nil,
        fields: [Field] = [],
        limit: Int,
        overflow: String,
        links: [String] = [],
        fromOutside: String? = nil,
        persistence: PersistenceStatus? = nil
    ) {
        self.summary = summary
        self.source = source
        self.fields = fields
        self.limit = limit
        self.overflow = overflow
        self.links = links
        self.fromOutside = fromOutside
        self.persistence = persistence
    }
}
