import StrictJSON
import Testing

struct JSONTests {
    private static func parse(_ bytes: [UInt8]) throws -> JSONValue {
        try JSONValue(parsing: bytes.span)
    }

    static let accepted: [(text: String, value: JSONValue)] = [
        ("null", nil), ("true", true), ("false", false), ("0", 0), ("-0", 0), ("-1", -1),
        ("9223372036854775807", .int(.max)), ("-9223372036854775808", .int(.min)),
        ("9223372036854775808", .uint(1 << 63)), ("18446744073709551615", .uint(.max)),
        ("18446744073709551616", .double(18_446_744_073_709_551_616)), ("1.0", 1.0), ("1e2", 100.0), ("-1.5E-1", -0.15),
        ("\"\"", ""), (#""a\"\\\/\b\f\n\r\tb""#, "a\"\\/\u{8}\u{C}\n\r\tb"), (#""\u00e9\u0000""#, "é\0"),
        (#""\ud83d\ude00!""#, "😀!"), ("\"é😀\"", "é😀"), ("[]", []), ("{}", [:]), (" [ 1 , [ ] ] ", [1, []]),
        (#"{"a":{"b":[null]},"":1}"#, ["a": ["b": [nil]], "": 1]), ("\t\r\n 1 \n", 1),
    ]

    @Test(arguments: accepted.indices)
    func `a text is read and written and read again`(index: Int) throws {
        let (text, value) = Self.accepted[index]
        let read = try JSONValue(parsing: text)
        #expect(read == value)
        #expect(try JSONValue(parsing: read.description) == value)
    }

    @Test(arguments: [
        "", " ", "nul", "nulll", "True", "01", "-", "-a", "1.", ".5", "1e", "1e+", "+1", "1e999", "0x1", "NaN",
        "Infinity",
        "\"", "\"a", #""\x""#, #""\u12""#, #""\u12g4""#, #""\ud800""#, #""\ud800a""#, #""\ud800\n""#, #""\udc00""#,
        #""\ud800\ud800""#, "\"\n\"", "\"\u{1}\"", "[", "[1", "[1,", "[1,]", "[1 2]", "[,1]", "]", "{", #"{"a""#,
        #"{"a":"#,
        #"{"a":1"#, #"{"a":1,"#, #"{"a":1,}"#, #"{"a" 1}"#, "{a:1}", "{1:1}", #"{"a":1 "b":2}"#, #"{"a":1,"a":2}"#,
        "1 2",
        "[]]", "{}\u{0}", "\u{FEFF}1", "'a'", "// 1",
    ])
    func `text that is not JSON is refused`(text: String) {
        #expect(throws: JSONSyntaxError.self) { try JSONValue(parsing: text) }
    }

    @Test(arguments: [
        [0x22, 0xFF, 0x22], [0x22, 0xC3, 0x22], [0x22, 0xED, 0xA0, 0x80, 0x22], [0x22, 0xC0, 0xAF, 0x22],
    ])
    func `invalid UTF-8 is refused`(bytes: [UInt8]) {
        #expect(throws: JSONSyntaxError.self) { try Self.parse(bytes) }
        let escaped: [UInt8] = [0x22, 0x5C, 0x6E] + bytes.dropFirst()
        #expect(throws: JSONSyntaxError.self) { try Self.parse(escaped) }
    }

    @Test func `nesting is bounded before it becomes deep`() throws {
        func nested(_ depth: Int) -> String {
            String(repeating: #"{"a":["#, count: depth / 2) + String(repeating: "]}", count: depth / 2)
        }
        #expect(throws: Never.self) { try JSONValue(parsing: nested(128)) }
        #expect(throws: JSONSyntaxError.self) { try JSONValue(parsing: nested(130)) }
        #expect(throws: Never.self) { try JSONValue(parsing: "[[1]]", maximumDepth: 2) }
        let error = #expect(throws: JSONSyntaxError.self) { try JSONValue(parsing: "[[[1]]]", maximumDepth: 2) }
        #expect(error?.offset == 2)
        #expect(throws: JSONSyntaxError.self) { try JSONValue(parsing: String(repeating: "[", count: 1_000_000)) }
    }

    @Test func `a very long number is refused, a long one is not`() throws {
        #expect(try JSONValue(parsing: String(repeating: "1", count: 300)).doubleValue?.isFinite == true)
        #expect(throws: JSONSyntaxError.self) { try JSONValue(parsing: "0." + String(repeating: "1", count: 2000)) }
    }

    @Test func `every prefix of a text is refused without a crash`() {
        let text = Array(#"{"a":[1,-2.5e3,"x\u00e9\ud83d\ude00",true,null,{"b":{}}],"c":false}"#.utf8)
        for length in 0..<text.count {
            #expect(throws: JSONSyntaxError.self) { try Self.parse(Array(text[..<length])) }
        }
    }

    @Test func `every changed byte is read or refused without a crash`() {
        let text = Array(#"{"a":[1,-2.5e3,"x\u00e9\ud83d\ude00",true,null]}"#.utf8)
        var accepted = 0
        for index in text.indices {
            for byte in UInt8.min...UInt8.max {
                var changed = text
                changed[index] = byte
                guard let value = try? Self.parse(changed) else { continue }
                accepted += 1
                #expect((try? JSONValue(parsing: value.description)) == value)
            }
        }
        #expect(accepted > text.count)
    }

    @Test func `written JSON has sorted names and no control character`() {
        let value: JSONValue = ["b": 1, "a": "\0\u{1F}\u{7F}\n\"\\", "c": [.double(.infinity), .double(.nan), 0.1]]
        #expect(value.description == #"{"a":"\u0000\u001f\u007f\n\"\\","b":1,"c":[null,null,0.1]}"#)
    }

    @Test(
        arguments: [
            ("\u{80}|\u{9B}|\u{9F}", #"\u0080|\u009b|\u009f"#),
            ("\u{AD}\u{600}\u{6DD}\u{70F}", #"\u00ad\u0600\u06dd\u070f"#),
            ("\u{61C}\u{200E}\u{202E}\u{2066}", #"\u061c\u200e\u202e\u2066"#), ("\u{2028}\u{2029}", #"\u2028\u2029"#),
            ("\u{8E2}\u{180E}\u{FEFF}\u{FFFB}", #"\u08e2\u180e\ufeff\ufffb"#),
            ("grün ÿ ✓ “日本” 👍 \u{A0}\u{E000}", "grün ÿ ✓ “日本” 👍 \u{A0}\u{E000}"),
        ])
    func `written JSON shows characters that steer a terminal or the order of a text`(text: String, written: String)
        throws
    {
        let value = JSONValue.object([text: .string(text)])
        #expect(value.description == #"{"\#(written)":"\#(written)"}"#)
        #expect(value.indented() == "{\n  \"\(written)\": \"\(written)\"\n}")
        #expect(try JSONValue(parsing: value.description) == value)
    }

    struct Sample: Codable, Equatable {
        enum Kind: String, Codable { case one, two }
        struct Inner: Codable, Equatable { var list: [Int]; var map: [String: Double] }
        var text: String
        var flag: Bool
        var small: UInt8
        var big: Int64
        var fraction: Double
        var kind: Kind
        var nothing: String?
        var inner: [Inner]
        var any: JSONValue
        var object: JSONObject
        var tuple: Pair
        struct Pair: Codable, Equatable {
            var first: Int
            var second: String
            init(first: Int, second: String) {
                self.first = first
                self.second = second
            }
            init(from decoder: any Decoder) throws {
                var container = try decoder.unkeyedContainer()
                first = try container.decode(Int.self)
                second = try container.decode(String.self)
                guard container.isAtEnd else {
                    throw DecodingError.dataCorruptedError(in: container, debugDescription: "too many")
                }
            }
            func encode(to encoder: any Encoder) throws {
                var container = encoder.unkeyedContainer()
                try container.encode(first)
                try container.encode(second)
            }
        }
    }

    static let sample = Sample(
        text: "t",
        flag: true,
        small: 255,
        big: .min,
        fraction: 2,
        kind: .two,
        nothing: nil,
        inner: [.init(list: [1, 2], map: ["a": 0.5])],
        any: ["x": [1, 1.5, nil]],
        object: ["y": "z"],
        tuple: .init(first: 1, second: "b")
    )
    static let sampleValue: JSONValue = [
        "text": "t", "flag": true, "small": 255, "big": .int(.min), "fraction": 2.0, "kind": "two",
        "inner": [["list": [1, 2], "map": ["a": 0.5]]], "any": ["x": [1, 1.5, nil]], "object": ["y": "z"],
        "tuple": [1, "b"],
    ]

    @Test func `values survive encoding to JSON and decoding`() throws {
        #expect(try JSONValue(encoding: Self.sample) == Self.sampleValue)
        #expect(try Self.sampleValue.decode(Sample.self) == Self.sample)
        #expect(try JSONValue(encoding: [1, nil, 3]) == [1, nil, 3])
        #expect(try ([1, nil, 3] as JSONValue).decode([Int?].self) == [1, nil, 3])
        #expect(try JSONValue(encoding: 5) == 5)
        #expect(try JSONValue(encoding: Self.sampleValue) == Self.sampleValue)
        #expect(try JSONValue(encoding: UInt64.max) == .uint(.max))
        #expect(try JSONValue(encoding: UInt64(5)) == 5)
        #expect(try JSONValue.uint(.max).decode(UInt64.self) == .max)
        #expect(throws: DecodingError.self) { try JSONValue.uint(.max).decode(Int64.self) }
        #expect(throws: EncodingError.self) { try JSONValue(encoding: Int128.max) }
    }

    /// Containers filled after their parent, super encoders and decoders.
    struct Nesting: Codable, Equatable {
        var numbers: [Int]

        enum Key: String, CodingKey { case outer, list }

        init(numbers: [Int]) { self.numbers = numbers }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: Key.self)
            let outer = try container.nestedContainer(keyedBy: Key.self, forKey: .outer)
            var list = try outer.nestedUnkeyedContainer(forKey: .list)
            var numbers: [Int] = []
            while !list.isAtEnd {
                var inner = try list.nestedUnkeyedContainer()
                numbers.append(try inner.decode(Int.self))
            }
            self.numbers = numbers
            let base = try container.superDecoder().singleValueContainer().decode(String.self)
            guard base == "base" else {
                throw DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: base))
            }
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Key.self)
            let base = container.superEncoder()
            var outer = container.nestedContainer(keyedBy: Key.self, forKey: .outer)
            var list = outer.nestedUnkeyedContainer(forKey: .list)
            for number in numbers {
                var inner = list.nestedUnkeyedContainer()
                try inner.encode(number)
            }
            var single = base.singleValueContainer()
            try single.encode("base")
        }
    }

    @Test func `nested containers and super encoders work`() throws {
        let value: JSONValue = ["outer": ["list": [[1], [2]]], "super": "base"]
        #expect(try JSONValue(encoding: Nesting(numbers: [1, 2])) == value)
        #expect(try value.decode(Nesting.self) == Nesting(numbers: [1, 2]))
    }

    @Test(
        arguments: [
            (["text": 1], "text"), (["inner": [["list": [1, "a"], "map": [:]]]], "inner[0].list[1]"),
            (["small": 256], "small"),
            (["big": 1.0], "big"), (["kind": "three"], "kind"), (["tuple": [1]], "tuple[1]"), (["flag": nil], "flag"),
        ] as [(JSONObject, String)])
    func `a decoding error has its path`(change: JSONObject, path: String) {
        var members = Self.sampleValue.objectValue ?? [:]
        members.merge(change) { _, new in new }
        let error = #expect(throws: DecodingError.self) { try JSONValue.object(members).decode(Sample.self) }
        let found: [any CodingKey]? =
            switch error {
            case .typeMismatch(_, let context), .valueNotFound(_, let context), .dataCorrupted(let context):
                context.codingPath
            case .keyNotFound(let key, let context): context.codingPath + [key]
            default: nil
            }
        let text = found?.map { key in key.intValue.map { "[\($0)]" } ?? ".\(key.stringValue)" }.joined()
        #expect(text == ".\(path)")
    }

    @Test func `a value is written on several lines`() throws {
        let value: JSONValue = ["b": [1, ["c": true], []], "a": [:], "é": "\n"]
        let text = """
            {
              "a": {},
              "b": [
                1,
                {
                  "c": true
                },
                []
              ],
              "é": "\\n"
            }
            """
        #expect(value.indented() == text)
        #expect(try JSONValue(parsing: text) == value)
    }
}
