import CommonExpression
import Foundation
import Testing

@Suite("Swift values")
struct CodingTests {
    enum Level: String, Codable { case low, high }

    struct Probe: Codable, Equatable {
        struct Target: Codable, Equatable {
            var host: String
            var port: UInt16
        }
        var name: String
        var load: Double
        var failures: Int
        var since: Timestamp?
        var every: TimeSpan
        var targets: [Target]
        var labels: [String: Int]
        var codes: [Int: Bool]
        var level: Level
        var raw: [UInt8]
        var empty: [Int]
        var extra: Value
    }

    private static let every = TimeSpan(text: "1m30s")

    private func probe() throws -> Probe {
        Probe(
            name: "uplink", load: 0.5, failures: 3, since: Timestamp(rfc3339: "2026-11-21T10:00:00Z"),
            every: try #require(Self.every), targets: [Probe.Target(host: "a", port: 443)], labels: ["k": 1],
            codes: [7: true], level: .high, raw: [1, 255], empty: [], extra: .list([.null, .uint(1)]))
    }

    @Test func `a Swift value becomes a value of the language and comes back`() throws {
        let probe = try probe()
        let value = try ValueEncoder().encode(probe)
        #expect(
            value.description
                == #"{"codes": {7: true}, "empty": [], "every": duration("90s"), "extra": [null, 1u], "failures": 3, "#
                + #""labels": {"k": 1}, "level": "high", "load": 0.5, "name": "uplink", "raw": b"\x01\xff", "#
                + #""since": timestamp("2026-11-21T10:00:00Z"), "targets": [{"host": "a", "port": 443u}]}"#)
        #expect(try ValueDecoder().decode(Probe.self, from: value) == probe)
    }

    @Test func `an encoded value is read by expressions`() throws {
        let environment = Environment(variables: [Environment.Variable(name: "probe", type: .dyn)])
        let source =
            "probe.targets.all(t, t.port == 443u) && probe.failures < 5 && probe.codes[7] && !has(probe.absent)"
        let program = try Expression(parsing: source).checked(in: environment)
        #expect(try program.evaluateBool([try ValueEncoder().encode(try probe())]))
    }

    @Test func `a value is converted to a structure`() throws {
        let target = StructureType(
            name: "Target", fields: [.init(name: "host", type: .string), .init(name: "port", type: .int)])
        let type = ValueType.list(.structure(target))
        let value = try ValueEncoder().encode([Probe.Target(host: "a", port: 443)], as: type)
        #expect(value.description == #"[Target{host: "a", port: 443}]"#)
        #expect(try ValueDecoder().decode([Probe.Target].self, from: value) == [Probe.Target(host: "a", port: 443)])
        #expect(throws: EncodingError.self) { try ValueEncoder().encode(["host": 1], as: .structure(target)) }
        #expect(throws: EncodingError.self) { try ValueEncoder().encode(["hots": "a"], as: .structure(target)) }
        let partial = try ValueEncoder().encode(["host": "a"], as: .structure(target))
        #expect(partial.description == #"Target{host: "a", port: null}"#)
    }

    @Test(arguments: [
        (Value.int(3), ValueType.double, "3.0"), (.uint(3), .int, "3"), (.int(3), .uint, "3u"),
        (.int(-3), .uint, "nil"),
        (.int(9_007_199_254_740_993), .double, "nil"), (.double(3), .int, "nil"),

        (.list([.int(1)]), .list(.uint), "[1u]"),
        (.optional(.int(1)), .optional(.double), "optional.of(1.0)"), (.string("a"), .dyn, #""a""#),
        (.uint(.max), .int, "nil"), (.map([.string("a"): .int(1)]), .map(key: .string, value: .double), #"{"a": 1.0}"#),
    ])
    func `numbers are converted if they stay the same`(value: Value, type: ValueType, text: String) {
        #expect(value.converted(to: type)?.description ?? "nil" == text)
    }

    @Test func `a value that does not fit is an error with its path`() throws {
        let value = Value.map([.string("host"): .string("a"), .string("port"): .int(70_000)])
        let error = try #require(throws: DecodingError.self) {
            try ValueDecoder().decode([String: Probe.Target].self, from: .map([.string("t"): value]))
        }
        guard case .dataCorrupted(let context) = error else {
            Issue.record("another error: \(error)")
            return
        }
        #expect(context.codingPath.map(\.stringValue) == ["t", "port"])
        #expect(throws: DecodingError.self) { try ValueDecoder().decode(Bool.self, from: .int(1)) }
        #expect(throws: DecodingError.self) { try ValueDecoder().decode([Int].self, from: .list([.string("a")])) }
        #expect(throws: DecodingError.self) { try ValueDecoder().decode(Probe.Target.self, from: .map([:])) }
    }

    private final class Chain: Codable {
        let next: Chain?

        init(_ next: Chain?) { self.next = next }
    }

    @Test func `nesting is bounded in both directions`() {
        var chain = Chain(nil)
        var value = Value.map([:])
        for _ in 0..<200 {
            chain = Chain(chain)
            value = .map([.string("next"): value])
        }
        #expect(throws: EncodingError.self) { try ValueEncoder().encode(chain) }
        #expect(throws: DecodingError.self) { try ValueDecoder().decode(Chain.self, from: value) }
        #expect(throws: EncodingError.self) { try JSONEncoder().encode(value) }
    }

    @Test func `a value is written and read as JSON`() throws {
        let json = #"{"a":[1,2.5,"x",null,true],"b":{"c":18446744073709551615}}"#
        let value = try JSONDecoder().decode(Value.self, from: Data(json.utf8))
        #expect(value.description == #"{"a": [1, 2.5, "x", null, true], "b": {"c": 18446744073709551615u}}"#)
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        #expect(String(decoding: try encoder.encode(value), as: UTF8.self) == json)
        let special = Value.list([Fixture.since, .optional(.int(1)), .optional(nil), .typeValue(.int), Fixture.state()])
        let text = String(decoding: try encoder.encode(special), as: UTF8.self)
        #expect(
            text
                == #"["2026-11-21T10:00:00Z",1,null,"int",{"failures":3,"load":0.5,"name":"uplink","since":"2026-11-21T10:00:00Z"}]"#
        )
    }

    @Test func `Swift types convert from and to values`() {
        #expect([String: [Int]](["a": [1]].value) == ["a": [1]])
        #expect([Int](.list([.string("a")])) == nil)
        #expect(Int?(.optional(.int(1))) == .some(1))
        #expect([String: Double?].valueType.description == "map(string, optional(double))")
        #expect(UInt64(.int(1)) == nil && Bool(.bool(true)) == true && Double(.double(1)) == 1)
    }
}
