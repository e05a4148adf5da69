/// The results of an evaluation, part by part; see ``Program/explain(_:)``.
public struct Explanation: Sendable {
    /// A subexpression.
    public struct Part: Sendable {
        /// The location in the source.
        public let range: SourceRange
        /// The source of the part. Linear in its length; all parts share one source.
        public var text: String {
            String(decoding: bytes[max(0, range.start)..<min(bytes.count, range.end)], as: UTF8.self)
        }
        /// The depth: 0 for the whole expression, 1 for its operands, and so on.
        public let depth: Int
        /// The value or the error; nil if the part was not evaluated because other parts decided. Within a macro that
        /// iterates over elements, this is the outcome for the last element.
        public let result: Result<Value, EvaluationError>?
        /// The number of evaluations, which exceeds 1 only within a macro. A constant counts once.
        public let evaluations: Int
        let bytes: [UInt8]

        /// Returns the source up to a number of bytes, cut off at a whole character.
        func text(longest: Int) -> String {
            guard range.end - range.start > longest else { return text }
            let start = max(0, range.start)
            var end = min(bytes.count, start + longest)
            while end > start, end < bytes.count, bytes[end] & 0xC0 == 0x80 { end -= 1 }
            return String(decoding: bytes[start..<end], as: UTF8.self) + "…"
        }
    }

    /// The source of the expression, or of its template. The ranges are offsets into it.
    public let source: String
    /// The whole expression and its subexpressions, each before its operands. The list does not contain literals, names
    /// of types, or the variable of a field that is read directly.
    public let parts: [Part]
    /// The value of the expression or its error.
    public let result: Result<Value, EvaluationError>
    /// The outcome in one line: the decisive part, its value, and the values of the variables and fields that it reads,
    /// as in `state.failures < 3 — false, state.failures is 5`.
    ///
    /// For a false conjunction, the line contains the false operands one after the other; for a false disjunction, all
    /// operands.
    public let summary: String

    init(
        _ checked: CheckedTree, source: String, recorder: Recorder, result: Result<Value, EvaluationError>
    ) {
        let walk = ExplanationWalk(checked: checked, bytes: Array(source.utf8), outcomes: recorder.outcomes)
        self.source = source
        self.result = result
        parts = walk.parts()
        summary = walk.summary(result)
    }
}

extension Explanation: CustomStringConvertible {
    /// The deepest indentation, in levels.
    private static let deepestIndentation = 32
    /// The longest part that is shown whole, in bytes.
    private static let longestPart = 120

    /// A line for each part that was evaluated, indented by its depth: `state.failures < 3 — false`. Long parts and
    /// values are cut off.
    public var description: String {
        parts.compactMap { part in
            part.result.map { result in
                let indentation = String(repeating: "  ", count: min(part.depth, Self.deepestIndentation))
                let times = part.evaluations > 1 ? " (the last of \(part.evaluations))" : ""
                let text = part.text(longest: Self.longestPart)
                return "\(indentation)\(text) — \(ExplanationWalk.text(of: result))\(times)"
            }
        }.joined(separator: "\n")
    }
}

/// A walk over a tree whose outcomes are known.
struct ExplanationWalk {
    /// The longest value that is shown whole, in code points.
    static let longestValue = 120
    /// The most operands and inputs that a summary names.
    static let mostNamed = 8

    let checked: CheckedTree
    let bytes: [UInt8]
    let outcomes: [SyntaxTree.ID: Recorder.Outcome]

    private var tree: SyntaxTree { checked.tree }

    /// Returns the value as in an expression, cut off, or the error's message.
    static func text(of result: Result<Value, EvaluationError>) -> String {
        switch result {
        case .failure(let error): return "error: \(error.message)"
        case .success(let value): return value.description(longest: longestValue)
        }
    }

    /// Returns all parts, each before its operands.
    func parts() -> [Explanation.Part] {
        var parts: [Explanation.Part] = []
        var open: [(id: SyntaxTree.ID, depth: Int)] = [(tree.root, 0)]
        while let (id, depth) = open.popLast() {
            guard !isTrivial(id) else { continue }
            let outcome = outcomes[id]
            parts.append(
                Explanation.Part(
                    range: tree.nodes[id].range, depth: depth, result: outcome?.result,
                    evaluations: outcome?.evaluations ?? 0, bytes: bytes))
            for operand in shownOperands(of: id).reversed() { open.append((operand, depth + 1)) }
        }
        return parts
    }

    /// Returns the outcome in one line.
    func summary(_ result: Result<Value, EvaluationError>) -> String {
        if case .success(.bool(false)) = result {
            let reasons = reasons(for: tree.root)
            let shown = reasons.prefix(Self.mostNamed).map { line($0, outcomes[$0]?.result ?? result) }
            return shown.joined(separator: "; ") + (reasons.count > shown.count ? "; …" : "")
        }
        return line(tree.root, result)
    }

    // MARK: Parts

    /// Returns whether a node is a literal, the name of a type, or was taken over by another node.
    private func isTrivial(_ id: SyntaxTree.ID) -> Bool {
        if case .type = checked.meanings[id] { return true }
        switch tree.nodes[id].kind {
        case .none, .literal: return true
        default: return false
        }
    }

    /// Returns the operands with values of their own. A variable and a field that is read directly have none.
    private func shownOperands(of id: SyntaxTree.ID) -> [SyntaxTree.ID] {
        if case .variable = checked.meanings[id] { return [] }
        guard case .field = checked.meanings[id] else { return tree.operands(of: id) }
        return tree.operands(of: id).filter { operand in
            if case .variable = checked.meanings[operand] { return false }
            return true
        }
    }

    private func text(of id: SyntaxTree.ID) -> String {
        let range = tree.nodes[id].range
        return String(decoding: bytes[max(0, range.start)..<min(bytes.count, range.end)], as: UTF8.self)
    }

    // MARK: Summary

    /// Returns the parts that make a condition false.
    private func reasons(for root: SyntaxTree.ID) -> [SyntaxTree.ID] {
        var reasons: [SyntaxTree.ID] = []
        var open = [root]
        while let id = open.popLast() {
            guard case .logic(_, let operands) = tree.nodes[id].kind else {
                reasons.append(id)
                continue
            }
            let decisive = operands.filter { operand in
                if case .success(.bool(false)) = outcomes[operand]?.result { return true }
                return false
            }
            // A constant decided if no operand was evaluated.
            if decisive.isEmpty { reasons.append(id) }
            open += decisive.reversed()
        }
        return reasons
    }

    /// Returns a part, its value, and the values it reads: `state.failures < 3 — false, state.failures is 5`.
    private func line(_ id: SyntaxTree.ID, _ result: Result<Value, EvaluationError>) -> String {
        var line = "\(text(of: id)) — \(Self.text(of: result))"
        var named: Set<String> = [text(of: id)]
        for input in inputs(of: id) {
            guard let outcome = outcomes[input]?.result, named.insert(text(of: input)).inserted else { continue }
            guard named.count <= Self.mostNamed + 1 else {
                line += ", …"
                break
            }
            line += ", \(text(of: input)) is \(Self.text(of: outcome))"
        }
        return line
    }

    /// Returns the longest chains of selections and indexing from a variable, from left to right.
    private func inputs(of root: SyntaxTree.ID) -> [SyntaxTree.ID] {
        var inputs: [SyntaxTree.ID] = []
        var open = [root]
        while let id = open.popLast() {
            if isPath(id), outcomes[id] != nil {
                inputs.append(id)
            } else {
                open += shownOperands(of: id).reversed()
            }
        }
        return inputs
    }

    private func isPath(_ id: SyntaxTree.ID) -> Bool {
        var current = id
        while true {
            if case .variable = checked.meanings[current] { return true }
            switch tree.nodes[current].kind {
            case .binding: return true
            case .select(let operand, _), .optionalSelect(let operand, _): current = operand
            case .index(let operand, let index), .optionalIndex(let operand, let index):
                guard case .literal = tree.nodes[index].kind else { return false }
                current = operand
            default: return false
            }
        }
    }
}
