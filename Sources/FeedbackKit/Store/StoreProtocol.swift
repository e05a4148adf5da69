/// What every store has, whole or lensed: a state that can be read and watched, and actions that can be dispatched.
///
/// After Recombine's `StoreProtocol`. `any StoreProtocol<Int, Never, Modification>` is a type-erased store, and so is
/// ``AnyStore``.
public protocol StoreProtocol<SubState, AsyncAction, SubAction>: AnyObject, Sendable {
    /// The part of the state that the store shows; the whole, for a ``BaseStore``.
    associatedtype SubState: Equatable & Sendable
    /// The actions for the thunk.
    associatedtype AsyncAction: Sendable
    /// The sync actions that the store takes.
    associatedtype SubAction: Sendable

    /// The current state.
    var state: SubState { get }

    /// Dispatches one action.
    @discardableResult
    func dispatch(sync action: SubAction) -> Dispatch

    /// Dispatches actions, in order.
    ///
    /// Each `.sync` element is one batch and gives one new state. What holds for `serially` and `collect` holds for the
    /// whole tree of what the actions lead to.
    ///
    /// - Parameters:
    ///   - serially: `false`: all async actions run side by side, and what they yield is taken as it comes. `true`: one
    ///     after the other: all that an async action leads to, at any depth, comes before the next element; a thunk
    ///     that yields an async action goes on when that one is done.
    ///   - collect: `false`: batches are taken as they come. `true`: all sync actions, those dispatched and those
    ///     yielded, are held back in the order in which they came until no thunk of the dispatch runs any more, and
    ///     are then taken as one batch, which gives one new state. If the dispatch is cancelled, or ended for going
    ///     beyond a limit, they are discarded.
    ///   - actions: what to dispatch.
    /// - Returns: the dispatch, which may be let go of, awaited or cancelled.
    @discardableResult
    func dispatch(serially: Bool, collect: Bool, actions: some Sequence<EitherAction<AsyncAction, SubAction>>)
        -> Dispatch

    /// Calls `see` with the current state and then after each batch, whether or not it changed the state; on the
    /// store's turn, in the order in which watchers subscribed, so it should be quick. `finish` is called when the store
    /// has stopped.
    func watchStates(_ see: @escaping @Sendable (SubState) -> Void, finish: @escaping @Sendable () -> Void)
        -> Subscription

    /// Calls `see` with the current state and then with each that differs from the one before; otherwise as
    /// ``watchStates(_:finish:)``.
    func watchChanges(_ see: @escaping @Sendable (SubState) -> Void, finish: @escaping @Sendable () -> Void)
        -> Subscription
}

extension StoreProtocol {
    // MARK: Dispatching

    /// Dispatches one batch, which gives one new state.
    @inlinable
    @discardableResult
    public func dispatch(sync actions: SubAction...) -> Dispatch {
        dispatch(serially: false, collect: false, actions: CollectionOfOne(.sync(actions)))
    }

    /// Dispatches one batch, which gives one new state.
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

    /// Calls `see` with the current state and then after each batch; see ``watchStates(_:finish:)``.
    @inlinable
    public func watchStates(_ see: @escaping @Sendable (SubState) -> Void) -> Subscription {
        watchStates(see, finish: {})
    }

    /// Calls `see` with the current state and then with each that differs; see ``watchChanges(_:finish:)``.
    @inlinable
    public func watchChanges(_ see: @escaping @Sendable (SubState) -> Void) -> Subscription {
        watchChanges(see, finish: {})
    }

    /// All updates: the current state, then the state after each batch. Ends when the store stops, which happens also
    /// when it is released.
    @inlinable
    public var states: AsyncStream<SubState> { states(buffering: .unbounded) }

    /// All updates, with a choice of what to keep for a reader that is slower than the store.
    @inlinable
    public func states(buffering: AsyncStream<SubState>.Continuation.BufferingPolicy) -> AsyncStream<SubState> {
        stream(buffering) { watchStates($0, finish: $1) }
    }

    /// Changes only: the current state, then each that differs from the one before. Ends when the store stops, which
    /// happens also when it is released.
    @inlinable
    public var changes: AsyncStream<SubState> { changes(buffering: .unbounded) }

    /// Changes only, with a choice of what to keep for a reader that is slower than the store.
    @inlinable
    public func changes(buffering: AsyncStream<SubState>.Continuation.BufferingPolicy) -> AsyncStream<SubState> {
        stream(buffering) { watchChanges($0, finish: $1) }
    }

    // MARK: Binding

    /// A binding to a part of the state; writing dispatches the action made from the value.
    public func binding<Value>(
        state part: @escaping @Sendable (SubState) -> Value, action: @escaping @Sendable (Value) -> SubAction
    ) -> Binding<Value> {
        Binding(get: { part(self.state) }, set: { self.dispatch(sync: action($0)) })
    }

    /// A binding to the state; writing dispatches the action made from it.
    public func binding(action: @escaping @Sendable (SubState) -> SubAction) -> Binding<SubState> {
        binding(state: { $0 }, action: action)
    }

    // MARK: Erasing

    /// The store without its base.
    @inlinable
    public func eraseToAnyStore() -> AnyStore<SubState, AsyncAction, SubAction> { AnyStore(self) }

    /// The store without its actions.
    @inlinable
    public var readOnly: ReadOnlyStore<SubState> { ReadOnlyStore(self) }

    /// The store without its state.
    @inlinable
    public var writeOnly: WriteOnlyStore<AsyncAction, SubAction> { WriteOnlyStore(self) }
}

/// Makes a stream of a watcher.
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
