/// The types of operators, selections and literals (CEL specification, "List of Standard Definitions").
extension Checker {
    // MARK: Selection and indexing

    mutating func checkSelection(_ id: SyntaxTree.ID, _ operand: SyntaxTree.ID, _ name: SyntaxTree.Name) {
        switch type(of: operand) {
        case .error: set(id, .error)
        case .dyn, .open: set(id, .dyn)
        case .optional: checkOptionalSelection(id, operand, name)
        case .structure(let type):
            if let index = type.index(of: name.text) {
                set(id, StaticType(type.fields[index].type), .field(index: index, of: type))
            } else {
                reportUnknownField(name, of: type, operand)
            }
        case .map(let key, let value):
            if StaticType.string.fits(key) {
                set(id, value)
            } else {
                report(
                    .noOverload, "\(snippet(operand)) is \(type(of: operand)), whose keys are not strings",
                    advice: "use […]", at: name.range)
            }
        case let type:
            let meant = ["length", "len", "count"].contains(name.text) ? "size" : name.text
            let isFunction = function(named: meant, isMember: true).map { function in
                function.overloads.contains { $0.isMember && $0.accepts(receiver: type) }
            }
            let advice = isFunction == true ? "\(meant) is a function: write .\(meant)()" : nil
            report(.unknownField, "\(type) has no fields", advice: advice, at: name.range)
        }
    }

    mutating func reportUnknownField(
        _ name: SyntaxTree.Name, of type: StructureType, _ operand: SyntaxTree.ID
    ) {
        let names = type.fields.map(\.name)
        let suggestion = nearestName(to: name.text, among: names)
        let subject = type.name.isEmpty ? "'\(snippet(operand))'" : "'\(snippet(operand))' (\(type.name))"
        let advice =
            if let suggestion {
                "did you mean '\(suggestion)'?"
            } else if names.isEmpty {
                "it has no fields"
            } else {
                "its fields are \(NameList.text(names))"
            }
        report(
            .unknownField, "\(subject) has no field '\(Excerpt.of(name.text))'", advice: advice, at: name.range,
            suggestion: suggestion)
    }

    mutating func checkIndex(_ id: SyntaxTree.ID, _ operand: SyntaxTree.ID, _ index: SyntaxTree.ID) {
        let indexType = type(of: index)
        switch type(of: operand) {
        case .error: break
        case .dyn, .open: if indexType != .error { set(id, .dyn) }
        case .optional: checkOptionalIndex(id, operand, index)
        case .list(let element):
            if StaticType.int.fits(indexType) {
                if indexType != .error { set(id, element) }
            } else {
                report(
                    .noOverload,
                    "a list is indexed by int, not \(indexType)", advice: conversionAdvice(index, to: .int),
                    at: range(of: index))
            }
        case .map(let key, let value):
            if indexType.fits(key) {
                if indexType != .error { set(id, value) }
            } else {
                report(
                    .noOverload,
                    "the map is indexed by \(key), not \(indexType)", advice: conversionAdvice(index, to: key),
                    at: range(of: index))
            }
        case .structure:
            var advice = "its fields are selected with '.'"
            if case .literal(.string(let name)) = tree.nodes[index].kind {
                advice += "; write \(snippet(operand)).\(name)"
            }
            report(.noOverload, "a structure is not indexed", advice: advice, at: range(of: id))
        case let type:
            report(
                .noOverload, "\(type) has no elements", advice: "only lists and maps are indexed", at: range(of: id))
        }
    }

    // MARK: Operators

    mutating func checkUnary(_ id: SyntaxTree.ID, _ operation: UnaryOperator, _ operand: SyntaxTree.ID) {
        let type = type(of: operand)
        guard type != .error else { return }
        switch operation {
        case .not:
            if type.fits(.bool) {
                set(id, .bool)
            } else {
                report(
                    .noOverload, "'!' takes bool, not \(type)", advice: conversionAdvice(operand, to: .bool),
                    at: range(of: id))
            }
        case .negate:
            if type.isUnknown || type == .int || type == .double {
                set(id, type.isUnknown ? .dyn : type)
            } else {
                let advice = type == .uint ? "convert it with int(\(snippet(operand)))" : nil
                report(.noOverload, "'-' takes int or double, not \(type)", advice: advice, at: range(of: id))
            }
        }
    }

    mutating func checkLogic(_ id: SyntaxTree.ID, _ operation: LogicOperator, _ operands: [SyntaxTree.ID]) {
        var result = StaticType.bool
        for operand in operands {
            let type = type(of: operand)
            if type == .error { result = .error }
            guard !type.fits(.bool) else { continue }
            result = .error
            report(
                .noOverload, "'\(operation.symbol)' takes bool, not \(type)",
                advice: conversionAdvice(operand, to: .bool), at: range(of: operand))
        }
        set(id, result)
    }

    mutating func checkConditional(
        _ id: SyntaxTree.ID, _ condition: SyntaxTree.ID, _ then: SyntaxTree.ID, _ otherwise: SyntaxTree.ID
    ) {
        let conditionType = type(of: condition)
        var isErroneous = conditionType == .error
        if !conditionType.fits(.bool) {
            isErroneous = true
            report(
                .noOverload,
                "the condition before '?' must be bool, not \(conditionType)",
                advice: conversionAdvice(condition, to: .bool), at: range(of: condition))
        }
        guard let joined = type(of: then).joined(with: type(of: otherwise)) else {
            report(
                .noOverload,
                "both values of a conditional must be of one type, not \(type(of: then)) and \(type(of: otherwise))",
                advice: conversionAdvice(otherwise, to: type(of: then)), at: range(of: id))
            return
        }
        set(id, isErroneous ? .error : joined)
    }

    mutating func checkBinary(
        _ id: SyntaxTree.ID, _ operation: BinaryOperator, _ left: SyntaxTree.ID, _ right: SyntaxTree.ID,
        _ operatorRange: SourceRange
    ) {
        let (leftType, rightType) = (type(of: left), type(of: right))
        guard leftType != .error, rightType != .error else { return }
        if let result = Operators.result(of: operation, leftType, rightType) {
            set(id, result)
        } else {
            report(
                .noOverload,
                "'\(operation.symbol)' does not take \(leftType) and \(rightType)",
                advice: advice(for: operation, left, right, leftType, rightType), at: range(of: id))
        }
    }

    /// Returns the nearest valid form; nil without one.
    private func advice(
        for operation: BinaryOperator, _ left: SyntaxTree.ID, _ right: SyntaxTree.ID, _ leftType: StaticType,
        _ rightType: StaticType
    ) -> String? {
        switch operation {
        case .in:
            if leftType == .string, rightType == .string {
                return "write \(snippet(right)).contains(\(snippet(left)))"
            }
            if case .structure = rightType, case .literal(.string(let name)) = tree.nodes[left].kind {
                return "write has(\(snippet(right)).\(name))"
            }
            if case .list(let element) = rightType { return conversionAdvice(left, to: element) }
            if case .map(let key, _) = rightType { return conversionAdvice(left, to: key) }
            return "the right side must be a list or map"
        case .add where leftType == .string: return conversionAdvice(right, to: .string)
        case .add where rightType == .string: return conversionAdvice(left, to: .string)
        case .add, .subtract:
            if leftType == .timestamp || leftType == .duration { return conversionAdvice(right, to: .duration) }
            return numericAdvice(left, right, leftType, rightType)
        case .multiply, .divide, .remainder:
            if leftType == .duration || rightType == .duration {
                return durationAdvice(operation, left, right, leftType, rightType)
            }
            return numericAdvice(left, right, leftType, rightType)
        default: return numericAdvice(left, right, leftType, rightType)
        }
    }

    /// Returns advice on an operation with a duration that has no overload, if another form has one.
    private func durationAdvice(
        _ operation: BinaryOperator, _ left: SyntaxTree.ID, _ right: SyntaxTree.ID, _ leftType: StaticType,
        _ rightType: StaticType
    ) -> String? {
        switch (operation, leftType, rightType) {
        case (_, .duration, .duration):
            return "write \(snippet(left)).getSeconds() \(operation.symbol) \(snippet(right)).getSeconds()"
        case (.divide, .duration, .double): return "write \(snippet(left)) * (1.0 / \(snippet(right)))"
        case (.multiply, .duration, .uint), (.divide, .duration, .uint): return conversionAdvice(right, to: .int)
        case (.multiply, .uint, .duration): return conversionAdvice(left, to: .int)
        default: return nil
        }
    }

    /// Returns advice that gives both sides one type: a literal is rewritten, an integer becomes a `double`, or the
    /// right side is converted.
    private func numericAdvice(
        _ left: SyntaxTree.ID, _ right: SyntaxTree.ID, _ leftType: StaticType, _ rightType: StaticType
    ) -> String? {
        if case .literal(let value) = tree.nodes[right].kind, let literal = Self.literal(value, as: leftType) {
            return "write \(literal)"
        }
        if case .literal(let value) = tree.nodes[left].kind, let literal = Self.literal(value, as: rightType) {
            return "write \(literal)"
        }
        guard leftType != rightType else { return nil }
        if rightType == .double, leftType.isNumeric { return conversionAdvice(left, to: .double) }
        if leftType.isNumeric, rightType.isNumeric { return conversionAdvice(right, to: leftType) }
        return leftType == .bool ? nil : conversionAdvice(right, to: leftType)
    }

    // MARK: Literals

    /// Returns the type that all elements share, otherwise `dyn`; `error` if an element is erroneous.
    func commonType(of elements: [StaticType]) -> StaticType {
        var common = StaticType.open
        for element in elements {
            guard let joined = common.joined(with: element) else {
                common = .dyn
                continue
            }
            if joined == .error { return .error }
            common = joined
        }
        return common
    }

    mutating func checkMap(_ id: SyntaxTree.ID, _ entries: [SyntaxTree.Entry]) {
        for entry in entries {
            let type = type(of: entry.key)
            guard !Operators.isKey(type) else { continue }
            report(
                .noOverload, "a key of a map must be int, uint, bool or string, not \(type)", at: range(of: entry.key))
            return
        }
        let key = commonType(of: entries.map { type(of: $0.key) })
        var values: [StaticType] = []
        for entry in entries { values.append(elementType(entry.value, isOptional: entry.isOptional)) }
        let value = commonType(of: values)
        set(id, key == .error || value == .error ? .error : .map(key, value))
    }

    // MARK: Macros

    mutating func checkComprehension(_ id: SyntaxTree.ID, _ comprehension: SyntaxTree.Comprehension) {
        let rangeType = type(of: comprehension.range)
        let (key, item): (StaticType, StaticType)
        switch rangeType {
        case .error: return
        case .dyn, .open: (key, item) = (.dyn, .dyn)
        case .list(let element): (key, item) = (.int, element)
        case .map(let mapKey, _): (key, item) = (mapKey, mapKey)
        default:
            report(
                .noOverload,
                "\(comprehension.macro.rawValue)() walks over a list or the keys of a map, not \(rangeType)",
                at: range(of: comprehension.range))
            return
        }
        if let filter = comprehension.filter, !checkPredicate(filter, of: comprehension.macro) { return }
        let bodyType = comprehension.body.map { type(of: $0) }
        switch comprehension.macro {
        case .all, .exists, .existsOne, .existsOneTwoVariables:
            if let body = comprehension.body, checkPredicate(body, of: comprehension.macro) { set(id, .bool) }
        case .filter: set(id, .list(item))
        case .sortBy:
            guard let body = comprehension.body, let bodyType, bodyType != .error else { return }
            guard ListExtension.sortable.contains(where: { bodyType.fits($0) }) else {
                report(
                    .noOverload, "the key of sortBy() must be of a type with an order, not \(bodyType)",
                    at: range(of: body))
                return
            }
            set(id, .list(item))
        case .map, .transformList:
            if let bodyType, bodyType != .error { set(id, .list(bodyType)) }
        case .transformMap:
            if let bodyType, bodyType != .error { set(id, .map(key, bodyType)) }
        case .transformMapEntry: checkEntries(id, comprehension)
        }
    }

    /// Checks that the condition of a macro can be a `bool`.
    private mutating func checkPredicate(_ id: SyntaxTree.ID, of macro: Macro) -> Bool {
        let type = type(of: id)
        guard type != .error else { return false }
        guard !type.fits(.bool) else { return true }
        report(
            .noOverload,
            "the condition of \(macro.rawValue)() must be bool, not \(type)", advice: conversionAdvice(id, to: .bool),
            at: range(of: id))
        return false
    }
}

/// The overloads of the operators (CEL specification, "List of Standard Definitions").
enum Operators {
    private typealias Overload = (left: StaticType, right: StaticType, result: StaticType)

    private static let sums: [Overload] = [
        (.int, .int, .int), (.uint, .uint, .uint), (.double, .double, .double), (.string, .string, .string),
        (.bytes, .bytes, .bytes), (.timestamp, .duration, .timestamp), (.duration, .timestamp, .timestamp),
        (.duration, .duration, .duration),
    ]
    private static let differences: [Overload] = [
        (.int, .int, .int), (.uint, .uint, .uint), (.double, .double, .double), (.timestamp, .timestamp, .duration),
        (.timestamp, .duration, .timestamp), (.duration, .duration, .duration),
    ]
    private static let products: [Overload] = [
        (.int, .int, .int), (.uint, .uint, .uint), (.double, .double, .double), (.duration, .int, .duration),
        (.int, .duration, .duration), (.duration, .double, .duration), (.double, .duration, .duration),
    ]
    private static let quotients: [Overload] = [
        (.int, .int, .int), (.uint, .uint, .uint), (.double, .double, .double), (.duration, .int, .duration),
    ]
    private static let remainders: [Overload] = [(.int, .int, .int), (.uint, .uint, .uint)]
    private static let ordered: [StaticType] = [
        .bool, .int, .uint, .double, .string, .bytes, .timestamp, .duration,
    ]

    /// Returns the type of an operation, or nil if no overload takes operands of these types.
    static func result(of operation: BinaryOperator, _ left: StaticType, _ right: StaticType) -> StaticType? {
        switch operation {
        case .add:
            if case .list = left { return concatenation(left, right) }
            if case .list = right { return concatenation(left, right) }
            return resolve(sums, left, right)
        case .subtract: return resolve(differences, left, right)
        case .multiply: return resolve(products, left, right)
        case .divide: return resolve(quotients, left, right)
        case .remainder: return resolve(remainders, left, right)
        case .equal, .notEqual: return left.isComparable(with: right) ? .bool : nil
        case .less, .lessOrEqual, .greater, .greaterOrEqual:
            return ordered.contains { left.fits($0) && right.fits($0) } ? .bool : nil
        case .in: return membership(left, right)
        }
    }

    /// Returns the result that the fitting overloads share; `dyn` if they differ, nil if none fits.
    private static func resolve(_ overloads: [Overload], _ left: StaticType, _ right: StaticType) -> StaticType? {
        var result: StaticType?
        for overload in overloads where left.fits(overload.left) && right.fits(overload.right) {
            if let other = result, other != overload.result { return .dyn }
            result = overload.result
        }
        return result
    }

    private static func concatenation(_ left: StaticType, _ right: StaticType) -> StaticType? {
        if left.isUnknown || right.isUnknown { return .list(.dyn) }
        guard case .list = left, case .list = right else { return nil }
        return left.joined(with: right)
    }

    private static func membership(_ left: StaticType, _ right: StaticType) -> StaticType? {
        switch right {
        case .list(let element): left.isComparable(with: element) ? .bool : nil
        case .map(let key, _): left.fits(key) ? .bool : nil
        case .dyn, .open: .bool
        default: nil
        }
    }

    /// Returns whether values of the type may be keys of a map ("Aggregate Values").
    static func isKey(_ type: StaticType) -> Bool {
        type.isUnknown || type == .int || type == .uint || type == .bool || type == .string
    }
}
