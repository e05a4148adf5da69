import CommonExpression

extension FeedbackCompiler {
    func schedule(_ states: [Int]?) -> Schedule? {
        switch written.schedule {
        case .atOnce: .atOnce
        case .broken: nil
        case .after(let text): lookup.delay(text, "after", atLeast: 1, states, of: scope).map { .after($0) }
        case .every(let text) where written.effect?.schema.isLasting == true:
            refused("every", text)
        case .at(let nodes) where written.effect?.schema.isLasting == true:
            refused("at", nodes[0])
        case .at(let nodes): times(nodes, states).map { .at($0) }
        case .every(let text):
            lookup.delay(text, "every", atLeast: ConfigurationLimits.shortestPeriod, states, of: scope).map {
                .every($0)
            }
        }
    }

    /// Reports a schedule of a lasting side effect, which needs none.
    private func refused(_ key: String, _ node: Node) -> Schedule? {
        guard let schema = written.effect?.schema else { return nil }
        lookup.report(
            .conflictingKeys, at: node.mark,
            "'\(schema.name)' goes on by itself, so there can be no '\(key)' beside it",
            hint: key != "every" || schema.parameter("every") == nil
                ? "leave it out" : "write it among the parameters of '\(schema.name)'")
        return nil
    }

    /// Calendar times, by state. All fixed ones are checked, even if others are wrong.
    private func times(_ nodes: [Node], _ states: [Int]?) -> [Int: [CalendarProgram]]? {
        lookup.perState(states, of: scope) { variables in
            let times = nodes.map { time($0, variables) }
            let whole = times.compactMap(\.self)
            return whole.count == times.count ? whole : nil
        }
    }

    private func time(_ node: Node, _ variables: VariableScope) -> CalendarProgram? {
        let context = lookup.context
        // Values from elsewhere are not shown.
        let isOpen = context.origin(node) == .written
        func computed(_ program: DataProgram) -> CalendarProgram {
            .computed(program, text: node.scalar?.text ?? FlowText.of(node), isOpen: isOpen)
        }
        let text: String
        if let scalar = node.scalar, scalar.style == .plain, CoreSchema(plain: scalar.text).isNumber {
            // The message about a wrong calendar time helps more than one about the type.
            text = scalar.text
        } else {
            guard let program = data.data(node, as: .string, Subject("'at'", ""), variables) else { return nil }
            guard case .constant(.string(let constant)) = program else { return computed(program) }
            text = constant
        }
        // A sample takes the place of a value that is unknown or missing here.
        if context.isGeneric || context.origin(node) == .missing { return computed(.constant(.string(text))) }
        let span = node.scalar?.span ?? node.mark
        let subject = isOpen ? "this time" : "the time that \(context.sourceInWords(node)) gives"
        do throws(CalendarProblem) {
            let expression = try CalendarExpression(text)
            let zone = LocalTimeZone.machine.offsets()
            guard expression.next(after: .epoch, in: zone) != nil else {
                lookup.report(
                    .invalidCalendarTime, at: span, "\(subject) never comes, in no year from 1970 to 2199",
                    hint: isOpen ? "as a normal form it is \(expression)" : nil)
                return nil
            }
            let next = context.now.flatMap { expression.next(after: $0, in: zone) }
            // Only a time in certain years comes for the last time.
            if let now = context.now, !expression.years.isEmpty {
                let own = TimeSensitivity(since: now, until: next, zone: LocalTimeZone.machine.identity())
                context.depend(onTime: own)
            }
            if context.now != nil, next == nil {
                context.diagnostics.report(
                    .pastCalendarTime, in: lookup.source, at: span, "\(subject) has passed, and does not come again",
                    hint: isOpen ? "as a normal form it is \(expression)" : nil, severity: .warning)
            }
            return .fixed(expression)
        } catch {
            guard isOpen else {
                // A hint may show a part of the text.
                lookup.report(
                    .invalidCalendarTime, at: span,
                    "\(context.sourceInWords(node)) gives no calendar time: \(error.reason)",
                    hint: CalendarParser.example)
                return nil
            }
            // A computed text has no place in the file.
            let isWritten = node.scalar.map { $0.text == text } ?? false
            let place = isWritten ? node.scalar.flatMap { ScalarMap($0, in: lookup.source)?.span(error.range) } : nil
            lookup.report(.invalidCalendarTime, at: place ?? span, error.message, hint: error.hint)
            return nil
        }
    }
}
