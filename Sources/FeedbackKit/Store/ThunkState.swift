/// The store's state, as a thunk sees it.
///
/// In Recombine it is a publisher that gives the current state once, so that a thunk reads the state late, when its
/// work is done, and not the one it began with. Here it is an async function of the same meaning:
///
///     let data = try await load(url)
///     return [.sync(await state.map { .modify(.set($0.counter + data.count)) })]
///
/// It does not keep the store alive; when the store is gone it gives the state the thunk began with.
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

    /// The state as it is at this moment, whatever still waits to be taken.
    public var current: State { source() ?? first }

    /// The state when everything has been taken that was sent before: what this thunk itself has sent is in it. Of a
    /// thunk that answers with a sequence, only what the store has pulled from it so far has been sent.
    public func callAsFunction() async -> State {
        await withCheckedContinuation { continuation in
            read { continuation.resume(returning: $0) }
        }
    }

    /// Makes something of the state, read as by calling the value.
    public func map<T>(_ transform: (State) throws -> T) async rethrows -> T {
        try transform(await callAsFunction())
    }

    /// Calls `body` once with the state, when everything has been taken that was sent before; on the store's turn, so
    /// it should be quick. What publishers and other kinds of streams are made from.
    public func read(_ body: @escaping @Sendable (State) -> Void) {
        settle { body(current) }
    }
}
