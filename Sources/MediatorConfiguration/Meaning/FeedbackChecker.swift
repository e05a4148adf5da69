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

    /// Whether the parts go together; what does not, and what means nothing, is reported.
    func check(_ definition: FeedbackDefinition) -> Bool {
        let isSound = areTimesRight() && isJitterRight(definition)
        if isSound, !written.hasForeignKey {
            checkOutcomes()
            checkThresholds()
        }
        return isSound
    }

    /// Where a parameter of the side effect is written.
    private func parameter(_ name: String) -> Scalar? {
        guard case .mapping(let entries) = effect.argument.content else { return nil }
        return entries.first { $0.key.text == name }?.key
    }

    private func has(_ outcome: String) -> Bool { written.outcomes.contains { $0.key.text == outcome } }

    /// Whether there is one limit of time at most.
    private func areTimesRight() -> Bool {
        guard let node = written.handling.timeout, parameter("timeout") != nil else { return true }
        lookup.report(
            .conflictingKeys, at: node.mark, "'\(effect.schema.name)' has a 'timeout' of its own already",
            hint: "keep that, or leave it out and give the feedback an 'onTimeout'")
        return false
    }

    /// Whether a run that is late comes before the next is due, as far as that is fixed.
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

    /// Something must become of what a side effect tells that does nothing else.
    private func checkOutcomes() {
        guard effect.schema.onlyTells, written.outcomes.isEmpty else { return }
        let names = effect.schema.outcomes.map(\.name).joined(separator: ", ")
        warn(
            at: effect.key.span, "nothing becomes of what '\(effect.schema.name)' tells",
            hint: "its outcomes are \(names)")
    }

    /// Thresholds are for outcomes that are told when they are reached.
    private func checkThresholds() {
        guard effect.schema.isProbe, !has("onUp"), !has("onDown"),
            let key = EffectSchema.thresholds.lazy.compactMap(parameter).first
        else { return }
        warn(at: key.span, "'\(key.text)' means nothing without an 'onUp' or 'onDown'")
    }

    private func warn(at span: Span, _ message: String, hint: String? = nil) {
        lookup.session.findings.report(.moot, in: lookup.source, at: span, message, hint: hint, severity: .warning)
    }
}
