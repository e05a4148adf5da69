/// What a rendering is given: a state, whose properties are its own, and the ways back into the machine. After
/// CombineFeedback's `Context`.
///
///     func render(_ context: Context<SignIn.State, SignIn.Event>) -> String {
///         "\(context.email) \(context.password.isEmpty ? "-" : "*")"
///     }
///
/// The state it shows is the one it was made for, also when the machine has gone on. A binding reads the machine's
/// current state: so what is written can be read back, as soon as the machine has taken it; the original's reads the
/// state shown. A context does not keep the machine alive; when it is gone, what is sent is dropped, and the answer
/// says so.
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

    /// A binding to a property; writing sets the property, in order with the events.
    public func binding<Value: Sendable>(
        for path: any WritableKeyPath<State, Value> & Sendable
    ) -> Binding<Value> {
        let (state, reach) = (state, reach)
        return Binding(
            get: { (reach.current() ?? state)[keyPath: path] }, set: { _ = reach.mutate(Mutation(path, $0)) })
    }

    /// A binding to a property; writing sends an event.
    public func binding<Value: Sendable>(
        for path: any KeyPath<State, Value> & Sendable, event: @escaping @Sendable (Value) -> Event
    ) -> Binding<Value> {
        let (state, reach) = (state, reach)
        return Binding(get: { (reach.current() ?? state)[keyPath: path] }, set: { _ = reach.send(event($0)) })
    }

    /// A function that sends an event each time it is called: what a button is given.
    public func action(for event: Event) -> @Sendable () -> Void {
        let send = reach.send
        return { _ = send(event) }
    }
}
