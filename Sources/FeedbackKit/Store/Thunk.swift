/// A function that turns async actions into sync actions or further async actions: the place for work that takes time.
///
/// Corresponds to Recombine's `Thunk`. A thunk receives the state (see ``ThunkState``), the action and the environment.
/// It returns actions in one of these forms:
///
/// - an array of actions, immediately: the closure runs on the store's executor and must be quick;
/// - an async function that returns an array of actions, or an optional action;
/// - an `AsyncSequence` of actions, each taken as it arrives;
/// - an async function that sends actions while it runs (``ThunkSend``);
/// - a ``ThunkOutput``, which can hold any of these, so that each action may have its own form.
///
/// Each `.sync` element is a batch of its own and produces one new state. The store gives `.async` elements to the
/// thunk again, at any depth below ``StoreLimits/depth``.
///
/// A running thunk is a side effect of the store's loop: it is cancelled with its dispatch and with the store. A
/// function that ignores cancellation delays the end of the store, and the actions that it still yields are dropped.
public struct Thunk<State: Sendable, SyncAction: Sendable, AsyncAction: Sendable, Environment: Sendable>: Sendable {
    /// The actions that a thunk yields.
    public typealias Action = EitherAction<AsyncAction, SyncAction>
    /// The result of a thunk.
    public typealias Output = ThunkOutput<AsyncAction, SyncAction>

    @usableFromInline
    typealias Body = @Sendable (ThunkState<State>, AsyncAction, Environment) -> Output
    @usableFromInline let body: Body?

    /// Creates a thunk that yields nothing for any async action.
    @inlinable
    public init() {
        body = nil
    }

    /// Creates a thunk that chooses the form of its result for each action.
    @inlinable
    public init(_ transform: @escaping @Sendable (ThunkState<State>, AsyncAction, Environment) -> Output) {
        body = transform
    }

    /// Creates a thunk that returns actions immediately, on the store's executor.
    @inlinable
    public init(_ transform: @escaping @Sendable (ThunkState<State>, AsyncAction, Environment) -> [Action]) {
        body = { .actions(transform($0, $1, $2)) }
    }

    /// Creates a thunk from an async function that returns an array of actions.
    @inlinable
    public init(_ transform: @escaping @Sendable (ThunkState<State>, AsyncAction, Environment) async -> [Action]) {
        body = { state, action, environment in
            .task { await transform(state, action, environment) }
        }
    }

    /// Creates a thunk from an async function that returns one action or `nil`.
    @inlinable
    public init(_ transform: @escaping @Sendable (ThunkState<State>, AsyncAction, Environment) async -> Action?) {
        body = { state, action, environment in
            .task { await transform(state, action, environment).map { [$0] } ?? [] }
        }
    }

    /// Creates a thunk that yields the elements of a sequence as they arrive.
    @inlinable
    public init<Actions: AsyncSequence & Sendable>(
        _ transform: @escaping @Sendable (ThunkState<State>, AsyncAction, Environment) -> Actions
    ) where Actions.Element == Action, Actions.Failure == Never {
        body = { .sequence(transform($0, $1, $2)) }
    }

    /// Creates a thunk from an async function that sends actions while it runs.
    @inlinable
    public init(
        _ transform:
            @escaping @Sendable (ThunkState<State>, AsyncAction, Environment, ThunkSend<AsyncAction, SyncAction>) async
            -> Void
    ) {
        body = { state, action, environment in
            .run { send in await transform(state, action, environment, send) }
        }
    }

    /// Returns the function with its environment bound.
    @inlinable
    func bound(to environment: Environment) -> (@Sendable (ThunkState<State>, AsyncAction) -> Output)? {
        guard let body else { return nil }
        return { state, action in body(state, action, environment) }
    }

    /// Returns a thunk that handles the actions for which `accepts` returns `true`, and leaves the others to `other`.
    public func when(_ accepts: @escaping @Sendable (AsyncAction) -> Bool, otherwise other: Thunk) -> Thunk {
        let (first, second) = (body, other.body)
        return Thunk { (state, action, environment) -> Output in
            (accepts(action) ? first : second)?(state, action, environment) ?? .nothing
        }
    }
}
