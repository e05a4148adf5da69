/// A check for expressions that fail for some values of their variables, such as JSON without a field that they read.
///
/// It serves warnings, so it leaves out what seldom happens: a number that becomes too large, and every limit. A field
/// that `has` tests counts as there, in the same expression and in the later ones.
package struct FailureCheck {
    /// The paths that `has` tests.
    private var tested: Set<[String]> = []
    /// The texts that a pattern restricts.
    private var matched: Set<[String]> = []

    package init() {}

    /// Returns whether an expression may fail. It is parsed again, so this is linear in its length.
    package mutating func mayFail(_ program: Program) -> Bool {
        guard program.constant == nil, !program.reads.isEmpty else { return false }
        let checked = program.checkedAgain()
        let nodes = checked.tree.nodes
        for node in nodes {
            switch node.kind {
            case .has(let operand, let name):
                if let path = checked.path(of: operand) { tested.insert(path + [name.text]) }
            case .call(let function, _, let operands) where function.text == "matches":
                if let operand = operands.first, let path = checked.path(of: operand) { matched.insert(path) }
            default: break
            }
        }
        return nodes.indices.contains { mayFail($0, checked) }
    }

    /// Returns whether a node fails for some values of its operands.
    private func mayFail(_ id: SyntaxTree.ID, _ checked: CheckedTree) -> Bool {
        func isUnknown(_ operand: SyntaxTree.ID) -> Bool {
            checked.types[operand].isUnknown && !isTested(operand, checked) && !isDefaulted(operand, checked)
        }
        switch checked.tree.nodes[id].kind {
        case .select(let operand, _):
            // A name with dots, and a field of a known type, is always there.
            guard !checked.covered.contains(id), case .dynamic = checked.meanings[id] else { return false }
            switch checked.types[operand] {
            case .structure: return false
            default: return !isTested(id, checked)
            }
        case .index: return true
        case .call(let function, _, let operands):
            guard let first = operands.first else { return false }
            switch function.text {
            case "int", "uint", "double", "bool", "duration", "timestamp":
                return (isUnknown(first) || checked.types[first] == .string) && !isMatched(first, checked)
            case "type", "dyn", "string": return false
            default: return operands.contains { isUnknown($0) }
            }
        case .unary(_, let operand): return isUnknown(operand)
        case .binary(let operation, let left, let right, _):
            switch operation {
            case .equal, .notEqual: return false
            case .divide, .remainder:
                if isUnknown(left) || isUnknown(right) { return true }
                return checked.types[right] != .double && !isLiteral(right, checked)
            case .in: return isUnknown(right)
            default: return isUnknown(left) || isUnknown(right)
            }
        case .logic(_, let operands): return operands.contains(where: isUnknown)
        case .conditional(let condition, _, _): return isUnknown(condition)
        case .comprehension(let comprehension): return isUnknown(comprehension.range)
        default: return false
        }
    }

    /// Returns whether `has` tests a field, or a field inside.
    private func isTested(_ id: SyntaxTree.ID, _ checked: CheckedTree) -> Bool {
        guard let path = checked.path(of: id) else { return false }
        return tested.contains { $0.starts(with: path) }
    }

    private func isMatched(_ id: SyntaxTree.ID, _ checked: CheckedTree) -> Bool {
        checked.path(of: id).map(matched.contains) ?? false
    }

    /// Returns whether a node gives a value in place of a missing one.
    private func isDefaulted(_ id: SyntaxTree.ID, _ checked: CheckedTree) -> Bool {
        guard case .call(let function, true, _) = checked.tree.nodes[id].kind else { return false }
        return function.text == "orValue"
    }

    private func isLiteral(_ id: SyntaxTree.ID, _ checked: CheckedTree) -> Bool {
        if case .literal = checked.tree.nodes[id].kind { true } else { false }
    }
}

extension CheckedTree {
    /// The path that a node reads: a variable and the fields selected from it; nil if it is something else.
    fileprivate func path(of id: SyntaxTree.ID) -> [String]? {
        var path: [String] = []
        var current = id
        while true {
            if case .variable(let slot) = meanings[current] {
                path.append(variables[slot].name)
                return path.reversed()
            }
            guard case .select(let operand, let name) = tree.nodes[current].kind else { return nil }
            path.append(name.text)
            current = operand
        }
    }
}
