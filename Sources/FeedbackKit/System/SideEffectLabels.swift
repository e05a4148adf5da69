// The functions of `SideEffect.swift`, with the argument labels of Feedbacks.
extension SideEffect {
    /// Binds the dependency of a function; the result is a function of the state.
    public static func make<A: Sendable, S, Result>(
        _ function: @escaping @Sendable (A, S) -> Result, arg: A
    ) -> @Sendable (S) -> Result {
        { state in function(arg, state) }
    }

    /// Binds the dependency of an async function; the result is an async function of the state.
    public static func make<A: Sendable, S, Result>(
        _ function: @escaping @Sendable (A, S) async -> Result, arg: A
    ) -> @Sendable (S) async -> Result {
        { state in await function(arg, state) }
    }

    /// Binds two dependencies of a function; the result is a function of the state.
    public static func make<A: Sendable, B: Sendable, S, Result>(
        _ function: @escaping @Sendable (A, B, S) -> Result, arg1: A, arg2: B
    ) -> @Sendable (S) -> Result {
        { state in function(arg1, arg2, state) }
    }

    /// Binds two dependencies of an async function; the result is an async function of the state.
    public static func make<A: Sendable, B: Sendable, S, Result>(
        _ function: @escaping @Sendable (A, B, S) async -> Result, arg1: A, arg2: B
    ) -> @Sendable (S) async -> Result {
        { state in await function(arg1, arg2, state) }
    }

    /// Binds three dependencies of a function; the result is a function of the state.
    public static func make<A: Sendable, B: Sendable, C: Sendable, S, Result>(
        _ function: @escaping @Sendable (A, B, C, S) -> Result, arg1: A, arg2: B, arg3: C
    ) -> @Sendable (S) -> Result {
        { state in function(arg1, arg2, arg3, state) }
    }

    /// Binds three dependencies of an async function; the result is an async function of the state.
    public static func make<A: Sendable, B: Sendable, C: Sendable, S, Result>(
        _ function: @escaping @Sendable (A, B, C, S) async -> Result, arg1: A, arg2: B, arg3: C
    ) -> @Sendable (S) async -> Result {
        { state in await function(arg1, arg2, arg3, state) }
    }

    /// Binds four dependencies of a function; the result is a function of the state.
    public static func make<A: Sendable, B: Sendable, C: Sendable, D: Sendable, S, Result>(
        _ function: @escaping @Sendable (A, B, C, D, S) -> Result, arg1: A, arg2: B, arg3: C, arg4: D
    ) -> @Sendable (S) -> Result {
        { state in function(arg1, arg2, arg3, arg4, state) }
    }

    /// Binds four dependencies of an async function; the result is an async function of the state.
    public static func make<A: Sendable, B: Sendable, C: Sendable, D: Sendable, S, Result>(
        _ function: @escaping @Sendable (A, B, C, D, S) async -> Result, arg1: A, arg2: B, arg3: C, arg4: D
    ) -> @Sendable (S) async -> Result {
        { state in await function(arg1, arg2, arg3, arg4, state) }
    }

    /// Binds five dependencies of a function; the result is a function of the state.
    public static func make<A: Sendable, B: Sendable, C: Sendable, D: Sendable, F: Sendable, S, Result>(
        _ function: @escaping @Sendable (A, B, C, D, F, S) -> Result, arg1: A, arg2: B, arg3: C, arg4: D, arg5: F
    ) -> @Sendable (S) -> Result {
        { state in function(arg1, arg2, arg3, arg4, arg5, state) }
    }

    /// Binds five dependencies of an async function; the result is an async function of the state.
    public static func make<A: Sendable, B: Sendable, C: Sendable, D: Sendable, F: Sendable, S, Result>(
        _ function: @escaping @Sendable (A, B, C, D, F, S) async -> Result, arg1: A, arg2: B, arg3: C, arg4: D, arg5: F
    ) -> @Sendable (S) async -> Result {
        { state in await function(arg1, arg2, arg3, arg4, arg5, state) }
    }
}
