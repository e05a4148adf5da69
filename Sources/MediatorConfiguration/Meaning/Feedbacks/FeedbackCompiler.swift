import CommonExpression

/// Gives a feedback as written its meaning.
struct FeedbackCompiler {
    let written: WrittenFeedback
    let scope: SystemScope
    let lookup: Lookup
    let data: DataCompiler

    /// A compiler of one feedback.
    init(_ written: WrittenFeedback, _ scope: SystemScope, _ lookup: Lookup) {
        self.written = written
        self.scope = scope
        self.lookup = lookup
        data = DataCompiler(lookup.context, lookup.source)
    }

    /// Compiles it; nil after reporting, or if something it depends on is broken.
    func feedback() -> FeedbackDefinition? {
        let selector = written.selector.flatMap {
            lookup.selector($0, condition: written.condition, of: scope)?.selector
        }
        if written.selector == nil, let condition = written.condition {
            _ = lookup.context.condition(condition, .unknownState, in: lookup.source)
        }
        let states = lookup.meant(written.selector, of: scope)
        let schedule = schedule(states)
        guard let effect = written.effect else { return nil }
        let arguments = arguments(effect, states)
        let outcomes = outcomes(effect, states)
        let handling = HandlingCompiler(written, scope, lookup)
        let (pace, key) = (handling.pace(states), handling.key(states))
        let (timeout, jitter) = (handling.timeout(states), handling.jitter(states))
        guard let selector, let schedule, let arguments, let outcomes, let pace, let key, let timeout, let jitter else {
            return nil
        }
        var definition = FeedbackDefinition(
            name: written.name.text, source: lookup.source.location(at: written.name.span.start), selector: selector,
            strategy: written.strategy, schedule: schedule, effect: effect.schema.name, arguments: arguments,
            outcomes: outcomes, secretArguments: secretArguments(effect))
        definition.failureReactions = failureReactions
        definition.secretTexts = secretTexts(effect, arguments)
        definition.mode = written.mode
        definition.limit = written.limit
        definition.missed = written.missed
        if let most = written.maxMissed { definition.maxMissed = most }
        definition.onReload = written.onReload
        definition.levelReport = written.levelReport
        definition.pace = pace.value
        definition.key = key.value
        definition.timeout = timeout.value
        definition.jitter = jitter.value
        definition.retry = written.handling.retry
        definition.text = FeedbackText(
            schedule: written.schedule, handling: written.handling, effect: effect,
            constants: ShownConstants(lookup.context))
        return FeedbackChecker(written, effect, lookup).check(definition) ? definition : nil
    }

    // Arguments

    private func arguments(_ effect: WrittenEffect, _ states: [Int]?) -> [Int: [String: DataProgram]]? {
        if effect.schema.emitsDirectly {
            return states.map { Dictionary(uniqueKeysWithValues: $0.map { ($0, [:]) }) }
        }
        guard let (given, isComplete) = given(effect) else { return nil }
        if effect.schema.publishesDirectly {
            // The link that it becomes makes the value.
            return isComplete ? states.map { Dictionary(uniqueKeysWithValues: $0.map { ($0, [:]) }) } : nil
        }
        let programs = lookup.perState(states, of: scope) { variables in
            var programs = [String: DataProgram](minimumCapacity: effect.schema.parameters.count)
            var isWhole = true
            for parameter in effect.schema.parameters {
                if let node = given[parameter.name] {
                    let program = argument(node, parameter, variables)
                    programs[parameter.name] = program
                    isWhole = isWhole && program != nil
                } else if let value = parameter.default {
                    programs[parameter.name] = .constant(value)
                }
            }
            return isSuitable(programs, given, effect) && isWhole ? programs : nil
        }
        return isComplete ? programs : nil
    }

    /// Checks fixed arguments against the constraints of the side effect.
    private func isSuitable(_ programs: [String: DataProgram], _ given: GivenArguments, _ effect: WrittenEffect) -> Bool
    {
        let schema = effect.schema
        // A default needs no check unless it depends on another argument.
        let limited = schema.parameters.filter { $0.isBound || ($0.isLimited && given[$0.name] != nil) }
        guard !limited.isEmpty else { return true }
        func constant(_ name: String) -> Value? {
            // A sample takes the place of a value that is unknown or missing here.
            if let node = given[name], lookup.context.isGeneric || lookup.context.origin(node) == .missing {
                return nil
            }
            return programs[name].flatMap(Self.known)
        }
        let problems = EffectSchema.problems(of: limited, with: constant)
        for (parameter, message) in problems {
            let code = parameter.constraint?.isRange == false ? Diagnostic.Code.unsuitableText : .outOfRange
            if let node = given[parameter.name] {
                lookup.report(code, at: node.mark, message)
            } else {
                // The default does not suit another argument, which is written.
                let other = [parameter.upperBound, parameter.lowerBound].lazy.compactMap { $0.flatMap { given[$0] } }
                    .first
                lookup.report(
                    code, at: other?.mark ?? effect.key.span, message,
                    hint: constant(parameter.name).map {
                        "'\(parameter.name)' is \($0.description(longest: 80)) where it is not written"
                    })
            }
        }
        return problems.isEmpty
    }

    /// The known part of a value: the whole, or a list or map of texts with samples in place of computed ones; nil:
    /// none.
    private static func known(_ program: DataProgram) -> Value? {
        func text(_ program: DataProgram) -> Value? {
            switch program {
            case .constant(let value): value
            case .template: .string("x")
            default: nil
            }
        }
        switch program {
        case .constant(let value): return value
        case .list(let items):
            let values = items.compactMap(text)
            return values.count == items.count ? .list(values) : nil
        case .map(let entries):
            let values = entries.compactMap { text($0.value) }
            guard values.count == entries.count else { return nil }
            let pairs = zip(entries, values).map { (Value.string($0.key), $1) }
            return .map(Dictionary(pairs, uniquingKeysWith: { first, _ in first }))
        default: return nil
        }
    }

    /// The parameters whose values hold a credential.
    private func secretArguments(_ effect: WrittenEffect) -> Set<String> {
        guard case .mapping(let entries) = effect.argument.content else {
            guard let parameter = effect.schema.shortForm, effect.argument.holdsCredential else { return [] }
            return [parameter]
        }
        return Set(entries.filter(\.value.holdsCredential).map(\.key.text))
    }

    /// Of the arguments that hold a credential, what comes from elsewhere, where all of the argument is known.
    private func secretTexts(
        _ effect: WrittenEffect, _ arguments: [Int: [String: DataProgram]]
    ) -> [String: Set<String>] {
        let names = secretArguments(effect)
        guard !names.isEmpty, let programs = arguments.values.first else { return [:] }
        var texts: [String: Set<String>] = [:]
        for name in names {
            var node: Node? = effect.argument
            if case .mapping(let entries) = effect.argument.content {
                node = entries.first { $0.key.text == name }?.value
            }
            guard let node, case .constant(let value)? = programs[name] else { continue }
            texts[name] = lookup.context.confidential(value, node)
        }
        return texts
    }

    /// The written arguments, and whether they are complete and correct; nil after reporting that all are missing.
    private func given(_ effect: WrittenEffect) -> (nodes: GivenArguments, isComplete: Bool)? {
        let schema = effect.schema
        guard case .mapping(let entries) = effect.argument.content else {
            guard let parameter = schema.shortForm, !effect.argument.isNull else {
                lookup.report(
                    .wrongShape, at: effect.argument.isNull ? effect.key.span : effect.argument.mark,
                    "'\(schema.name)' needs its parameters",
                    hint: Self.sample(of: schema, effect.argument.scalar?.text))
                return nil
            }
            return (GivenArguments(all: [(parameter, effect.argument)]), true)
        }
        var given = GivenArguments()
        given.all.reserveCapacity(entries.count)
        var isWhole = true
        for entry in entries {
            guard schema.parameter(entry.key.text) != nil else {
                isWhole = false
                let decoder = Decoder(source: lookup.source, diagnostics: lookup.context.diagnostics)
                let names = schema.parameters.map(\.name)
                let cut = CutText(entry, in: lookup.source)
                if cut?.isFirst == false { continue }
                lookup.report(
                    .unknownParameter, at: entry.key.span, "'\(schema.name)' has no parameter '\(entry.key.text)'",
                    hint: FeedbackDecoder.keys.contains(entry.key.text)
                        ? "it is a key of the feedback, and belongs beside '\(schema.name)'"
                        : cut?.hint ?? decoder.colonHint(entry)
                            ?? HandlingDecoder.misplaced(entry.key.text, beside: schema)
                            ?? Names.keyMeant(by: entry.key.text, among: names).map { "did you mean '\($0)'?" }
                            ?? Names.hint(for: entry.key.text, among: names) ?? "it has none")
                continue
            }
            given.all.append((entry.key.text, entry.value))
        }
        let missing = schema.parameters.filter { $0.required && given[$0.name] == nil }
        if isWhole, !missing.isEmpty {
            let list = missing.map { "'\($0.name)'" }.joined(separator: ", ")
            lookup.report(
                .missingParameter, at: effect.key.span,
                "'\(schema.name)' needs the parameter\(missing.count > 1 ? "s" : "") \(list)")
            isWhole = false
        }
        for parameter in schema.parameters {
            guard let bound = parameter.upperBound ?? parameter.companion, let node = given[parameter.name],
                given[bound] == nil
            else { continue }
            lookup.report(
                .missingParameter, at: node.mark, "the parameter '\(parameter.name)' means nothing without '\(bound)'")
            isWhole = false
        }
        if isWhole, !isOneChosen(given, effect) { isWhole = false }
        return (given, isWhole)
    }

    /// The form of a side effect with its parameters: `write unit: { name: … }`.
    ///
    /// - Parameter words: The words in their place, such as `restart api.service`. One of them may be a choice.
    private static func sample(of schema: EffectSchema, _ words: String? = nil) -> String {
        if schema.parameters.isEmpty { return "write { }" }
        let needed = schema.parameters.filter { $0.required || schema.exactlyOneOf.first == $0.name }.map(\.name)
        guard !needed.isEmpty else {
            return "its parameters are \(schema.parameters.map(\.name).joined(separator: ", "))"
        }
        var given = (words ?? "").split(separator: " ").map(String.init)
        if given.count != needed.count { given = [] }
        var values: [String: String] = [:]
        for parameter in schema.parameters {
            guard let index = given.firstIndex(where: parameter.choices.contains) else { continue }
            values[parameter.name] = given.remove(at: index)
        }
        let open = needed.filter { values[$0] == nil }
        if !values.isEmpty, open.count == given.count {
            values.merge(zip(open, given)) { old, _ in old }
        }
        return "write \(schema.name): { \(needed.map { "\($0): \(values[$0] ?? "…")" }.joined(separator: ", ")) }"
    }

    /// Returns whether exactly one is given of the parameters of which exactly one must be.
    private func isOneChosen(_ given: GivenArguments, _ effect: WrittenEffect) -> Bool {
        let schema = effect.schema
        guard !schema.exactlyOneOf.isEmpty else { return true }
        let chosen = schema.exactlyOneOf.filter { given[$0] != nil }
        func list(_ names: [String]) -> String { names.map { "'\($0)'" }.joined(separator: ", ") }
        if chosen.isEmpty {
            lookup.report(
                .missingParameter, at: effect.key.span,
                "'\(schema.name)' needs one of the parameters \(list(schema.exactlyOneOf))")
        } else if chosen.count > 1 {
            lookup.report(
                .conflictingKeys, at: effect.key.span,
                "'\(schema.name)' takes only one of the parameters \(list(chosen))", hint: "keep one of them")
        }
        return chosen.count == 1
    }

    /// Warns of words of a shell that none will see, and of data that one would take for its script.
    private func checkShell(_ node: Node, _ program: DataProgram, _ variables: VariableScope) {
        guard case .sequence(let items) = node.content else { return }
        let words = ShellWords(
            items.map { item in item.scalar.flatMap(lookup.context.literal) },
            plain: Set(items.indices.filter { items[$0].scalar?.style == .plain }))
        func warn(_ element: Int, _ message: String, _ hint: String) {
            lookup.context.diagnostics.report(
                .shellSyntax, in: lookup.source, at: items[element].mark, message, hint: hint, severity: .warning)
        }
        if let remark = words.remark { warn(remark.element, remark.message, remark.hint) }
        guard case .list(let programs) = program else { return }
        for script in words.scripts where programs.indices.contains(script) {
            guard case .template(let text) = programs[script], text.constant == nil,
                text.referencesOfTexts.contains(where: variables.environment.mayBeText)
            else { continue }
            return warn(
                script, "the shell runs these data as part of the script",
                "give them as arguments: [sh, -c, 'echo \"$1\"', sh, \"${…}\"]")
        }
    }

    private func argument(_ node: Node, _ parameter: EffectSchema.Parameter, _ variables: VariableScope)
        -> DataProgram?
    {
        var data = data
        data.acceptsSecrets = parameter.acceptsSecrets
        data.isCommand = parameter.constraint == .command
        data.isForProgram =
            switch parameter.constraint {
            case .command, .environment, .text: true
            default: parameter.name == "body"
            }
        guard let program = data.data(node, as: parameter.type, Subject("the parameter", parameter.name), variables)
        else { return nil }
        if data.isCommand { checkShell(node, program, variables) }
        switch program {
        case .constant(.list(let items)) where items.isEmpty && !parameter.allowsEmpty:
            lookup.report(.empty, at: node.mark, "the parameter '\(parameter.name)' needs at least one element")
            return nil
        case .constant(.string(let text)) where text.isEmpty && !parameter.allowsEmpty:
            lookup.report(.empty, at: node.mark, "the parameter '\(parameter.name)' cannot be empty")
            return nil
        case .constant(.string(let text)) where !parameter.choices.isEmpty && !parameter.choices.contains(text):
            lookup.report(
                .unknownChoice, at: node.mark,
                // As it is written: what comes from elsewhere is not printed.
                "the parameter '\(parameter.name)' cannot be '\((node.external?.text ?? node.scalar?.text ?? "").prefix(60))'",
                hint: Names.hint(for: text, among: parameter.choices))
            return nil
        // The range of a parameter is checked later, with a better message.
        case .constant(.duration(let span))
        where !span.isAtLeast(nanoseconds: 1) && parameter.constraint == nil:
            lookup.report(.outOfRange, at: node.mark, "the parameter '\(parameter.name)' must be longer than nothing")
            return nil
        default: return program
        }
    }
}

extension TimeSpan {
    /// Returns whether it is at least so many nanoseconds long, which must be less than a second.
    func isAtLeast(nanoseconds least: Int64) -> Bool {
        seconds > 0 || (seconds == 0 && Int64(nanoseconds) >= least)
    }
}

/// The written arguments of a side effect. There are few.
private struct GivenArguments {
    var all: [(name: String, node: Node)] = []

    subscript(name: String) -> Node? {
        for index in all.indices where all[index].name.isWord(name) { return all[index].node }
        return nil
    }
}
