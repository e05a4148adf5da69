/// The store's state for a thunk.
///
/// In Recombine it is a publisher that emits the current state once. A thunk thus reads the state when its work is
/// done, and not the state at its start. Here it is an async function with the same meaning:
///
///     let data = try await load(url)
///     return [.sync(await state.map { .modify(.set($0.counter + data.count)) })]
///
/// It does not keep the store alive. When the store is gone, it returns the state in which the thunk started.
public struct ThunkState<State: Sendable>: Sendable {
    @usableFromInline let source: @Sendable () -> State?
    @usableFromInline let settle: @Sendable (@escaping @Sendable () -> Void) -> Void
    @usableFromInline let first: State

    @inlinable
    init(
        first: State, source: @escaping @Sendable () -> State?,
        settle: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void
    ) {
        self.first = first
        self.source = source
        self.settle = settle
    }

    /// The state at this moment, without the actions that still wait.
    public var current: State { source() ?? first }

    /// Returns the state after everything sent before has been taken, including the actions that this thunk has sent.
    /// For a thunk that returns a sequence, those are the elements that the store has pulled so far.
    public func callAsFunction() async -> State {
        await withCheckedContinuation { continuation in
            read { continuation.resume(returning: $0) }
        }
    }

    /// Reads the state as by calling the value, and transforms it.
    public func map<T>(_ transform: (State) throws -> T) async rethrows -> T {
        try transform(await callAsFunction())
    }

    /// Calls `body` once with the state, after everything sent before has been taken. `body` runs on the store's
    /// executor, so it must be quick. Use this to build publishers and other kinds of streams.
    public func read(_ body: @escaping @Sendable (State) -> Void) {
        settle { body(current) }
    }
}
