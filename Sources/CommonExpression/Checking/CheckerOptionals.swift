/// The types of optional access and of the macros that name a value.
extension Checker {
    /// Checks `operand.?name`, whose result is optional even if the operand is not.
    mutating func checkOptionalSelection(_ id: SyntaxTree.ID, _ operand: SyntaxTree.ID, _ name: SyntaxTree.Name) {
        if let type = fieldType(name, of: type(of: operand).unwrapped, operand) { set(id, .optional(type)) }
    }

    /// Checks `operand[?index]`.
    mutating func checkOptionalIndex(_ id: SyntaxTree.ID, _ operand: SyntaxTree.ID, _ index: SyntaxTree.ID) {
        if let type = elementType(of: type(of: operand).unwrapped, id, operand, index) { set(id, .optional(type)) }
    }

    /// Returns the type of a field, or nil after it reported that the type has no such field.
    mutating func fieldType(
        _ name: SyntaxTree.Name, of type: StaticType, _ operand: SyntaxTree.ID
    ) -> StaticType? {
        switch type {
        case .error: return nil
        case .dyn, .open: return .dyn
        case .structure(let structure):
            if let index = structure.index(of: name.text) { return StaticType(structure.fields[index].type) }
            reportUnknownField(name, of: structure, operand)
        case .map(let key, let value):
            if StaticType.string.fits(key) { return value }
            report(.noOverload, "the keys of \(snippet(operand)) are not strings", advice: "use [?…]", at: name.range)
        default: report(.unknownField, "\(type) has no fields", at: name.range)
        }
        return nil
    }

    /// Returns the type of an element, or nil after it reported that the type has no elements.
    mutating func elementType(
        of type: StaticType, _ id: SyntaxTree.ID, _ operand: SyntaxTree.ID, _ index: SyntaxTree.ID
    ) -> StaticType? {
        let indexType = self.type(of: index)
        guard indexType != .error else { return nil }
        switch type {
        case .error: return nil
        case .dyn, .open: return .dyn
        case .list(let element):
            if StaticType.int.fits(indexType) { return element }
            report(
                .noOverload,
                "a list is indexed by int, not \(indexType)", advice: conversionAdvice(index, to: .int),
                at: range(of: index))
        case .map(let key, let value):
            if indexType.fits(key) { return value }
            report(
                .noOverload, "the map is indexed by \(key), not \(indexType)", advice: conversionAdvice(index, to: key),
                at: range(of: index))
        default:
            report(
                .noOverload, "\(type) has no elements", advice: "only lists and maps are indexed", at: range(of: id))
        }
        return nil
    }

    /// Returns the type that an element or value contributes to its literal; for `?value`, the content of the optional
    /// value.
    mutating func elementType(_ id: SyntaxTree.ID, isOptional: Bool) -> StaticType {
        let type = type(of: id)
        guard isOptional else { return type }
        switch type {
        case .optional(let wrapped): return wrapped
        case .error, .dyn, .open: return type
        default:
            report(
                .noOverload,
                "after '?' an optional value is needed, not \(type)",
                advice: "write it without '?' or as optional.of(\(snippet(id)))", at: range(of: id))
            return .error
        }
    }

    mutating func checkOptionalMap(_ id: SyntaxTree.ID, _ map: SyntaxTree.OptionalMap) {
        let bodyType = type(of: map.body)
        switch type(of: map.operand) {
        case .error: return
        case .optional, .dyn, .open: break
        case let type:
            report(
                .noOverload, "\(map.isFlat ? "optFlatMap" : "optMap")() is for optional values, not \(type)",
                at: range(of: map.operand))
            return
        }
        guard bodyType != .error else { return }
        guard map.isFlat else {
            set(id, .optional(bodyType))
            return
        }
        switch bodyType {
        case .optional, .dyn, .open: set(id, bodyType)
        default:
            report(
                .noOverload, "the expression of optFlatMap() must be an optional value, not \(bodyType)",
                advice: "use optMap()", at: range(of: map.body))
        }
    }

    /// Checks `transformMapEntry`, whose body must be a map.
    mutating func checkEntries(_ id: SyntaxTree.ID, _ comprehension: SyntaxTree.Comprehension) {
        guard let body = comprehension.body else { return }
        switch type(of: body) {
        case .error: return
        case .map, .dyn, .open: set(id, type(of: body))
        case let type:
            report(
                .noOverload, "transformMapEntry() takes a map of one entry, not \(type)", at: range(of: body))
        }
    }
}

extension StaticType {
    /// The type of the content of an optional value, also if that is optional; any other type itself.
    var unwrapped: StaticType {
        var type = self
        while case .optional(let wrapped) = type { type = wrapped }
        return type
    }
}
