/// A direct change to a state without an event of its own, such as a text field that writes a property.
public struct Mutation<State>: Sendable {
    @usableFromInline let body: @Sendable (inout State) -> Void

    /// Creates a change from a function.
    @inlinable
    public init(_ body: @escaping @Sendable (inout State) -> Void) {
        self.body = body
    }

    /// Creates a change that sets a property.
    @inlinable
    public init<Value: Sendable>(_ path: any WritableKeyPath<State, Value> & Sendable, _ value: Value) {
        body = { $0[keyPath: path] = value }
    }

    /// Applies the change to a state.
    @inlinable
    public func apply(to state: inout State) { body(&state) }
}

/// The input of a loop with a user interface: its own events, and direct changes that the interface makes to the state.
///
/// Both share one mailbox, so a keystroke and the button press after it are taken in that order.
public enum Update<State: Sendable, Event: Sendable>: Sendable {
    /// An event, for the reducer.
    case event(Event)
    /// A direct change.
    case mutation(Mutation<State>)

    /// The case path to the events.
    @inlinable
    public static var events: CasePath<Update, Event> {
        CasePath(
            embed: { .event($0) },
            extract: { update in
                if case .event(let event) = update { event } else { nil }
            })
    }
}
