public import FeedbackKit

extension Transitions {
    /// Asserts that the transitions lead from a state, on an event, to the state `expected`.
    ///
    ///     transitions.assertThat(
    ///         from: VolumeState(value: 10), on: IncreaseEvent(), newStateIs: VolumeState(value: 11))
    ///
    /// States of an `Equatable` type are compared by `==`, others by type and fields, as in ``difference(from:to:)``. A
    /// failure is reported at the caller's line with the difference, in Swift Testing and in XCTest.
    public func assertThat(
        from state: any State, on event: any Event, newStateIs expected: any State,
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line,
        column: UInt = #column
    ) {
        let message: String
        switch next(from: state, on: event) {
        case nil:
            message =
                "no transition from \(describe(state)) handles \(describe(event)); "
                + "expected the new state \(describe(expected))"
        case let actual? where type(of: actual) != type(of: expected):
            message =
                "from \(describe(state)), \(describe(event)) leads to a state of another type: "
                + "expected \(describe(expected)), got \(describe(actual))"
        case let actual? where !areEqual(actual, expected):
            message =
                "from \(describe(state)), \(describe(event)) leads to another state (- expected, + actual):\n"
                + visibleDifference(from: expected, to: actual)
        default: return
        }
        FailureReport.report(message, at: SourcePlace(fileID, filePath, line, column))
    }

    /// Asserts that no rule handles this event in this state, so that nothing changes.
    ///
    ///     transitions.assertThatStateIsUnchanged(from: Loading(), on: Refresh())
    ///
    /// A rule that leads to an equal state fails the assertion. For the system that is a new state, which feedbacks see
    /// and which restarts side effects.
    public func assertThatStateIsUnchanged(
        from state: any State, on event: any Event,
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line,
        column: UInt = #column
    ) {
        guard let actual = next(from: state, on: event) else { return }
        let message =
            areEqual(state, actual)
            ? "a transition from \(describe(state)) handles \(describe(event)) and leads to an equal state, "
                + "\(equalIsNew); remove the rule, or assert the state with newStateIs"
            : "from \(describe(state)), \(describe(event)) leads to a new state, expected none (- before, + after):\n"
                + visibleDifference(from: state, to: actual)
        FailureReport.report(message, at: SourcePlace(fileID, filePath, line, column))
    }
}

/// The reason why an equal state is not "unchanged".
let equalIsNew =
    "which is a new state nevertheless: feedbacks see it, and side effects that new states cancel are restarted"

/// Returns a non-empty difference of values that are known to differ.
func visibleDifference<Value>(from old: Value, to new: Value) -> String {
    let text = difference(from: old, to: new)
    return text.isEmpty ? "  \(describe(old))\n  (they look the same, but == says that they differ)" : text
}
