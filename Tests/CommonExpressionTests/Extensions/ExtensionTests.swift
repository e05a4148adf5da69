import CommonExpression
import Testing

@Suite("Types as values, optional values and extensions")
struct ExtensionTests {
    @Test(arguments: [
        ("type(1)", "int"), ("type(now)", "google.protobuf.Timestamp"), ("type(null) == null_type", "true"),
        ("type([1]) == list && type({}) == map", "true"), ("type(type(1)) == type", "true"),
        ("type(anything) == int", "true"), ("type(duration('1s')) == google.protobuf.Duration", "true"),
        ("type(state)", "Degraded"),
        ("type(event.state) == Degraded && type(anything) != Degraded", "true"),
        ("type(optional.none()) == optional_type", "true"),
        ("[int, string].exists(t, t == type(anything))", "true"), ("{'t': type(1)}.t == int", "true"),
    ])
    func `a type is a value`(source: String, value: String) throws {
        #expect(try Fixture.value(source) == value)
    }

    @Test(arguments: [
        ("state.?failures", "optional.of(3)"), ("event.labels.?k.orValue(0)", "1"), ("event.labels.?z.orValue(7)", "7"),
        ("event.labels[?'k'].value()", "1"), ("event.tags[?5].hasValue()", "false"),
        ("event.tags[?1]", #"optional.of("b")"#),
        ("optional.of(1).optMap(x, x + count)", "optional.of(3)"),
        ("optional.none().optMap(x, 1 / 0)", "optional.none()"),
        ("event.labels.?k.optFlatMap(x, x > 1 ? optional.of(x) : optional.none()).orValue(-1)", "-1"),
        ("optional.of(1).orValue(1 / 0)", "1"), ("optional.of(1).or(optional.of(1 / 0)).value()", "1"),
        ("optional.none().or(optional.of(2)).value()", "2"), ("[1, ?event.labels.?z, ?event.labels.?k]", "[1, 1]"),
        ("{'a': 1, ?'b': event.labels.?z, ?'c': event.labels.?k}", #"{"a": 1, "c": 1}"#),
        ("optional.ofNonZeroValue(0).hasValue()", "false"), ("optional.ofNonZeroValue([0]).hasValue()", "true"),
        ("optional.ofNonZeroValue(state).hasValue()", "true"), ("optional.of({'a': {'b': 1}}).a.b", "optional.of(1)"),
        ("optional.of({'a': {'x': 1}}).b.c.hasValue()", "false"), ("has(optional.of({'a': 1}).a)", "true"),
        ("optional.of([4, 5])[1]", "optional.of(5)"), ("optional.unwrap([optional.of(1), optional.none()])", "[1]"),
        ("[optional.of(1)].unwrapOpt()", "[1]"), ("optional.of(1) == optional.of(1)", "true"),
        ("dyn(optional.of({'a': 1})).a", "optional.of(1)"), ("dyn({'a': [1]}).?a[?0].value()", "1"),
    ])
    func `an optional value may be empty`(source: String, value: String) throws {
        #expect(try Fixture.value(source) == value)
    }

    @Test(arguments: [
        ("optional.none().value()", "emptyOptional at optional.none().value(): "),
        ("dyn(1).hasValue()", "noSuchOverload at dyn(1).hasValue(): hasValue() takes an optional value, not int"),
        ("dyn(1).?x", "noSuchField at x: int has no fields, so no 'x'"),
        ("[?dyn(1)]", "noSuchOverload at dyn(1): an optional value is needed here, but the value is int"),
        ("dyn(optional.of(1)).optFlatMap(x, dyn(x))", "noSuchOverload at dyn(x): an optional value is needed here"),
        ("base64.decode('a')", #"invalidArgument at base64.decode('a'): "a" is not Base64"#),
        ("base64.decode('QQ=')", "invalidArgument"), ("base64.decode('QR==')", "invalidArgument"),
        ("base64.decode('Q=Q=')", "invalidArgument"), ("base64.decode('QQ==QQ==')", "invalidArgument"),
        ("math.abs(-9223372036854775807 - 1)", "overflow at math.abs(-9223372036854775807 - 1): "),
        ("math.bitShiftLeft(1, -1)", "invalidArgument"), ("math.greatest([])", "invalidArgument"),
        (
            "{'a': 1, 'b': 2}.transformMapEntry(k, v, {'x': v})",
            #"duplicateKey at {'x': v}: the key "x" is given twice"#
        ),
    ])
    func `an unsupported operation on a value is an error`(source: String, error: String) throws {
        #expect(try Fixture.failure(source).hasPrefix(error))
    }

    @Test(arguments: [
        ("optional.of(1).orValue('a')", "noOverload"), ("event.tags.?x", "unknownField"), ("[?1]", "noOverload"),
        ("count.optMap(x, x)", "noOverload"), ("optional.of(1).optFlatMap(x, x)", "noOverload"),
        ("state.?failure", "unknownField"), ("optional.nothing()", "unknownFunction"),
        ("event.tags[?'a']", "noOverload"),
        ("has(state.?name)", "syntax"), ("math.greatest('a')", "noOverload"), ("math.greatest()", "noOverload"),
        ("cel.bind(1, 2, 3)", "syntax"), ("cel.bind(x, 2)", "syntax"), ("optional.of(1).optMap(x)", "syntax"),
        ("[1].transformMapEntry(i, v, v)", "noOverload"), ("state.?name()", "syntax"),
    ])
    func `a wrong use is found before evaluation`(source: String, code: String) {
        let problems = Fixture.problems(source)
        #expect(problems.count == 1)
        #expect(problems.first?.hasPrefix(code) == true)
    }

    @Test(arguments: [
        ("cel.bind(x, count + 1, x * x)", "9"), ("cel.bind(x, 1, cel.bind(y, x + 1, x + y))", "3"),
        ("cel.bind(x, count > 1, x && ready)", "true"), ("[1, 2].map(i, cel.bind(d, i * 2, d + d))", "[4, 8]"),
        ("cel.bind(t, event.tags, t.exists(x, x == 'a'))", "true"), ("cel.bind(x, 1, 2) + cel.bind(x, 3, x)", "5"),
        ("{'a': 1, 'b': 2}.transformMapEntry(k, v, {v: k})", #"{1: "a", 2: "b"}"#),
        ("['x', 'y'].transformMapEntry(i, v, i > 0, {v: i})", #"{"y": 1}"#),
        ("math.greatest(1, count, -4)", "2"), ("math.least([3, 2.5, 7u])", "2.5"), ("math.ceil(1.2)", "2.0"),
        ("math.round(-2.5)", "-3.0"), ("math.sqrt(9)", "3.0"), ("math.bitOr(4, -2)", "-2"), ("math.abs(-2.5)", "2.5"),
        ("math.bitShiftRight(-1024, 3)", "2305843009213693824"), ("math.bitShiftLeft(1u, 64)", "0u"),
        ("math.sign(-0.5)", "-1.0"), ("math.isNaN(0.0 / 0.0) && math.isInf(1.0 / 0.0)", "true"),
        ("base64.encode(b'hello')", #""aGVsbG8=""#), ("base64.encode(b'')", #""""#),
        ("base64.encode(b'a')", #""YQ==""#),
        ("base64.decode('aGVsbG8')", #"b"hello""#), ("base64.decode('+/8=')", #"b"\xfb\xff""#),
    ])
    func `names for values, and functions of the extensions`(source: String, value: String) throws {
        #expect(try Fixture.value(source) == value)
    }

    @Test func `references include variables that a bound name reads`() throws {
        let program = try Fixture.program("cel.bind(s, state.failures, s + 1) + event.?labels.?k.orValue(0)")
        #expect(program.references == [["state", "failures"], ["event", "labels", "k"]])
        #expect(try Fixture.program("cel.bind(s, 1, s + 1)").constant == .int(2))
        #expect(try Fixture.program("optional.of(1).optMap(x, x + 1)").type == .optional(.int))
    }

    @Test(arguments: [
        ("x || true", "true"), ("f_unknown(17) || true", "true"), ("false && 32", "false"), ("1 == 1.0", "true"),
        ("true ? 'a' : 1", #""a""#), ("count.sise() == 1 || ready", "true"),
        ("strings.qoute('a') == 1 || true", "true"),
        ("size(1, 2, 3) == 1 || true", "true"), ("count + 1", "3"), ("state.failures < 4", "true"),
        ("has(state.since)", "true"), ("[1, 'a'].map(x, dyn(x))", #"[1, "a"]"#),
    ])
    func `an expression can be compiled without checking types`(source: String, value: String) throws {
        let program = try Expression(parsing: source).unchecked(in: Fixture.environment)
        #expect(try program.evaluate(Fixture.values()).description == value)
    }

    @Test(arguments: [
        ("x", EvaluationError.Code.unknownVariable), ("f(1)", .unknownFunction), ("strings.f(1)", .unknownFunction),
        ("-true", .noSuchOverload), ("size(1, 2)", .noSuchOverload), ("1 + 'a'", .noSuchOverload),
        ("'a' || 'b'", .noSuchOverload), ("state.x", .noSuchField), ("state.name.matches('(')", .invalidArgument),
    ])
    func `a part without meaning fails only at evaluation`(source: String, code: EvaluationError.Code) throws {
        let program = try Expression(parsing: source).unchecked(in: Fixture.environment)
        let error = try #require(throws: EvaluationError.self) { try program.evaluate(Fixture.values()) }
        #expect(error.code == code)
    }
}
