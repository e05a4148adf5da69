/// A rule: on this event, change the data of the state and stay in it.
///
///     From(Filling.self) { state in
///         UpdateInPlace(on: Measured.self) { event in Filling(since: state.since, used: event.used) }
///         On(Emptied.self, transitionTo: Idle())
///     }
///
/// An update enters no state. The side effects and waits of the state go on, and no feedback is called, except those with
/// ``Feedback/seeingUpdates()``. So mediators and systems that are attached do not see it. A transition to the same type of
/// state, in contrast, enters it again.
///
/// The rules of a ``From`` may contain an update only of their own type of state. Others stop the program when the table of
/// transitions is made.
@frozen
public struct UpdateInPlace<E: Event, S: State>: TransitionContent {
    @usableFromInline let make: (E) -> S?
    @usableFromInline var isDisabled: (@Sendable () -> Bool)?

    /// Creates a rule that makes the changed state from the event, or declines with `nil`. After `nil`, the next less specific
    /// rule decides.
    @inlinable
    public init(on event: E.Type, _ make: @escaping (E) -> S?) {
        self.make = make
    }

    /// Creates a rule whose changed state does not depend on the event's data. The state is computed when the event arrives.
    @inlinable
    public init(on event: E.Type, _ state: @escaping @autoclosure () -> S) {
        make = { _ in state() }
    }

    /// Disables the rule while `disabled` returns `true`: the next less specific rule applies.
    @inlinable
    public func disable(_ disabled: @escaping @Sendable () -> Bool) -> UpdateInPlace {
        var copy = self
        let before = isDisabled
        copy.isDisabled = { before?() == true || disabled() }
        return copy
    }

    /// A summary with this one rule.
    @inlinable
    public static var summary: TransitionSummary {
        TransitionSummary(rules: [.init(event: E.self, to: S.self, isUpdate: true)])
    }

    /// Returns whether this rule is for this type of event.
    @inlinable
    public static func handles(_ type: ObjectIdentifier, wildcard: Bool) -> Bool {
        !wildcard && type == ObjectIdentifier(E.self)
    }

    /// Returns the changed state, with a mark, if the rule matches the event and is not disabled.
    @inlinable
    public func next(on event: any Event, type: ObjectIdentifier, wildcard: Bool) -> (any State)? {
        guard Self.handles(type, wildcard: wildcard), isDisabled?() != true else { return nil }
        return exact(event, E.self).flatMap(make).map(UpdatedState.init)
    }
}

/// The mark of a state that an ``UpdateInPlace`` has made. It leaves the table of transitions only into the reducer of a system.
@usableFromInline
struct UpdatedState: State {
    @usableFromInline let base: any State

    @inlinable
    init(_ base: some State) { self.base = base }
}
