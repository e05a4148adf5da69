/// A state of a ``System``: a plain value, only ever replaced by a transition.
public protocol State: Sendable {
    /// A name for the type that stays the same when the type is renamed, for descriptions and recordings.
    /// By default the type's full name.
    static var identity: String { get }
}

extension State {
    /// The type's full name, with its module.
    public static var identity: String { String(reflecting: Self.self) }
}

/// Something that happened, and may lead a ``System`` into another state.
public protocol Event: Sendable {
    /// A name for the type that stays the same when the type is renamed, for descriptions and recordings.
    /// By default the type's full name.
    static var identity: String { get }
}

extension Event {
    /// The type's full name, with its module.
    public static var identity: String { String(reflecting: Self.self) }
}

/// Stands for every state, in `From(AnyState.self)` and `Feedback(on: AnyState.self)`. It has no values.
public enum AnyState: State {
    /// `any`
    public static var identity: String { "any" }
}

/// Stands for every event, in `On(AnyEvent.self)`. It has no values.
public enum AnyEvent: Event {
    /// `any`
    public static var identity: String { "any" }
}

/// The state a ``System`` starts in.
public struct InitialState: Sendable {
    let state: any State

    /// Builds the first state.
    public init(@InitialStateBuilder _ state: () -> any State) {
        self.state = state()
    }
}

/// Lets `if` and `switch` choose the first state.
@resultBuilder
public enum InitialStateBuilder {
    /// The state.
    public static func buildExpression(_ state: any State) -> any State { state }
    /// The state.
    public static func buildBlock(_ state: any State) -> any State { state }
    /// The state of the branch taken.
    public static func buildEither(first state: any State) -> any State { state }
    /// The state of the branch taken.
    public static func buildEither(second state: any State) -> any State { state }
}

/// The value, if it is a `T`.
///
/// Like `value as? T`, but where the value is exactly a `T`, and where it cannot be one, without asking the runtime,
/// which costs as much as a whole turn of the loop.
@inlinable
func exact<T: State>(_ value: any State, _ target: T.Type) -> T? {
    func open<Value: State>(_ value: Value) -> T? {
        // The types are one, so the sizes are, too, and the bits of the one are a value of the other.
        Value.self == T.self ? unsafeBitCast(value, to: T.self) : nil
    }
    if let value = _openExistential(value, do: open) { return value }
    // Only a class has values that are of another type as well.
    return T.self is AnyClass ? value as? T : nil
}

/// The same for an event.
@inlinable
func exact<T: Event>(_ value: any Event, _ target: T.Type) -> T? {
    func open<Value: Event>(_ value: Value) -> T? {
        // As above.
        Value.self == T.self ? unsafeBitCast(value, to: T.self) : nil
    }
    if let value = _openExistential(value, do: open) { return value }
    return T.self is AnyClass ? value as? T : nil
}
