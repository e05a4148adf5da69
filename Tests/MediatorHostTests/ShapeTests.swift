import CommonExpression
import FeedbackKit
import Foundation
import MediatorConfiguration
import MediatorHost
import Testing

/// Every type that a configuration knows.
private struct Everything: State, Codable, Equatable {
    enum Word: String, Codable, CaseIterable { case low, high }
    enum Level: Int, Codable, CaseIterable { case first = 1, second }
    struct Inner: Codable, Equatable { var at: Date, names: [String] }

    var truth: Bool
    var small: Int8
    var number: Int
    var count: UInt16
    var real: Double
    var single: Float
    var text: String
    var id: UUID
    var word: Word
    var level: Level
    var date: Date
    var time: Timestamp
    var span: Duration
    var list: [Int]
    var set: Set<String>
    var map: [String: Double]
    var inner: Inner
    var inners: [Inner]
    var maybe: Inner?
    var maybeDate: Date?
    var maybeWord: Word?
}

/// The known parts of values beside their types, within others.
private struct Nested: State, Codable {
    enum Word: String, Codable, CaseIterable { case low, high }
    struct Inner: Codable { var small: Int8?, words: Set<Word>, other: [String: [UInt32]] }
    var inners: [Inner]
    var number: Int64
}

private struct Renamed: State, Codable {
    static var identity: String { "former_name" }
}

private typealias AnyType = any (State & Codable).Type

private struct Nothing: Codable, Sendable {}
private struct Bytes: State, Codable { var bytes: [UInt8] }
private struct Address: State, Codable { var address: URL }
private struct Tree: State, Codable { var name: String, children: [Tree] }
private struct Strict: State, Codable {
    var name: String
    init(from decoder: any Decoder) throws {
        name = try decoder.container(keyedBy: CodingKeys.self).decode(String.self, forKey: .name)
        guard !name.isEmpty else { throw Wrong(description: "a name is not empty") }
    }
}
private struct Wrong: Error, CustomStringConvertible { let description: String }
private enum Case: State, Codable { case one(Int), two }
private struct Holder: State, Codable {
    enum Part: Codable { case one(Int), two }
    var part: Part
}
private struct Odd: State, Codable {
    var ok: Int
    enum CodingKeys: String, CodingKey { case ok = "not-ok" }
}
private enum Unlisted: Codable { case a, b }
private enum Unlabelled: Codable, CaseIterable {
    case pair(Int, Int)
    static let allCases: [Unlabelled] = [.pair(0, 0)]
}

@Suite struct `The shape of a Swift type` {
    private static func kind(_ state: any (State & Codable).Type) throws -> SystemKind {
        try TypedKind<any State, any Event, Nothing>.system(
            "k", description: nil, parameters: Nothing.self, defaults: nil, states: [state], events: []
        ) { _ in throw Wrong(description: "it is never made") }.kind
    }

    @Test func `has every type that a configuration knows`() throws {
        let fields = try Self.kind(Everything.self).states[0].fields
        #expect(
            fields.map { "\($0.name): \($0.type)" } == [
                "truth: bool", "small: int", "number: int", "count: uint", "real: double", "single: double",
                "text: string", "id: string", "word: string", "level: int", "date: timestamp", "time: timestamp",
                "span: duration", "list: list(int)", "set: list(string)", "map: map(string, double)",
                "inner: { at: timestamp, names: list(string) }",
                "inners: list({ at: timestamp, names: list(string) })",
                "maybe: optional({ at: timestamp, names: list(string) })", "maybeDate: optional(timestamp)",
                "maybeWord: optional(string)",
            ])
        let rules = Dictionary(uniqueKeysWithValues: fields.compactMap { field in field.rule.map { (field.name, $0) } })
        let words = ValueRule.words(["low", "high"])
        #expect(
            rules == [
                "small": .range(-128...127), "count": .range(0...65_535), "id": .uuid, "word": words,
                "level": .numbers([1, 2]), "maybeWord": words,
            ])
    }

    @Test func `has ranges and words within lists and structures too`() throws {
        let fields = try Self.kind(Nested.self).states[0].fields
        let inner: [String: ValueRule] = [
            "small": .range(-128...127), "words": .each(.words(["low", "high"])),
            "other": .each(.each(.range(0...4_294_967_295))),
        ]
        #expect(fields.map(\.rule) == [.each(.fields(inner)), nil])
    }

    @Test func `is that of its values, there and back`() throws {
        let inner = Everything.Inner(at: Date(timeIntervalSince1970: 1_700_000_000.25), names: ["a", "b"])
        for (maybe, date, word) in [(nil, nil, nil), (inner, inner.at, Everything.Word.low)] {
            let whole = Everything(
                truth: true, small: -8, number: .min, count: 65_535, real: 3, single: 1.5, text: "ü", id: UUID(),
                word: .high, level: .second, date: inner.at,
                time: try #require(Timestamp(rfc3339: "2026-11-21T10:00:00.123456789Z")), span: .milliseconds(1_500),
                list: [1, 2], set: ["x"], map: ["a": 2, "b": 0.5], inner: inner, inners: [inner, inner], maybe: maybe,
                maybeDate: date, maybeWord: word)
            let (data, again) = try TypedKind<any State, any Event, Nothing>.roundTrip(whole)
            #expect(again as? Everything == whole)
            guard case .structure(let structure) = data else { throw Wrong(description: "no structure") }
            #expect(structure["date"] == Timestamp(rfc3339: "2023-11-14T22:13:20.25Z").map { .timestamp($0) })
            for (field, value) in zip(structure.type.fields, structure.fields) {
                #expect(field.type.accepts(value), "\(field.name)")
            }
        }
    }

    @Test func `has a name that outlives the type's`() throws {
        #expect(try Self.kind(Renamed.self).states.map(\.name) == ["former_name"])
    }

    @Test(
        arguments: [
            (Bytes.self, "the state Bytes: the field 'bytes': there is no type for Array<UInt8> in configurations"),
            (Address.self, "the state Address: the field 'address': there is no type for URL in configurations"),
            (Tree.self, "or within itself"), (Strict.self, "the state Strict: a name is not empty"),
            (Case.self, "the state Case: it is an enumeration: conform it to CaseIterable"),
            (Holder.self, "the field 'part': Part is an enumeration whose cases have no texts as raw values"),
            (Odd.self, "'not-ok' cannot name a field of 'Odd'"),
        ] as [(AnyType, String)])
    fileprivate func `is told of where it cannot be had`(type: AnyType, message: String) {
        let error = #expect(throws: KindError.self) { try Self.kind(type) }
        #expect(error?.description.hasPrefix("the kind 'k': ") == true)
        #expect(error?.description.contains(message) == true, "\(error?.description ?? "")")
    }

    @Test func `of an enumeration needs its cases`() {
        func error<S: Codable & Sendable>(_: S.Type) -> String {
            let error = #expect(throws: KindError.self) {
                try TypedKind<S, S, Nothing>.loop("k", description: nil, parameters: Nothing.self, defaults: nil) { _ in
                    throw Wrong(description: "it is never made")
                }
            }
            return error?.description ?? ""
        }
        #expect(error(Unlisted.self).contains("the state Unlisted: it is an enumeration: conform it to CaseIterable"))
        #expect(error(Unlabelled.self).contains("the case 'pair': give each of its values a label"))
        #expect(error(Int.self).contains("the state Int: it is no structure with fields"))
    }

    @Test func `of an enumeration is a state for each case`() throws {
        let kind = try Kinds.counter().kind
        #expect(kind.states.map(\.name) == ["stopped", "counting"])
        #expect(kind.states[1].fields.map { "\($0.name): \($0.type)" } == ["value: int", "since: optional(string)"])
        #expect(kind.events.map(\.name) == ["start", "tick", "fail"])
        #expect(kind.events[0].fields.map { "\($0.name): \($0.type)" } == ["value: int"])
        #expect(kind.parameters.map { "\($0.field.name): \($0.field.type)" } == ["period: duration"])
    }

    @Test func `of parameters has their defaults`() throws {
        let kind = try Kinds.speaker().kind
        #expect(kind.parameters.map(\.default) == [.int(15), .int(10)])
    }
}
