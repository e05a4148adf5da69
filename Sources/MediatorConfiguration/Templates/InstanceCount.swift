import CommonExpression

/// The sizes of all instances of templates together, which are known before an instance is compiled.
extension InstanceTable {
    /// A size that has a limit.
    private struct Measure {
        var limit: Int
        /// The size, for people.
        var name: String
        var advice: String
        /// The sum of all templates.
        var total = 0
        /// The template with the largest share.
        var largest: (template: SystemTemplate, instances: Int, share: Int)?

        mutating func add(_ template: SystemTemplate, _ instances: Int, size: Int) {
            let share = instances * size
            total += share
            if share > largest?.share ?? 0 { largest = (template, instances, share) }
        }
    }

    /// Returns whether the instances are small enough together to be compiled. Reports if they are not.
    ///
    /// - Parameters:
    ///   - instances: The number of instances by template.
    ///   - systems: The systems that are no instances.
    func fits(
        _ instances: [String: Int], links: [WrittenLink], buses: [WrittenBus], systems: [String: SystemScope]
    ) -> Bool {
        var wiring: [String: Int] = [:]
        for link in links {
            guard let every = Self.every(link), let template = InstanceName(every.text)?.template else { continue }
            let source =
                InstanceName(link.system.text)?.isEvery == true
                ? templates[template]?.scope : systems[link.system.text]
            wiring[template, default: 0] += size(of: link, from: source)
        }
        for bus in buses {
            guard let template = bus.each.flatMap({ InstanceName($0.text)?.template }) else { continue }
            wiring[template, default: 0] += 8 + (bus.value?.size ?? 0) + (bus.initial?.size ?? 0)
        }
        var pairs = Measure(
            limit: ConfigurationLimits.instancePairs, name: "pairs of state and event",
            advice: "give the template fewer states or events, or run some of the instances in another daemon")
        var programs = Measure(
            limit: ConfigurationLimits.instancePrograms, name: "programs",
            advice: "give the template fewer feedbacks, rules, links or expressions, or run some of the instances in "
                + "another daemon")
        for (name, count) in instances.sorted(by: { $0.key < $1.key }) {
            guard let template = templates[name] else { continue }
            pairs.add(template, count, size: template.scope.states.count * (template.scope.events.count + 1))
            programs.add(template, count, size: (template.size + (wiring[name] ?? 0) + 7) / 8)
        }
        return check(pairs) && check(programs)
    }

    private func check(_ measure: Measure) -> Bool {
        guard measure.total > measure.limit, let largest = measure.largest else { return true }
        let written = largest.template.written
        let subject = "the \(largest.instances) instances of '\(written.name.text)'"
        let limit = "\(measure.limit) that are allowed"
        context.diagnostics.report(
            .tooLarge, in: written.source, at: written.name.span,
            largest.share == measure.total
                ? "\(subject) have \(largest.share) \(measure.name) together, more than the \(limit)"
                : "all instances of templates have \(measure.total) \(measure.name) together, more than the \(limit); "
                    + "\(subject) have \(largest.share)",
            hint: measure.advice)
        return false
    }

    /// The size of a link of one instance, in eighths of a program: two programs for the link, one for each value in it, and
    /// in each state of its source an entry, or the values that name the state.
    private func size(of link: WrittenLink, from source: SystemScope?) -> Int {
        let values = link.size
        var states = 0
        if let source, let selector = link.selector {
            states = Lookup(context: context, source: link.source).meant(selector, of: source)?.count ?? 0
        }
        return 16 + 8 * values + states * (link.mentionsState ? 4 * values : 1)
    }
}

extension WrittenLink {
    /// The selector of the states in which it fires; nil if a value fires it.
    fileprivate var selector: WrittenSelector? {
        switch form {
        case .systemToBus(_, let selector, _), .systemToSystem(_, let selector, _): selector
        case .busToSystem: nil
        case .unclear(let selector): selector
        }
    }

    /// The values that it computes, as written.
    private var values: [Node] {
        switch form {
        case .systemToBus(_, _, let value): [value]
        case .busToSystem(_, let onValue, let event): [onValue, event.node].compactMap(\.self)
        case .systemToSystem(_, _, let event): [event.node]
        case .unclear: []
        }
    }

    /// The number of keys and values in the values that it computes, with its condition.
    fileprivate var size: Int { values.reduce(condition == nil ? 0 : 1) { $0 + $1.size } }

    /// A Boolean value that indicates whether a value may depend on the state.
    fileprivate var mentionsState: Bool {
        condition?.text.holds("state") ?? false || values.contains(where: \.mentionsState)
    }
}

extension Node {
    /// A Boolean value that indicates whether an expression in it may name `state`.
    fileprivate var mentionsState: Bool {
        switch content {
        case .scalar(let scalar): scalar.text.holds("state")
        case .external: false
        case .sequence(let items): items.contains(where: \.mentionsState)
        case .mapping(let entries): entries.contains { $0.value.mentionsState }
        }
    }
}
