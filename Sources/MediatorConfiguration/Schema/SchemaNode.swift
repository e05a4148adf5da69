import StrictJSON

/// A part of a JSON Schema: JSON whose members keep their order.
indirect enum SchemaNode: Equatable {
    case bool(Bool)
    case int(Int)
    /// A finite number.
    case double(Double)
    case string(String)
    case array([SchemaNode])
    case object([(String, SchemaNode)])

    static func == (left: SchemaNode, right: SchemaNode) -> Bool { left.text() == right.text() }

    /// The JSON text, indented by two spaces.
    func text(indentation: Int = 0) -> String {
        let inner = String(repeating: " ", count: indentation + 2)
        let outer = String(repeating: " ", count: indentation)
        switch self {
        case .bool(let value): return value ? "true" : "false"
        case .int(let value): return String(value)
        case .double(let value): return Int(exactly: value).map(String.init) ?? "\(value)"
        case .string(let value): return JSONValue.string(value).description
        case .array(let items):
            if let line { return line }
            return "[\n" + items.map { inner + $0.text(indentation: indentation + 2) }.joined(separator: ",\n")
                + "\n\(outer)]"
        case .object(let members):
            if let line { return line }
            let lines = members.map {
                "\(inner)\(JSONValue.string($0.0).description): \($0.1.text(indentation: indentation + 2))"
            }
            return "{\n\(lines.joined(separator: ",\n"))\n\(outer)}"
        }
    }

    /// The text in one line; nil: it has several.
    ///
    /// - Complexity: Constant but for the length of texts, since the search stops at the length limit.
    private var line: String? {
        func joined(_ parts: [(String, SchemaNode)]) -> String? {
            var texts: [String] = []
            var count = 0
            for (before, part) in parts {
                guard let line = part.line else { return nil }
                count += before.utf8.count + line.utf8.count
                guard count < Self.longestLine else { return nil }
                texts.append(before + line)
            }
            return texts.joined(separator: ", ")
        }
        switch self {
        case .bool, .int, .double, .string: return text()
        case .array(let items): return joined(items.map { ("", $0) }).map { "[\($0)]" }
        case .object(let members):
            if members.isEmpty { return "{}" }
            guard members.count < 4 else { return nil }
            return joined(members.map { ("\(JSONValue.string($0.0).description): ", $0.1) }).map { "{ \($0) }" }
        }
    }

    /// The largest number of octets in a line, without its brackets.
    private static let longestLine = 90
}

extension SchemaNode: ExpressibleByDictionaryLiteral, ExpressibleByArrayLiteral, ExpressibleByStringLiteral,
    ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral
{
    init(dictionaryLiteral elements: (String, SchemaNode)...) { self = .object(elements) }
    init(arrayLiteral elements: SchemaNode...) { self = .array(elements) }
    init(stringLiteral value: String) { self = .string(value) }
    init(booleanLiteral value: Bool) { self = .bool(value) }
    init(integerLiteral value: Int) { self = .int(value) }
}

extension SchemaNode {
    /// A part that is defined once.
    static func reference(_ name: String) -> SchemaNode { ["$ref": .string("#/$defs/\(name)")] }

    /// One of several.
    static func anyOf(_ nodes: SchemaNode...) -> SchemaNode { ["anyOf": .array(nodes)] }

    /// One of the words of a choice.
    static func choice<Choice: RawRepresentable<String> & CaseIterable>(_: Choice.Type) -> SchemaNode {
        choice(among: Array(Choice.allCases))
    }

    /// One of some words of a choice.
    static func choice<Choice: RawRepresentable<String>>(among choices: [Choice]) -> SchemaNode {
        ["enum": .array(choices.map { .string($0.rawValue) })]
    }

    /// The schema with a description for editors.
    func described(_ text: String?) -> SchemaNode {
        guard let text else { return self }
        switch self {
        case .object(let members): return .object([("description", .string(text))] + members)
        case .bool(true): return ["description": .string(text)]
        case .bool(false), .int, .double, .string, .array: return self
        }
    }
}
