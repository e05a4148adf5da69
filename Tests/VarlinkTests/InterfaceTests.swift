import StrictJSON
import Testing
import Varlink

struct InterfaceTests {
    static let text = """
        # A license, far above.

        # The interface.
        #
        # With two paragraphs.
        interface org.example.all

        # A structure.
        type Everything (
          # The flag.
          flag: bool,
          number: int,
          fraction: float,
          text: string,
          raw: object,
          anything: any,
          maybe: ?string,
          list: []int,
          map: [string]Color,
          set: [string](),
          deep: ?[][string]?(x: int, y: ?(left, right)),
          self: ?Everything
        )

        # A colour.
        type Color (red, green_1, Blue)

        method Do(in: Everything, type: ?(fast, slow)) -> (out: []Everything)   # trailing, belongs to nobody

        method Nothing() -> ()

        # It went wrong.
        error Failed (reason: string)

        """

    @Test func `a definition is read with its documentation`() throws {
        let definition = try InterfaceDefinition(parsing: Self.text)
        #expect(definition.name == "org.example.all")
        #expect(definition.documentation == "The interface.\n\nWith two paragraphs.")
        #expect(definition.members.map(\.name) == ["Everything", "Color", "Do", "Nothing", "Failed"])
        guard case .structure(let fields) = definition.type(named: "Everything") else {
            Issue.record("no structure")
            return
        }
        #expect(fields[0].documentation == "The flag.")
        #expect(fields[9].type == .map(.structure([])))
        #expect(fields[11].type == .optional(.named("Everything")))
        #expect(definition.method(named: "Nothing")?.documentation == "")
        #expect(definition.error(named: "Failed")?.documentation == "It went wrong.")
        #expect(definition.method(named: "Failed") == nil)
    }

    @Test func `a printed definition reads and prints the same`() throws {
        for text in [Self.text, exampleText] {
            let definition = try InterfaceDefinition(parsing: text)
            let printed = definition.description
            #expect(try InterfaceDefinition(parsing: printed) == definition)
            #expect(try InterfaceDefinition(parsing: printed).description == printed)
        }
    }

    @Test func `a definition may be on one line, with comments anywhere`() throws {
        let one = try InterfaceDefinition(parsing: "interface a.b type T(x:int)method M(t:?T)->()error E()")
        #expect(one.members.count == 3)
        let spread =
            "interface # c\n a.b\r\ntype # c\n T # c\n ( # c\n x # c\n : # c\n ? # c\n int # c\n , y : [] int ) # c"
        #expect(try InterfaceDefinition(parsing: spread).type(named: "T")?.description == "(x: ?int, y: []int)")
    }

    @Test(arguments: ["\r", "\r\r", "\r\r\r\r", " text\r\r", "a\rb\r\r", "\r \r"])
    func `carriage returns at the end of comments are not part of the documentation`(comment: String) throws {
        let text = "#\(comment)\n#\(comment)\r\ninterface a.b\n\n#\(comment)\nmethod M() -> ()\n"
        let definition = try InterfaceDefinition(parsing: text)
        #expect(definition.documentation.utf8.last != UInt8(ascii: "\r"))
        #expect(try InterfaceDefinition(parsing: definition.description) == definition)
        #expect(try InterfaceDefinition(parsing: definition.description).description == definition.description)
    }

    @Test(arguments: [
        ("", 1, 1, "interface"), ("interfac a.b", 1, 1, "interface"), ("interface a", 1, 11, "not an interface name"),
        ("interface a.b\ntyp T ()", 2, 1, "'type', 'method' or 'error'"),
        ("interface a.b\ntype t ()", 2, 6, "capital"), ("interface a.b\ntype T", 2, 7, "'('"),
        ("interface a.b\ntype T (x)\ntype T (y)", 3, 6, "twice"),
        ("interface a.b\ntype T (x: int, x: int)", 2, 17, "twice"),
        ("interface a.b\ntype T (x: ??int)", 2, 12, "'?' appears twice"),
        ("interface a.b\ntype T (x: nt)", 2, 12, "not a type"),
        ("interface a.b\ntype T (\n  x: Other)", 3, 6, "the type 'Other' is not declared"),
        ("interface a.b\ntype T (x: int", 2, 15, "',' or ')'"), ("interface a.b\ntype T (x: int, y)", 2, 18, "':'"),
        ("interface a.b\ntype T (x, y: int)", 2, 13, "no type"),
        ("interface a.b\ntype T (x__y: int)", 2, 9, "not a field name"),
        ("interface a.b\nmethod M()", 2, 11, "'->'"),
        ("interface a.b\nmethod M(a, b) -> ()", 2, 9, "fields with types"),
        ("interface a.b\nerror E (a, b)", 2, 9, "fields with types"),
        ("interface a.b\ntype T (x: int,)", 2, 16, "not a field name"),
        ("interface a.b\n# only", 2, 1, ""),
    ])
    func `an error has its line and column`(text: String, line: Int, column: Int, reason: String) {
        guard !reason.isEmpty else {
            #expect(throws: Never.self) { try InterfaceDefinition(parsing: text) }
            return
        }
        let error = #expect(throws: InterfaceSyntaxError.self) { try InterfaceDefinition(parsing: text) }
        #expect(error?.line == line)
        #expect(error?.column == column)
        #expect(error?.reason.contains(reason) == true, "\(error?.reason ?? "")")
    }

    @Test func `types that are nested too deep are refused`() throws {
        func nested(_ depth: Int) -> String {
            "interface a.b type T (x: \(String(repeating: "[]", count: depth))int)"
        }
        #expect(throws: Never.self) { try InterfaceDefinition(parsing: nested(31)) }
        #expect(throws: InterfaceSyntaxError.self) { try InterfaceDefinition(parsing: nested(32)) }
        #expect(throws: InterfaceSyntaxError.self) { try InterfaceDefinition(parsing: nested(300_000)) }
        let structures = "interface a.b type T " + String(repeating: "(x: ", count: 100_000)
        #expect(throws: InterfaceSyntaxError.self) { try InterfaceDefinition(parsing: structures) }
    }

    @Test func `every prefix and every changed byte is read or refused without a crash`() {
        let bytes = Array(Self.text.utf8)
        for length in bytes.indices {
            _ = try? InterfaceDefinition(parsing: String(decoding: bytes[..<length], as: UTF8.self))
        }
        for index in bytes.indices {
            for byte in [0, 0x0A, 0x20, 0x23, 0x28, 0x29, 0x2C, 0x3F, 0x41, 0x5B, 0x80] as [UInt8] {
                var changed = bytes
                changed[index] = byte
                guard let read = try? InterfaceDefinition(parsing: String(decoding: changed, as: UTF8.self)) else {
                    continue
                }
                #expect((try? InterfaceDefinition(parsing: read.description)) == read)
            }
        }
    }

    static let good: JSONObject = [
        "flag": true, "number": 1, "fraction": 1, "text": "a", "raw": [1], "anything": "x", "list": [1, 2],
        "map": ["a": "red"], "set": ["a": [:]], "deep": [["k": ["x": 1, "y": "left"]], ["l": nil]],
    ]

    static let changes: [(change: JSONObject, fault: String?)] = [
        ([:], nil), (["maybe": nil], nil), (["maybe": "x"], nil), (["fraction": 1.5], nil), (["deep": nil], nil),
        (["raw": nil], "'raw' must be object, but is null"),
        (["anything": nil], "'anything' must be any, but is null"),
        (["flag": 1], "'flag' must be bool, but is int"), (["number": 1.0], "'number' must be int, but is float"),
        (["maybe": 1], "'maybe' must be string, but is int"),
        (["list": [1, "a"]], "'list[1]' must be int, but is string"),
        (["list": [nil]], "'list[0]' must be int, but is null"),
        (["map": ["a": "pink"]], "'map.a' must be (red, green_1, Blue), but is 'pink'"),
        (["map": ["a": 1]], "'map.a' must be Color, but is int"),
        (["set": ["a": ["b": 1]]], "'set.a.b' is not declared"),
        (["deep": [["k": ["x": "1"]]]], "'deep[0].k.x' must be int, but is string"),
        (["self": 1], "'self' must be Everything, but is int"),
        (["self": [:]], "'self.flag' must be bool, but is nothing"), (["unknown": 1], "'unknown' is not declared"),
    ]

    @Test(arguments: changes.indices)
    func `a value is checked against its definition`(index: Int) throws {
        let definition = try InterfaceDefinition(parsing: Self.text)
        guard case .structure(let fields) = definition.type(named: "Everything") else { return }
        let (change, fault) = Self.changes[index]
        let value = Self.good.merging(change) { _, new in new }
        do throws(DefinitionMismatch) {
            try definition.check(value, against: fields)
            #expect(fault == nil)
        } catch {
            #expect(error.description == fault)
        }
    }

    @Test func `a missing field is reported, and an undeclared one may be ignored`() throws {
        let definition = try InterfaceDefinition(parsing: Self.text)
        let fields = try #require(definition.error(named: "Failed")).parameters
        let error = #expect(throws: DefinitionMismatch.self) { try definition.check([:], against: fields) }
        #expect(error?.description == "'reason' must be string, but is nothing")
        #expect(throws: Never.self) {
            try definition.check(["reason": "x", "more": 1], against: fields, unknownFields: .ignored)
        }
    }
}
