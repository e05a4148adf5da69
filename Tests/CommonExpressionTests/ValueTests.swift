import CommonExpression
import Testing

@Suite("Values")
struct ValueTests {
    @Test(arguments: [
        (Value.null, "null"), (.bool(true), "true"), (.int(-1), "-1"), (.uint(3), "3u"), (.double(1), "1.0"),
        (.double(.nan), #"double("NaN")"#),
        (.string("a\"b\\\n\u{1}é"), #""a\"b\\\n\x01é""#), (.bytes([0, 65, 255, 34]), #"b"\x00A\xff\"""#),
        (.list([.int(1), .string("a")]), #"[1, "a"]"#),
        (.map([.string("b"): .int(1), .string("a"): .list([])]), #"{"a": [], "b": 1}"#),
        (
            .structure(
                Structure(
                    type: StructureType(name: "Offline", fields: [StructureType.Field(name: "n", type: .int)]),
                    fields: [.int(1)])), "Offline{n: 1}"
        ),
    ])
    func `a value is printed as in an expression`(value: Value, description: String) {
        #expect(value.description == description)
    }

    @Test func `text is what string() gives`() {
        #expect(Value.double(2).text == "2")
        #expect(Value.double(-.infinity).text == "-Infinity")
        #expect(Value.bytes([0xFF]).text == nil)
        #expect([Value.null, .list([]), .map([:])].allSatisfy { $0.text == nil })
    }

    @Test func `the type of a collection is that of its elements if they agree`() {
        #expect(Value.list([.int(1), .int(2)]).type == .list(.int))
        #expect(Value.list([.int(1), .uint(2)]).type == .list(.dyn))
        #expect(Value.map([.string("a"): .list([.null])]).type == .map(key: .string, value: .list(.null)))
        #expect(Value.list([]).type == .list(.dyn))
    }

    @Test func `a type accepts its values only`() {
        #expect(ValueType.list(.int).accepts(.list([.int(1)])))
        #expect(!ValueType.list(.int).accepts(.list([.int(1), .double(1)])))
        #expect(ValueType.map(key: .string, value: .dyn).accepts(.map([.string("a"): .null])))
        #expect(!ValueType.double.accepts(.int(1)))
        #expect(!ValueType.timestamp.accepts(.null))
        #expect(ValueType.dyn.accepts(.null))
        #expect(ValueType.structure(Fixture.degraded).accepts(Fixture.state()))
        #expect(!ValueType.structure(Fixture.event).accepts(Fixture.state()))
    }

    @Test func `structure types are the same by name and fields`() {
        let fields = [StructureType.Field(name: "x", type: .int)]
        #expect(StructureType(name: "A", fields: fields) == StructureType(name: "A", fields: fields))
        #expect(StructureType(name: "A", fields: fields) != StructureType(name: "B", fields: fields))
        #expect(StructureType(name: "A", fields: fields) != StructureType(name: "A", fields: []))
        #expect(StructureType(name: "", fields: fields).description == "{ x: int }")
        #expect(Structure(type: StructureType(name: "A", fields: fields), fields: [.int(1)])["x"] == .int(1))
        #expect(Structure(type: StructureType(name: "A", fields: fields), fields: [])["x"] == nil)
    }

    @Test func `strings are equal by code points`() {
        #expect(Value.string("\u{e9}") != .string("e\u{301}"))
        #expect(Value.map([.string("\u{e9}"): .int(1), .string("e\u{301}"): .int(2)]).description.hasPrefix("{"))
    }

    @Test func `a very deep value is printed, typed and compared to a bounded depth`() throws {
        var value = Value.int(1)
        for _ in 0..<1_000 { value = .list([value]) }
        #expect(value.description.contains("…"))
        #expect(value.type != .list(.int))
        #expect(try Fixture.failure("anything == anything", Fixture.values(anything: value)).hasPrefix("valueTooLarge"))
    }
}
