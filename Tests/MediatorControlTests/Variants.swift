import StrictJSON
import Testing
import Varlink

/// The values that differ from a filled one in exactly one place.
struct Variants {
    /// One of them.
    struct Variant: CustomStringConvertible {
        var value: JSONValue
        /// Whether the definition allows it.
        var isGood: Bool
        /// The place and the difference.
        var place: String

        var description: String { "\(place), which is \(isGood ? "allowed" : "not allowed")" }
    }

    private let definition: InterfaceDefinition
    private(set) var all: [Variant] = []

    /// The variants of a value that has every field of its type.
    init(
        of value: JSONValue, as type: InterfaceDefinition.TypeExpression, in definition: InterfaceDefinition
    ) throws {
        self.definition = definition
        all = try variants(value, type)
    }

    private func variants(_ value: JSONValue, _ type: InterfaceDefinition.TypeExpression) throws -> [Variant] {
        switch (type, value) {
        case (.bool, _): leaf(good: [true, false], bad: [1, "true", [:]])
        case (.int, _): leaf(good: [0, 1, 4_294_967_296], bad: [1.5, "1", true, []])
        case (.float, _): leaf(good: [0.5, -1.5], bad: ["1", true])
        case (.string, _): leaf(good: ["", "ä\n\u{0}", "other"], bad: [1, true, []])
        case (.object, _), (.any, _): leaf(good: [1, 1.5, "x", false, [1, nil], ["a": ["b": nil]]], bad: [])
        case (.enumeration(let values), _):
            leaf(good: values.map { .string($0.name) }, bad: ["noSuchValue", 0])
        case (.optional(let wrapped), _): try variants(value, wrapped)
        case (.named(let name), _): try variants(value, #require(definition.type(named: name)))
        case (.array(let element), .array(let elements)):
            try leaf(good: [[]], bad: [[:], 1, [nil]])
                + (elements.first.map { first in
                    try variants(first, element).map { change($0, "[0]") { .array([$0] + elements.dropFirst()) } }
                } ?? [])
        case (.map(let element), .object(let members)):
            try leaf(good: [[:]], bad: [[], 1])
                + (members.first.map { first in
                    try variants(first.value, element).map {
                        change($0, first.key) { .object(members.merging([first.key: $0]) { $1 }) }
                    }
                } ?? [])
        case (.structure(let fields), .object(let members)):
            try leaf(good: [], bad: [[], "x"])
                + fields.flatMap { field in
                    var without = members
                    without[field.name] = nil
                    let isOptional = if case .optional = field.type { true } else { false }
                    return try [
                        Variant(value: .object(without), isGood: isOptional, place: "without \(field.name)")
                    ]
                        + variants(members[field.name] ?? nil, field.type).map {
                            change($0, field.name) { .object(members.merging([field.name: $0]) { $1 }) }
                        }
                }
        default: throw NotFilled(kind: value.kind, type: type.description)
        }
    }

    /// A sample that leaves something open.
    private struct NotFilled: Error {
        var kind: String
        var type: String
    }

    private func leaf(good: [JSONValue], bad: [JSONValue]) -> [Variant] {
        good.map { Variant(value: $0, isGood: true, place: "\($0)") }
            + bad.map { Variant(value: $0, isGood: false, place: "\($0)") }
    }

    private func change(_ variant: Variant, _ place: String, _ put: (JSONValue) -> JSONValue) -> Variant {
        Variant(value: put(variant.value), isGood: variant.isGood, place: "\(place): \(variant.place)")
    }
}
