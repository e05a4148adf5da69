import CommonExpression

extension EffectSchema {
    /// The number of outcomes of a probe that are remembered, and so the largest threshold.
    public static let longestThreshold = 64

    /// The parameters of thresholds.
    static let thresholds = ["failureThreshold", "failureWindow", "successThreshold"]

    /// The side effect as a probe: with thresholds, and with an outcome for each. It ends with `onSuccess` or
    /// `onFailure`.
    ///
    /// The host counts the outcomes for each feedback. After `failureThreshold` failures among the last `failureWindow`
    /// outcomes it reports `onDown` with the result of the last failure. After `successThreshold` successes in a row it
    /// reports `onUp` with the result of the last success. Without a window, failures are counted in a row as well.
    public func withThresholds() -> EffectSchema {
        guard let success = outcome("onSuccess"), let failure = outcome("onFailure") else {
            preconditionFailure("only what succeeds or fails can be a probe")
        }
        let range = Parameter.Constraint.whole(1...Int64(Self.longestThreshold))
        return EffectSchema(
            name: name, summary: summary,
            parameters: parameters + [
                Parameter(
                    name: "failureThreshold", summary: "the number of failures until it is down: from 1 to 64",
                    type: .int,
                    default: .int(1), constraint: range),
                Parameter(
                    name: "failureWindow",
                    summary: """
                        the number of last outcomes among which failures count: from 'failureThreshold' to 64. If \
                        omitted, they count in a row
                        """, type: .int, constraint: range, lowerBound: "failureThreshold"),
                Parameter(
                    name: "successThreshold", summary: "the number of successes in a row until it is up: from 1 to 64",
                    type: .int, default: .int(1), constraint: range),
            ],
            shortForm: shortForm, exactlyOneOf: exactlyOneOf,
            outcomes: outcomes + [
                Outcome(name: "onUp", summary: "it is up, and was down or unknown before", result: success.result),
                Outcome(
                    name: "onDown", summary: "it is down, and was up or unknown before", result: failure.result),
            ],
            emitsDirectly: emitsDirectly, isLasting: isLasting, isProbe: true, onlyTells: onlyTells)
    }
}
