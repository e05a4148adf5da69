/// A check for expressions that fail for some values of their variables, such as JSON without a field that they read.
///
/// It serves warnings, so it leaves out what seldom happens: a number that becomes too large, and every limit. A test
/// makes an operation safe, in the same expression and in the later ones:
///
/// | test | safe operations |
/// |---|---|
/// | `has(a.b)` | the selection `a.b` |
/// | `type(a) == map`, `a.matches("…")` | selections, conversions, comparisons and calls of `a` |
/// | `b in a`, `size(a) > 1`, `a.size() > 1` | an index of `a` |
package struct FailureCheck {
    /// The texts of expressions that tests make safe.
    private struct Tests {
        var present: Set<String> = []
        var typed: Set<String> = []
        var sized: Set<String> = []
    }

    private var tests = Tests()

    package init() {}

    /// Returns whether an expression may fail. It is parsed again, so this is linear in its length.
    package mutating func mayFail(_ program: Program) -> Bool {
        guard program.constant == nil, !program.reads.isEmpty else { return false }
        let part = Part(checked: program.checkedAgain(), source: Array(program.source.utf8))
        for id in part.nodes.indices { note(id, part) }
        return part.nodes.indices.contains { mayFail($0, part) }
    }

    /// Notes what a node makes safe.
    private mutating func note(_ id: SyntaxTree.ID, _ part: Part) {
        switch part.nodes[id].kind {
        case .has(let operand, let name): tests.present.insert("\(part.text(of: operand)).\(name.text)")
        case .call(let function, _, let operands):
            guard let first = operands.first else { return }
            switch function.text {
            case "matches": tests.typed.insert(part.text(of: first))
            case "size": tests.sized.insert(part.text(of: first))
            default: break
            }
        case .binary(.equal, let left, let right, _):
            for case .call(let function, _, let operands) in [left, right].map({ part.nodes[$0].kind })
            where function.text == "type" {
                if let first = operands.first { tests.typed.insert(part.text(of: first)) }
            }
        case .binary(.in, _, let right, _): tests.sized.insert(part.text(of: right))
        default: break
        }
    }

    /// Returns whether a node fails for some values of its operands.
    private func mayFail(_ id: SyntaxTree.ID, _ part: Part) -> Bool {
        func isUnknown(_ operand: SyntaxTree.ID) -> Bool {
            part.types[operand].isUnknown && !tests.typed.contains(part.text(of: operand)) && !part.isDefaulted(operand)
        }
        switch part.nodes[id].kind {
        case .select(let operand, let name):
            guard part.isSelection(id) else { return false }
            if case .structure = part.types[operand] { return false }
            return isUnknown(operand) || !tests.present.contains("\(part.text(of: operand)).\(name.text)")
        case .has(let operand, _): return isUnknown(operand)
        case .index(let operand, _): return !tests.sized.contains(part.text(of: operand))
        case .call(let function, _, let operands):
            guard let first = operands.first else { return false }
            switch function.text {
            case "int", "uint", "double", "bool", "duration", "timestamp":
                guard part.types[first].isUnknown || part.types[first] == .string else { return false }
                return !tests.typed.contains(part.text(of: first)) && !tests.typed.contains(part.trimmedText(of: first))
            case "type", "dyn", "string": return false
            default: return operands.contains(where: isUnknown)
            }
        case .unary(_, let operand): return isUnknown(operand)
        case .binary(let operation, let left, let right, _):
            switch operation {
            case .equal, .notEqual: return false
            case .divide, .remainder:
                if isUnknown(left) || isUnknown(right) { return true }
                return part.types[right] != .double && !part.isLiteral(right)
            case .in: return isUnknown(right)
            default: return isUnknown(left) || isUnknown(right)
            }
        case .logic(_, let operands): return operands.contains(where: isUnknown)
        case .conditional(let condition, _, _): return isUnknown(condition)
        case .comprehension(let comprehension): return isUnknown(comprehension.range)
        default: return false
        }
    }

    /// A parsed expression with its source.
    private struct Part {
        let checked: CheckedTree
        let source: [UInt8]

        var nodes: [SyntaxTree.Node] { checked.tree.nodes }
        var types: [StaticType] { checked.types }

        /// The source of a node without spaces.
        func text(of id: SyntaxTree.ID) -> String {
            let range = nodes[id].range
            guard range.start >= 0, range.start <= range.end, range.end <= source.count else { return "" }
            return String(decoding: source[range.start..<range.end].filter { $0 != UInt8(ascii: " ") }, as: UTF8.self)
        }

        /// The source of the text that a node trims.
        func trimmedText(of id: SyntaxTree.ID) -> String {
            guard case .call(let function, true, let operands) = nodes[id].kind, function.text == "trim" else {
                return ""
            }
            return operands.first.map(text) ?? ""
        }

        /// Returns whether a node selects a field that may be missing. A part of a name with dots does not.
        func isSelection(_ id: SyntaxTree.ID) -> Bool {
            guard !checked.covered.contains(id), case .dynamic = checked.meanings[id] else { return false }
            return true
        }

        /// Returns whether a node gives a value in place of a missing one.
        func isDefaulted(_ id: SyntaxTree.ID) -> Bool {
            guard case .call(let function, true, _) = nodes[id].kind else { return false }
            return function.text == "orValue"
        }

        func isLiteral(_ id: SyntaxTree.ID) -> Bool {
            if case .literal = nodes[id].kind { true } else { false }
        }
    }
}
