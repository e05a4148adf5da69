import CommonExpression

extension EffectSchema {
    /// How many outcomes of a probe are remembered, so how large a threshold may be.
    public static let longestThreshold = 64

    /// The parameters of thresholds.
    static let thresholds = ["failureThreshold", "failureWindow", "successThreshold"]

    /// The side effect, which ends with `onSuccess` or `onFailure`, as a probe: with thresholds, and with outcomes for when
    /// they are reached.
    ///
    /// The host counts the outcomes for each feedback. After `failureThreshold` failures among the last `failureWindow`
    /// outcomes it reports `onDown` with the result of the last failure, after `successThreshold` successes in a row `onUp`
    /// with that of the last success. Without a window failures are counted in a row as well.
    public func withThresholds() -> EffectSchema {
        guard let success = outcome("onSuccess"), let failure = outcome("onFailure") else {
            preconditionFailure("only what succeeds or fails can be a probe")
        }
        let range = Parameter.Constraint.whole(1...Int64(Self.longestThreshold))
        return EffectSchema(
            name: name,
            parameters: parameters + [
                Parameter(name: "failureThreshold", type: .int, default: .int(1), constraint: range),
                Parameter(name: "failureWindow", type: .int, constraint: range, lowerBound: "failureThreshold"),
                Parameter(name: "successThreshold", type: .int, default: .int(1), constraint: range),
            ],
            shortForm: shortForm, exactlyOneOf: exactlyOneOf,
            outcomes: outcomes + [
                Outcome(name: "onUp", result: success.result), Outcome(name: "onDown", result: failure.result),
            ],
            emitsDirectly: emitsDirectly, isLasting: isLasting, isProbe: true, onlyTells: onlyTells)
    }
}
