import CommonExpression
import FoundationEssentials
import MediatorConfiguration

/// A recorder that finds the shape of a Swift type. It lets the type decode itself, and records each requested key
/// and type. The type gets a placeholder for each request, such as 0 or an empty text.
enum ShapeRecorder {
    /// The maximum nesting of a type in others, as in a configuration.
    static let deepest = ConfigurationLimits.typeNesting

    /// Returns the shape of a type, and a placeholder.
    static func record<T: Decodable>(_ type: T.Type, path: [any CodingKey] = []) throws -> (shape: Shape, value: T) {
        guard path.count <= deepest else {
            throw KindError("it lies more than \(deepest) levels deep, or within itself")
        }
        if let (shape, value) = try known(type, path: path) {
            guard let value = value as? T else { throw KindError("there is no value of \(type)") }
            return (shape, value)
        }
        let note = ShapeNote()
        let value: T
        do {
            value = try T(from: RecordingDecoder(note: note, codingPath: path))
        } catch {
            if note.asksForKeys { throw KindError("\(type) is an enumeration whose cases have no texts as raw values") }
            throw error
        }
        guard let shape = note.shape else { throw KindError("\(type) decodes nothing") }
        return (shape, value)
    }

    /// Returns the fields of a type that decodes keys, or `nil` if it decodes something else. A type without fields
    /// has an empty list.
    static func fields<T: Decodable>(of type: T.Type) throws -> [Shape.Field]? {
        let note = ShapeNote()
        do {
            _ = try T(from: RecordingDecoder(note: note, codingPath: []))
        } catch {
            if note.asksForKeys {
                throw KindError(
                    "it is an enumeration: conform it to CaseIterable, with a value of each case in allCases")
            }
            throw error
        }
        if note.isEmpty { return [] }
        if case .structure(let fields)? = note.shape { return fields }
        return nil
    }

    /// Returns the fields of one case of an enumeration. A value of the enumeration encodes the name of its case with
    /// these fields.
    static func fields<T: Decodable>(of type: T.Type, case name: String) throws -> [Shape.Field] {
        let note = ShapeNote()
        note.offered = [name]
        _ = try T(from: RecordingDecoder(note: note, codingPath: []))
        guard let inner = note.members.first(where: { $0.name == name })?.note, !inner.isEmpty else { return [] }
        guard case .structure(let fields)? = inner.shape else {
            throw KindError("it decodes something else than fields")
        }
        return fields
    }

    /// Returns the shape of a type with a conversion of its own, and a placeholder. Returns `nil` for any other type.
    private static func known(_ type: Any.Type, path: [any CodingKey]) throws -> (Shape, Any)? {
        switch type {
        case is Bool.Type: return (.plain(.bool), false)
        case is String.Type: return (.plain(.string), "")
        case is Double.Type: return (.plain(.double), 0.0)
        case is Float.Type: return (.plain(.double), Float(0))
        case is any (FixedWidthInteger & SignedInteger).Type, is any (FixedWidthInteger & UnsignedInteger).Type:
            guard let integer = type as? any FixedWidthInteger.Type else { return nil }
            return (shape(integer), zero(integer))
        case is Timestamp.Type: return Timestamp(seconds: 0, nanoseconds: 0).map { (.plain(.timestamp), $0) }
        case is TimeSpan.Type: return TimeSpan(seconds: 0, nanoseconds: 0).map { (.plain(.duration), $0) }
        case is Duration.Type: return (.plain(.duration), Duration.zero)
        case is Date.Type: return (.date, Date(timeIntervalSinceReferenceDate: 0))
        case is UUID.Type: return (.uuid, UUID())
        case is [UInt8].Type, is Data.Type, is Value.Type, is URL.Type:
            throw KindError("there is no type for \(type) in configurations")
        case let type as any OptionalType.Type: return (.optional(try type.wrappedShape(path)), type.missing)
        case let type as any ListType.Type: return (.list(try type.elementShape(path)), type.empty)
        case let type as any DictionaryType.Type: return (.map(try type.valueShape(path)), type.empty)
        case let type as any CaseIterable.Type:
            guard let first = first(type) else { throw KindError("\(type) has no case") }
            return try rawShape(first, type, path).map { ($0, first) }
        default: return nil
        }
    }

    private static func zero<I: FixedWidthInteger>(_: I.Type) -> Any { I.zero }
    private static func first<C: CaseIterable>(_: C.Type) -> Any? { C.allCases.first }

    /// Returns the shape of an integer, with its range if that is smaller than the range of the configuration's type.
    private static func shape<I: FixedWidthInteger>(_: I.Type) -> Shape {
        guard I.bitWidth < 64, let least = Int64(exactly: I.min), let most = Int64(exactly: I.max) else {
            return .plain(I.isSigned ? .int : .uint)
        }
        return .integer(isSigned: I.isSigned, least...most)
    }

    /// Returns the shape of a case's raw value, or `nil` if the case has no raw value.
    private static func rawShape<C: CaseIterable>(
        _ first: Any, _ type: C.Type, _ path: [any CodingKey]
    ) throws -> Shape? {
        guard let first = first as? any RawRepresentable else { return nil }
        let raw = C.allCases.compactMap { ($0 as? any RawRepresentable)?.rawValue }
        let texts = raw.compactMap { $0 as? String }
        if !texts.isEmpty { return .choice(texts) }
        guard let shape = try known(Swift.type(of: first.rawValue), path: path)?.0 else { return nil }
        let numbers = raw.compactMap { raw -> Int64? in
            guard let integer = raw as? any FixedWidthInteger else { return nil }
            return number(integer)
        }
        guard shape.type == .int || shape.type == .uint, numbers.count == raw.count else { return shape }
        return .number(isSigned: shape.type == .int, numbers)
    }

    private static func number<I: FixedWidthInteger>(_ number: I) -> Int64? { Int64(exactly: number) }
}

/// An optional type.
private protocol OptionalType {
    static func wrappedShape(_ path: [any CodingKey]) throws -> Shape
    static var missing: Any { get }
}

extension Optional: OptionalType where Wrapped: Decodable {
    static func wrappedShape(_ path: [any CodingKey]) throws -> Shape {
        let shape = try ShapeRecorder.record(Wrapped.self, path: path + [PlaceKey("?")]).shape
        if case .optional = shape { throw KindError("an optional of an optional cannot be told from none") }
        return shape
    }
    static var missing: Any { Wrapped?.none as Any }
}

/// An array type.
private protocol ListType {
    static func elementShape(_ path: [any CodingKey]) throws -> Shape
    static var empty: Any { get }
}

extension Array: ListType where Element: Decodable {
    static func elementShape(_ path: [any CodingKey]) throws -> Shape {
        try ShapeRecorder.record(Element.self, path: path + [PlaceKey("[]")]).shape
    }
    static var empty: Any { [] as Self }
}

/// A type of dictionaries with texts as keys.
private protocol DictionaryType {
    static func valueShape(_ path: [any CodingKey]) throws -> Shape
    static var empty: Any { get }
}

extension Dictionary: DictionaryType where Key == String, Value: Decodable {
    static func valueShape(_ path: [any CodingKey]) throws -> Shape {
        try ShapeRecorder.record(Value.self, path: path + [PlaceKey("[:]")]).shape
    }
    static var empty: Any { [:] as Self }
}

/// A coding key for a place without a key.
struct PlaceKey: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(_ text: String) { stringValue = text }
    init?(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { stringValue = String(intValue) }
}

/// The requests of a type. It is a class, since a type uses its containers after the decoder has returned them.
final class ShapeNote {
    /// The requests for one key.
    struct Member {
        var name: String
        var note: ShapeNote
    }

    /// The shape that was requested as a whole.
    var single: Shape?
    /// The keys, in the order of the requests.
    private(set) var members: [Member] = []
    /// The requests for elements.
    var elements: ShapeNote?
    /// A Boolean value that indicates whether the value may be missing.
    var isOptional = false
    /// A Boolean value that indicates whether the type asked for the list of keys. Only enumerations and dictionaries
    /// ask for it.
    var asksForKeys = false
    /// The keys in the answer to that request.
    var offered: [String] = []

    /// A Boolean value that indicates whether the type asked for nothing.
    var isEmpty: Bool { single == nil && elements == nil && members.isEmpty }

    /// Returns the requests for a key.
    func member(_ name: String) -> ShapeNote {
        if let known = members.first(where: { $0.name == name }) { return known.note }
        let note = ShapeNote()
        members.append(Member(name: name, note: note))
        return note
    }

    /// The shape that results from the requests, or `nil` without requests.
    var shape: Shape? {
        var shape = single
        if shape == nil, let element = elements?.shape { shape = .list(element) }
        if shape == nil, !members.isEmpty {
            // A key has no type if the type only asked for its presence.
            shape = .structure(
                members.compactMap { member in
                    member.note.shape.map { Shape.Field(name: member.name, shape: $0) }
                })
        }
        guard let shape, isOptional else { return shape }
        if case .optional = shape { return shape }
        return .optional(shape)
    }
}
