/// Creates side effects from functions that take dependencies and a state.
///
///     func load(client: Client, cache: Cache, state: LoadingState) async -> (any Event)? { … }
///
///     Feedback(on: LoadingState.self, strategy: .cancelOnNewState, perform: SideEffect.make(load, client, cache))
///
/// The state is the last parameter, after up to five dependencies. Parameter packs would remove the limit, but in Swift
/// 6.3 a function type cannot have a parameter after a pack.
public enum SideEffect {
    /// Binds the dependency of a function; the result is a function of the state.
    public static func make<A: Sendable, S, Result>(
        _ function: @escaping @Sendable (A, S) -> Result, _ a: A
    ) -> @Sendable (S) -> Result {
        { state in function(a, state) }
    }

    /// Binds the dependency of an async function; the result is an async function of the state.
    public static func make<A: Sendable, S, Result>(
        _ function: @escaping @Sendable (A, S) async -> Result, _ a: A
    ) -> @Sendable (S) async -> Result {
        { state in await function(a, state) }
    }

    /// Binds two dependencies of a function; the result is a function of the state.
    public static func make<A: Sendable, B: Sendable, S, Result>(
        _ function: @escaping @Sendable (A, B, S) -> Result, _ a: A, _ b: B
    ) -> @Sendable (S) -> Result {
        { state in function(a, b, state) }
    }

    /// Binds two dependencies of an async function; the result is an async function of the state.
    public static func make<A: Sendable, B: Sendable, S, Result>(
        _ function: @escaping @Sendable (A, B, S) async -> Result, _ a: A, _ b: B
    ) -> @Sendable (S) async -> Result {
        { state in await function(a, b, state) }
    }

    /// Binds three dependencies of a function; the result is a function of the state.
    public static func make<A: Sendable, B: Sendable, C: Sendable, S, Result>(
        _ function: @escaping @Sendable (A, B, C, S) -> Result, _ a: A, _ b: B, _ c: C
    ) -> @Sendable (S) -> Result {
        { state in function(a, b, c, state) }
    }

    /// Binds three dependencies of an async function; the result is an async function of the state.
    public static func make<A: Sendable, B: Sendable, C: Sendable, S, Result>(
        _ function: @escaping @Sendable (A, B, C, S) async -> Result, _ a: A, _ b: B, _ c: C
    ) -> @Sendable (S) async -> Result {
        { state in await function(a, b, c, state) }
    }

    /// Binds four dependencies of a function; the result is a function of the state.
    public static func make<A: Sendable, B: Sendable, C: Sendable, D: Sendable, S, Result>(
        _ function: @escaping @Sendable (A, B, C, D, S) -> Result, _ a: A, _ b: B, _ c: C, _ d: D
    ) -> @Sendable (S) -> Result {
        { state in function(a, b, c, d, state) }
    }

    /// Binds four dependencies of an async function; the result is an async function of the state.
    public static func make<A: Sendable, B: Sendable, C: Sendable, D: Sendable, S, Result>(
        _ function: @escaping @Sendable (A, B, C, D, S) async -> Result, _ a: A, _ b: B, _ c: C, _ d: D
    ) -> @Sendable (S) async -> Result {
        { state in await function(a, b, c, d, state) }
    }

    /// Binds five dependencies of a function; the result is a function of the state.
    public static func make<A: Sendable, B: Sendable, C: Sendable, D: Sendable, F: Sendable, S, Result>(
        _ function: @escaping @Sendable (A, B, C, D, F, S) -> Result, _ a: A, _ b: B, _ c: C, _ d: D, _ f: F
    ) -> @Sendable (S) -> Result {
        { state in function(a, b, c, d, f, state) }
    }

    /// Binds five dependencies of an async function; the result is an async function of the state.
    public static func make<A: Sendable, B: Sendable, C: Sendable, D: Sendable, F: Sendable, S, Result>(
        _ function: @escaping @Sendable (A, B, C, D, F, S) async -> Result, _ a: A, _ b: B, _ c: C, _ d: D, _ f: F
    ) -> @Sendable (S) async -> Result {
        { state in await function(a, b, c, d, f, state) }
    }
}
