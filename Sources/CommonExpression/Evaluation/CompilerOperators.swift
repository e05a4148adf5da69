/// The code of operators, selections, calls and literals.
extension Compiler {
    mutating func compileSelection(_ id: SyntaxTree.ID, _ operand: SyntaxTree.ID, _ name: SyntaxTree.Name) -> Code {
        let (text, range) = (name.text, name.range)
        guard case .field(let index, let structureType) = checked.meanings[id] else {
            return spine(id, operand) { value, _ throws(EvaluationError) in
                try Access.select(text, from: value, at: range)
            }
        }
        if case .variable(let slot) = checked.meanings[operand] {
            let field = Access.Field(slot: slot, index: index, type: structureType, name: text, range: range)
            return Access.field(field, type(of: id))
        }
        let declaration = structureType.declaration
        return spine(id, operand) { value, _ throws(EvaluationError) in
            if case .structure(let structure) = value, structure.type.declaration === declaration,
                index < structure.fields.count
            {
                return structure.fields[index]
            }
            return try Access.select(text, from: value, at: range)
        }
    }

    mutating func compileCall(_ id: SyntaxTree.ID, _ hasReceiver: Bool, _ operands: [SyntaxTree.ID]) -> Code {
        guard case .function(let function) = checked.meanings[id] else { return .constant(.null) }
        let range = range(of: id)
        if operands.count == 1, let apply = function.unary {
            if hasReceiver {
                return spine(id, operands[0]) { value, frame throws(EvaluationError) in
                    try apply(value, range, &frame)
                }
            }
            let operand = codes[operands[0]].valueCode
            return .value { frame throws(EvaluationError) in try apply(try operand(&frame), range, &frame) }
        }
        if operands.count == 2, let apply = function.binary {
            if let specialize = function.specialize, specialized < min(Self.mostSpecialized, limits.patterns),
                let argument = constant(operands[1]), let apply = specialize(argument, limits)
            {
                specialized += 1
                return spine(id, operands[0]) { value, frame throws(EvaluationError) in
                    try apply(value, range, &frame)
                }
            }
            let argument = codes[operands[1]].valueCode
            if let shortcut = function.shortcut {
                return spine(id, operands[0]) { value, frame throws(EvaluationError) in
                    if let result = shortcut(value) { return result }
                    return try apply(value, try argument(&frame), range, &frame)
                }
            }
            return spine(id, operands[0]) { value, frame throws(EvaluationError) in
                try apply(value, try argument(&frame), range, &frame)
            }
        }
        // The checker allows only as many operands as some overload has, and each such number has one of the three
        // forms.
        guard let apply = function.general else { return .constant(.null) }
        let arguments = operands.dropFirst(hasReceiver ? 1 : 0).map { codes[$0].valueCode }
        guard hasReceiver else {
            return .value { frame throws(EvaluationError) in
                var values: [Value] = []
                values.reserveCapacity(arguments.count)
                for argument in arguments { values.append(try argument(&frame)) }
                return try apply(values, range, &frame)
            }
        }
        return spine(id, operands[0]) { value, frame throws(EvaluationError) in
            var values = [value]
            values.reserveCapacity(arguments.count + 1)
            for argument in arguments { values.append(try argument(&frame)) }
            return try apply(values, range, &frame)
        }
    }

    func compileUnary(_ id: SyntaxTree.ID, _ operation: UnaryOperator, _ operand: SyntaxTree.ID) -> Code {
        let range = range(of: id)
        switch (operation, type(of: operand)) {
        case (.not, _):
            let code = codes[operand].boolCode(at: self.range(of: operand))
            return .bool { frame throws(EvaluationError) in try !code(&frame) }
        case (.negate, .int):
            let code = codes[operand].intCode(at: range)
            return .int { frame throws(EvaluationError) in try Arithmetic.negate(try code(&frame), at: range) }
        case (.negate, .double):
            let code = codes[operand].doubleCode(at: range)
            return .double { frame throws(EvaluationError) in try -code(&frame) }
        case (.negate, _):
            let code = codes[operand].valueCode
            return .value { frame throws(EvaluationError) in try Arithmetic.negate(try code(&frame), at: range) }
        }
    }

    // MARK: Binary operators

    mutating func compileBinary(
        _ id: SyntaxTree.ID, _ operation: BinaryOperator, _ left: SyntaxTree.ID, _ right: SyntaxTree.ID
    ) -> Code {
        if tree.nodes[id].spine <= SyntaxTree.longestNestedSpine, type(of: left) == type(of: right),
            let code = compileScalar(id, operation, left, right)
        {
            return code
        }
        let (range, code) = (range(of: id), codes[right].valueCode)
        switch operation {
        case .add, .subtract, .multiply, .divide, .remainder:
            return spine(id, left) { value, frame throws(EvaluationError) in
                try Arithmetic.apply(operation, value, try code(&frame), at: range, &frame)
            }
        case .equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual, .in:
            return spine(id, left) { value, frame throws(EvaluationError) in
                .bool(try Comparisons.relate(operation, value, try code(&frame), at: range, &frame))
            }
        }
    }

    /// Returns the code of an operator between two scalars of one known type, or nil if it is not faster than the
    /// general code.
    private func compileScalar(
        _ id: SyntaxTree.ID, _ operation: BinaryOperator, _ left: SyntaxTree.ID, _ right: SyntaxTree.ID
    ) -> Code? {
        switch type(of: left) {
        case .int: compileInt(id, operation, left, right)
        case .uint: compileUInt(id, operation, left, right)
        case .double: compileDouble(id, operation, left, right)
        case .string: compileString(id, operation, left, right)
        case .bool: compileBool(operation, left, right)
        default: nil
        }
    }

    private func compileInt(
        _ id: SyntaxTree.ID, _ operation: BinaryOperator, _ left: SyntaxTree.ID, _ right: SyntaxTree.ID
    ) -> Code? {
        let range = range(of: id)
        let leftCode = codes[left].intCode(at: self.range(of: left))
        let rightCode = codes[right].intCode(at: self.range(of: right))
        switch operation {
        case .add, .subtract, .multiply, .divide, .remainder:
            return .int { frame throws(EvaluationError) in
                try Arithmetic.int(operation, try leftCode(&frame), try rightCode(&frame), at: range)
            }
        case .in: return nil
        default:
            let outcomes = operation.outcomes
            if case .int(let number) = constant(right) {
                return .bool { frame throws(EvaluationError) in
                    Comparisons.order(try leftCode(&frame), number).rawValue & outcomes != 0
                }
            }
            return .bool { frame throws(EvaluationError) in
                Comparisons.order(try leftCode(&frame), try rightCode(&frame)).rawValue & outcomes != 0
            }
        }
    }

    private func compileUInt(
        _ id: SyntaxTree.ID, _ operation: BinaryOperator, _ left: SyntaxTree.ID, _ right: SyntaxTree.ID
    ) -> Code? {
        let range = range(of: id)
        let leftCode = codes[left].uintCode(at: self.range(of: left))
        let rightCode = codes[right].uintCode(at: self.range(of: right))
        switch operation {
        case .add, .subtract, .multiply, .divide, .remainder:
            return .uint { frame throws(EvaluationError) in
                try Arithmetic.uint(operation, try leftCode(&frame), try rightCode(&frame), at: range)
            }
        case .in: return nil
        default:
            let outcomes = operation.outcomes
            return .bool { frame throws(EvaluationError) in
                Comparisons.order(try leftCode(&frame), try rightCode(&frame)).rawValue & outcomes != 0
            }
        }
    }

    private func compileDouble(
        _ id: SyntaxTree.ID, _ operation: BinaryOperator, _ left: SyntaxTree.ID, _ right: SyntaxTree.ID
    ) -> Code? {
        let leftCode = codes[left].doubleCode(at: range(of: left))
        let rightCode = codes[right].doubleCode(at: range(of: right))
        switch operation {
        case .add, .subtract, .multiply, .divide:
            return .double { frame throws(EvaluationError) in
                Arithmetic.double(operation, try leftCode(&frame), try rightCode(&frame))
            }
        case .remainder, .in: return nil
        default:
            let outcomes = operation.outcomes
            return .bool { frame throws(EvaluationError) in
                Comparisons.order(try leftCode(&frame), try rightCode(&frame)).rawValue & outcomes != 0
            }
        }
    }

    private func compileString(
        _ id: SyntaxTree.ID, _ operation: BinaryOperator, _ left: SyntaxTree.ID, _ right: SyntaxTree.ID
    ) -> Code? {
        let range = range(of: id)
        let leftCode = codes[left].stringCode(at: self.range(of: left))
        let rightCode = codes[right].stringCode(at: self.range(of: right))
        switch operation {
        case .add:
            return .string { frame throws(EvaluationError) in
                try Arithmetic.concatenate(try leftCode(&frame), try rightCode(&frame), at: range, &frame)
            }
        case .equal, .notEqual:
            let wanted = operation == .equal
            if case .string(let text) = constant(right) {
                return .bool { frame throws(EvaluationError) in
                    try Self.areEqual(try leftCode(&frame), text, at: range, &frame) == wanted
                }
            }
            return .bool { frame throws(EvaluationError) in
                try Self.areEqual(try leftCode(&frame), try rightCode(&frame), at: range, &frame) == wanted
            }
        case .less, .lessOrEqual, .greater, .greaterOrEqual:
            let outcomes = operation.outcomes
            return .bool { frame throws(EvaluationError) in
                let (left, right) = (try leftCode(&frame), try rightCode(&frame))
                try frame.charge(octets: min(left.utf8.count, right.utf8.count), at: range)
                return left.scalarOrder(to: right).rawValue & outcomes != 0
            }
        default: return nil
        }
    }

    @inline(__always)
    private static func areEqual(
        _ left: String, _ right: String, at range: SourceRange, _ frame: inout Frame
    ) throws(EvaluationError) -> Bool {
        let count = left.utf8.count
        guard count == right.utf8.count else { return false }
        try frame.charge(octets: count, at: range)
        return left.hasSameScalars(as: right)
    }

    private func compileBool(_ operation: BinaryOperator, _ left: SyntaxTree.ID, _ right: SyntaxTree.ID) -> Code? {
        guard operation == .equal || operation == .notEqual else { return nil }
        let leftCode = codes[left].boolCode(at: range(of: left))
        let rightCode = codes[right].boolCode(at: range(of: right))
        let wanted = operation == .equal
        return .bool { frame throws(EvaluationError) in
            (try leftCode(&frame) == rightCode(&frame)) == wanted
        }
    }

    // MARK: Logic

    /// Compiles `&&` and `||`. A decisive operand makes the other operands and their errors irrelevant (CEL
    /// specification, "Logical Operators"). Errors of limits are not absorbed.
    func compileLogic(_ operation: LogicOperator, _ operands: [SyntaxTree.ID]) -> Code {
        let decisive = operation == .or
        var conditions: [Condition] = []
        for operand in operands {
            if case .bool(let bool) = constant(operand) {
                if bool == decisive { return .constant(.bool(decisive)) }
                continue
            }
            conditions.append(Condition(code: codes[operand].boolCode(at: range(of: operand))))
        }
        if conditions.isEmpty { return .constant(.bool(!decisive)) }
        if conditions.count == 1 { return .bool(conditions[0].code) }
        if conditions.count == 2 {
            return .bool(Self.logic(conditions[0].code, conditions[1].code, decisive: decisive))
        }
        return .bool(Self.logic(conditions, decisive: decisive))
    }

    private static func logic(_ left: @escaping BoolCode, _ right: @escaping BoolCode, decisive: Bool) -> BoolCode {
        { frame throws(EvaluationError) in
            do throws(EvaluationError) {
                if try left(&frame) == decisive { return decisive }
            } catch {
                if !error.isLimit, try right(&frame) == decisive { return decisive }
                throw error
            }
            return try right(&frame)
        }
    }

    /// An operand. The structure avoids the conversion that a call of a bare closure in an array goes through.
    private struct Condition: Sendable {
        let code: BoolCode
    }

    private static func logic(_ conditions: [Condition], decisive: Bool) -> BoolCode {
        { frame throws(EvaluationError) in
            var failure: EvaluationError?
            for condition in conditions {
                do throws(EvaluationError) {
                    if try condition.code(&frame) == decisive { return decisive }
                } catch {
                    if error.isLimit { throw error }
                    if failure == nil { failure = error }
                }
            }
            if let failure { throw failure }
            return !decisive
        }
    }

    func compileConditional(
        _ id: SyntaxTree.ID, _ condition: SyntaxTree.ID, _ then: SyntaxTree.ID, _ otherwise: SyntaxTree.ID
    ) -> Code {
        if case .bool(let bool) = constant(condition) { return codes[bool ? then : otherwise] }
        let test = codes[condition].boolCode(at: range(of: condition))
        let (thenRange, otherwiseRange) = (range(of: then), range(of: otherwise))
        switch type(of: id) {
        case .bool:
            let (yes, no) = (codes[then].boolCode(at: thenRange), codes[otherwise].boolCode(at: otherwiseRange))
            return .bool { frame throws(EvaluationError) in try test(&frame) ? try yes(&frame) : try no(&frame) }
        case .int:
            let (yes, no) = (codes[then].intCode(at: thenRange), codes[otherwise].intCode(at: otherwiseRange))
            return .int { frame throws(EvaluationError) in try test(&frame) ? try yes(&frame) : try no(&frame) }
        case .string:
            let (yes, no) = (codes[then].stringCode(at: thenRange), codes[otherwise].stringCode(at: otherwiseRange))
            return .string { frame throws(EvaluationError) in try test(&frame) ? try yes(&frame) : try no(&frame) }
        default:
            let (yes, no) = (codes[then].valueCode, codes[otherwise].valueCode)
            return .value { frame throws(EvaluationError) in try test(&frame) ? try yes(&frame) : try no(&frame) }
        }
    }

    // MARK: Literals

    func compileList(_ id: SyntaxTree.ID, _ elements: [SyntaxTree.Element]) -> Code {
        let range = range(of: id)
        if elements.contains(where: \.isOptional) { return compileOptionalList(range, elements) }
        let elementCodes = elements.map { codes[$0.value].valueCode }
        return .value { frame throws(EvaluationError) in
            try frame.create(elements: elementCodes.count, at: range)
            var values: [Value] = []
            values.reserveCapacity(elementCodes.count)
            for code in elementCodes { values.append(try code(&frame)) }
            return .list(values)
        }
    }

    private func compileOptionalList(_ range: SourceRange, _ elements: [SyntaxTree.Element]) -> Code {
        let elementCodes = elements.map { element in
            (code: codes[element.value].valueCode, isOptional: element.isOptional, range: self.range(of: element.value))
        }
        return .value { frame throws(EvaluationError) in
            try frame.create(elements: elementCodes.count, at: range)
            var values: [Value] = []
            for element in elementCodes {
                let value = try element.code(&frame)
                guard element.isOptional else {
                    values.append(value)
                    continue
                }
                if let value = try Self.unwrapped(value, element.range) { values.append(value) }
            }
            return .list(values)
        }
    }

    /// Returns the content of an optional value in a literal.
    private static func unwrapped(_ value: Value, _ range: SourceRange) throws(EvaluationError) -> Value? {
        guard case .optional(let wrapped) = value else { throw Code.mismatch(value, "an optional value", range) }
        return wrapped
    }

    func compileMap(_ id: SyntaxTree.ID, _ entries: [SyntaxTree.Entry]) -> Code {
        let range = range(of: id)
        let entryCodes = entries.map { entry in
            (
                key: codes[entry.key].valueCode, keyRange: self.range(of: entry.key),
                value: codes[entry.value].valueCode,
                optionalRange: entry.isOptional ? self.range(of: entry.value) : nil
            )
        }
        return .value { frame throws(EvaluationError) in
            try frame.create(elements: entryCodes.count, at: range)
            var map: [Value: Value] = [:]
            for entry in entryCodes {
                let key = try entry.key(&frame)
                try frame.charge(key: key, at: entry.keyRange)
                guard MapKeys.isKey(key) else {
                    throw Code.mismatch(key, "a key of int, uint, bool or string", entry.keyRange)
                }
                guard MapKeys.value(of: key, in: map) == nil else {
                    throw EvaluationError(
                        code: .duplicateKey, message: "the key \(ValueExcerpt.text(of: key)) is given twice",
                        range: entry.keyRange)
                }
                guard let range = entry.optionalRange else {
                    map[key] = try entry.value(&frame)
                    continue
                }
                if let value = try Self.unwrapped(try entry.value(&frame), range) { map[key] = value }
            }
            return .map(map)
        }
    }
}
