/// The types of calls (CEL specification, "Functions").
extension Checker {
    mutating func checkCall(
        _ id: SyntaxTree.ID, _ name: SyntaxTree.Name, hasReceiver: Bool, _ operands: [SyntaxTree.ID]
    ) {
        let isErroneous = operands.contains { type(of: $0) == .error }
        guard let function = function(named: name.text, isMember: hasReceiver) else {
            // If the whole call is unsupported, its receiver has been reported.
            guard !(isErroneous && hasReceiver && type(of: operands[0]) == .error) else { return }
            if Self.functionsOfOthers[name.text.lowercased()] != nil { forgiveNames(within: range(of: id)) }
            reportUnknownFunction(name)
            return
        }
        guard !isErroneous else { return }
        let styled = function.overloads.filter { $0.isMember == hasReceiver }
        guard !styled.isEmpty else {
            reportWrongStyle(name, hasReceiver: hasReceiver, operands)
            return
        }
        let types = operands.map { type(of: $0) }
        let results = styled.compactMap { $0.result(for: types) }
        guard let first = results.first else {
            reportNoOverload(id, name, styled, operands)
            return
        }
        let isUniform = results.allSatisfy { $0 == first }
        set(id, isUniform ? first : .dyn, .function(function))
        checkZone(function, operands)
        checkPattern(function, operands)
        if !hasReceiver, hostFunctions[name.text] == nil { checkTimeFormat(function, operands) }
    }

    /// Reports a literal pattern or time zone of `format(time, pattern, zone)` that evaluation cannot read.
    private mutating func checkTimeFormat(_ function: Function, _ operands: [SyntaxTree.ID]) {
        guard function.name == TimeExtension.format.name else { return }
        if case .literal(.string(let pattern)) = tree.nodes[operands[1]].kind {
            do throws(TimeFormat.Refusal) { _ = try TimeFormat(pattern) } catch {
                report(.invalidLiteral, TimeExtension.message(pattern, error), at: range(of: operands[1]))
            }
        }
        if operands.count == 3 { checkZone(operands[2]) }
    }

    /// Reports a literal pattern that is invalid.
    private mutating func checkPattern(_ function: Function, _ operands: [SyntaxTree.ID]) {
        guard PatternFunctions.names.contains(function.name), operands.count >= 2,
            case .literal(.string(let source)) = tree.nodes[operands[1]].kind
        else { return }
        patterns += 1
        let most = min(environment.limits.patterns, PatternFunctions.mostPatterns)
        guard patterns <= most else {
            report(
                .tooComplex,
                "the expression has more than \(most) patterns, which is the limit", advice: "split it",
                at: range(of: operands[1]))
            return
        }
        do throws(RegularExpression.Refusal) {
            let expression = try RegularExpression(source, memory: environment.limits.patternMemory)
            if let message = RegexExtension.message(expression, in: function.name) {
                report(.invalidLiteral, message, at: range(of: operands[1]))
            }
        } catch {
            report(.invalidLiteral, PatternFunctions.message(source, error), at: range(of: operands[1]))
        }
    }

    mutating func reportUnknownFunction(_ name: SyntaxTree.Name) {
        let renamed = [
            "length": "size", "len": "size", "count": "size", "includes": "contains", "str": "string",
            "float": "double",
            "min": "math.least", "max": "math.greatest", "lower": "lowerAscii", "upper": "upperAscii",
            "tolower": "lowerAscii", "toupper": "upperAscii", "strip": "trim",
            "power": "pow", "math.pow": "pow", "tojson": "toJson", "to_json": "toJson", "json": "toJson",
            "fromjson": "parseJson", "from_json": "parseJson",
        ]
        if let advice = Self.functionsOfOthers[name.text.lowercased()] {
            report(.unknownFunction, "unknown function '\(Excerpt.of(name.text))'", advice: advice, at: name.range)
            return
        }
        let candidates =
            Array(Functions.all.keys) + Array(hostFunctions.keys) + Macro.allCases.map(\.rawValue) + ["has"]
        var suggestion = renamed[name.text.lowercased()] ?? nearestName(to: name.text, among: candidates)
        if suggestion == nil {
            suggestion = candidates.sorted().first { $0.hasSuffix("." + name.text) }
        }
        let advice = suggestion.map { "did you mean '\($0)'?" } ?? "known functions: \(Functions.list)"
        report(
            .unknownFunction, "unknown function '\(Excerpt.of(name.text))'", advice: advice, at: name.range,
            suggestion: suggestion)
    }

    /// Functions of other languages, each with the equivalent in this language.
    private static let functionsOfOthers = [
        "not": "'not' is written '!'", "and": "'and' is written '&&'", "or": "'or' is written '||'",
        "if": "write a choice as condition ? a : b", "iif": "write a choice as condition ? a : b",
        "now": "the present time is 'now', without parentheses", "time": "the present time is 'now'",
        "states": Self.valuesOfOthers, "state_attr": Self.valuesOfOthers, "is_state": Self.valuesOfOthers,
        "is_state_attr": Self.valuesOfOthers, "has_value": Self.valuesOfOthers,
    ]
    private static let valuesOfOthers =
        "an expression reads only its own system; send values of other systems over a bus and a link"

    private mutating func reportWrongStyle(
        _ name: SyntaxTree.Name, hasReceiver: Bool, _ operands: [SyntaxTree.ID]
    ) {
        var right = "x.\(name.text)(…)"
        if hasReceiver {
            right = "\(name.text)(\(snippets(of: operands)))"
        } else if let receiver = operands.first {
            right = "\(snippet(receiver)).\(name.text)(\(snippets(of: Array(operands.dropFirst()))))"
        }
        report(
            .noOverload,
            "\(name.text) is \(hasReceiver ? "not " : "")called on a value", advice: "write \(right)", at: name.range)
    }

    /// The source of arguments.
    private func snippets(of operands: [SyntaxTree.ID]) -> String {
        NameList.text(operands.prefix(NameList.longest + 1).map { snippet($0) })
    }

    private mutating func reportNoOverload(
        _ id: SyntaxTree.ID, _ name: SyntaxTree.Name, _ overloads: [Function.Overload], _ operands: [SyntaxTree.ID]
    ) {
        let isMember = overloads.contains { $0.isMember }
        let given = operands.map { type(of: $0).description }
        let arguments = NameList.text(Array(given.dropFirst(isMember ? 1 : 0)))
        let call = isMember ? "\(given[0]).\(name.text)(\(arguments))" : "\(name.text)(\(arguments))"
        var advice: String?
        if name.text == "contains", operands.count == 2, Operators.result(of: .in, .dyn, type(of: operands[0])) != nil {
            advice = "write \(snippet(operands[1])) in \(snippet(operands[0]))"
        }
        if name.text == "format", operands.count >= 2 { advice = formatAdvice(isMember: isMember, operands) }
        if name.text == "contains", type(of: operands[0]) == NetworkExtension.cidr {
            advice = "containsIP() takes an address, and containsCIDR() a range"
        }
        if name.text == "with" || name.text == "without", case .map(let key, let value) = type(of: operands[0]) {
            let needed = zip(operands.dropFirst(), [key, value]).first { !type(of: $0).fits($1) }
            advice = needed.flatMap { conversionAdvice($0, to: $1) }
        }
        for (index, operand) in operands.enumerated() where advice == nil {
            guard let parameters = overloads.first?.parameters, parameters.count == operands.count,
                case .type(let needed) = parameters[index], overloads.count == 1, !type(of: operand).fits(needed)
            else { continue }
            advice = conversionAdvice(operand, to: needed)
        }
        if name.text == "duration", operands.count == 1 { advice = conversionAdvice(operands[0], to: .duration) }
        report(
            .noOverload, "there is no \(call); \(name.text) takes \(Self.forms(of: overloads))", advice: advice,
            at: range(of: id))
    }

    /// Returns the call of the other function with the name `format` if the operands fit that one.
    private func formatAdvice(isMember: Bool, _ operands: [SyntaxTree.ID]) -> String? {
        let types = operands.map { type(of: $0) }
        guard let other = function(named: "format", isMember: !isMember),
            other.overloads.contains(where: { $0.isMember != isMember && $0.result(for: types) != nil })
        else { return nil }
        let (first, rest) = (snippet(operands[0]), snippets(of: Array(operands.dropFirst())))
        return isMember ? "write format(\(first), \(rest))" : "write \(first).format(\(rest))"
    }

    /// Returns the operands that the overloads take: the types if each overload takes one operand, otherwise the
    /// operands of each overload.
    private static func forms(of overloads: [Function.Overload]) -> String {
        if overloads.allSatisfy({ $0.parameters.count == 1 }) {
            let names = overloads.map { $0.parameters[0].description }
            guard let last = names.last, names.count > 1 else { return names.joined() }
            return names.dropLast().joined(separator: ", ") + " or " + last
        }
        return overloads.map(form).joined(separator: " or ")
    }

    /// Returns the operands of an overload: `(string)`, or `string.(string)` for a member.
    private static func form(of overload: Function.Overload) -> String {
        if let form = overload.form { return form }
        let parameters = overload.parameters.map(\.description)
        guard overload.isMember else { return "(\(parameters.joined(separator: ", ")))" }
        return "\(parameters[0]).(\(parameters.dropFirst().joined(separator: ", ")))"
    }

    /// Reports a literal time zone of a part of a timestamp that evaluation cannot read.
    private mutating func checkZone(_ function: Function, _ operands: [SyntaxTree.ID]) {
        guard operands.count == 2, DatePart(rawValue: function.name) != nil, function.specialize != nil else { return }
        checkZone(operands[1])
    }

    private mutating func checkZone(_ operand: SyntaxTree.ID) {
        guard case .literal(.string(let zone)) = tree.nodes[operand].kind else { return }
        do throws(TimeZoneDatabase.Failure) {
            _ = try ZoneReference(name: zone)
        } catch {
            report(
                .invalidLiteral, "the time zone \(ValueExcerpt.text(of: .string(zone))) \(error.advice)",
                at: range(of: operand))
        }
    }
}
