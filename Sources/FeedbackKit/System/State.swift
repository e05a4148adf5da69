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
