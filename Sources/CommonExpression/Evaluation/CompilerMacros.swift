/// The code of the macros that iterate over lists and maps (CEL specification, "Macros").
extension Compiler {
    func compileComprehension(_ id: SyntaxTree.ID, _ comprehension: SyntaxTree.Comprehension) -> Code {
        let walk = Walk(
            range: codes[comprehension.range].valueCode, slot: comprehension.slot,
            hasTwoVariables: comprehension.hasTwoVariables, weight: comprehension.weight,
            sourceRange: comprehension.macroRange)
        let filter = comprehension.filter.map { codes[$0].boolCode(at: range(of: $0)) }
        let body = comprehension.body.map { (code: codes[$0], range: range(of: $0)) }
        switch (comprehension.macro, body) {
        case (.all, let body?):
            return .bool(Self.quantifier(walk, body.code.boolCode(at: body.range), decisive: false))
        case (.exists, let body?):
            return .bool(Self.quantifier(walk, body.code.boolCode(at: body.range), decisive: true))
        case (.existsOne, let body?), (.existsOneTwoVariables, let body?):
            return .bool(Self.uniqueness(walk, body.code.boolCode(at: body.range)))
        case (.transformMapEntry, let body?):
            return .value(Self.entryTransformation(walk, filter, body.code.valueCode, body.range))
        case (.sortBy, let body?):
            return .value(Self.sorting(walk, body.code.valueCode))
        case (.transformMap, let body?):
            return .value(Self.mapTransformation(walk, filter, body.code.valueCode))
        default:
            return .value(Self.listTransformation(walk, filter, body?.code.valueCode))
        }
    }

    /// Compiles `all` and `exists`. A decisive element makes errors of the other elements irrelevant.
    private static func quantifier(_ walk: Walk, _ predicate: @escaping BoolCode, decisive: Bool) -> BoolCode {
        { frame throws(EvaluationError) in
            var failure: EvaluationError?
            var isDecided = false
            try walk.forEach(&frame) { _, _, frame throws(EvaluationError) in
                do throws(EvaluationError) {
                    isDecided = try predicate(&frame) == decisive
                } catch {
                    if error.isLimit { throw error }
                    if failure == nil { failure = error }
                }
                return !isDecided
            }
            if isDecided { return decisive }
            if let failure { throw failure }
            return !decisive
        }
    }

    private static func uniqueness(_ walk: Walk, _ predicate: @escaping BoolCode) -> BoolCode {
        { frame throws(EvaluationError) in
            var count = 0
            try walk.forEach(&frame) { _, _, frame throws(EvaluationError) in
                if try predicate(&frame) { count += 1 }
                return true
            }
            return count == 1
        }
    }

    /// Compiles `map`, `filter` and `transformList`. Without a body, the result holds the elements themselves.
    private static func listTransformation(
        _ walk: Walk, _ filter: BoolCode?, _ body: ValueCode?
    ) -> ValueCode {
        { frame throws(EvaluationError) in
            var values: [Value] = []
            try walk.forEach(&frame) { _, item, frame throws(EvaluationError) in
                if let filter, try !filter(&frame) { return true }
                try walk.holdToLimit(values.count + 1, frame)
                values.append(try body?(&frame) ?? item)
                return true
            }
            return .list(values)
        }
    }

    /// Compiles `sortBy`, which computes the key of each element once.
    private static func sorting(_ walk: Walk, _ key: @escaping ValueCode) -> ValueCode {
        { frame throws(EvaluationError) in
            var (elements, keys): ([Value], [Value]) = ([], [])
            try walk.forEach(&frame) { _, item, frame throws(EvaluationError) in
                try walk.holdToLimit(elements.count + 1, frame)
                elements.append(item)
                keys.append(try key(&frame))
                return true
            }
            return try ListExtension.sorted(elements, by: keys, "sortBy", walk.sourceRange, &frame)
        }
    }

    /// Compiles `transformMapEntry`. Each element gives a map, whose entries are collected. A key that occurs twice is
    /// an error.
    private static func entryTransformation(
        _ walk: Walk, _ filter: BoolCode?, _ body: @escaping ValueCode, _ range: SourceRange
    ) -> ValueCode {
        { frame throws(EvaluationError) in
            var gathered: [Value: Value] = [:]
            try walk.forEach(&frame) { _, _, frame throws(EvaluationError) in
                if let filter, try !filter(&frame) { return true }
                let value = try body(&frame)
                guard case .map(let entries) = value else { throw Code.mismatch(value, "a map", range) }
                try walk.holdToLimit(gathered.count + entries.count, frame)
                for (key, value) in entries {
                    try frame.charge(1, at: range)
                    try frame.charge(key: key, at: range)
                    guard MapKeys.value(of: key, in: gathered) == nil else {
                        throw EvaluationError(
                            code: .duplicateKey, message: "the key \(ValueExcerpt.text(of: key)) is given twice",
                            range: range)
                    }
                    gathered[key] = value
                }
                return true
            }
            return .map(gathered)
        }
    }

    /// Compiles `cel.bind`, which evaluates the value once, then the expression.
    func compileBind(_ bind: SyntaxTree.Bind) -> Code {
        let (value, slot) = (codes[bind.value].valueCode, bind.slot)
        if case .bool(let body) = codes[bind.body] {
            return .bool { frame throws(EvaluationError) in
                frame.bindings[slot] = try value(&frame)
                return try body(&frame)
            }
        }
        let body = codes[bind.body].valueCode
        return .value { frame throws(EvaluationError) in
            frame.bindings[slot] = try value(&frame)
            return try body(&frame)
        }
    }

    /// `optMap` and `optFlatMap`.
    func compileOptionalMap(_ map: SyntaxTree.OptionalMap) -> Code {
        let (operand, body, slot) = (codes[map.operand].valueCode, codes[map.body].valueCode, map.slot)
        let (range, bodyRange, isFlat) = (range(of: map.operand), range(of: map.body), map.isFlat)
        return .value { frame throws(EvaluationError) in
            let value = try operand(&frame)
            guard case .optional(let wrapped) = value else { throw Code.mismatch(value, "an optional value", range) }
            guard let wrapped else { return .optional(nil) }
            frame.bindings[slot] = wrapped
            let result = try body(&frame)
            guard isFlat else { return .optional(result) }
            guard case .optional = result else { throw Code.mismatch(result, "an optional value", bodyRange) }
            return result
        }
    }

    private static func mapTransformation(
        _ walk: Walk, _ filter: BoolCode?, _ body: @escaping ValueCode
    ) -> ValueCode {
        { frame throws(EvaluationError) in
            var entries: [Value: Value] = [:]
            try walk.forEach(&frame) { key, _, frame throws(EvaluationError) in
                if let filter, try !filter(&frame) { return true }
                try walk.holdToLimit(entries.count + 1, frame)
                entries[key] = try body(&frame)
                return true
            }
            return .map(entries)
        }
    }
}

/// The loop of a macro.
struct Walk: Sendable {
    let range: ValueCode
    let slot: Int
    let hasTwoVariables: Bool
    /// The steps that one iteration costs.
    let weight: Int
    let sourceRange: SourceRange

    /// Binds the macro's variables to one element after the other. The keys of a map are sorted, so that the result
    /// does not depend on hashing.
    /// - Parameter body: Receives the position or key and the element (for one variable over a map: the key). Returns
    ///   whether to continue.
    func forEach(
        _ frame: inout Frame,
        _ body: (_ key: Value, _ item: Value, _ frame: inout Frame) throws(EvaluationError) -> Bool
    ) throws(EvaluationError) {
        switch try range(&frame) {
        case .list(let elements):
            for (position, element) in elements.enumerated() {
                guard try bind(.int(Int64(position)), element, &frame, body) else { break }
            }
        case .map(let entries):
            for key in entries.keys {
                try frame.charge(1, at: sourceRange)
                try frame.charge(key: key, at: sourceRange)
            }
            for key in entries.keys.sorted(by: Self.precedes) {
                guard let value = entries[key] else { continue }
                guard try bind(key, hasTwoVariables ? value : key, &frame, body) else { break }
            }
        case let value:
            throw EvaluationError(
                code: .noSuchOverload, message: "a list or map is needed here, not \(value.typeName)",
                range: sourceRange)
        }
    }

    private func bind(
        _ key: Value, _ item: Value, _ frame: inout Frame,
        _ body: (_ key: Value, _ item: Value, _ frame: inout Frame) throws(EvaluationError) -> Bool
    ) throws(EvaluationError) -> Bool {
        try frame.charge(weight, at: sourceRange)
        if hasTwoVariables {
            frame.bindings[slot] = key
            frame.bindings[slot + 1] = item
        } else {
            frame.bindings[slot] = item
        }
        return try body(key, item, &frame)
    }

    /// Throws if the list or map under construction exceeds the limit for sizes.
    func holdToLimit(_ count: Int, _ frame: borrowing Frame) throws(EvaluationError) {
        guard count <= frame.limits.valueSize else {
            throw EvaluationError(
                code: .valueTooLarge,
                message: "the value would have more than \(frame.limits.valueSize) elements, which is the limit",
                range: sourceRange)
        }
    }

    /// The order of keys: Booleans, numbers, strings.
    private static func precedes(_ left: Value, _ right: Value) -> Bool {
        func rank(_ key: Value) -> Int {
            switch key {
            case .bool: 0
            case .int, .uint: 1
            default: 2
            }
        }
        let (leftRank, rightRank) = (rank(left), rank(right))
        guard leftRank == rightRank else { return leftRank < rightRank }
        return Comparisons.order(left, right) == .less
    }
}
