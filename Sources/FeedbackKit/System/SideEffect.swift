/// Makes side effects of functions that need more than a state.
///
///     func load(client: Client, cache: Cache, state: LoadingState) async -> (any Event)? { … }
///
///     Feedback(on: LoadingState.self, strategy: .cancelOnNewState, perform: SideEffect.make(load, client, cache))
///
/// The state is the last parameter; up to five dependencies come before it. (Parameter packs would lift the limit, but
/// Swift 6.3 does not let a function type have a parameter behind a pack.)
public enum SideEffect {
    /// Gives a function its one dependency; what remains is a function of the state.
    public static func make<A: Sendable, S, Result>(
        _ function: @escaping @Sendable (A, S) -> Result, _ a: A
    ) -> @Sendable (S) -> Result {
        { state in function(a, state) }
    }

    /// Gives an async function its one dependency; what remains is an async function of the state.
    public static func make<A: Sendable, S, Result>(
        _ function: @escaping @Sendable (A, S) async -> Result, _ a: A
    ) -> @Sendable (S) async -> Result {
        { state in await function(a, state) }
    }

    /// Gives a function its two dependencies; what remains is a function of the state.
    public static func make<A: Sendable, B: Sendable, S, Result>(
        _ function: @escaping @Sendable (A, B, S) -> Result, _ a: A, _ b: B
    ) -> @Sendable (S) -> Result {
        { state in function(a, b, state) }
    }

    /// Gives an async function its two dependencies; what remains is an async function of the state.
    public static func make<A: Sendable, B: Sendable, S, Result>(
        _ function: @escaping @Sendable (A, B, S) async -> Result, _ a: A, _ b: B
    ) -> @Sendable (S) async -> Result {
        { state in await function(a, b, state) }
    }

    /// Gives a function its three dependencies; what remains is a function of the state.
    public static func make<A: Sendable, B: Sendable, C: Sendable, S, Result>(
        _ function: @escaping @Sendable (A, B, C, S) -> Result, _ a: A, _ b: B, _ c: C
    ) -> @Sendable (S) -> Result {
        { state in function(a, b, c, state) }
    }

    /// Gives an async function its three dependencies; what remains is an async function of the state.
    public static func make<A: Sendable, B: Sendable, C: Sendable, S, Result>(
        _ function: @escaping @Sendable (A, B, C, S) async -> Result, _ a: A, _ b: B, _ c: C
    ) -> @Sendable (S) async -> Result {
        { state in await function(a, b, c, state) }
    }

    /// Gives a function its four dependencies; what remains is a function of the state.
    public static func make<A: Sendable, B: Sendable, C: Sendable, D: Sendable, S, Result>(
        _ function: @escaping @Sendable (A, B, C, D, S) -> Result, _ a: A, _ b: B, _ c: C, _ d: D
    ) -> @Sendable (S) -> Result {
        { state in function(a, b, c, d, state) }
    }

    /// Gives an async function its four dependencies; what remains is an async function of the state.
    public static func make<A: Sendable, B: Sendable, C: Sendable, D: Sendable, S, Result>(
        _ function: @escaping @Sendable (A, B, C, D, S) async -> Result, _ a: A, _ b: B, _ c: C, _ d: D
    ) -> @Sendable (S) async -> Result {
        { state in await function(a, b, c, d, state) }
    }

    /// Gives a function its five dependencies; what remains is a function of the state.
    public static func make<A: Sendable, B: Sendable, C: Sendable, D: Sendable, F: Sendable, S, Result>(
        _ function: @escaping @Sendable (A, B, C, D, F, S) -> Result, _ a: A, _ b: B, _ c: C, _ d: D, _ f: F
    ) -> @Sendable (S) -> Result {
        { state in function(a, b, c, d, f, state) }
    }

    /// Gives an async function its five dependencies; what remains is an async function of the state.
    public static func make<A: Sendable, B: Sendable, C: Sendable, D: Sendable, F: Sendable, S, Result>(
        _ function: @escaping @Sendable (A, B, C, D, F, S) async -> Result, _ a: A, _ b: B, _ c: C, _ d: D, _ f: F
    ) -> @Sendable (S) async -> Result {
        { state in await function(a, b, c, d, f, state) }
    }
}
