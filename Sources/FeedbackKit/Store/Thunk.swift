/// Turns async actions into sync actions, or into further async actions: the place for work that takes time.
///
/// After Recombine's `Thunk`. A thunk gets the state (see ``ThunkState``), the action, and the environment, and answers
/// with actions in one of these forms:
///
/// - an array of actions, at once: the closure runs on the store's turn and must be quick;
/// - an async function that returns an array of actions, or one action or none;
/// - an `AsyncSequence` of actions, each taken as it comes;
/// - an async function that sends actions as it goes (``ThunkSend``);
/// - a ``ThunkOutput``, which can be any of these, so that different actions may be answered in different forms.
///
/// Each `.sync` element is a batch of its own and gives one new state. `.async` elements are given to the thunk in
/// turn, to any depth below ``StoreLimits/depth``.
///
/// A thunk that runs is a side effect of the store's loop: it is cancelled with its dispatch and with the store. A
/// function that ignores cancellation delays the end of the store; what it still yields is dropped.
public struct Thunk<State: Sendable, SyncAction: Sendable, AsyncAction: Sendable, Environment: Sendable>: Sendable {
    /// What a thunk yields.
    public typealias Action = EitherAction<AsyncAction, SyncAction>
    /// What a thunk answers with.
    public typealias Output = ThunkOutput<AsyncAction, SyncAction>

    @usableFromInline
    typealias Body = @Sendable (ThunkState<State>, AsyncAction, Environment) -> Output
    @usableFromInline let body: Body?

    /// Answers every async action with nothing.
    @inlinable
    public init() {
        body = nil
    }

    /// Answers in a form chosen from action to action.
    @inlinable
    public init(_ transform: @escaping @Sendable (ThunkState<State>, AsyncAction, Environment) -> Output) {
        body = transform
    }

    /// Answers with actions at once, on the store's turn.
    @inlinable
    public init(_ transform: @escaping @Sendable (ThunkState<State>, AsyncAction, Environment) -> [Action]) {
        body = { .actions(transform($0, $1, $2)) }
    }

    /// Answers with what an async function returns in the end.
    @inlinable
    public init(_ transform: @escaping @Sendable (ThunkState<State>, AsyncAction, Environment) async -> [Action]) {
        body = { state, action, environment in
            .task { await transform(state, action, environment) }
        }
    }

    /// Answers with one action, or with none.
    @inlinable
    public init(_ transform: @escaping @Sendable (ThunkState<State>, AsyncAction, Environment) async -> Action?) {
        body = { state, action, environment in
            .task { await transform(state, action, environment).map { [$0] } ?? [] }
        }
    }

    /// Answers with the elements of a sequence as they come.
    @inlinable
    public init<Actions: AsyncSequence & Sendable>(
        _ transform: @escaping @Sendable (ThunkState<State>, AsyncAction, Environment) -> Actions
    ) where Actions.Element == Action, Actions.Failure == Never {
        body = { .sequence(transform($0, $1, $2)) }
    }

    /// Answers with what an async function sends as it goes.
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

    /// The function with the environment filled in.
    @inlinable
    func bound(to environment: Environment) -> (@Sendable (ThunkState<State>, AsyncAction) -> Output)? {
        guard let body else { return nil }
        return { state, action in body(state, action, environment) }
    }

    /// This thunk for some actions, the other for the rest: the first gets an action if `accepts` holds for it.
    public func when(_ accepts: @escaping @Sendable (AsyncAction) -> Bool, otherwise other: Thunk) -> Thunk {
        let (first, second) = (body, other.body)
        return Thunk { (state, action, environment) -> Output in
            (accepts(action) ? first : second)?(state, action, environment) ?? .nothing
        }
    }
}
