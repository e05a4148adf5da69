/// The interface of every store, whole or lensed: a state to read and watch, and actions to dispatch.
///
/// Corresponds to Recombine's `StoreProtocol`. Both `any StoreProtocol<Int, Never, Modification>` and ``AnyStore`` are
/// type-erased stores.
public protocol StoreProtocol<SubState, AsyncAction, SubAction>: AnyObject, Sendable {
    /// The visible part of the state; for a ``BaseStore``, the whole state.
    associatedtype SubState: Equatable & Sendable
    /// The actions for the thunk.
    associatedtype AsyncAction: Sendable
    /// The sync actions that the store accepts.
    associatedtype SubAction: Sendable

    /// The current state.
    var state: SubState { get }

    /// Dispatches one action.
    @discardableResult
    func dispatch(sync action: SubAction) -> Dispatch

    /// Dispatches actions in order.
    ///
    /// Each `.sync` element is one batch and produces one new state. `serially` and `collect` apply to the whole tree
    /// of actions that the dispatch causes.
    ///
    /// - Parameters:
    ///   - serially: If `false`, all async actions run side by side, and the store takes the actions that they yield as
    ///     they arrive. If `true`, async actions run one after the other. Everything that one causes, at any depth,
    ///     comes before the next element, and a thunk that yields an async action continues when that action is done.
    ///   - collect: If `false`, the store takes batches as they arrive. If `true`, it holds all dispatched and yielded
    ///     sync actions back, in order of arrival, until no thunk of the dispatch runs. It then takes them as one
    ///     batch, which produces one new state. It discards them if the dispatch is cancelled or exceeds a limit.
    ///   - actions: The actions to dispatch.
    /// - Returns: A handle, which you may ignore, await or cancel.
    @discardableResult
    func dispatch(serially: Bool, collect: Bool, actions: some Sequence<EitherAction<AsyncAction, SubAction>>)
        -> Dispatch

    /// Calls `handler` with the current state, then after each batch, even if the batch left the state unchanged. Calls
    /// happen on the store's executor, in the order in which watchers subscribed, so `handler` must be quick. `finish`
    /// is called when the store has stopped.
    func watchStates(_ handler: @escaping @Sendable (SubState) -> Void, finish: @escaping @Sendable () -> Void)
        -> Subscription

    /// Calls `handler` with the current state, then with each state that differs from the one before. In all other
    /// respects it behaves like ``watchStates(_:finish:)``.
    func watchChanges(_ handler: @escaping @Sendable (SubState) -> Void, finish: @escaping @Sendable () -> Void)
        -> Subscription
}

extension StoreProtocol {
    // MARK: Dispatching

    /// Dispatches one batch, which produces one new state.
    @inlinable
    @discardableResult
    public func dispatch(sync actions: SubAction...) -> Dispatch {
        dispatch(serially: false, collect: false, actions: CollectionOfOne(.sync(actions)))
    }

    /// Dispatches one batch, which produces one new state.
    @inlinable
    @discardableResult
    public func dispatch<S: Sequence<SubAction>>(sync actions: S) -> Dispatch {
        dispatch(serially: false, collect: false, actions: CollectionOfOne(.sync(Array(actions))))
    }

    /// Dispatches async actions; see ``dispatch(serially:collect:actions:)``.
    @inlinable
    @discardableResult
    public func dispatch(
        serially: Bool = false, collect: Bool = false, async actions: AsyncAction...
    ) -> Dispatch {
        dispatch(serially: serially, collect: collect, actions: CollectionOfOne(.async(actions)))
    }

    /// Dispatches async actions; see ``dispatch(serially:collect:actions:)``.
    @inlinable
    @discardableResult
    public func dispatch<S: Sequence<AsyncAction>>(
        serially: Bool = false, collect: Bool = false, async actions: S
    ) -> Dispatch {
        dispatch(serially: serially, collect: collect, actions: CollectionOfOne(.async(Array(actions))))
    }

    /// Dispatches actions of both kinds; see ``dispatch(serially:collect:actions:)``.
    @inlinable
    @discardableResult
    public func dispatch(
        serially: Bool = false, collect: Bool = false, _ actions: EitherAction<AsyncAction, SubAction>...
    ) -> Dispatch {
        dispatch(serially: serially, collect: collect, actions: actions)
    }

    // MARK: Watching

    /// Calls `handler` with the current state and then after each batch; see ``watchStates(_:finish:)``.
    @inlinable
    public func watchStates(_ handler: @escaping @Sendable (SubState) -> Void) -> Subscription {
        watchStates(handler, finish: {})
    }

    /// Calls `handler` with the current state, then with each state that differs; see ``watchChanges(_:finish:)``.
    @inlinable
    public func watchChanges(_ handler: @escaping @Sendable (SubState) -> Void) -> Subscription {
        watchChanges(handler, finish: {})
    }

    /// All updates: the current state, then the state after each batch. The sequence ends when the store stops or is
    /// released.
    @inlinable
    public var states: AsyncStream<SubState> { states(buffering: .unbounded) }

    /// Returns all updates, with a buffering policy for a reader that is slower than the store.
    @inlinable
    public func states(buffering: AsyncStream<SubState>.Continuation.BufferingPolicy) -> AsyncStream<SubState> {
        stream(buffering) { watchStates($0, finish: $1) }
    }

    /// All changes: the current state, then each state that differs from the one before. The sequence ends when the
    /// store stops or is released.
    @inlinable
    public var changes: AsyncStream<SubState> { changes(buffering: .unbounded) }

    /// Returns all changes, with a buffering policy for a reader that is slower than the store.
    @inlinable
    public func changes(buffering: AsyncStream<SubState>.Continuation.BufferingPolicy) -> AsyncStream<SubState> {
        stream(buffering) { watchChanges($0, finish: $1) }
    }

    // MARK: Binding

    /// Returns a binding to a part of the state. Writing dispatches an action made from the new value.
    public func binding<Value>(
        state part: @escaping @Sendable (SubState) -> Value, action: @escaping @Sendable (Value) -> SubAction
    ) -> Binding<Value> {
        Binding(get: { part(self.state) }, set: { self.dispatch(sync: action($0)) })
    }

    /// Returns a binding to the whole state. Writing dispatches an action made from the new value.
    public func binding(action: @escaping @Sendable (SubState) -> SubAction) -> Binding<SubState> {
        binding(state: { $0 }, action: action)
    }

    // MARK: Erasing

    /// Returns this store with its type erased.
    @inlinable
    public func eraseToAnyStore() -> AnyStore<SubState, AsyncAction, SubAction> { AnyStore(self) }

    /// A read-only view of this store.
    @inlinable
    public var readOnly: ReadOnlyStore<SubState> { ReadOnlyStore(self) }

    /// A write-only view of this store.
    @inlinable
    public var writeOnly: WriteOnlyStore<AsyncAction, SubAction> { WriteOnlyStore(self) }
}

/// Creates a stream from a watch function.
@inlinable
func stream<Value: Sendable>(
    _ buffering: AsyncStream<Value>.Continuation.BufferingPolicy,
    _ watch: (@escaping @Sendable (Value) -> Void, @escaping @Sendable () -> Void) -> Subscription
) -> AsyncStream<Value> {
    AsyncStream(bufferingPolicy: buffering) { continuation in
        let subscription = watch({ continuation.yield($0) }, { continuation.finish() })
        continuation.onTermination = { _ in subscription.cancel() }
    }
}
