/// A pure function that changes a state on an event, with the environment it needs.
///
/// `Reducer<S, E>` needs none; `Reducer<S, E, Environment>` is given one at each call. In the store's words the event is
/// an action. With two environments or more, a closure must name the type of its first parameter, `inout S`: Swift 6.3
/// does not infer it.
public struct Reducer<State, Event, each Environment>: Sendable {
    /// Changes the state.
    public typealias Body = @Sendable (inout State, Event, repeat each Environment) -> Void

    @usableFromInline let body: Body

    /// A reducer that changes the state in place.
    @inlinable
    @_disfavoredOverload  // Where there is no environment, the other one is meant.
    public init(_ body: @escaping Body) {
        self.body = body
    }

    /// A reducer that changes the state in place and needs no environment.
    @inlinable
    public init(_ body: @escaping @Sendable (inout State, Event) -> Void) {
        self.body = { (state: inout State, event: Event, environment: repeat each Environment) in
            body(&state, event)
        }
    }

    /// A reducer that returns the new state.
    @inlinable
    public static func returning(
        _ body: @escaping @Sendable (State, Event, repeat each Environment) -> State
    ) -> Reducer {
        Reducer { (state: inout State, event: Event, environment: repeat each Environment) in
            state = body(state, event, repeat each environment)
        }
    }

    /// Changes the state.
    @inlinable
    public func callAsFunction(_ state: inout State, _ event: Event, _ environment: repeat each Environment) {
        body(&state, event, repeat each environment)
    }

    /// The changed state.
    @inlinable
    public func callAsFunction(state: State, action: Event, _ environment: repeat each Environment) -> State {
        var state = state
        body(&state, action, repeat each environment)
        return state
    }

    /// One after the other, each on what the one before has made.
    @inlinable
    public static func combine(_ reducers: [Reducer]) -> Reducer {
        Reducer { (state: inout State, event: Event, environment: repeat each Environment) in
            for reducer in reducers { reducer.body(&state, event, repeat each environment) }
        }
    }

    /// One after the other, each on what the one before has made.
    @inlinable
    public static func combine(_ reducers: Reducer...) -> Reducer { combine(reducers) }

    /// The same as `combine`, as Recombine writes it.
    @inlinable
    public init(_ first: Reducer, _ second: Reducer, _ others: Reducer...) {
        self = .combine([first, second] + others)
    }
}

extension Reducer {
    /// The reducer on a part of a larger state and those events of a larger kind that are its concern.
    @inlinable
    public func pullback<WholeState, WholeEvent>(
        state path: any WritableKeyPath<WholeState, State> & Sendable,
        event extract: @escaping @Sendable (WholeEvent) -> Event?
    ) -> Reducer<WholeState, WholeEvent, repeat each Environment> {
        let body = body
        return Reducer<WholeState, WholeEvent, repeat each Environment> {
            (whole: inout WholeState, event: WholeEvent, environment: repeat each Environment) in
            guard let event = extract(event) else { return }
            body(&whole[keyPath: path], event, repeat each environment)
        }
    }

    /// The reducer on a state that may be missing; then it does nothing.
    @inlinable
    public func optional() -> Reducer<State?, Event, repeat each Environment> {
        let body = body
        return Reducer<State?, Event, repeat each Environment> {
            (state: inout State?, event: Event, environment: repeat each Environment) in
            guard var present = state.take() else { return }
            body(&present, event, repeat each environment)
            state = present
        }
    }

    /// The same reducer, which tells `log` each event with the states before and after.
    @inlinable
    public func logging(
        _ log: @escaping @Sendable (_ event: Event, _ before: State, _ after: State) -> Void
    ) -> Reducer {
        let body = body
        return Reducer { (state: inout State, event: Event, environment: repeat each Environment) in
            let before = state
            body(&state, event, repeat each environment)
            log(event, before, state)
        }
    }
}
