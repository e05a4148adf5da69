extension Feedback {
    /// The feedback within a loop of a larger state and event. After CombineFeedback's `pullback`.
    ///
    /// - Parameters:
    ///   - path: where its state is in the larger state.
    ///   - event: which case of the larger event its events are.
    @inlinable
    public func pullback<WholeState: Sendable, WholeEvent: Sendable>(
        state path: any KeyPath<WholeState, S> & Sendable, event: CasePath<WholeEvent, E>
    ) -> Feedback<WholeState, WholeEvent> {
        pullback(state: { $0[keyPath: path] }, embed: event.embed, extract: event.extract)
    }

    /// The feedback within a loop of a larger state and event; the event by two functions.
    ///
    /// - Parameters:
    ///   - path: where its state is in the larger state.
    ///   - embed: what an event of the feedback is in the larger loop.
    ///   - extract: what an event of the larger loop is for the feedback; `nil`: not its concern.
    @inlinable
    public func pullback<WholeState: Sendable, WholeEvent: Sendable>(
        state path: any KeyPath<WholeState, S> & Sendable,
        embed: @escaping @Sendable (E) -> WholeEvent,
        extract: @escaping @Sendable (WholeEvent) -> E?
    ) -> Feedback<WholeState, WholeEvent> {
        pullback(state: { $0[keyPath: path] }, embed: embed, extract: extract)
    }

    /// The feedback in a loop whose state may be missing.
    ///
    /// While it is missing the feedback sees nothing. When it turns missing, what still runs is cancelled and the
    /// feedback forgets; when it is there again, that is a first state. CombineFeedback's `optional()` lets effects run
    /// on for a state that is gone.
    @inlinable
    public func optional() -> Feedback<S?, E> {
        pullback(state: { $0 }, embed: { $0 }, extract: { $0 })
    }
}

extension Reducer {
    /// The reducer on a part of a larger state and one case of a larger event.
    @inlinable
    public func pullback<WholeState, WholeEvent>(
        state path: any WritableKeyPath<WholeState, State> & Sendable, event: CasePath<WholeEvent, Event>
    ) -> Reducer<WholeState, WholeEvent, repeat each Environment> {
        pullback(state: path, event: event.extract)
    }
}
