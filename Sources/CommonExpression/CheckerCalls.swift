/// The types of calls (CEL specification, "Functions").
extension Checker {
    mutating func checkCall(
        _ id: SyntaxTree.ID, _ name: SyntaxTree.Name, hasReceiver: Bool, _ operands: [SyntaxTree.ID]
    ) {
        let isErroneous = operands.contains { type(of: $0) == .error }
        guard let function = Functions.all[name.text] else {
            // The receiver is reported already where the whole call belongs to something that is not supported.
            guard !(isErroneous && hasReceiver && type(of: operands[0]) == .error) else { return }
            reportUnknownFunction(name)
            return
        }
        guard !isErroneous else { return }
        let styled = function.overloads.filter { $0.isMember == hasReceiver }
        guard !styled.isEmpty else {
            reportWrongStyle(name, hasReceiver: hasReceiver, operands)
            return
        }
        let fitting = styled.filter { overload in
            overload.parameters.count == operands.count
                && zip(overload.parameters, operands).allSatisfy { $0.accepts(type(of: $1)) }
        }
        guard let first = fitting.first else {
            reportNoOverload(id, name, styled, operands)
            return
        }
        let isUniform = fitting.allSatisfy { $0.result == first.result }
        set(id, isUniform ? first.result : .dyn, .function(function))
        checkZone(function, operands)
    }

    private mutating func reportUnknownFunction(_ name: SyntaxTree.Name) {
        if Functions.unsupported.contains(name.text) {
            report(
                .unsupported, "\(name.text)() is not supported yet; supported are \(Functions.list)", at: name.range)
            return
        }
        let renamed = ["length": "size", "len": "size", "count": "size", "includes": "contains", "str": "string"]
        let candidates = Array(Functions.all.keys) + Macro.allCases.map(\.rawValue) + ["has"]
        let suggestion = renamed[name.text.lowercased()] ?? nearestName(to: name.text, among: candidates)
        let advice = suggestion.map { "; did you mean '\($0)'?" } ?? "; there are \(Functions.list)"
        report(
            .unknownFunction, "unknown function '\(name.text)'\(advice)", at: name.range, suggestion: suggestion)
    }

    private mutating func reportWrongStyle(
        _ name: SyntaxTree.Name, hasReceiver: Bool, _ operands: [SyntaxTree.ID]
    ) {
        var right = "x.\(name.text)(…)"
        if hasReceiver {
            right = "\(name.text)(\(operands.map { snippet($0) }.joined(separator: ", ")))"
        } else if let receiver = operands.first {
            let arguments = operands.dropFirst().map { snippet($0) }.joined(separator: ", ")
            right = "\(snippet(receiver)).\(name.text)(\(arguments))"
        }
        report(
            .noOverload,
            "\(name.text) is \(hasReceiver ? "not " : "")called on a value: write \(right)", at: name.range)
    }

    private mutating func reportNoOverload(
        _ id: SyntaxTree.ID, _ name: SyntaxTree.Name, _ overloads: [Function.Overload], _ operands: [SyntaxTree.ID]
    ) {
        let isMember = overloads.contains { $0.isMember }
        let given = operands.map { type(of: $0).description }
        let counts = Set(overloads.map(\.parameters.count))
        var forms: [String] = []
        for overload in overloads where counts.count == 1 || overload.parameters.count == operands.count {
            forms.append(Self.form(of: overload))
        }
        if forms.isEmpty { forms = overloads.map(Self.form) }
        let arguments = given.dropFirst(isMember ? 1 : 0).joined(separator: ", ")
        let call = isMember ? "\(given[0]).\(name.text)(\(arguments))" : "\(name.text)(\(arguments))"
        var advice = ""
        for (index, operand) in operands.enumerated() where advice.isEmpty {
            guard let parameters = overloads.first?.parameters, parameters.count == operands.count,
                case .type(let needed) = parameters[index], overloads.count == 1, !type(of: operand).fits(needed)
            else { continue }
            advice = conversionAdvice(operand, to: needed)
        }
        report(
            .noOverload, "there is no \(call); \(name.text) takes \(forms.joined(separator: " or "))\(advice)",
            at: range(of: id))
    }

    /// What an overload takes: `(string)`, or `string.(string)` for a member.
    private static func form(of overload: Function.Overload) -> String {
        let parameters = overload.parameters.map(\.description)
        guard overload.isMember else { return "(\(parameters.joined(separator: ", ")))" }
        return "\(parameters[0]).(\(parameters.dropFirst().joined(separator: ", ")))"
    }

    /// Reports a literal time zone that evaluation could not read.
    private mutating func checkZone(_ function: Function, _ operands: [SyntaxTree.ID]) {
        guard operands.count == 2, DatePart(rawValue: function.name) != nil,
            case .literal(.string(let zone)) = tree.nodes[operands[1]].kind, DatePart.offset(ofZone: zone) == nil
        else { return }
        report(
            .unsupported, "the time zone \"\(zone)\" is not supported yet; use \"UTC\" or an offset such as \"+02:00\"",
            at: range(of: operands[1]))
    }
}
