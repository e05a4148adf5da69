import CommonExpression
import Testing

@Suite struct `The check for expressions that may fail` {
    private static let environment = Environment(
        variables: [
            Environment.Variable(name: "json", type: .dyn), Environment.Variable(name: "text", type: .string),
            Environment.Variable(name: "n", type: .int), Environment.Variable(name: "list", type: .list(.int)),
        ])

    private static func mayFail(_ source: String) throws -> Bool {
        var check = FailureCheck()
        return check.mayFail(try Expression(parsing: source).checked(in: environment, expecting: .dyn))
    }

    @Test(arguments: [
        "json.level", "has(json.level)", "size(json) > 0", "int(json)", "json > 5", "int(text)", "double(text.trim())",
        "10 / n", "10 % n", "list[1]", "json && true", "has(json.lamp.level) ? 1 : 2",
        "type(json) == map && has(json.level) && int(json.level) > 1",
    ])
    func `finds`(source: String) throws { #expect(try Self.mayFail(source)) }

    @Test(arguments: [
        "1 / 2", "10 / 5", "n + 1", "text + 'a'", "json == 5", "type(json) == map", "string(n)",
        "type(json) == map && has(json.level) && json.level == 'high'",
        "type(json) == map && has(json.level) && type(json.level) == int && json.level > 5",
        "text.matches('^[0-9]+$') && int(text) > 5", "text.matches('^[0-9]+ *$') && double(text.trim()) > 5.0",
        "size(list) > 1 && list[1] == 2", "list.size() > 1 && list[1] == 2",
        "text.split(' ').size() >= 2 && text.split(' ')[1] == 'a'",
    ])
    func `passes`(source: String) throws { #expect(try !Self.mayFail(source)) }
}
