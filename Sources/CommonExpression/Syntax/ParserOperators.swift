/// Operators and signs.
extension Parser {
    enum Operator {
        case logic(LogicOperator)
        case binary(BinaryOperator)
    }

    struct Pending {
        let operation: Operator
        let precedence: Int
        let range: SourceRange
    }

    /// ConditionalOr, ConditionalAnd, Relation, Addition and Multiplication, all of which associate to the left.
    func parseOperators() throws(Abort) -> SyntaxTree.ID {
        let base = pending.count
        operands.append(try parseUnary())
        while try takeOperator(above: base) {
            operands.append(try parseUnary())
        }
        while pending.count > base { try reduce() }
        return operands.removeLast()
    }

    /// Reads the next operator. First reduces the operators before it that bind as tightly. Returns false if the next
    /// token is not an operator.
    private func takeOperator(above base: Int) throws(Abort) -> Bool {
        guard let next = Self.pending(token) else { return false }
        while pending.count > base, let last = pending.last, last.precedence >= next.precedence {
            try reduce()
        }
        pending.append(next)
        advance()
        return true
    }

    private static func pending(_ token: Token) -> Pending? {
        let (operation, precedence): (Operator, Int)
        switch token.kind {
        case .or: (operation, precedence) = (.logic(.or), 1)
        case .and: (operation, precedence) = (.logic(.and), 2)
        case .equal: (operation, precedence) = (.binary(.equal), 3)
        case .notEqual: (operation, precedence) = (.binary(.notEqual), 3)
        case .less: (operation, precedence) = (.binary(.less), 3)
        case .lessOrEqual: (operation, precedence) = (.binary(.lessOrEqual), 3)
        case .greater: (operation, precedence) = (.binary(.greater), 3)
        case .greaterOrEqual: (operation, precedence) = (.binary(.greaterOrEqual), 3)
        case .in: (operation, precedence) = (.binary(.in), 3)
        case .plus: (operation, precedence) = (.binary(.add), 4)
        case .minus: (operation, precedence) = (.binary(.subtract), 4)
        case .star: (operation, precedence) = (.binary(.multiply), 5)
        case .slash: (operation, precedence) = (.binary(.divide), 5)
        case .percent: (operation, precedence) = (.binary(.remainder), 5)
        default: return nil
        }
        return Pending(operation: operation, precedence: precedence, range: token.range)
    }

    /// Joins the last two operands by the last operator.
    private func reduce() throws(Abort) {
        let operation = pending.removeLast()
        let right = operands.removeLast()
        let left = operands.removeLast()
        let range = range(from: left, to: right)
        switch operation.operation {
        case .binary(let binary):
            operands.append(
                try addSpine(
                    .binary(binary, left: left, right: right, operatorRange: operation.range),
                    range, left: left, others: [right]))
        case .logic(let logic):
            operands.append(try addLogic(logic, left: left, right: right, range))
        }
    }

    /// Joins two conditions. A chain of the same operator becomes one node, which takes over the operands of the
    /// previous one.
    private func addLogic(
        _ logic: LogicOperator, left: SyntaxTree.ID, right: SyntaxTree.ID, _ range: SourceRange
    ) throws(Abort) -> SyntaxTree.ID {
        guard case .logic(logic, var operands) = tree.nodes[left].kind, !tree.nodes[left].isParenthesized else {
            return try add(.logic(logic, operands: [left, right]), range, operands: [left, right])
        }
        tree.nodes[left].kind = .none
        operands.append(right)
        let height = max(tree.nodes[left].height, tree.nodes[right].height + 1)
        return try append(.logic(logic, operands: operands), range, height: height, spine: 0)
    }

    // MARK: Unary

    /// Unary = Member | "!" {"!"} Member | "-" {"-"} Member.
    func parseUnary() throws(Abort) -> SyntaxTree.ID {
        if kind == .not || kind == .minus { return try parsePrefixed() }
        return try parseMember(try parsePrimary())
    }

    private func parsePrefixed() throws(Abort) -> SyntaxTree.ID {
        let first = position
        try skipSigns()
        let count = position - first
        let operand = try parseMember(try parsePrimaryOrNegative(after: first))
        return try addSigns(from: first, count: count, operand)
    }

    /// Reads signs of one kind.
    private func skipSigns() throws(Abort) {
        let (first, sign) = (position, kind)
        while kind == sign {
            guard position - first < limits.nesting else { throw tooDeep(at: token.range) }
            advance()
        }
        guard kind == .not || kind == .minus else { return }
        throw report(
            .syntax, "'\(sign.symbol)' and '\(kind.symbol)' cannot follow each other", advice: "use parentheses",
            at: token.range)
    }

    /// Parses a primary. A minus directly before a number belongs to the number.
    private func parsePrimaryOrNegative(after first: Int) throws(Abort) -> SyntaxTree.ID {
        if tokens[first].kind == .minus, kind == .int || kind == .double {
            return try parseNegativeNumber(sign: lastRange)
        }
        return try parsePrimary()
    }

    /// Applies the signs to their operand, except the one that belongs to a number.
    private func addSigns(
        from first: Int, count: Int, _ operand: SyntaxTree.ID
    ) throws(Abort) -> SyntaxTree.ID {
        let isNegation = tokens[first].kind == .minus
        let next = tokens[first + count].kind
        var signs = isNegation && (next == .int || next == .double) ? count - 1 : count
        var operand = operand
        while signs > 0 {
            signs -= 1
            let range = tokens[first + signs].range.joined(with: tree.nodes[operand].range)
            operand = try add(.unary(isNegation ? .negate : .not, operand: operand), range, operands: [operand])
        }
        return operand
    }

    private func parseNegativeNumber(sign: SourceRange) throws(Abort) -> SyntaxTree.ID {
        let token = token
        let range = sign.joined(with: token.range)
        advance()
        switch payloads[token.payload] {
        case .magnitude(let magnitude):
            guard magnitude <= Int64.min.magnitude else { throw outOfRange(at: range) }
            return try add(.literal(.int(Int64(truncatingIfNeeded: 0 &- magnitude))), range)
        case .double(let double):
            return try add(.literal(.double(-double)), range)
        case .text, .bytes:
            throw Abort()
        }
    }

    func outOfRange(at range: SourceRange) -> Abort {
        report(
            .invalidLiteral,
            "the number is out of range for int, -9223372036854775808 to 9223372036854775807",
            at: range)
    }
}
