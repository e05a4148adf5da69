/// A store that shows a part of another store's state and accepts a subset of its actions.
///
/// Corresponds to Recombine's `LensedStore`, with the parameters in the document's order. It has no state, queue or
/// loop of its own: it reads from its base and dispatches into it. A lens on a lens holds the base directly, so every
/// depth costs one step. It keeps the base alive. Its `changes` contain only different values of the part; its `states`
/// contain every update of the base.
public final class LensedStore<
    State: Equatable & Sendable, SubState: Equatable & Sendable, AsyncAction: Sendable, SyncAction: Sendable,
    SubAction: Sendable
>: StoreProtocol {
    /// The store that holds the whole state.
    public let base: BaseStore<State, AsyncAction, SyncAction>
    @usableFromInline let lens: @Sendable (State) -> SubState
    @usableFromInline let promote: @Sendable (SubAction) -> SyncAction

    /// Creates a view of a part of a store.
    ///
    /// - Parameters:
    ///   - base: The store that holds the whole state.
    ///   - lens: Extracts the part from the state. It must be pure and quick.
    ///   - promote: Converts an action of the part into an action of the base.
    @inlinable
    public init(
        _ base: BaseStore<State, AsyncAction, SyncAction>, state lens: @escaping @Sendable (State) -> SubState,
        actions promote: @escaping @Sendable (SubAction) -> SyncAction
    ) {
        self.base = base
        self.lens = lens
        self.promote = promote
    }

    /// The part of the current state.
    @inlinable public var state: SubState { lens(base.state) }

    /// Dispatches one action into the base.
    @inlinable
    @discardableResult
    public func dispatch(sync action: SubAction) -> Dispatch { base.dispatch(sync: promote(action)) }

    /// Dispatches several actions into the base; see ``StoreProtocol/dispatch(serially:collect:actions:)``.
    @inlinable
    @discardableResult
    public func dispatch(
        serially: Bool, collect: Bool, actions: some Sequence<EitherAction<AsyncAction, SubAction>>
    ) -> Dispatch {
        base.dispatch(serially: serially, collect: collect, actions: actions.map { $0.map(sync: promote) })
    }

    /// Calls `handler` with the current part, then after each batch of the base.
    @inlinable
    public func watchStates(
        _ handler: @escaping @Sendable (SubState) -> Void, finish: @escaping @Sendable () -> Void
    ) -> Subscription {
        let lens = lens
        return base.watchStates({ handler(lens($0)) }, finish: finish)
    }

    /// Calls `handler` with the current part, then with each value of the part that differs from the one before.
    @inlinable
    public func watchChanges(
        _ handler: @escaping @Sendable (SubState) -> Void, finish: @escaping @Sendable () -> Void
    ) -> Subscription {
        let lens = lens
        let last = Last<SubState>()
        return base.watchChanges({ state in if let new = last.update(lens(state)) { handler(new) } }, finish: finish)
    }
}

/// A part of a store of any type, for ``StoreProtocol/lensing(state:actions:)``.
@usableFromInline
final class StoreLens<Base: StoreProtocol, SubState: Equatable & Sendable, SubAction: Sendable>: StoreProtocol {
    @usableFromInline typealias AsyncAction = Base.AsyncAction

    private let base: Base
    private let lens: @Sendable (Base.SubState) -> SubState
    private let promote: @Sendable (SubAction) -> Base.SubAction

    @usableFromInline
    init(
        _ base: Base, state lens: @escaping @Sendable (Base.SubState) -> SubState,
        actions promote: @escaping @Sendable (SubAction) -> Base.SubAction
    ) {
        self.base = base
        self.lens = lens
        self.promote = promote
    }

    @usableFromInline var state: SubState { lens(base.state) }

    @usableFromInline
    func dispatch(sync action: SubAction) -> Dispatch { base.dispatch(sync: promote(action)) }

    @usableFromInline
    func dispatch(
        serially: Bool, collect: Bool, actions: some Sequence<EitherAction<AsyncAction, SubAction>>
    ) -> Dispatch {
        base.dispatch(serially: serially, collect: collect, actions: actions.map { $0.map(sync: promote) })
    }

    @usableFromInline
    func watchStates(
        _ handler: @escaping @Sendable (SubState) -> Void, finish: @escaping @Sendable () -> Void
    ) -> Subscription {
        let lens = lens
        return base.watchStates({ handler(lens($0)) }, finish: finish)
    }

    @usableFromInline
    func watchChanges(
        _ handler: @escaping @Sendable (SubState) -> Void, finish: @escaping @Sendable () -> Void
    ) -> Subscription {
        let lens = lens
        let last = Last<SubState>()
        return base.watchChanges({ state in if let new = last.update(lens(state)) { handler(new) } }, finish: finish)
    }
}

/// Lenses on a store of unknown type: on an ``AnyStore``, or on `any StoreProtocol`. ``BaseStore`` and ``LensedStore``
/// have lenses of their own, which hold the base directly.
extension StoreProtocol {
    /// Returns a store with a part of the state and a subset of the actions.
    @inlinable
    public func lensing<Part: Equatable & Sendable, PartAction: Sendable>(
        state lens: @escaping @Sendable (SubState) -> Part,
        actions promote: @escaping @Sendable (PartAction) -> SubAction
    ) -> AnyStore<Part, AsyncAction, PartAction> {
        AnyStore(StoreLens(self, state: lens, actions: promote))
    }

    /// Returns a store with a part of the state and all actions.
    @inlinable
    public func lensing<Part: Equatable & Sendable>(
        state lens: @escaping @Sendable (SubState) -> Part
    ) -> AnyStore<Part, AsyncAction, SubAction> {
        lensing(state: lens, actions: { $0 })
    }

    /// Returns a store with the whole state and a subset of the actions.
    @inlinable
    public func lensing<PartAction: Sendable>(
        actions promote: @escaping @Sendable (PartAction) -> SubAction
    ) -> AnyStore<SubState, AsyncAction, PartAction> {
        lensing(state: { $0 }, actions: promote)
    }
}

/// The value that a watcher received last.
@usableFromInline
final class Last<Value: Equatable & Sendable>: Sendable {
    @usableFromInline let memory = LoopMemory<Value?>(nil)

    @inlinable
    init() {}

    /// Stores the value and returns it if it differs from the last one. Calls never overlap.
    @inlinable
    func update(_ new: Value) -> Value? {
        guard memory.value != new else { return nil }
        memory.value = new
        return new
    }
}

extension BaseStore {
    /// Returns a store with a part of the state and a subset of the actions.
    @inlinable
    public func lensing<Part: Equatable & Sendable, PartAction: Sendable>(
        state lens: @escaping @Sendable (State) -> Part, actions promote: @escaping @Sendable (PartAction) -> SyncAction
    ) -> LensedStore<State, Part, AsyncAction, SyncAction, PartAction> {
        LensedStore(self, state: lens, actions: promote)
    }

    /// Returns a store with a part of the state and all actions.
    @inlinable
    public func lensing<Part: Equatable & Sendable>(
        state lens: @escaping @Sendable (State) -> Part
    ) -> LensedStore<State, Part, AsyncAction, SyncAction, SyncAction> {
        LensedStore(self, state: lens, actions: { $0 })
    }

    /// Returns a store with the whole state and a subset of the actions.
    @inlinable
    public func lensing<PartAction: Sendable>(
        actions promote: @escaping @Sendable (PartAction) -> SyncAction
    ) -> LensedStore<State, State, AsyncAction, SyncAction, PartAction> {
        LensedStore(self, state: { $0 }, actions: promote)
    }
}

extension LensedStore {
    /// Returns a store with a part of this part and a subset of its actions.
    @inlinable
    public func lensing<Part: Equatable & Sendable, PartAction: Sendable>(
        state inner: @escaping @Sendable (SubState) -> Part,
        actions widen: @escaping @Sendable (PartAction) -> SubAction
    ) -> LensedStore<State, Part, AsyncAction, SyncAction, PartAction> {
        let (lens, promote) = (lens, promote)
        return LensedStore<State, Part, AsyncAction, SyncAction, PartAction>(
            base, state: { inner(lens($0)) }, actions: { promote(widen($0)) })
    }

    /// Returns a store with a part of this part and all its actions.
    @inlinable
    public func lensing<Part: Equatable & Sendable>(
        state inner: @escaping @Sendable (SubState) -> Part
    ) -> LensedStore<State, Part, AsyncAction, SyncAction, SubAction> {
        lensing(state: inner, actions: { $0 })
    }

    /// Returns a store with this part and a subset of its actions.
    @inlinable
    public func lensing<PartAction: Sendable>(
        actions widen: @escaping @Sendable (PartAction) -> SubAction
    ) -> LensedStore<State, SubState, AsyncAction, SyncAction, PartAction> {
        lensing(state: { $0 }, actions: widen)
    }
}
