import CommonExpression
import FoundationEssentials
import MediatorConfiguration

/// Finds the shape of a Swift type by having it decode itself: each key and type that it asks for is noted, and it is
/// given a placeholder, such as 0 or an empty text.
enum ShapeRecorder {
    /// How deep a type may lie in others, as in a configuration.
    static let deepest = ConfigurationLimits.typeNesting

    /// The shape of a type, and a placeholder.
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

    /// The fields of a type that decodes keys; `nil` if it decodes something else. A type without fields has none.
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

    /// The fields of one case of an enumeration, which encodes itself as the case's name with them.
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

    /// The types whose values travel in a way of their own.
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

    /// A whole number, with its range where that is less than what a configuration's type holds.
    private static func shape<I: FixedWidthInteger>(_: I.Type) -> Shape {
        guard I.bitWidth < 64, let least = Int64(exactly: I.min), let most = Int64(exactly: I.max) else {
            return .plain(I.isSigned ? .int : .uint)
        }
        return .integer(isSigned: I.isSigned, least...most)
    }

    /// The shape of a case's raw value; `nil` if it has none.
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

/// A place that has no key of its own.
struct PlaceKey: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(_ text: String) { stringValue = text }
    init?(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { stringValue = String(intValue) }
}

/// What a type has asked for. It lies behind a reference, since containers are asked after they were handed out.
final class ShapeNote {
    /// What was asked for under a key.
    struct Member {
        var name: String
        var note: ShapeNote
    }

    /// What was asked for as a whole.
    var single: Shape?
    /// The keys, in the order in which they were asked for.
    private(set) var members: [Member] = []
    /// What was asked for as elements.
    var elements: ShapeNote?
    /// Whether there may be nothing.
    var isOptional = false
    /// Whether it wanted to know which keys there are, which only an enumeration does, or a dictionary.
    var asksForKeys = false
    /// The keys that it is told then.
    var offered: [String] = []

    /// Whether nothing was asked for.
    var isEmpty: Bool { single == nil && elements == nil && members.isEmpty }

    /// The note of a key.
    func member(_ name: String) -> ShapeNote {
        if let known = members.first(where: { $0.name == name }) { return known.note }
        let note = ShapeNote()
        members.append(Member(name: name, note: note))
        return note
    }

    /// What it comes to; `nil` if nothing was asked for.
    var shape: Shape? {
        var shape = single
        if shape == nil, let element = elements?.shape { shape = .list(element) }
        if shape == nil, !members.isEmpty {
            // A key of which only was asked whether it is there has no type.
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
