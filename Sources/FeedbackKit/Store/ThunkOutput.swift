/// The result of a thunk for one async action.
public struct ThunkOutput<AsyncAction: Sendable, SyncAction: Sendable>: Sendable {
    /// The actions that a thunk yields.
    public typealias Action = EitherAction<AsyncAction, SyncAction>

    /// The form of the result.
    @usableFromInline
    enum Kind: Sendable {
        case actions([Action])
        case task(@Sendable () async -> [Action])
        case run(@Sendable (ThunkSend<AsyncAction, SyncAction>) async -> Void)
        /// Creates a function that returns the next action, or `nil` at the end.
        case pull(@Sendable () -> () async -> Action?)
        case subscribe(@Sendable (ThunkSend<AsyncAction, SyncAction>, @escaping @Sendable () -> Void) -> Subscription)
    }
    @usableFromInline let kind: Kind

    @inlinable
    init(kind: Kind) {
        self.kind = kind
    }

    /// No actions.
    @inlinable
    public static var nothing: ThunkOutput { ThunkOutput(kind: .actions([])) }

    /// Yields these actions immediately.
    @inlinable
    public static func actions(_ actions: [Action]) -> ThunkOutput { ThunkOutput(kind: .actions(actions)) }

    /// Yields these actions immediately.
    @inlinable
    public static func actions(_ actions: Action...) -> ThunkOutput { ThunkOutput(kind: .actions(actions)) }

    /// Yields the actions that an async function returns.
    @inlinable
    public static func task(_ body: @escaping @Sendable () async -> [Action]) -> ThunkOutput {
        ThunkOutput(kind: .task(body))
    }

    /// Yields the actions that an async function sends while it runs.
    @inlinable
    public static func run(
        _ body: @escaping @Sendable (ThunkSend<AsyncAction, SyncAction>) async -> Void
    ) -> ThunkOutput {
        ThunkOutput(kind: .run(body))
    }

    /// Yields the elements of a sequence as they arrive.
    @inlinable
    public static func sequence<Actions: AsyncSequence & Sendable>(_ actions: Actions) -> ThunkOutput
    where Actions.Element == Action, Actions.Failure == Never {
        ThunkOutput(
            kind: .pull {
                var iterator = actions.makeAsyncIterator()
                return { await iterator.next(isolation: #isolation) }
            })
    }

    /// Yields the actions of a callback source, such as a publisher.
    ///
    /// `start` receives a function that sends actions and a function that ends the result. The store keeps the returned
    /// subscription until the end, and cancels it with the dispatch or the store.
    @inlinable
    public static func subscribe(
        _ start:
            @escaping @Sendable (
                _ send: ThunkSend<AsyncAction, SyncAction>, _ finish: @escaping @Sendable () -> Void
            ) -> Subscription
    ) -> ThunkOutput {
        ThunkOutput(kind: .subscribe(start))
    }
}

/// A function with which a thunk yields actions while it runs. After its dispatch has been cancelled, the actions are
/// dropped.
public struct ThunkSend<AsyncAction: Sendable, SyncAction: Sendable>: Sendable {
    @usableFromInline let body: @Sendable (EitherAction<AsyncAction, SyncAction>) -> DispatchResult

    @inlinable
    init(_ body: @escaping @Sendable (EitherAction<AsyncAction, SyncAction>) -> DispatchResult) {
        self.body = body
    }

    /// Yields sync actions, as one batch, or async actions.
    @inlinable
    @discardableResult
    public func callAsFunction(_ actions: EitherAction<AsyncAction, SyncAction>) -> DispatchResult { body(actions) }
}
