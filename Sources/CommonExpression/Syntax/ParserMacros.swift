/// Macros, and the construction of messages, which the parser recognises only to report it as unsupported.
extension Parser {
    /// `has(e.f)`: turns the selection into a test for presence.
    func convertToPresence(
        _ arguments: [SyntaxTree.ID], _ range: SourceRange
    ) throws(Abort) -> SyntaxTree.ID {
        guard arguments.count == 1, case .select(let operand, let name) = tree.nodes[arguments[0]].kind,
            !tree.nodes[arguments[0]].isParenthesized
        else {
            throw report(.syntax, "has() takes a field, as in has(state.since)", at: range)
        }
        tree.nodes[arguments[0]].kind = .none
        return try add(.has(operand: operand, name: name), range, operands: [operand])
    }

    /// A macro whose arguments are being read.
    private struct OpenMacro {
        let macro: Macro
        /// The token of its name.
        let selector: Int
        let range: SyntaxTree.ID
        /// The number of variables around the macro.
        let slot: Int
        let hasTwoVariables: Bool
        let firstNode: SyntaxTree.ID
    }

    func isMacro(_ selector: Int) -> Bool {
        Macro(rawValue: text(of: tokens[selector])) != nil
    }

    /// Parses the arguments of a macro: one or two names, then expressions in which the names are variables.
    func parseComprehension(
        _ selector: Int, over range: SyntaxTree.ID
    ) throws(Abort) -> SyntaxTree.ID {
        let open = try openMacro(selector, over: range)
        let first = try parseExpression()
        guard allowsFilter(open), accept(.comma) else { return try close(open, filter: nil, body: first) }
        let second = try parseExpression()
        return try close(open, filter: first, body: second)
    }

    private func allowsFilter(_ open: OpenMacro) -> Bool {
        switch open.macro {
        case .map, .transformList, .transformMap, .transformMapEntry: true
        default: false
        }
    }

    /// Reads the parenthesis and the names, and declares the names as variables.
    private func openMacro(_ selector: Int, over range: SyntaxTree.ID) throws(Abort) -> OpenMacro {
        guard let macro = Macro(rawValue: text(of: tokens[selector])) else { throw unexpected("a macro") }
        advance()
        let slot = scopes.count
        let allowsTwo = macro != .map && macro != .filter && macro != .sortBy
        let needsTwo = macro == .transformList || macro == .transformMap || macro == .transformMapEntry
        let first = try parseBindingName(macro, tokens[selector].range)
        let hasTwo = allowsTwo && kind == .identifier && peek(1) == .comma
        guard hasTwo || !needsTwo else { throw malformed(macro, tokens[selector].range) }
        bind(first, hasTwo ? .key : .item, range)
        if hasTwo { bind(try parseBindingName(macro, tokens[selector].range), .value, range) }
        return OpenMacro(
            macro: macro, selector: selector, range: range, slot: slot, hasTwoVariables: hasTwo,
            firstNode: tree.nodes.count)
    }

    /// Reads the closing parenthesis and adds the macro.
    private func close(
        _ open: OpenMacro, filter: SyntaxTree.ID?, body: SyntaxTree.ID
    ) throws(Abort) -> SyntaxTree.ID {
        let macroRange = tokens[open.selector].range
        guard kind != .comma else { throw malformed(open.macro, macroRange) }
        try expect(.rightParenthesis, "')' after \(open.macro.form)")
        scopes.removeSubrange(open.slot...)
        let isFilter = open.macro == .filter
        let comprehension = SyntaxTree.Comprehension(
            macro: open.macro, macroRange: macroRange, range: open.range, slot: open.slot,
            hasTwoVariables: open.hasTwoVariables, filter: isFilter ? body : filter, body: isFilter ? nil : body,
            weight: tree.nodes.count - open.firstNode + 1)
        return try add(
            .comprehension(comprehension), tree.nodes[open.range].range.joined(with: lastRange),
            operands: [open.range, body] + (filter.map { [$0] } ?? []))
    }

    private func parseBindingName(_ macro: Macro, _ range: SourceRange) throws(Abort) -> Token {
        try parseBindingName("\(macro.rawValue)()", form: macro.form, range)
    }

    /// Reads a name and the comma after it.
    private func parseBindingName(_ macro: String, form: String, _ range: SourceRange) throws(Abort) -> Token {
        let token = token
        guard token.kind == .identifier, peek(1) == .comma else {
            if token.kind == .invalid { throw Abort() }
            throw malformed(macro, form: form, range)
        }
        guard !ReservedWords.all.contains(text(of: token)) else {
            throw report(.syntax, "'\(text(of: token))' is a reserved word and cannot be a name", at: token.range)
        }
        advance()
        advance()
        return token
    }

    private func bind(_ token: Token, _ role: SyntaxTree.Binding.Role, _ range: SyntaxTree.ID) {
        tree.bindings.append(SyntaxTree.Binding(slot: scopes.count, role: role, range: range))
        scopes.append((name: text(of: token), binding: tree.bindings.count - 1))
        tree.slots = max(tree.slots, scopes.count)
    }

    private func malformed(_ macro: Macro, _ range: SourceRange) -> Abort {
        malformed("\(macro.rawValue)()", form: macro.form, range)
    }

    private func malformed(_ macro: String, form: String, _ range: SourceRange) -> Abort {
        let what = macro.hasPrefix("cel.") ? "value" : "element"
        return report(.syntax, "\(macro) is written \(form), where x names the \(what)", at: range)
    }

    // MARK: Names for values

    /// Returns whether a call is `cel.bind(…)`.
    func isBind(_ operand: SyntaxTree.ID, _ selector: Int) -> Bool {
        guard text(of: tokens[selector]) == "bind", case .variable("cel") = tree.nodes[operand].kind else {
            return false
        }
        return !tree.nodes[operand].isParenthesized
    }

    /// `cel.bind(name, value, body)`.
    func parseBind(_ operand: SyntaxTree.ID, _ selector: Int) throws(Abort) -> SyntaxTree.ID {
        tree.nodes[operand].kind = .none
        advance()
        let name = try parseBindingName("cel.bind()", form: "cel.bind(x, value, expression)", tokens[selector].range)
        let value = try parseExpression()
        try expect(.comma, "',' and the expression that uses the name")
        let slot = scopes.count
        bind(name, .bound, value)
        let body = try parseExpression()
        scopes.removeSubrange(slot...)
        try expect(.rightParenthesis, "')' after cel.bind(x, value, expression)")
        return try addBind(operand, SyntaxTree.Bind(slot: slot, value: value, body: body))
    }

    private func addBind(_ operand: SyntaxTree.ID, _ bind: SyntaxTree.Bind) throws(Abort) -> SyntaxTree.ID {
        try add(
            .bind(bind), tree.nodes[operand].range.joined(with: lastRange), operands: [bind.value, bind.body])
    }

    func isOptionalMacro(_ selector: Int) -> Bool {
        let name = text(of: tokens[selector])
        return name == "optMap" || name == "optFlatMap"
    }

    /// `operand.optMap(name, body)`.
    func parseOptionalMap(_ operand: SyntaxTree.ID, _ selector: Int) throws(Abort) -> SyntaxTree.ID {
        advance()
        let macro = text(of: tokens[selector])
        let name = try parseBindingName(
            "\(macro)()", form: "\(macro)(x, expression)", tokens[selector].range)
        let slot = scopes.count
        bind(name, .unwrapped, operand)
        let body = try parseExpression()
        scopes.removeSubrange(slot...)
        try expect(.rightParenthesis, "')' after \(macro)(x, expression)")
        return try addOptionalMap(
            SyntaxTree.OptionalMap(
                slot: slot, operand: operand, body: body, isFlat: macro == "optFlatMap",
                nameRange: tokens[selector].range))
    }

    private func addOptionalMap(_ map: SyntaxTree.OptionalMap) throws(Abort) -> SyntaxTree.ID {
        try add(
            .optionalMap(map), tree.nodes[map.operand].range.joined(with: lastRange), operands: [map.operand, map.body])
    }

    // MARK: What is not supported

    func isTypeName(_ operand: SyntaxTree.ID) -> Bool {
        guard !tree.nodes[operand].isParenthesized else { return false }
        return switch tree.nodes[operand].kind {
        case .variable, .select: true
        default: false
        }
    }

    func constructsMessage(_ operand: SyntaxTree.ID) -> Abort {
        report(
            .unsupported,
            "the name of a type cannot construct a structure", advice: "write a map {\"key\": value}",
            at: tree.nodes[operand].range.joined(with: token.range))
    }
}
