import CommonExpression
import Testing

@Suite("Regex extension")
struct RegexExtensionTests {
    @Test(arguments: [
        (#"regex.extract('load 7 of 9', r'\d+')"#, #"optional.of("7")"#),
        (#"regex.extract('load 7 of 9', r'of (\d+)').value()"#, #""9""#),
        (#"regex.extract('load', r'\d+')"#, "optional.none()"), ("regex.extract('', 'a*')", #"optional.of("")"#),
        ("regex.extract('b', '(a)?b')", "optional.none()"), (#"regex.extract('aé', r'\bé?.$').value()"#, #""é""#),
        (#"regex.extract('a-b', '(?:a)-(b)').value()"#, #""b""#),
        (#"regex.extract(event.tags[0], event.tags[0]).value()"#, #""a""#),
        (#"regex.extractAll('id:12, id:345', r'id:(\d+)')"#, #"["12", "345"]"#),
        (
            "regex.extractAll(lists.range(1000).map(i, string(i)).join(lists.range(60).map(i, ' ').join()), '[0-9]+').size()",
            "1000"
        ),
        (#"regex.extractAll('id:12', 'x')"#, "[]"), ("regex.extractAll('ab', 'a|(b)')", #"["b"]"#),
        ("regex.extractAll('aéa', '')", #"["", "", "", ""]"#), ("regex.extractAll('abab', 'b*')", #"["", "b", "b"]"#),
        ("regex.extractAll('aaa', '^a')", #"["a"]"#), ("regex.extractAll('', '')", #"[""]"#),
        ("regex.replace('a.b.c', '[.]', '-')", #""a-b-c""#), ("regex.replace('a.b.c', '[.]', '-', 1)", #""a-b.c""#),
        ("regex.replace('a.b', '[.]', '-', -9223372036854775807 - 1)", #""a-b""#),
        ("regex.replace('a.b', '[.]', '-', 0)", #""a.b""#), ("regex.replace('a.b', '[.]', '-', -5)", #""a-b""#),
        (#"regex.replace('eth0: up', r'(\w+): (\w+)', r'\2 \1 (\0)')"#, #""up eth0 (eth0: up)""#),
        (#"regex.replace('ab', '(x)?b', r'[\1]')"#, #""a[]""#), (#"regex.replace('a', 'a', r'\\1')"#, #""\\1""#),
        ("regex.replace('aé', '', '-')", #""-a-é-""#), ("regex.replace('', '', 'x')", #""x""#),
        ("regex.replace('abc', 'x', 'y')", #""abc""#), ("regex.replace('ü1ü', r'\\d', '')", #""üü""#),
    ])
    func `parts of a text are extracted and replaced`(source: String, value: String) throws {
        #expect(try Fixture.value(source) == value)
    }

    @Test(arguments: [
        (
            "regex.extract('ab', event.tags[0] + '(a)(b)')",
            "invalidArgument at regex.extract('ab', event.tags[0] + '(a)(b)'): the pattern has 2 groups"
        ),
        ("regex.extractAll('ab', event.tags[0] + '(a)(b)')", "invalidArgument"),
        ("regex.extract('a', event.tags[0] + '(')", "invalidArgument"),
        (#"regex.replace('a', 'a', r'\1')"#, "invalidArgument"),
        (#"regex.replace('a', 'a', r'\x')"#, "invalidArgument"),
        (#"regex.replace('a', 'a', 'b\\')"#, "invalidArgument"), ("regex.extract(dyn(1), 'a')", "noSuchOverload"),
        ("regex.extractAll('a', dyn(1))", "noSuchOverload"), ("regex.replace('a', dyn(1), '')", "noSuchOverload"),
        // Each search may read the rest of the text.
        ("regex.extractAll(lists.range(100000).map(i, 'a').join(), 'a.*b|a').size()", "costExceeded"),
        (
            "regex.replace(lists.range(9999).map(i, 'a').join(), 'a', lists.range(999).map(i, 'b').join())",
            "valueTooLarge"
        ),
    ])
    func `a pattern or replacement that does not fit is an error`(source: String, error: String) throws {
        let failure = try Fixture.failure(source)
        #expect(failure.hasPrefix(error))
    }

    @Test(arguments: [
        ("regex.extract(event.tags[0], '(a)(b)')", "invalidLiteral"),
        ("regex.extractAll('', '(a)(b)')", "invalidLiteral"),
        ("regex.extract('a', '(')", "invalidLiteral"), ("regex.extractAll('a', '[')", "invalidLiteral"),
        ("regex.replace('a', '*', '')", "invalidLiteral"), ("regex.extract('a')", "noOverload"),
        ("regex.extract(1, 'a')", "noOverload"), ("regex.extract('a', 'a') == 'a'", "noOverload"),
        ("regex.find('a', 'a')", "unknownFunction"),
    ])
    func `a wrong use is found before evaluation`(source: String, code: String) {
        let problems = Fixture.problems(source)
        #expect(problems.count == 1 && problems.first?.hasPrefix(code) == true, "\(problems)")
    }
}
