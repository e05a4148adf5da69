/// Selections, indexes, calls, literals, lists and maps.
extension Parser {
    /// Member = Primary {"." IDENT ["(" [ExprList] ")"] | "[" Expr "]"}.
    func parseMember(_ primary: SyntaxTree.ID) throws(Abort) -> SyntaxTree.ID {
        var operand = primary
        while true {
            switch kind {
            case .point: operand = try parseSelection(operand)
            case .leftBracket: operand = try parseIndex(operand)
            case .leftBrace where isTypeName(operand): throw constructsMessage(operand)
            default: return operand
            }
        }
    }

    private func parseIndex(_ operand: SyntaxTree.ID) throws(Abort) -> SyntaxTree.ID {
        advance()
        let isOptional = accept(.question)
        let index = try parseExpression()
        try expect(.rightBracket, "']' after the index")
        return try addIndex(operand, index, isOptional: isOptional)
    }

    private func addIndex(
        _ operand: SyntaxTree.ID, _ index: SyntaxTree.ID, isOptional: Bool
    ) throws(Abort) -> SyntaxTree.ID {
        try addSpine(
            isOptional ? .optionalIndex(operand: operand, index: index) : .index(operand: operand, index: index),
            tree.nodes[operand].range.joined(with: lastRange), left: operand, others: [index])
    }

    private func parseSelection(_ operand: SyntaxTree.ID) throws(Abort) -> SyntaxTree.ID {
        advance()
        let isOptional = accept(.question)
        let selector = position
        try skipSelector()
        guard kind == .leftParenthesis, tokens[selector].kind == .identifier, !isOptional else {
            return try addSelection(operand, selector, isOptional: isOptional)
        }
        if isMacro(selector) { return try parseComprehension(selector, over: operand) }
        if isBind(operand, selector) { return try parseBind(operand, selector) }
        if isOptionalMacro(selector) { return try parseOptionalMap(operand, selector) }
        let arguments = try parseArguments()
        return try addMemberCall(operand, selector, arguments)
    }

    private func addSelection(
        _ operand: SyntaxTree.ID, _ selector: Int, isOptional: Bool
    ) throws(Abort) -> SyntaxTree.ID {
        let name = name(at: selector)
        return try addSpine(
            isOptional ? .optionalSelect(operand: operand, name: name) : .select(operand: operand, name: name),
            tree.nodes[operand].range.joined(with: name.range), left: operand)
    }

    private func addMemberCall(
        _ operand: SyntaxTree.ID, _ selector: Int, _ arguments: [SyntaxTree.ID]
    ) throws(Abort) -> SyntaxTree.ID {
        try addSpine(
            .call(function: name(at: selector), hasReceiver: true, operands: [operand] + arguments),
            tree.nodes[operand].range.joined(with: lastRange), left: operand, others: arguments)
    }

    /// Reads the name after a point, which may be a reserved word.
    private func skipSelector() throws(Abort) {
        switch kind {
        case .identifier, .quotedIdentifier: advance()
        case .true, .false, .null, .in:
            let word = kind.symbol
            throw report(.syntax, "'\(word)' cannot follow '.'", advice: "write .`\(word)`", at: token.range)
        default: throw unexpected("a field or function name after '.'")
        }
    }

    /// Parses the arguments of a call with the surrounding parentheses.
    private func parseArguments() throws(Abort) -> [SyntaxTree.ID] {
        advance()
        var arguments: [SyntaxTree.ID] = []
        if kind != .rightParenthesis {
            repeat {
                arguments.append(try parseExpression())
            } while accept(.comma)
        }
        try expect(.rightParenthesis, "',' or ')' after the argument")
        return arguments
    }

    // MARK: Primary

    func parsePrimary() throws(Abort) -> SyntaxTree.ID {
        switch kind {
        case .identifier: return peek(1) == .leftParenthesis ? try parseCall() : try parseName(isRooted: false)
        case .leftParenthesis: return try parseParentheses()
        case .leftBracket: return try parseList()
        case .leftBrace: return try parseMap()
        case .point where peek(1) == .identifier:
            advance()
            return peek(1) == .leftParenthesis ? try parseCall() : try parseName(isRooted: true)
        default: return try parseLiteral()
        }
    }

    private func parseParentheses() throws(Abort) -> SyntaxTree.ID {
        let start = position
        advance()
        let inner = try parseExpression()
        try expect(.rightParenthesis, "')'")
        enclose(inner, from: start)
        return inner
    }

    /// Extends the range of a node by its parentheses.
    private func enclose(_ inner: SyntaxTree.ID, from start: Int) {
        tree.nodes[inner].range = tokens[start].range.joined(with: lastRange)
        tree.nodes[inner].isParenthesized = true
    }

    private func parseLiteral() throws(Abort) -> SyntaxTree.ID {
        let token = token
        let value: Value
        switch token.kind {
        case .true: value = .bool(true)
        case .false: value = .bool(false)
        case .null: value = .null
        case .int, .uint, .double, .string, .bytes: value = try literal(token)
        case .quotedIdentifier:
            throw report(.syntax, "a name between backticks must follow '.'", at: token.range)
        default: throw unexpected("a value")
        }
        advance()
        return try add(.literal(value), token.range)
    }

    private func literal(_ token: Token) throws(Abort) -> Value {
        switch payloads[token.payload] {
        case .magnitude(let magnitude):
            if token.kind == .uint { return .uint(magnitude) }
            guard let int = Int64(exactly: magnitude) else { throw outOfRange(at: token.range) }
            return .int(int)
        case .double(let double): return .double(double)
        case .text(let text): return .string(text)
        case .bytes(let bytes): return .bytes(bytes)
        }
    }

    /// Parses a variable. A leading point skips the variables of macros.
    private func parseName(isRooted: Bool) throws(Abort) -> SyntaxTree.ID {
        let name = try takeName()
        if !isRooted, let scope = scopes.last(where: { $0.name == name.text }) {
            return try add(.binding(scope.binding), name.range)
        }
        return try add(.variable(name: name.text), name.range)
    }

    /// Reads an identifier that is not reserved.
    private func takeName() throws(Abort) -> SyntaxTree.Name {
        let name = name(at: position)
        guard !ReservedWords.all.contains(name.text) else {
            throw report(.syntax, "'\(name.text)' is a reserved word and cannot be a name", at: name.range)
        }
        advance()
        return name
    }

    private func parseCall() throws(Abort) -> SyntaxTree.ID {
        let start = position
        _ = try takeName()
        let arguments = try parseArguments()
        return try addCall(start, arguments)
    }

    private func addCall(_ start: Int, _ arguments: [SyntaxTree.ID]) throws(Abort) -> SyntaxTree.ID {
        let name = name(at: start)
        let range = name.range.joined(with: lastRange)
        if name.text == "has" { return try convertToPresence(arguments, range) }
        return try add(
            .call(function: name, hasReceiver: false, operands: arguments), range, operands: arguments)
    }

    private func parseList() throws(Abort) -> SyntaxTree.ID {
        let start = position
        advance()
        var elements: [SyntaxTree.Element] = []
        while kind != .rightBracket {
            let isOptional = accept(.question)
            elements.append(SyntaxTree.Element(value: try parseExpression(), isOptional: isOptional))
            guard accept(.comma) else { break }
        }
        try expect(.rightBracket, "',' or ']' after the element")
        return try addList(elements, from: start)
    }

    private func addList(_ elements: [SyntaxTree.Element], from start: Int) throws(Abort) -> SyntaxTree.ID {
        try add(.list(elements), tokens[start].range.joined(with: lastRange), operands: elements.map(\.value))
    }

    private func parseMap() throws(Abort) -> SyntaxTree.ID {
        let start = position
        advance()
        var entries: [SyntaxTree.Entry] = []
        while kind != .rightBrace {
            let isOptional = accept(.question)
            let key = try parseExpression()
            try expect(.colon, "':' after the key")
            entries.append(SyntaxTree.Entry(key: key, value: try parseExpression(), isOptional: isOptional))
            guard accept(.comma) else { break }
        }
        try expect(.rightBrace, "',' or '}' after the entry")
        return try addMap(entries, from: start)
    }

    private func addMap(_ entries: [SyntaxTree.Entry], from start: Int) throws(Abort) -> SyntaxTree.ID {
        try add(
            .map(entries), tokens[start].range.joined(with: lastRange),
            operands: entries.flatMap { [$0.key, $0.value] }
        )
    }
}
