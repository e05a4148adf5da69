/// A short name for ``BaseStore``. If a program defines its own `Store`, as the document's example does, that type
/// hides this one.
public typealias Store<State: Equatable & Sendable, AsyncAction: Sendable, SyncAction: Sendable> =
    BaseStore<State, AsyncAction, SyncAction>
