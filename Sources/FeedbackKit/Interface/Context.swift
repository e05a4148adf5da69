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
    private let access: LoopAccess<State, Event>

    init(state: State, access: LoopAccess<State, Event>) {
        self.state = state
        self.access = access
    }

    /// A property of the state.
    public subscript<Value>(dynamicMember path: KeyPath<State, Value>) -> Value { state[keyPath: path] }

    /// Sends an event.
    @discardableResult
    public func send(event: Event) -> SendResult { access.send(event) }

    /// Sets a property of the state, in order with the events.
    @discardableResult
    public func mutate<Value: Sendable>(
        keyPath: any WritableKeyPath<State, Value> & Sendable, _ value: Value
    ) -> SendResult {
        access.mutate(Mutation(keyPath, value))
    }

    /// Returns a binding to a property. Writing sets the property, in order with the events.
    public func binding<Value: Sendable>(
        for path: any WritableKeyPath<State, Value> & Sendable
    ) -> Binding<Value> {
        let (state, access) = (state, access)
        return Binding(
            get: { (access.current() ?? state)[keyPath: path] }, set: { _ = access.mutate(Mutation(path, $0)) })
    }

    /// Returns a binding to a property. Writing sends an event.
    public func binding<Value: Sendable>(
        for path: any KeyPath<State, Value> & Sendable, event: @escaping @Sendable (Value) -> Event
    ) -> Binding<Value> {
        let (state, access) = (state, access)
        return Binding(get: { (access.current() ?? state)[keyPath: path] }, set: { _ = access.send(event($0)) })
    }

    /// Returns a function that sends an event on each call, for a button.
    public func action(for event: Event) -> @Sendable () -> Void {
        let send = access.send
        return { _ = send(event) }
    }
}
