import CommonExpression

/// Looks for what contradicts itself in a feedback that is right in all its parts, and for what means nothing in it.
struct FeedbackChecker {
    private let written: WrittenFeedback
    private let effect: WrittenEffect
    private let lookup: Lookup

    /// A checker of one feedback.
    init(_ written: WrittenFeedback, _ effect: WrittenEffect, _ lookup: Lookup) {
        self.written = written
        self.effect = effect
        self.lookup = lookup
    }

    /// Returns whether the parts go together; what does not, and what means nothing, is reported.
    func check(_ definition: FeedbackDefinition) -> Bool {
        let isSound = areTimesRight() && isJitterRight(definition)
        if isSound, !written.hasForeignKey {
            checkOutcomes()
            checkThresholds()
        }
        return isSound
    }

    /// The name of a parameter of the side effect, as written.
    private func parameter(_ name: String) -> Scalar? {
        guard case .mapping(let entries) = effect.argument.content else { return nil }
        return entries.first { $0.key.text == name }?.key
    }

    private func has(_ outcome: String) -> Bool { written.outcomes.contains { $0.key.text == outcome } }

    /// Returns whether there is one limit of time at most.
    private func areTimesRight() -> Bool {
        guard let node = written.handling.timeout, parameter("timeout") != nil else { return true }
        lookup.report(
            .conflictingKeys, at: node.mark, "'\(effect.schema.name)' has a 'timeout' of its own already",
            hint: "keep that, or leave it out and give the feedback an 'onTimeout'")
        return false
    }

    /// Returns whether a run that is late comes before the next is due, as far as that is fixed.
    private func isJitterRight(_ definition: FeedbackDefinition) -> Bool {
        guard case .every(let intervals) = definition.schedule, let jitters = definition.jitter,
            let node = written.handling.jitter
        else { return true }
        for (state, interval) in intervals {
            guard case .constant(.duration(let interval)) = interval,
                case .constant(.duration(let jitter))? = jitters[state], jitter >= interval
            else { continue }
            lookup.report(
                .outOfRange, at: node.mark, "'jitter' must be shorter than 'every', which is \(interval.brief)")
            return false
        }
        return true
    }

    /// Warns of a side effect without consequences: it only reports outcomes, and nothing uses them.
    private func checkOutcomes() {
        guard effect.schema.onlyTells, written.outcomes.isEmpty else { return }
        let names = effect.schema.outcomes.map(\.name).joined(separator: ", ")
        warn(
            at: effect.key.span, "nothing becomes of what '\(effect.schema.name)' tells",
            hint: "its outcomes are \(names)")
    }

    /// Warns of thresholds without the outcomes that need them.
    private func checkThresholds() {
        guard effect.schema.isProbe, !has("onUp"), !has("onDown") else { return }
        if let key = EffectSchema.thresholds.lazy.compactMap(parameter).first {
            warn(at: key.span, "'\(key.text)' means nothing without an 'onUp' or 'onDown'")
        }
        if written.levelReport != .changes {
            warn(at: written.name.span, "'report' means nothing without an 'onUp' or 'onDown'")
        }
    }

    private func warn(at span: Span, _ message: String, hint: String? = nil) {
        lookup.context.diagnostics.report(.moot, in: lookup.source, at: span, message, hint: hint, severity: .warning)
    }
}
