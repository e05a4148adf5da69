/// A type-erased store that hides where its state and actions come from.
///
/// Corresponds to Recombine's `AnyStore`. It keeps the wrapped store alive.
public final class AnyStore<SubState: Equatable & Sendable, AsyncAction: Sendable, SubAction: Sendable>:
    StoreProtocol
{
    private let store: any StoreProtocol<SubState, AsyncAction, SubAction>

    /// Wraps any store with this state and these actions.
    public init(_ store: some StoreProtocol<SubState, AsyncAction, SubAction>) {
        self.store = (store as? AnyStore)?.store ?? store
    }

    /// The current state.
    public var state: SubState { store.state }

    /// Dispatches one action.
    @discardableResult
    public func dispatch(sync action: SubAction) -> Dispatch { store.dispatch(sync: action) }

    /// Dispatches several actions; see ``StoreProtocol/dispatch(serially:collect:actions:)``.
    @discardableResult
    public func dispatch(
        serially: Bool, collect: Bool, actions: some Sequence<EitherAction<AsyncAction, SubAction>>
    ) -> Dispatch {
        store.dispatch(serially: serially, collect: collect, actions: actions)
    }

    /// Calls `handler` with the current state and then after each batch.
    public func watchStates(
        _ handler: @escaping @Sendable (SubState) -> Void, finish: @escaping @Sendable () -> Void
    ) -> Subscription {
        store.watchStates(handler, finish: finish)
    }

    /// Calls `handler` with the current state, then with each state that differs from the one before.
    public func watchChanges(
        _ handler: @escaping @Sendable (SubState) -> Void, finish: @escaping @Sendable () -> Void
    ) -> Subscription {
        store.watchChanges(handler, finish: finish)
    }
}

/// A read-only view of a store; it dispatches neither sync nor async actions.
///
/// Recombine's read-only lens still accepts async actions.
public struct ReadOnlyStore<SubState: Equatable & Sendable>: Sendable {
    private let read: @Sendable () -> SubState
    private let watch:
        @Sendable (_ changesOnly: Bool, @escaping @Sendable (SubState) -> Void, @escaping @Sendable () -> Void) ->
            Subscription

    /// Creates a read-only view of a store.
    public init(_ store: some StoreProtocol<SubState, some Sendable, some Sendable>) {
        read = { store.state }
        watch = { changesOnly, handler, finish in
            changesOnly ? store.watchChanges(handler, finish: finish) : store.watchStates(handler, finish: finish)
        }
    }

    /// The current state.
    public var state: SubState { read() }

    /// Calls `handler` with the current state and then after each batch; see ``StoreProtocol/watchStates(_:finish:)``.
    public func watchStates(
        _ handler: @escaping @Sendable (SubState) -> Void, finish: @escaping @Sendable () -> Void = {}
    ) -> Subscription {
        watch(false, handler, finish)
    }

    /// Calls `handler` with the current state, then with each state that differs from the one before.
    public func watchChanges(
        _ handler: @escaping @Sendable (SubState) -> Void, finish: @escaping @Sendable () -> Void = {}
    ) -> Subscription {
        watch(true, handler, finish)
    }

    /// Returns a read-only view of a part of the state.
    public func lensing<Part: Equatable & Sendable>(
        state lens: @escaping @Sendable (SubState) -> Part
    ) -> ReadOnlyStore<Part> {
        let (read, watch) = (read, watch)
        return ReadOnlyStore<Part>(read: { lens(read()) }) { changesOnly, handler, finish in
            guard changesOnly else { return watch(false, { handler(lens($0)) }, finish) }
            let last = Last<Part>()
            return watch(true, { state in if let new = last.update(lens(state)) { handler(new) } }, finish)
        }
    }

    private init(
        read: @escaping @Sendable () -> SubState,
        watch:
            @escaping @Sendable (
                _ changesOnly: Bool, @escaping @Sendable (SubState) -> Void, @escaping @Sendable () -> Void
            )
            -> Subscription
    ) {
        self.read = read
        self.watch = watch
    }

    /// All updates, beginning with the current state.
    public var states: AsyncStream<SubState> { stream(.unbounded) { watchStates($0, finish: $1) } }

    /// All changes, beginning with the current state.
    public var changes: AsyncStream<SubState> { stream(.unbounded) { watchChanges($0, finish: $1) } }
}

/// A write-only view of a store; it dispatches actions and shows no state.
///
/// Corresponds to Recombine's `ActionLens`.
public struct WriteOnlyStore<AsyncAction: Sendable, SubAction: Sendable>: Sendable {
    private let body: @Sendable (Bool, Bool, [EitherAction<AsyncAction, SubAction>]) -> Dispatch

    /// Creates a write-only view of a store.
    public init(_ store: some StoreProtocol<some Equatable & Sendable, AsyncAction, SubAction>) {
        body = { store.dispatch(serially: $0, collect: $1, actions: $2) }
    }

    /// Dispatches one batch, which produces one new state.
    @discardableResult
    public func dispatch(sync actions: SubAction...) -> Dispatch { body(false, false, [.sync(actions)]) }

    /// Dispatches async actions; see ``StoreProtocol/dispatch(serially:collect:actions:)``.
    @discardableResult
    public func dispatch(serially: Bool = false, collect: Bool = false, async actions: AsyncAction...) -> Dispatch {
        body(serially, collect, [.async(actions)])
    }

    /// Dispatches actions of both kinds; see ``StoreProtocol/dispatch(serially:collect:actions:)``.
    @discardableResult
    public func dispatch(
        serially: Bool = false, collect: Bool = false, _ actions: EitherAction<AsyncAction, SubAction>...
    ) -> Dispatch {
        body(serially, collect, actions)
    }

    /// Returns a view that accepts only some of the actions.
    public func lensing<PartAction: Sendable>(
        actions widen: @escaping @Sendable (PartAction) -> SubAction
    ) -> WriteOnlyStore<AsyncAction, PartAction> {
        let body = body
        return WriteOnlyStore<AsyncAction, PartAction> { serially, collect, actions in
            body(serially, collect, actions.map { $0.map(sync: widen) })
        }
    }

    private init(_ body: @escaping @Sendable (Bool, Bool, [EitherAction<AsyncAction, SubAction>]) -> Dispatch) {
        self.body = body
    }
}
