public import CommonExpression

/// The parameters and outcomes of a side effect. The host carries it out.
public struct EffectSchema: Sendable, Hashable {
    /// One thing a side effect is given. One reference, since it is handed on often.
    public struct Parameter: Sendable, Hashable {
        private let contents: Shared<Contents>

        private struct Contents: Sendable, Hashable {
            var name: String
            var summary: String?
            var type: ValueType
            var required: Bool
            var `default`: Value?
            var choices: [String]
            var allowsEmpty: Bool
            var acceptsSecrets: Bool
            var constraint: Constraint?
            var upperBound: String?
            var lowerBound: String?
            var companion: String?
        }

        /// Its name, unique within the side effect.
        public var name: String { contents.value.name }
        /// A description: begins with a small letter, ends without a full stop; nil: none.
        public var summary: String? { contents.value.summary }
        /// Its type.
        public var type: ValueType { contents.value.type }
        /// A Boolean value that indicates whether it must be given.
        public var required: Bool { contents.value.required }
        /// The default; nil: the side effect gets no value.
        public var `default`: Value? { contents.value.default }
        /// The only texts it may be; empty: any. Checked where it is written as a fixed value.
        public var choices: [String] { contents.value.choices }
        /// A Boolean value that indicates whether a list or text written in the configuration may be empty.
        public var allowsEmpty: Bool { contents.value.allowsEmpty }
        /// A Boolean value that indicates whether it may be or contain a credential. Then its value is never shown.
        public var acceptsSecrets: Bool { contents.value.acceptsSecrets }
        /// The constraint beyond the type; nil: none.
        public var constraint: Constraint? { contents.value.constraint }
        /// Another parameter, without which this one means nothing, and which it may not exceed; nil: none.
        public var upperBound: String? { contents.value.upperBound }
        /// Another parameter, which this one must at least be; nil: none.
        public var lowerBound: String? { contents.value.lowerBound }
        /// Another parameter, without which this one means nothing; nil: none.
        public var companion: String? { contents.value.companion }

        /// A parameter.
        public init(
            name: String, summary: String? = nil, type: ValueType, required: Bool = false, default: Value? = nil,
            choices: [String] = [],
            allowsEmpty: Bool = true, acceptsSecrets: Bool = false, constraint: Constraint? = nil,
            upperBound: String? = nil, lowerBound: String? = nil, companion: String? = nil
        ) {
            contents = Shared(
                Contents(
                    name: name, summary: summary, type: type, required: required, default: `default`, choices: choices,
                    allowsEmpty: allowsEmpty, acceptsSecrets: acceptsSecrets, constraint: constraint,
                    upperBound: upperBound, lowerBound: lowerBound, companion: companion))
        }

        /// The reason why a value of the right type is wrong, without regard to other parameters: `must …`; nil if it
        /// is right.
        func problem(with value: Value) -> String? {
            if !choices.isEmpty, case .string(let text) = value, !choices.contains(text) {
                return "must be one of \(choices.map { "'\($0)'" }.joined(separator: ", "))"
            }
            return constraint?.problem(with: value)
        }

        /// A Boolean value that indicates whether something is asked of its value beyond the type.
        var isLimited: Bool { contents.value.constraint != nil || isBound }
        /// A Boolean value that indicates whether another parameter bounds it.
        var isBound: Bool { contents.value.upperBound != nil || contents.value.lowerBound != nil }
    }

    /// One way a side effect ends or reports, for which a feedback may name events.
    public struct Outcome: Sendable, Hashable {
        /// The key, such as `onSuccess`.
        public let name: String
        /// A description of when it is reported: begins with a small letter, ends without a full stop; nil: none.
        public let summary: String?
        /// The type of the variable `result`.
        public let result: StructureType

        /// An outcome.
        public init(name: String, summary: String? = nil, result: StructureType) {
            self.name = name
            self.summary = summary
            self.result = result
        }
    }

    private let contents: Shared<Contents>

    private struct Contents: Sendable, Hashable {
        var name: String
        var summary: String?
        var parameters: [Parameter]
        var shortForm: String?
        var outcomes: [Outcome]
        var exactlyOneOf: [String]
        var emitsDirectly: Bool
        var publishesDirectly: Bool
        var isLasting: Bool
        var isProbe: Bool
        var onlyTells: Bool
    }

    /// The key in a feedback, such as `run`.
    public var name: String { contents.value.name }
    /// A description: begins with a small letter, ends without a full stop; nil: none.
    public var summary: String? { contents.value.summary }
    /// Its parameters.
    public var parameters: [Parameter] { contents.value.parameters }
    /// The parameter that is meant when the argument is not a mapping; nil: it must be one.
    public var shortForm: String? { contents.value.shortForm }
    /// Its outcomes.
    public var outcomes: [Outcome] { contents.value.outcomes }
    /// Parameters of which exactly one must be given; empty: no such choice.
    public var exactlyOneOf: [String] { contents.value.exactlyOneOf }
    /// A Boolean value that indicates whether its argument is an event of the system instead of parameters. The rule is
    /// then in the feedback's outcomes under the side effect's name.
    public var emitsDirectly: Bool { contents.value.emitsDirectly }
    /// A Boolean value that indicates whether it puts a value on a bus: the parameter `value` on the one that `to`
    /// names, which the host does itself.
    public var publishesDirectly: Bool { contents.value.publishesDirectly }
    /// A Boolean value that indicates whether it never finishes by itself, and reports again and again until it is
    /// ended.
    ///
    /// Each feedback runs such a side effect at most once at a time, even if it continues with new states. It ends as
    /// soon as the system must stop.
    public var isLasting: Bool { contents.value.isLasting }
    /// A Boolean value that indicates whether its successes and failures are counted: see ``withThresholds()``.
    public var isProbe: Bool { contents.value.isProbe }
    /// A Boolean value that indicates whether its outcomes are its only effect, so that it needs a rule for one of
    /// them. A lasting side effect with outcomes is always of this kind.
    public var onlyTells: Bool { contents.value.onlyTells }

    /// A side effect.
    public init(
        name: String, summary: String? = nil, parameters: [Parameter] = [], shortForm: String? = nil,
        exactlyOneOf: [String] = [],
        outcomes: [Outcome] = [], emitsDirectly: Bool = false, isLasting: Bool = false, onlyTells: Bool = false
    ) {
        self.init(
            name: name, summary: summary, parameters: parameters, shortForm: shortForm, exactlyOneOf: exactlyOneOf,
            outcomes: outcomes,
            emitsDirectly: emitsDirectly, isLasting: isLasting, isProbe: false,
            onlyTells: onlyTells || isLasting && !outcomes.isEmpty)
    }

    /// The name of the outcome of a side effect that fails.
    package static let failure = "onFailure"

    /// A Boolean value that indicates whether the host does it itself, in no time.
    var isInstant: Bool { emitsDirectly || publishesDirectly }

    package init(
        name: String, summary: String?, parameters: [Parameter], shortForm: String?, exactlyOneOf: [String],
        outcomes: [Outcome],
        emitsDirectly: Bool, isLasting: Bool, isProbe: Bool, onlyTells: Bool = false, publishesDirectly: Bool = false
    ) {
        contents = Shared(
            Contents(
                name: name, summary: summary, parameters: parameters, shortForm: shortForm, outcomes: outcomes,
                exactlyOneOf: exactlyOneOf, emitsDirectly: emitsDirectly, publishesDirectly: publishesDirectly,
                isLasting: isLasting, isProbe: isProbe, onlyTells: onlyTells))
    }

    /// The mistakes in arguments, in the order of the parameters: each with a sentence without a full stop. Missing
    /// arguments are skipped.
    public func problems(with arguments: [String: Value]) -> [(parameter: Parameter, message: String)] {
        Self.problems(of: parameters) { arguments[$0] }
    }

    /// The mistakes in some arguments, in their order.
    ///
    /// - Parameter argument: The value of a parameter; nil if it is missing.
    static func problems(
        of parameters: [Parameter], with argument: (String) -> Value?
    ) -> [(parameter: Parameter, message: String)] {
        parameters.compactMap { parameter in
            guard parameter.isLimited || !parameter.choices.isEmpty, let value = argument(parameter.name) else {
                return nil
            }
            if let problem = parameter.problem(with: value) {
                return (parameter, "the parameter '\(parameter.name)' \(problem)")
            }
            if let name = parameter.upperBound, let bound = argument(name), Self.exceeds(value, bound) {
                return (parameter, "the parameter '\(parameter.name)' must not exceed '\(name)'")
            }
            if let name = parameter.lowerBound, let bound = argument(name), Self.exceeds(bound, value) {
                return (parameter, "the parameter '\(parameter.name)' must be at least '\(name)'")
            }
            return nil
        }
    }

    /// The reason why it cannot report an outcome, a sentence without a full stop; nil if it can.
    package func problem(withOutcome name: String, _ result: Value) -> String? {
        guard let outcome = outcome(name) else {
            return "'\(self.name)' has reported the outcome '\(name.prefix(64))', which it does not have"
        }
        var problem: String {
            "'\(self.name)' has reported the outcome '\(name)' with a result that is not of its type"
        }
        guard case .structure(let structure) = result, structure.type == outcome.result,
            structure.fields.count == structure.type.fields.count
        else { return problem }
        let wrong = zip(structure.type.fields, structure.fields).first { !$0.type.accepts($1) }
        return wrong.map { "\(problem): '\($0.0.name)' is no \($0.0.type)" }
    }

    private static func exceeds(_ value: Value, _ bound: Value) -> Bool {
        switch (value, bound) {
        case (.optional(let value), _): value.map { exceeds($0, bound) } ?? false
        case (_, .optional(let bound)): bound.map { exceeds(value, $0) } ?? false
        case (.int(let value), .int(let bound)): value > bound
        case (.uint(let value), .uint(let bound)): value > bound
        case (.double(let value), .double(let bound)): value > bound
        case (.duration(let value), .duration(let bound)): value.swiftDuration > bound.swiftDuration
        default: false
        }
    }

    /// The flaws that would keep a configuration from using it, a sentence each without a full stop.
    public var flaws: [String] {
        var flaws: [String] = []
        let keys = Set(FeedbackDecoder.keys + [Self.timeoutOutcome.name])
        if !Names.isIdentifier(name) || keys.contains(name) {
            flaws.append("'\(name)' cannot name a side effect")
        }
        func check(_ names: [String], _ what: String) {
            var seen: Set<String> = []
            for name in names {
                if !Names.isIdentifier(name) { flaws.append("'\(name)' cannot name \(what)") }
                if !seen.insert(name).inserted { flaws.append("there are two of \(what) named '\(name)'") }
            }
        }
        let limit = ConfigurationLimits.fields
        if parameters.count > limit { flaws.append("it has more than \(limit) parameters") }
        if outcomes.count > limit { flaws.append("it has more than \(limit) outcomes") }
        let names = parameters.map(\.name)
        check(names, "a parameter")
        check(outcomes.map(\.name), "an outcome")
        for outcome in outcomes {
            check(outcome.result.fields.map(\.name), "a field of the outcome '\(outcome.name)'")
            if outcome.result.fields.count > limit {
                flaws.append("the outcome '\(outcome.name)' has more than \(limit) fields")
            }
            if keys.contains(outcome.name) || outcome.name == name {
                flaws.append("the outcome '\(outcome.name)' has the name of something else in a feedback")
            }
        }
        for parameter in parameters {
            func flaw(_ text: String) { flaws.append("the parameter '\(parameter.name)' \(text)") }
            // The type is that of the bus, which only the graph knows.
            if !publishesDirectly, !TypeText.canSpell(parameter.type) {
                flaw("is of a type for which a configuration has no words: \(parameter.type)")
            }
            if let value = parameter.default {
                if !parameter.type.accepts(value) { flaw("has a default of another type") }
                if let problem = defaultProblem(parameter, value) {
                    flaw("has a default that it may not have, \(value.description(longest: 80)): \(problem)")
                }
                if parameter.required { flaw("must be given, and has a default") }
            }
            if !parameter.choices.isEmpty, parameter.type != .string { flaw("has choices, and is no text") }
            if let constraint = parameter.constraint, !constraint.isFor(parameter.type) {
                flaw("has a constraint that says nothing of its type, \(parameter.type)")
            }
            for bound in [parameter.upperBound, parameter.lowerBound].compactMap({ $0 }) where !names.contains(bound) {
                flaw("has a bound, '\(bound)', that is no parameter")
            }
            for bound in [parameter.upperBound, parameter.lowerBound].compactMap({ $0.flatMap(self.parameter) })
            where bound.name == parameter.name || bound.type.held != parameter.type.held || !bound.type.held.hasOrder {
                flaw("has a bound, '\(bound.name)', that it cannot be compared with")
            }
            if let companion = parameter.companion, !names.contains(companion) {
                flaw("has a companion, '\(companion)', that is no parameter")
            }
        }
        let defaults = parameters.compactMap { parameter in parameter.default.map { (parameter.name, $0) } }
        for problem in problems(with: Dictionary(defaults, uniquingKeysWith: { first, _ in first }))
        where problem.parameter.isBound {
            flaws.append("its defaults do not go together: \(problem.message)")
        }
        if let shortForm, let parameter = parameter(shortForm), parameter.type.isWrittenAsMapping {
            flaws.append("its short form, '\(shortForm)', is written as a mapping, as its parameters are")
        }
        for name in [shortForm].compactMap({ $0 }) + exactlyOneOf where !names.contains(name) {
            flaws.append("it speaks of the parameter '\(name)', which there is not")
        }
        if Set(exactlyOneOf).count < exactlyOneOf.count {
            flaws.append("a parameter is twice among those of which one is given")
        }
        if isProbe,
            !Self.thresholds.allSatisfy(names.contains) || ["onUp", "onDown"].contains(where: { outcome($0) == nil })
        {
            flaws.append("it counts successes and failures, and has not what withThresholds() adds")
        }
        return flaws
    }

    /// The reason why a parameter's default is wrong: `must …`; nil if it is right.
    private func defaultProblem(_ parameter: Parameter, _ value: Value) -> String? {
        switch value {
        case .string(""), .list([]):
            if !parameter.allowsEmpty { return "must not be empty" }
        default: break
        }
        return value.isFinite ? parameter.problem(with: value) : "must be a finite number"
    }

    /// The conflicts between names of side effects and of outcomes, a sentence each without a full stop.
    ///
    /// - Parameter known: The side effects that exist already.
    public static func clashes(of effects: [EffectSchema], with known: [EffectSchema]) -> [String] {
        let all = known + effects
        let names = Set(all.map(\.name))
        let outcomes = Set((all.flatMap(\.outcomes) + [timeoutOutcome]).map(\.name))
        return effects.flatMap { effect in
            effect.outcomes.filter { names.contains($0.name) && $0.name != effect.name }.map {
                "the side effect '\(effect.name)': the outcome '\($0.name)' has the name of a side effect"
            }
                + (outcomes.contains(effect.name)
                    ? ["the side effect '\(effect.name)' has the name of an outcome"] : [])
        }
    }

    /// The parameter of a name.
    func parameter(_ name: String) -> Parameter? { contents.value.parameters.first { $0.name.isWord(name) } }
    /// The outcome of a name.
    func outcome(_ name: String) -> Outcome? { contents.value.outcomes.first { $0.name.isWord(name) } }
}

extension ValueType {
    /// The type of which an optional one has a value; of any other itself.
    fileprivate var held: ValueType { if case .optional(let wrapped) = self { wrapped.held } else { self } }

    /// A Boolean value that indicates whether one of its values can be a bound of another.
    fileprivate var hasOrder: Bool {
        switch self {
        case .int, .uint, .double, .duration: true
        default: false
        }
    }

    /// A Boolean value that indicates whether its values are written as mappings.
    fileprivate var isWrittenAsMapping: Bool {
        switch self {
        case .structure, .map: true
        case .optional(let wrapped): wrapped.isWrittenAsMapping
        default: false
        }
    }
}

extension Value {
    /// A Boolean value that indicates whether each number in it is one that can be written everywhere: neither infinite
    /// nor NaN.
    fileprivate var isFinite: Bool {
        switch self {
        case .double(let number): number.isFinite
        case .optional(let wrapped): wrapped?.isFinite ?? true
        case .list(let values): values.allSatisfy(\.isFinite)
        case .map(let entries): entries.allSatisfy { $0.key.isFinite && $0.value.isFinite }
        case .structure(let structure): structure.fields.allSatisfy(\.isFinite)
        default: true
        }
    }
}
