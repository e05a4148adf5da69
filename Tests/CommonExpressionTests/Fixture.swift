import CommonExpression

/// An environment like that of a guard: a state, an event, the time, and a variable of unknown type.
enum Fixture {
    static let degraded = StructureType(
        name: "Degraded",
        fields: [
            StructureType.Field(name: "failures", type: .int),
            StructureType.Field(name: "since", type: .timestamp),
            StructureType.Field(name: "name", type: .string),
            StructureType.Field(name: "load", type: .double),
        ])
    static let event = StructureType(
        name: "",
        fields: [
            StructureType.Field(name: "reason", type: .string),
            StructureType.Field(name: "size", type: .uint),
            StructureType.Field(name: "tags", type: .list(.string)),
            StructureType.Field(name: "labels", type: .map(key: .string, value: .int)),
            StructureType.Field(name: "state", type: .structure(degraded)),
            StructureType.Field(name: "urgent", type: .bool),
        ])
    static let environment = Environment(variables: [
        Environment.Variable(name: "state", type: .structure(degraded)),
        Environment.Variable(name: "event", type: .structure(event)),
        Environment.Variable(name: "now", type: .timestamp),
        Environment.Variable(name: "anything", type: .dyn),
        Environment.Variable(name: "ready", type: .bool),
        Environment.Variable(name: "count", type: .int),
    ])

    static let since = Timestamp(rfc3339: "2026-11-21T10:00:00Z").map { Value.timestamp($0) } ?? .null
    static let now = Timestamp(rfc3339: "2026-11-21T10:05:00Z").map { Value.timestamp($0) } ?? .null

    static func state(failures: Int64 = 3) -> Value {
        .structure(
            Structure(
                type: degraded,
                fields: [
                    .int(failures), since,
                    .string("uplink"), .double(0.5),
                ]))
    }

    static func values(failures: Int64 = 3, reason: String = "timeout", anything: Value = .int(5)) -> [Value] {
        [
            state(failures: failures),
            .structure(
                Structure(
                    type: event,
                    fields: [
                        .string(reason), .uint(7), .list([.string("a"), .string("b")]), .map([.string("k"): .int(1)]),
                        state(failures: 9), .bool(false),
                    ])),
            now,
            anything,
            .bool(true),
            .int(2),
        ]
    }

    /// Compiles an expression in the environment above.
    static func program(_ source: String, expecting: ValueType = .dyn) throws -> Program {
        try Expression(parsing: source).checked(in: environment, expecting: expecting)
    }

    /// Returns the printed value of an expression in the environment above.
    static func value(_ source: String) throws -> String {
        try program(source).evaluate(values()).description
    }

    /// Returns the problems of an expression in the environment above, as `code start..<end message`.
    static func problems(_ source: String, expecting: ValueType = .dyn, limits: Limits = .default) -> [String] {
        do throws(Problems) {
            var environment = environment
            environment.limits = limits
            _ = try Expression(parsing: source, limits: limits).checked(in: environment, expecting: expecting)
            return []
        } catch {
            return error.problems.map { "\($0.code) \($0.range.start)..<\($0.range.end) \($0.message)" }
        }
    }

    /// Returns the code and the source of an evaluation error, or the value.
    static func failure(_ source: String, _ values: [Value] = values()) throws -> String {
        let program = try program(source)
        do throws(EvaluationError) {
            return "value \(try program.evaluate(values))"
        } catch {
            let bytes = Array(source.utf8)[error.range.start..<error.range.end]
            return "\(error.code) at \(String(decoding: bytes, as: UTF8.self)): \(error.message)"
        }
    }
}
