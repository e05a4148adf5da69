import CommonExpression
import FoundationEssentials
import MediatorConfiguration

/// The encoded form of the values of a Swift type, with the conversion to and from values of configurations.
indirect enum Shape: Sendable, Hashable {
    /// A Boolean value, number, text, point in time or duration.
    case plain(ValueType)
    /// Foundation's `Date`, a point in time that encodes itself as seconds since 2001.
    case date
    /// A whole number of fewer than 64 bits.
    case integer(isSigned: Bool, ClosedRange<Int64>)
    /// One of a few texts.
    case choice([String])
    /// One of a few whole numbers.
    case number(isSigned: Bool, [Int64])
    /// Foundation's `UUID`, which encodes itself as text.
    case uuid
    /// A value that may be missing.
    case optional(Shape)
    case list(Shape)
    /// A dictionary with texts as keys.
    case map(Shape)
    case structure([Field])

    /// A field of a structure.
    struct Field: Sendable, Hashable {
        var name: String
        var shape: Shape
    }

    /// The type in a configuration.
    var type: ValueType {
        switch self {
        case .plain(let type): type
        case .date: .timestamp
        case .integer(let isSigned, _), .number(let isSigned, _): isSigned ? .int : .uint
        case .choice, .uuid: .string
        case .optional(let shape): .optional(shape.type)
        case .list(let shape): .list(shape.type)
        case .map(let shape): .map(key: .string, value: shape.type)
        case .structure(let fields):
            .structure(
                StructureType(
                    name: "", fields: fields.map { StructureType.Field(name: $0.name, type: $0.shape.type) }))
        }
    }

    /// The rule for a value in addition to its type, or `nil` if the type suffices.
    var rule: ValueRule? {
        switch self {
        case .plain, .date: return nil
        case .integer(_, let range): return .range(range)
        case .choice(let texts): return .words(texts)
        case .number(_, let numbers): return .numbers(numbers)
        case .uuid: return .uuid
        case .optional(let shape): return shape.rule
        case .list(let shape), .map(let shape): return shape.rule.map { .each($0) }
        case .structure(let fields):
            let rules = fields.compactMap { field in field.shape.rule.map { (field.name, $0) } }
            return rules.isEmpty ? nil : .fields(Dictionary(rules, uniquingKeysWith: { first, _ in first }))
        }
    }

    /// Returns a value of the configuration type from the encoded form of a Swift value.
    func raised(_ value: Value) throws(KindError) -> Value {
        switch (self, value) {
        case (.optional, .null): return .optional(nil)
        case (.optional(let shape), _): return .optional(try shape.raised(value))
        case (.date, .double(let seconds)):
            guard let time = Self.timestamp(seconds) else { throw KindError("the date is out of range") }
            return .timestamp(time)
        case (.list(let shape), .list(let values)):
            var raised: [Value] = []
            raised.reserveCapacity(values.count)
            for value in values { raised.append(try shape.raised(value)) }
            return .list(raised)
        case (.map(let shape), .map(let entries)):
            var raised: [Value: Value] = [:]
            raised.reserveCapacity(entries.count)
            for (key, value) in entries { raised[key] = try shape.raised(value) }
            return .map(raised)
        case (.structure(let fields), .map(let entries)):
            guard case .structure(let type) = self.type else { break }
            return .structure(Structure(type: type, fields: try Self.raised(fields, entries)))
        default:
            if let converted = value.converted(to: type) { return converted }
        }
        throw KindError("what was encoded is \(value.type), not \(type)")
    }

    /// Returns the values of some fields, in order.
    static func raised(_ fields: [Field], _ entries: [Value: Value]) throws(KindError) -> [Value] {
        var values: [Value] = []
        values.reserveCapacity(fields.count)
        var found = 0
        for field in fields {
            let entry = entries[.string(field.name)]
            if entry != nil { found += 1 }
            do {
                values.append(try field.shape.raised(entry ?? .null))
            } catch {
                throw KindError(error, in: "the field '\(field.name)'")
            }
        }
        guard found == entries.count else {
            let known = Set(fields.map { Value.string($0.name) })
            let unknown = entries.keys.filter { !known.contains($0) }.compactMap(\.text).sorted()
            throw KindError("it encodes '\(unknown.first ?? "")', which it does not decode")
        }
        return values
    }

    /// Returns the encoded form that a Swift type decodes, from a value of the configuration type.
    func lowered(_ value: Value) -> Value {
        switch (self, value) {
        case (.optional, .optional(nil)): return .null
        case (.optional(let shape), .optional(let wrapped?)): return shape.lowered(wrapped)
        case (.date, .timestamp(let time)): return .double(Self.seconds(time))
        case (.list(let shape), .list(let values)): return .list(values.map(shape.lowered))
        case (.map(let shape), .map(let entries)): return .map(entries.mapValues(shape.lowered))
        case (.structure(let fields), .structure(let structure)): return Self.lowered(fields, structure.fields)
        default: return value
        }
    }

    /// Returns the encoded form of some fields that a Swift type decodes. A missing value has no key.
    static func lowered(_ fields: [Field], _ values: [Value]) -> Value {
        var entries: [Value: Value] = [:]
        entries.reserveCapacity(fields.count)
        for (field, value) in zip(fields, values) {
            let lowered = field.shape.lowered(value)
            if lowered != .null { entries[.string(field.name)] = lowered }
        }
        return .map(entries)
    }

    private static func timestamp(_ seconds: Double) -> Timestamp? {
        let since1970 = seconds + Date.timeIntervalBetween1970AndReferenceDate
        let whole = since1970.rounded(.down)
        guard let exact = Int64(exactly: whole) else { return nil }
        // A date is exact to about 0.1 µs, so smaller digits would be noise.
        let nanoseconds = min(((since1970 - whole) * 1e6).rounded() * 1e3, 999_999_000)
        return Timestamp(seconds: exact, nanoseconds: Int32(nanoseconds))
    }

    private static func seconds(_ time: Timestamp) -> Double {
        Double(time.seconds) - Date.timeIntervalBetween1970AndReferenceDate + Double(time.nanoseconds) / 1e9
    }
}
