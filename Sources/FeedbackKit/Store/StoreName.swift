/// The short name of ``BaseStore``. A program may define a `Store` of its own, as the document's example does; that one
/// then hides this one.
public typealias Store<State: Equatable & Sendable, AsyncAction: Sendable, SyncAction: Sendable> =
    BaseStore<State, AsyncAction, SyncAction>
