/// The input of a rendering function: a state, whose properties it forwards, and functions that send events to the
/// machine. Corresponds to CombineFeedback's `Context`.
///
///     func render(_ context: Context<SignIn.State, SignIn.Event>) -> String {
///         "\(context.email) \(context.password.isEmpty ? "-" : "*")"
///     }
///
/// `state` stays the state for which the context was made, even after the machine has moved on. A binding reads the
/// machine's current state, so a written value can be read back as soon as the machine has taken it. (In the original,
/// a binding reads the rendered state.)
///
/// A context does not keep the machine alive. When the machine is gone, sent events are dropped, and the result reports
/// it.
@dynamicMemberLookup
public struct Context<State: Sendable, Event: Sendable>: Sendable {
    /// The state to render.
    public let state: State
    private let reach: Reach<State, Event>

    init(state: State, reach: Reach<State, Event>) {
        self.state = state
        self.reach = reach
    }

    /// A property of the state.
    public subscript<Value>(dynamicMember path: KeyPath<State, Value>) -> Value { state[keyPath: path] }

    /// Sends an event.
    @discardableResult
    public func send(event: Event) -> SendResult { reach.send(event) }

    /// Sets a property of the state, in order with the events.
    @discardableResult
    public func mutate<Value: Sendable>(
        keyPath: any WritableKeyPath<State, Value> & Sendable, _ value: Value
    ) -> SendResult {
        reach.mutate(Mutation(keyPath, value))
    }

    /// Returns a binding to a property. Writing sets the property, in order with the events.
    public func binding<Value: Sendable>(
        for path: any WritableKeyPath<State, Value> & Sendable
    ) -> Binding<Value> {
        let (state, reach) = (state, reach)
        return Binding(
            get: { (reach.current() ?? state)[keyPath: path] }, set: { _ = reach.mutate(Mutation(path, $0)) })
    }

    /// Returns a binding to a property. Writing sends an event.
    public func binding<Value: Sendable>(
        for path: any KeyPath<State, Value> & Sendable, event: @escaping @Sendable (Value) -> Event
    ) -> Binding<Value> {
        let (state, reach) = (state, reach)
        return Binding(get: { (reach.current() ?? state)[keyPath: path] }, set: { _ = reach.send(event($0)) })
    }

    /// Returns a function that sends an event on each call, for a button.
    public func action(for event: Event) -> @Sendable () -> Void {
        let send = reach.send
        return { _ = send(event) }
    }
}
