import CommonExpression

/// Gives meaning to how the runs of a feedback are handled.
struct HandlingCompiler {
    /// A written part. A value of nil means that the part has a mistake, which has been reported.
    struct Part<Value> {
        var value: Value?
    }

    private let written: WrittenHandling
    private let scope: SystemScope
    private let lookup: Lookup

    /// A compiler for one feedback.
    init(_ feedback: WrittenFeedback, _ scope: SystemScope, _ lookup: Lookup) {
        written = feedback.handling
        self.scope = scope
        self.lookup = lookup
    }

    /// The pace of runs.
    func pace(_ states: [Int]?) -> Part<Pace>? {
        if let node = written.debounce { return debounce(node, states).map { Part(value: $0) } }
        if let node = written.throttle { return delay(node, "throttle", states).map { Part(value: .throttle($0)) } }
        return Part()
    }

    /// A delay that starts again with each request, and its limit.
    private func debounce(_ node: Node, _ states: [Int]?) -> Pace? {
        let quiet = delay(node, "debounce", states)
        guard let limit = written.maxWait else { return quiet.map { .debounce($0, maxWait: nil) } }
        let longest = delay(limit, "maxWait", states)
        guard let quiet, let longest else { return nil }
        for case .constant(.duration(let longest)) in longest.values
        where longest.swiftDuration > ConfigurationLimits.longestMaxWait {
            lookup.report(
                .outOfRange, at: limit.mark, "'maxWait' must be at most 24h",
                hint: "leave 'maxWait' out to wait until the changes end")
            return nil
        }
        for (state, program) in quiet.sorted(by: { $0.key < $1.key }) {
            guard case .constant(.duration(let quiet)) = program,
                case .constant(.duration(let longest))? = longest[state],
                longest.swiftDuration < quiet.swiftDuration
            else { continue }
            lookup.report(
                .conflictingKeys, at: limit.mark,
                "'maxWait' is \(longest), which is less than 'debounce', \(quiet)",
                hint: "write a longer 'maxWait', or leave it out")
            return nil
        }
        return .debounce(quiet, maxWait: longest)
    }

    /// The time limit of a run.
    func timeout(_ states: [Int]?) -> Part<[Int: DataProgram]>? {
        guard let node = written.timeout else { return Part() }
        return delay(node, "timeout", states).map { Part(value: $0) }
    }

    /// The random delay of a run.
    func jitter(_ states: [Int]?) -> Part<[Int: DataProgram]>? {
        guard let node = written.jitter else { return Part() }
        return delay(node, "jitter", states).map { Part(value: $0) }
    }

    /// The key of a run: a text, or a value of any simple type.
    func key(_ states: [Int]?) -> Part<[Int: DataProgram]>? {
        guard let scalar = written.key else { return Part() }
        guard scalar.text.contains("${") else {
            lookup.report(
                .wrongType, at: scalar.span, "this key is the same for every run",
                hint: "write an expression in ${}, such as \"${state.disk}\"")
            return nil
        }
        let data = DataCompiler(lookup.context, lookup.source)
        let node = Node(content: .scalar(scalar), span: scalar.span)
        return lookup.perState(states, of: scope) { variables -> DataProgram? in
            for type in Self.simpleTypes {
                if let program = lookup.context.fittingTemplate(scalar, as: type, variables) {
                    return .template(program)
                }
            }
            return data.data(node, as: .string, Subject("'key'", ""), variables)
        }.map { Part(value: $0) }
    }

    private static let simpleTypes: [ValueType] = [.string, .int, .uint, .bool, .timestamp, .duration, .double]

    private func delay(_ node: Node, _ key: String, _ states: [Int]?) -> [Int: DataProgram]? {
        lookup.delay(node, key, atLeast: ConfigurationLimits.shortestPeriod, states, of: scope)
    }
}

extension Lookup {
    /// A duration for each state: fixed, or computed. Nil after reporting.
    func delay(
        _ node: Node, _ key: String, atLeast least: Int64, _ states: [Int]?, of system: SystemScope
    ) -> [Int: DataProgram]? {
        perState(states, of: system) { delay(node, key, atLeast: least, $0) }
    }

    /// A duration for the variables of a state: fixed, or computed. Nil after reporting.
    func delay(_ node: Node, _ key: String, atLeast least: Int64, _ variables: VariableScope) -> DataProgram? {
        let data = DataCompiler(context, source)
        guard let program = data.data(node, as: .duration, Subject("'\(key)'", ""), variables) else { return nil }
        guard case .constant(.duration(let span)) = program else { return program }
        guard span.isAtLeast(nanoseconds: least) else {
            let message = least > 1 ? "'\(key)' must be at least 1ms" : "'\(key)' must be longer than nothing"
            report(.outOfRange, at: node.mark, message)
            return nil
        }
        return program
    }
}
