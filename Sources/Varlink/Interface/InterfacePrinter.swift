extension InterfaceDefinition: CustomStringConvertible {
    /// The width beyond which the fields of a declaration are on separate lines.
    private static let lineWidth = 80

    /// The definition as text. Parsing it gives an equal definition.
    public var description: String {
        var blocks = [Self.comment(documentation, indentation: "") + "interface \(name)"]
        for member in members {
            switch member {
            case .type(let definition):
                blocks.append(
                    Self.comment(definition.documentation, indentation: "") + "type \(definition.name) "
                        + Self.text(definition.type, indentation: "", column: definition.name.count + 6)
                )
            case .method(let definition):
                let parameters = TypeExpression.structure(definition.parameters)
                let reply = TypeExpression.structure(definition.reply)
                let opening = "method \(definition.name)\(parameters) -> "
                let fits = opening.count + reply.description.count <= Self.lineWidth
                blocks.append(
                    Self.comment(definition.documentation, indentation: "") + "method \(definition.name)"
                        + Self.text(parameters, indentation: "", column: definition.name.count + 7 + " -> (".count)
                        + " -> "
                        + Self.text(reply, indentation: "", column: fits ? 0 : Self.lineWidth)
                )
            case .error(let definition):
                blocks.append(
                    Self.comment(definition.documentation, indentation: "") + "error \(definition.name) "
                        + Self.text(
                            .structure(definition.parameters), indentation: "", column: definition.name.count + 7)
                )
            }
        }
        return blocks.joined(separator: "\n\n") + "\n"
    }

    private static func comment(_ documentation: String, indentation: String) -> String {
        guard !documentation.isEmpty else { return "" }
        return documentation.split(separator: "\n", omittingEmptySubsequences: false)
            .map { $0.isEmpty ? "\(indentation)#\n" : "\(indentation)# \($0)\n" }
            .joined()
    }

    /// Returns a type at a column: on one line if it fits and has no documentation, otherwise on several.
    private static func text(_ type: TypeExpression, indentation: String, column: Int) -> String {
        let line = type.description
        if !type.isDocumented, line == "()" || column + line.count <= lineWidth { return line }
        let inner = indentation + "  "
        switch type {
        case .structure(let fields):
            let lines = fields.map { field in
                comment(field.documentation, indentation: inner) + inner + "\(field.name): "
                    + text(field.type, indentation: inner, column: inner.count + field.name.count + 3)
            }
            return "(\n" + lines.joined(separator: ",\n") + "\n\(indentation))"
        case .enumeration(let values):
            let lines = values.map { comment($0.documentation, indentation: inner) + inner + $0.name }
            return "(\n" + lines.joined(separator: ",\n") + "\n\(indentation))"
        case .array(let element): return "[]" + text(element, indentation: indentation, column: column + 2)
        case .map(let element): return "[string]" + text(element, indentation: indentation, column: column + 8)
        case .optional(let wrapped): return "?" + text(wrapped, indentation: indentation, column: column + 1)
        default: return line
        }
    }
}

extension InterfaceDefinition.TypeExpression: CustomStringConvertible {
    /// The type on one line, without documentation.
    public var description: String {
        switch self {
        case .bool: "bool"
        case .int: "int"
        case .float: "float"
        case .string: "string"
        case .object: "object"
        case .any: "any"
        case .structure(let fields): "(" + fields.map { "\($0.name): \($0.type)" }.joined(separator: ", ") + ")"
        case .enumeration(let values): "(" + values.map(\.name).joined(separator: ", ") + ")"
        case .named(let name): name
        case .array(let element): "[]\(element)"
        case .map(let element): "[string]\(element)"
        case .optional(let wrapped): "?\(wrapped)"
        }
    }

    /// A Boolean value that indicates whether the type or one of its parts has documentation.
    fileprivate var isDocumented: Bool {
        switch self {
        case .structure(let fields): fields.contains { !$0.documentation.isEmpty || $0.type.isDocumented }
        case .enumeration(let values): values.contains { !$0.documentation.isEmpty }
        case .array(let type), .map(let type), .optional(let type): type.isDocumented
        default: false
        }
    }
}
