extension Feedback {
    /// Returns this feedback for a loop with a larger state and event. Corresponds to CombineFeedback's `pullback`.
    ///
    /// - Parameters:
    ///   - path: The path to this feedback's state.
    ///   - event: The case of the larger event that holds this feedback's events.
    @inlinable
    public func pullback<WholeState: Sendable, WholeEvent: Sendable>(
        state path: any KeyPath<WholeState, S> & Sendable, event: CasePath<WholeEvent, E>
    ) -> Feedback<WholeState, WholeEvent> {
        pullback(state: { $0[keyPath: path] }, embed: event.embed, extract: event.extract)
    }

    /// Returns this feedback for a loop with a larger state and event, with two functions for the event.
    ///
    /// - Parameters:
    ///   - path: The path to this feedback's state.
    ///   - embed: Converts an event of this feedback to an event of the larger loop.
    ///   - extract: Converts an event of the larger loop, or returns `nil` for an event that this feedback ignores.
    @inlinable
    public func pullback<WholeState: Sendable, WholeEvent: Sendable>(
        state path: any KeyPath<WholeState, S> & Sendable,
        embed: @escaping @Sendable (E) -> WholeEvent,
        extract: @escaping @Sendable (WholeEvent) -> E?
    ) -> Feedback<WholeState, WholeEvent> {
        pullback(state: { $0[keyPath: path] }, embed: embed, extract: extract)
    }

    /// Returns this feedback for a loop whose state is optional.
    ///
    /// While the state is `nil`, the feedback sees nothing. When the state becomes `nil`, running effects are cancelled
    /// and the feedback's memory is cleared. The next value counts as a first state. (CombineFeedback's `optional()`
    /// lets effects continue for a state that is gone.)
    @inlinable
    public func optional() -> Feedback<S?, E> {
        pullback(state: { $0 }, embed: { $0 }, extract: { $0 })
    }
}

extension Reducer {
    /// Returns this reducer for a part of a larger state and one case of a larger event.
    @inlinable
    public func pullback<WholeState, WholeEvent>(
        state path: any WritableKeyPath<WholeState, State> & Sendable, event: CasePath<WholeEvent, Event>
    ) -> Reducer<WholeState, WholeEvent, repeat each Environment> {
        pullback(state: path, event: event.extract)
    }
}
