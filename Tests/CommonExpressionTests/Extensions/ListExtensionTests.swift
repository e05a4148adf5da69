import CommonExpression
import Testing

@Suite("Lists and sets extensions")
struct ListExtensionTests {
    @Test(arguments: [
        ("lists.range(4)", "[0, 1, 2, 3]"), ("lists.range(0)", "[]"),
        ("[1, 2, 3, 4].slice(1, 3)", "[2, 3]"), ("[1, 2].slice(0, 2)", "[1, 2]"), ("[1, 2].slice(2, 2)", "[]"),
        ("[1, [2, [3, 4]]].flatten()", "[1, 2, [3, 4]]"), ("[1, [2, [3, 4]]].flatten(2)", "[1, 2, 3, 4]"),
        ("[1, [2, [3, 4]]].flatten(0)", "[1, [2, [3, 4]]]"),
        ("[1, [2, [3]]].flatten(9223372036854775807)", "[1, 2, 3]"),
        ("[[1], [], [2, 3]].flatten()", "[1, 2, 3]"), ("[[1], [2]].flatten()[0] + count", "3"), ("[].flatten()", "[]"),
        ("[1, 2, 3].flatten()", "[1, 2, 3]"),
        ("[1, 2, 1, 3, 2].distinct()", "[1, 2, 3]"), ("[1, 1.0, 1u, '1'].distinct()", #"[1, "1"]"#),
        ("[[1], [1], {}].distinct()", "[[1], {}]"), ("[].distinct()", "[]"),
        ("[3, 1, 2].sort()", "[1, 2, 3]"), ("['b', 'a', 'é', ''].sort()", #"["", "a", "b", "é"]"#),
        ("[true, false].sort()", "[false, true]"), ("[2.5, -1.0].sort()", "[-1.0, 2.5]"), ("[].sort()", "[]"),
        ("[duration('2s'), duration('1s')].sort()[0]", "duration(\"1s\")"),
        ("dyn([2, 1]).sort()", "[1, 2]"), ("event.tags.sort().reverse()", #"["b", "a"]"#),
        ("[1, 2, 3].reverse()", "[3, 2, 1]"), ("[].reverse()", "[]"), ("'ab'.reverse()", #""ba""#),
        ("[4, 5].first()", "optional.of(4)"), ("[4, 5].last().value()", "5"), ("[].first()", "optional.none()"),
        ("event.tags.last().orValue('none')", #""b""#),
        ("lists.range(count).map(i, i * i).sort().last().orValue(0)", "1"),
    ])
    func `a list is cut, put in order and searched`(source: String, value: String) throws {
        #expect(try Fixture.value(source) == value)
    }

    @Test(arguments: [
        ("[3, 1, 2].sortBy(x, -x)", "[3, 2, 1]"), ("[].sortBy(x, x)", "[]"), ("[1, 2].sortBy(x, 0)", "[1, 2]"),
        ("['ccc', 'a', 'bb'].sortBy(t, size(t))", #"["a", "bb", "ccc"]"#),
        ("[4, 1, 3, 2].sortBy(x, x % 2)", "[4, 2, 1, 3]"),
        ("[{'n': 2, 's': 'b'}, {'n': 1, 's': 'a'}].sortBy(e, e['n'])[0]['s']", #""a""#),
        ("event.tags.sortBy(t, t == 'a')", #"["b", "a"]"#), ("dyn([2, 1]).sortBy(x, dyn(x))", "[1, 2]"),
        ("{'x': 2, 'y': 1}.map(k, {k: 0}).size()", "2"),
        ("{'x': 2, 'y': 1}.sortBy(k, k == 'x' ? 2 : 1)", #"["y", "x"]"#),
        ("[b'b', b'a'].sortBy(x, x)", #"[b"a", b"b"]"#), ("[2, 1].sortBy(x, timestamp(x))", "[1, 2]"),
        ("[2, 1].sortBy(x, x).map(x, x + count)", "[3, 4]"), ("[2, 1].sortBy(x, duration('1s') * x)[0]", "1"),
        ("[[2], [1]].sortBy(x, x[0]).sortBy(y, -y[0])", "[[2], [1]]"), ("[1.5, 0.5].sortBy(x, x)", "[0.5, 1.5]"),
    ])
    func `a list is sorted by a key of each element`(source: String, value: String) throws {
        #expect(try Fixture.value(source) == value)
    }

    @Test func `sorting by a key computes it once for each element`() throws {
        let explanation = try Fixture.program("[3, 1, 2].sortBy(x, x + count)").explain(Fixture.values())
        #expect(explanation.parts.first { $0.text == "x + count" }?.evaluations == 3)
        #expect(explanation.summary == "[3, 1, 2].sortBy(x, x + count) — [1, 2, 3], x is 2, count is 2")
    }

    @Test(arguments: ["anything.sort().size()", "anything.sortBy(x, x).size()"])
    func `sorting costs as much as comparing the elements`(source: String) throws {
        let long = [UInt8](repeating: 97, count: 96_000)
        for element in [Value.bytes(long), .string(String(decoding: long, as: UTF8.self))] {
            let values = Fixture.values(anything: .list([element, element]))
            var environment = Fixture.environment
            environment.limits.cost = 24_000
            let cheap = try Expression(parsing: source).checked(in: environment)
            #expect(try #require(throws: EvaluationError.self) { try cheap.evaluate(values) }.code == .costExceeded)
            environment.limits.cost = 25_000
            #expect(try Expression(parsing: source).checked(in: environment).evaluate(values) == .int(2))
        }
    }

    @Test(arguments: [
        ("sets.contains([1, 2, 3], [3, 1, 1])", "true"), ("sets.contains([1, 2], [3])", "false"),
        ("sets.contains([1], [])", "true"), ("sets.contains([], [1])", "false"),
        ("sets.contains([1], [1.0, 1u])", "true"),
        ("sets.equivalent([1, 2], [2, 1, 2])", "true"), ("sets.equivalent([1, 2], [1])", "false"),
        ("sets.equivalent([], [])", "true"), ("sets.intersects([1, 2], [2, 3])", "true"),
        ("sets.intersects([1], [])", "false"), ("sets.intersects([[1]], [[1, 2], [1]])", "true"),
        ("sets.contains(event.tags, ['a'])", "true"),
    ])
    func `a list is compared as a set`(source: String, value: String) throws {
        #expect(try Fixture.value(source) == value)
    }

    @Test(arguments: [
        ("lists.range(-1)", "invalidArgument at lists.range(-1): lists.range(-1): a list has no negative length"),
        ("lists.range(9223372036854775807)", "valueTooLarge"),
        ("[1].slice(1, 0)", "invalidArgument at [1].slice(1, 0): slice(1, 0) is not within a list of 1 elements"),
        ("[1].slice(-1, 0)", "invalidArgument"), ("[1].slice(0, 2)", "invalidArgument"),
        ("[[1]].flatten(-1)", "invalidArgument"), ("[1.0, 0.0 / 0.0].sort()", "invalidArgument"),
        ("dyn([1, 'a']).sort()", "noSuchOverload at dyn([1, 'a']).sort(): sort() takes elements of one type that has"),
        ("dyn([1, 2.0]).sort()", "noSuchOverload"), ("dyn([{}]).sort()", "noSuchOverload"),
        ("dyn(1).first()", "noSuchOverload at dyn(1).first(): first() does not take int"),
        ("dyn(1).distinct()", "noSuchOverload"), ("dyn(1).flatten()", "noSuchOverload"),
        ("dyn(1).sort()", "noSuchOverload"), ("sets.contains(dyn(1), [])", "noSuchOverload"),
        ("sets.intersects(dyn(1), [])", "noSuchOverload"), ("sets.equivalent([], dyn(1))", "noSuchOverload"),
        ("lists.range(1000).map(i, lists.range(1000)).flatten().distinct().size()", "costExceeded"),
        ("lists.range(100000).distinct().size()", "costExceeded"),
        ("[1, 0].sortBy(x, 1 / x)", "divisionByZero at 1 / x"),
        ("[1.0, 0.0].sortBy(x, x / 0.0 * 0.0)", "invalidArgument"),
        ("[1, 2].sortBy(x, 0.0 / 0.0)", "invalidArgument at sortBy: sortBy(): NaN has no order"),
        (
            "[1, 2].sortBy(x, x == 1 ? dyn(1) : dyn('a'))",
            "noSuchOverload at sortBy: sortBy() takes keys of one type that has an order, not int and string"
        ),
        ("[1].sortBy(x, dyn([1]))", "noSuchOverload"), ("dyn(1).sortBy(x, x)", "noSuchOverload"),
        ("lists.range(60000).sortBy(x, x).size()", "costExceeded"),
    ])
    func `a list that does not fit is an error`(source: String, error: String) throws {
        #expect(try Fixture.failure(source).hasPrefix(error))
    }

    @Test(arguments: [
        ("[1].slice('a', 2)", "noOverload"), ("count.first()", "noOverload"), ("[[1]].sort()", "noOverload"),
        ("'abc'.sort()", "noOverload"), ("sets.contains(1, [])", "noOverload"), ("lists.range('a')", "noOverload"),
        ("[[1]].sortBy(x, x)", "noOverload 16..<17 the key of sortBy() must be of a type with an order, not list(int)"),
        ("[1].sortBy(x, {})", "noOverload"), ("count.sortBy(x, x)", "noOverload"),
        ("[1].sortBy(x)", "syntax 4..<10 sortBy() is written sortBy(x, key), where x names the element"),
        ("[1].sortBy(i, x, x)", "syntax"), ("[1].sortBy(x, x) == ['a']", "noOverload"),
        ("[1].sorted()", "unknownFunction"), ("[1].sort() == ['a']", "noOverload"),
        ("[1].first().orValue('a')", "noOverload"),
    ])
    func `a wrong use is found before evaluation`(source: String, code: String) {
        let problems = Fixture.problems(source)
        #expect(problems.count == 1 && problems.first?.hasPrefix(code) == true, "\(problems)")
    }
}
