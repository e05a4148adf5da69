/// A state of a ``System``: an immutable value that a transition replaces.
public protocol State: Sendable {
    /// A name for the type in descriptions and recordings. Keep it when you rename the type. The default is the type's
    /// full name. It does not contain the file of a private type or the function of a local type. So give an identity
    /// to such a type if another one in the same table or codec has the same full name.
    static var identity: String { get }
}

extension State {
    /// The type's full name, with its module.
    public static var identity: String { defaultIdentity(of: Self.self) }
}

/// An event, which may move a ``System`` into another state.
public protocol Event: Sendable {
    /// A name for the type in descriptions and recordings. Keep it when you rename the type. The default is the type's
    /// full name. It does not contain the file of a private type or the function of a local type. So give an identity
    /// to such a type if another one in the same codec has the same full name.
    static var identity: String { get }
}

extension Event {
    /// The type's full name, with its module.
    public static var identity: String { defaultIdentity(of: Self.self) }
}

/// Returns the full name of a type, with its module.
///
/// Swift names the file of a private type and the function of a local type by an address, as in
/// `Door.(unknown context at $55f51a5cece4).Opened`. The address is another one in each process, so the result does not
/// contain it.
package func defaultIdentity(of type: Any.Type) -> String {
    let address = "(unknown context at $"
    var rest = String(reflecting: type)[...]
    var name = ""
    while let open = rest.firstIndex(of: "(") {
        name += rest[..<open]
        rest = rest[open...]
        if rest.hasPrefix(address), let close = rest.firstIndex(of: ")") {
            rest = rest[rest.index(after: close)...]
            if rest.first == "." { rest = rest.dropFirst() }
        } else {
            name.append(rest.removeFirst())
        }
    }
    name += rest
    return name
}

/// A placeholder for every state, in `From(AnyState.self)` and `Feedback(on: AnyState.self)`. It has no values.
public enum AnyState: State {
    /// The text `any`.
    public static var identity: String { "any" }
}

/// A placeholder for every event, in `On(AnyEvent.self)`. It has no values.
public enum AnyEvent: Event {
    /// The text `any`.
    public static var identity: String { "any" }
}

/// The state in which a ``System`` starts.
public struct InitialState: Sendable {
    let state: any State

    /// Creates the first state.
    public init(@InitialStateBuilder _ state: () -> any State) {
        self.state = state()
    }
}

/// Supports `if` and `switch` in an ``InitialState``.
@resultBuilder
public enum InitialStateBuilder {
    /// Accepts a state.
    public static func buildExpression(_ state: any State) -> any State { state }
    /// Returns the state.
    public static func buildBlock(_ state: any State) -> any State { state }
    /// Returns the state of the branch taken.
    public static func buildEither(first state: any State) -> any State { state }
    /// Returns the state of the branch taken.
    public static func buildEither(second state: any State) -> any State { state }
}

/// Returns the value if it is a `T`.
///
/// The result equals `value as? T`. It avoids the dynamic cast if the value's type is exactly `T`, or if the value
/// cannot be a `T`. A dynamic cast costs as much as all other work on an event.
@inlinable
func exact<T: State>(_ value: any State, _ target: T.Type) -> T? {
    func open<Value: State>(_ value: Value) -> T? {
        // Both types are identical, so the bits of the existential's value are a valid `T`.
        Value.self == T.self ? unsafeBitCast(value, to: T.self) : nil
    }
    if let value = _openExistential(value, do: open) { return value }
    // Only a class has values that also belong to another type.
    return T.self is AnyClass ? value as? T : nil
}

/// Returns the event if it is an `E`; see the function for states.
@inlinable
func exact<T: Event>(_ value: any Event, _ target: T.Type) -> T? {
    func open<Value: Event>(_ value: Value) -> T? {
        // As above.
        Value.self == T.self ? unsafeBitCast(value, to: T.self) : nil
    }
    if let value = _openExistential(value, do: open) { return value }
    return T.self is AnyClass ? value as? T : nil
}
