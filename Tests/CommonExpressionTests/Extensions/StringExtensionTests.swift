import CommonExpression
import Testing

@Suite("Strings extension")
struct StringExtensionTests {
    @Test(arguments: [
        ("'tacocat'.charAt(3)", #""o""#), ("'tacocat'.charAt(7)", #""""#), ("'aé😀'.charAt(2)", #""😀""#),
        ("'tacocat'.indexOf('at')", "5"), ("'tacocat'.indexOf('at', 6)", "-1"), ("'tacocat'.indexOf('')", "0"),
        ("'tacocat'.indexOf('', 7)", "7"), ("'ta©o©αT'.indexOf('©', 3)", "4"), ("'aaab'.indexOf('aab')", "1"),
        ("'tacocat'.lastIndexOf('at')", "5"), ("'tacocat'.lastIndexOf('')", "7"), ("''.lastIndexOf('@@')", "-1"),
        ("'tacocat'.lastIndexOf('a', 3)", "1"), ("'bananananana'.lastIndexOf('nana', 7)", "6"),
        ("'tacocat'.lastIndexOf('t', 6)", "6"), ("'tacocat'.lastIndexOf('tacocat', 0)", "0"),
        ("['x', 'y'].join()", #""xy""#), ("['x', 'y', 'z'].join(', ')", #""x, y, z""#), ("[].join('-')", #""""#),
        ("event.tags.join('+')", #""a+b""#),
        ("'TacoCÆt'.lowerAscii()", #""tacocÆt""#), ("'TacoCαt'.upperAscii()", #""TACOCαT""#),
        ("'abcabc'.replace('b', 'xy')", #""axycaxyc""#), ("'abcabc'.replace('b', '', 1)", #""acabc""#),
        ("'aé'.replace('', '-')", #""-a-é-""#), ("'aé'.replace('', '-', 2)", #""-a-é""#),
        ("''.replace('', 'x')", #""x""#),
        ("'abc'.replace('b', 'x', 0)", #""abc""#), ("'aaaa'.replace('aa', 'b')", #""bb""#),
        ("'a,b,,c'.split(',')", #"["a", "b", "", "c"]"#), ("'a,b,c'.split(',', 2)", #"["a", "b,c"]"#),
        ("'a,b'.split(',', 0)", "[]"), ("'aé😀'.split('')", #"["a", "é", "😀"]"#),
        ("'aé😀'.split('', 2)", #"["a", "é😀"]"#), ("''.split(',')", #"[""]"#), ("''.split('')", "[]"),
        ("'tacocat'.substring(4)", #""cat""#), ("'ta©o©αT'.substring(2, 6)", #""©o©α""#),
        ("'abc'.substring(3, 3)", #""""#), (#"' \t\u00a0text\u3000\u2028 '.trim()"#, #""text""#),
        ("' '.trim()", #""""#),
        ("'Ta©oCαt'.reverse()", #""tαCo©aT""#), (#"strings.quote('a"b\n\\')"#, #""\"a\\\"b\\n\\\\\"""#),
        ("'  deploy done '.trim().replace('done', 'failed')", #""deploy failed""#),
    ])
    func `texts are searched, cut and changed by code points`(source: String, value: String) throws {
        #expect(try Fixture.value(source) == value)
    }

    @Test(arguments: [
        ("'%s is %d%%'.format(['load', 7])", #""load is 7%""#), ("'%s'.format([[1, 'a', null]])", #""[1, a, null]""#),
        ("'%s'.format([{'b': 1, 'a': 2.5}])", #""{a: 2.5, b: 1}""#), ("'%s'.format([duration('90s')])", #""90s""#),
        ("'%d %d'.format([-3, 4u])", #""-3 4""#), ("'%d'.format([double('-inf')])", #""-Infinity""#),
        ("'%b %b %b'.format([5, true, -2])", #""101 1 -10""#), ("'%o'.format([64u])", #""100""#),
        ("'%x %X'.format([254, 'Az'])", #""fe 417A""#), ("'%x'.format([b'\\xff'])", #""ff""#),
        ("'%.3f'.format([1.2345])", #""1.234""#), ("'%.0f'.format([2.5])", #""2""#), ("'%.0f'.format([3.5])", #""4""#),
        ("'%.2f'.format([-0.005])", #""-0.01""#), ("'%.1f'.format([0.25])", #""0.2""#),
        ("'%f'.format([3])", #""3.000000""#),
        ("'%.1f'.format([9.96])", #""10.0""#), ("'%.0f'.format([0.4])", #""0""#), ("'%.0f'.format([0.6])", #""1""#),
        ("'%.3f'.format([1e22])", #""10000000000000000000000.000""#), ("'%.2f'.format([99.995])", #""100.00""#),
        ("'%.20f'.format([0.1])", #""0.10000000000000000555""#), ("'%e'.format([0.0])", #""0.000000e+00""#),
        ("'%.2e'.format([0.00012345])", #""1.23e-04""#), ("'%.0e'.format([9.5])", #""1e+01""#),
        ("'%.3e'.format([5e-324])", #""4.941e-324""#), ("'%.1e'.format([1.7976931348623157e308])", #""1.8e+308""#),
        ("'%f'.format([double('nan')])", #""NaN""#),
    ])
    func `format writes values by its clauses`(source: String, value: String) throws {
        #expect(try Fixture.value(source) == value)
    }

    @Test(arguments: [
        (
            "'abc'.charAt(4)",
            "invalidArgument at 'abc'.charAt(4): the position 4 is out of range for a text of 3 characters"
        ),
        ("'abc'.substring(2, 1)", "invalidArgument at 'abc'.substring(2, 1): the start 2 lies after the end 1"),
        ("[dyn(1)].join()", "noSuchOverload at [dyn(1)].join(): join() takes strings, not int"),
        (
            "'a'.replace(dyn(1), 'b')",
            "noSuchOverload at 'a'.replace(dyn(1), 'b'): replace() does not take string, int, string"
        ),
        (
            "'%d'.format([])",
            "invalidArgument at '%d'.format([]): in format(): the format needs more than the 0 values it is given"
        ),
        ("'%d'.format(['a'])", "noSuchOverload at '%d'.format(['a']): '%d' in format() does not take string"),
        (
            "'%.2000f'.format([1])",
            "invalidArgument at '%.2000f'.format([1]): in format(): a precision is at most 1000 digits"
        ),
        ("'%'.format([1])", "invalidArgument at '%'.format([1]): in format(): the format ends within a clause"),
        (
            "'%.f'.format([1])",
            "invalidArgument at '%.f'.format([1]): in format(): a precision such as '%.3f' needs a number after the point"
        ),
    ])
    func `an argument that does not fit is an error`(source: String, error: String) throws {
        #expect(try Fixture.failure(source) == error)
    }

    @Test(arguments: [
        (
            "strings.qoute('a')",
            "unknownFunction 0..<13 unknown function 'strings.qoute'; did you mean 'strings.quote'?"
        ),
        ("'a'.trimm()", "unknownFunction 4..<9 unknown function 'trimm'; did you mean 'trim'?"),
        ("quote('a')", "unknownFunction 0..<5 unknown function 'quote'; did you mean 'strings.quote'?"),
        ("trim('a')", "noOverload 0..<4 trim is called on a value; write 'a'.trim()"),
        (
            "'a'.charAt('b')",
            "noOverload 0..<15 there is no string.charAt(string); charAt takes string.(int)"
        ),
    ])
    func `a wrong call is reported`(source: String, problem: String) {
        #expect(Fixture.problems(source) == [problem])
    }

    @Test(arguments: [
        "'aaaaaaaaaaaaaaaa'.replace('', 'bbbbbbbbbbbbbbbbbbbbbbbbbbbb') == state.name",
        "['aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', state.name].join('bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb') == ''",
        "'%.100f'.format([state.load]) == ''",
        "'abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz'.split('').size() == count",
    ])
    func `a text that would be too large is an error`(source: String) throws {
        var environment = Fixture.environment
        environment.limits.valueSize = 64
        let program = try Expression(parsing: source).checked(in: environment)
        let error = try #require(throws: EvaluationError.self) { try program.evaluate(Fixture.values()) }
        #expect(error.code == .valueTooLarge)
    }
}
