/// A change to a state that no event of its own stands for: a text field writes a property.
public struct Mutation<State>: Sendable {
    @usableFromInline let body: @Sendable (inout State) -> Void

    /// A change by a function.
    @inlinable
    public init(_ body: @escaping @Sendable (inout State) -> Void) {
        self.body = body
    }

    /// Sets a property.
    @inlinable
    public init<Value: Sendable>(_ path: any WritableKeyPath<State, Value> & Sendable, _ value: Value) {
        body = { $0[keyPath: path] = value }
    }

    /// Changes a state.
    @inlinable
    public func apply(to state: inout State) { body(&state) }
}

/// What a loop with an interface takes: its own events, and changes that the interface makes to the state directly.
///
/// Both go through the one mailbox, so that a keystroke and the button pressed after it are taken in that order.
public enum Update<State: Sendable, Event: Sendable>: Sendable {
    /// An event, for the reducer.
    case event(Event)
    /// A direct change.
    case mutation(Mutation<State>)

    /// The way into the events.
    @inlinable
    public static var events: CasePath<Update, Event> {
        CasePath(
            embed: { .event($0) },
            extract: { update in
                if case .event(let event) = update { event } else { nil }
            })
    }
}
