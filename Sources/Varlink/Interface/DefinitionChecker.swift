public import StrictJSON

/// A value that does not match the declaration of an interface.
public struct DefinitionMismatch: Error, Sendable, Hashable, CustomStringConvertible {
    /// The path within the parameters, such as `filter.names[2]`.
    public private(set) var path: String
    /// The expected type, in the syntax of the definition; nil if the name is not declared.
    public let expected: String?
    /// The kind of the actual value, or `nothing`.
    public let found: String

    /// One sentence with the path.
    public var description: String {
        if let expected {
            "'\(path)' must be \(expected), but is \(found)"
        } else {
            "'\(path)' is not declared"
        }
    }

    fileprivate init(expected: String?, found: String) {
        path = ""
        self.expected = expected
        self.found = found
    }

    /// Returns the same mismatch from the view of the enclosing value.
    fileprivate func within(_ component: String) -> DefinitionMismatch {
        var result = self
        if path.isEmpty {
            result.path = component
        } else {
            result.path = path.hasPrefix("[") ? component + path : "\(component).\(path)"
        }
        return result
    }
}

extension InterfaceDefinition {
    /// The treatment of members that the definition does not declare.
    public enum UnknownFields: Sendable {
        /// They are mismatches.
        case refused
        /// They are ignored; they may come from a newer version of the interface.
        case ignored
    }

    /// Checks parameters against the declared fields.
    ///
    /// A field of an optional type may be absent or null; any other field must be present. `object` and `any` accept
    /// every value except null. `float` accepts integers. `int` accepts only numbers without fraction and exponent.
    ///
    /// - Throws: ``DefinitionMismatch`` for the first error, in the order of the definition.
    public func check(
        _ values: JSONObject,
        against fields: [Field],
        unknownFields: UnknownFields = .refused
    ) throws(DefinitionMismatch) {
        for field in fields {
            do throws(DefinitionMismatch) {
                try check(values[field.name], field.type, unknownFields)
            } catch {
                throw error.within(field.name)
            }
        }
        guard unknownFields == .refused else { return }
        let known = values.keys.count { name in fields.contains { $0.name == name } }
        guard known < values.count else { return }
        for name in values.keys.sorted() where !fields.contains(where: { $0.name == name }) {
            throw DefinitionMismatch(expected: nil, found: values[name]?.kind ?? "nothing").within(name)
        }
    }

    private func check(
        _ value: JSONValue?,
        _ type: TypeExpression,
        _ unknownFields: UnknownFields
    ) throws(DefinitionMismatch) {
        switch (type, value) {
        case (.optional, nil), (.optional, .null): return
        case (.optional(let wrapped), _): try check(value, wrapped, unknownFields)
        case (.named(let name), _):
            // The parser has checked that the type exists.
            guard let type = self.type(named: name) else { return }
            do throws(DefinitionMismatch) {
                try check(value, type, unknownFields)
            } catch  where error.path.isEmpty && value?.stringValue == nil {
                throw DefinitionMismatch(expected: name, found: error.found)
            }
        case (.bool, .bool), (.int, .int), (.float, .double), (.float, .int), (.string, .string): return
        case (.object, .some(let value)) where !value.isNull: return
        case (.any, .some(let value)) where !value.isNull: return
        case (.enumeration(let values), .string(let text)):
            guard values.contains(where: { $0.name == text }) else {
                throw DefinitionMismatch(expected: type.description, found: "'\(text.prefix(64))'")
            }
        case (.structure(let fields), .object(let members)):
            try check(members, against: fields, unknownFields: unknownFields)
        case (.array(let element), .array(let elements)):
            for (index, value) in elements.enumerated() {
                do throws(DefinitionMismatch) {
                    try check(value, element, unknownFields)
                } catch {
                    throw error.within("[\(index)]")
                }
            }
        case (.map(let element), .object(let members)):
            for (name, value) in members {
                do throws(DefinitionMismatch) {
                    try check(value, element, unknownFields)
                } catch {
                    throw error.within(name)
                }
            }
        default:
            throw DefinitionMismatch(expected: type.description, found: value?.kind ?? "nothing")
        }
    }
}
