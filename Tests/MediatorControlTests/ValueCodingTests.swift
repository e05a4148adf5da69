import CommonExpression
import MediatorControl
import StrictJSON
import Testing
import Varlink

private let visitor = StructureType(
    name: "Visitor", fields: [.init(name: "name", type: .string), .init(name: "age", type: .int)])

@Suite struct `Values as JSON` {
    @Test(arguments: [
        (Value.bool(true), ValueType.bool, JSONValue.bool(true)),
        (.int(.min), .int, .int(.min)),
        (.uint(7), .uint, .int(7)),
        (.double(1.5), .double, .double(1.5)),
        (.string("a\u{0}é"), .string, .string("a\u{0}é")),
        (.timestamp(Timestamp(rfc3339: "2026-11-21T10:00:00.5Z")!), .timestamp, .string("2026-11-21T10:00:00.5Z")),
        (.duration(TimeSpan(text: "90s")!), .duration, .string("90s")),
        (.list([.int(1), .int(2)]), .list(.int), .array([.int(1), .int(2)])),
        (.map([.string("k"): .bool(false)]), .map(key: .string, value: .bool), .object(["k": .bool(false)])),
        (.optional(.int(3)), .optional(.int), .int(3)), (.optional(nil), .optional(.int), .null),
        (
            .structure(Structure(type: visitor, fields: [.string("ann"), .int(40)])), .structure(visitor),
            .object(["name": .string("ann"), "age": .int(40)])
        ),
    ])
    func `travel there and back`(value: Value, type: ValueType, json: JSONValue) throws {
        #expect(ValueCoding.json(value) == json)
        #expect(try ValueCoding.value(json, as: type, at: "x") == value)
    }

    @Test func `what JSON has no number for is text`() {
        #expect(ValueCoding.json(.double(.infinity)) == .string("inf"))
        #expect(ValueCoding.json(.uint(.max)) == .uint(.max))
    }

    @Test(arguments: [
        (JSONValue.string("1"), ValueType.int), (.int(-1), .uint), (.int(1), .string), (.double(1.5), .int),
        (.string("yesterday"), .timestamp), (.string("soon"), .duration), (.null, .string), (.int(1), .list(.int)),
        (.array([.string("x")]), .list(.int)), (.string("x"), .optional(.int)), (.bool(true), .structure(visitor)),
    ])
    func `of another type are refused`(json: JSONValue, type: ValueType) {
        #expect(throws: ValueCoding.Mismatch.self) { try ValueCoding.value(json, as: type, at: "x") }
    }

    @Test func `an integer is a double where one is wanted`() throws {
        #expect(try ValueCoding.value(.int(2), as: .double, at: "x") == .double(2))
    }

    @Test func `an optional field may be missing`() throws {
        let type = StructureType(name: "Visitor", fields: [.init(name: "name", type: .optional(.string))])
        #expect(try ValueCoding.fields([:], as: type, at: "x") == [.optional(nil)])
        #expect(ValueCoding.fields(of: .structure(Structure(type: type, fields: [.optional(nil)]))) == [:])
        #expect(try ValueCoding.fields(["name": .string("ann")], as: type, at: "x") == [.optional(.string("ann"))])
    }

    @Test func `a structure needs every field and no other`() {
        let missing = #expect(throws: ValueCoding.Mismatch.self) {
            try ValueCoding.fields(["name": .string("ann")], as: visitor, at: "Visit")
        }
        #expect(missing?.path == "Visit.age")
        #expect(missing?.message == "Visit needs the field age: int")
        let surplus = #expect(throws: ValueCoding.Mismatch.self) {
            try ValueCoding.fields(["nam": .string("ann"), "age": .int(1)], as: visitor, at: "Visit")
        }
        #expect(surplus?.message == "Visit has no field nam; did you mean name?")
    }
}
