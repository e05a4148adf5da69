/// What a thunk answers an async action with.
public struct ThunkOutput<AsyncAction: Sendable, SyncAction: Sendable>: Sendable {
    /// What it yields.
    public typealias Action = EitherAction<AsyncAction, SyncAction>

    /// How the actions come.
    @usableFromInline
    enum Kind: Sendable {
        case actions([Action])
        case task(@Sendable () async -> [Action])
        case run(@Sendable (ThunkSend<AsyncAction, SyncAction>) async -> Void)
        /// Makes a function that gives the next action; `nil`: the end.
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

    /// These actions, at once.
    @inlinable
    public static func actions(_ actions: [Action]) -> ThunkOutput { ThunkOutput(kind: .actions(actions)) }

    /// These actions, at once.
    @inlinable
    public static func actions(_ actions: Action...) -> ThunkOutput { ThunkOutput(kind: .actions(actions)) }

    /// What an async function returns in the end.
    @inlinable
    public static func task(_ body: @escaping @Sendable () async -> [Action]) -> ThunkOutput {
        ThunkOutput(kind: .task(body))
    }

    /// What an async function sends as it goes.
    @inlinable
    public static func run(
        _ body: @escaping @Sendable (ThunkSend<AsyncAction, SyncAction>) async -> Void
    ) -> ThunkOutput {
        ThunkOutput(kind: .run(body))
    }

    /// The elements of a sequence as they come.
    @inlinable
    public static func sequence<Actions: AsyncSequence & Sendable>(_ actions: Actions) -> ThunkOutput
    where Actions.Element == Action, Actions.Failure == Never {
        ThunkOutput(
            kind: .pull {
                var iterator = actions.makeAsyncIterator()
                return { await iterator.next(isolation: #isolation) }
            })
    }

    /// What a source brings that calls back, such as a publisher.
    ///
    /// `start` gets a function to send actions with, and one to call when there will be no more. The subscription it
    /// returns is kept until then, and cancelled with the dispatch or the store.
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

/// Lets a thunk yield actions as it goes. After its dispatch has been cancelled, what it sends is dropped.
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
