/// What becomes of an event for an attached system that has not been started.
@frozen
public enum BeforeStart: Sendable, Hashable {
    /// It waits in the system's mailbox and is taken after the start.
    case hold
    /// It is dropped, counted, and shown to the system's observer.
    case drop
}

/// What can be attached to mediators and to systems: a ``System``, or what is made around one, such as a ``UISystem``.
///
/// Every form of `attach(to:)` adds to the system, and returns what it was called on, so that calls can be chained.
public protocol Attachable: AnyObject, Sendable {
    /// The system that is attached.
    var system: System { get }
}

extension System: Attachable {
    /// The system itself.
    @inlinable public var system: System { self }
}

extension UISystem: Attachable {}

// MARK: Mediator to system

extension Attachable {
    /// Values of the mediator become events of this system, as the closure says; `nil`: no event.
    ///
    /// The system subscribes when it starts, before its first state is shown, and leaves when it stops.
    @inlinable
    @discardableResult
    public func attach<M: Mediator>(
        to mediator: M, emitSystemEvent: @escaping @Sendable (M.Value) -> (any Event)?
    ) -> Self {
        let source = Feedback<any State, any Event>.source(name: "from mediator") { send in
            mediator.subscribe { value in
                if let event = emitSystemEvent(value) { send(event) }
            }
        }
        system.loop.add(system.entering.map { source.onEventEmitted($0.see) } ?? source)
        return self
    }

    /// A value equal to `onMediatorValue` becomes an event of this system.
    @inlinable
    @discardableResult
    public func attach<M: Mediator>(
        to mediator: M, onMediatorValue expected: M.Value, emitSystemEvent: any Event
    ) -> Self where M.Value: Equatable {
        attach(to: mediator) { $0 == expected ? emitSystemEvent : nil }
    }

    /// A value equal to `onMediatorValue` becomes an event of this system, made from the value.
    @inlinable
    @discardableResult
    public func attach<M: Mediator>(
        to mediator: M, onMediatorValue expected: M.Value,
        emitSystemEvent: @escaping @Sendable (M.Value) -> any Event
    ) -> Self where M.Value: Equatable {
        attach(to: mediator) { $0 == expected ? emitSystemEvent($0) : nil }
    }
}

// MARK: System to mediator

extension Attachable {
    /// States of this system become values of the mediator, as the closure says; `nil`: no value.
    @inlinable
    @discardableResult
    @_disfavoredOverload  // A closure that only ever answers `nil` fits both directions: it is taken for the other one.
    public func attach<M: Mediator>(
        to mediator: M, emitMediatorValue: @escaping @Sendable (any State) -> M.Value?
    ) -> Self {
        system.loop.add(
            .sink(name: "to mediator") { state, _ in
                if let value = emitMediatorValue(state) { mediator.send(value) }
            })
        return self
    }

    /// A state of this type puts a value on the mediator.
    @inlinable
    @discardableResult
    public func attach<M: Mediator, S: State>(
        to mediator: M, onSystemStateType: S.Type, emitMediatorValue value: M.Value
    ) -> Self {
        attach(to: mediator) { exact($0, S.self) == nil ? nil : value }
    }

    /// A state of this type puts a value on the mediator, made from the state.
    @inlinable
    @discardableResult
    public func attach<M: Mediator, S: State>(
        to mediator: M, onSystemStateType: S.Type, emitMediatorValue: @escaping @Sendable (S) -> M.Value
    ) -> Self {
        attach(to: mediator) { exact($0, S.self).map(emitMediatorValue) }
    }

    /// A state equal to `onSystemState` puts a value on the mediator.
    @inlinable
    @discardableResult
    public func attach<M: Mediator, S: State & Equatable>(
        to mediator: M, onSystemState expected: S, emitMediatorValue value: M.Value
    ) -> Self {
        attach(to: mediator) { exact($0, S.self) == expected ? value : nil }
    }

    /// A state equal to `onSystemState` puts a value on the mediator, made from the state.
    @inlinable
    @discardableResult
    public func attach<M: Mediator, S: State & Equatable>(
        to mediator: M, onSystemState expected: S, emitMediatorValue: @escaping @Sendable (S) -> M.Value
    ) -> Self {
        attach(to: mediator) { exact($0, S.self) == expected ? emitMediatorValue(expected) : nil }
    }

    /// A state of this type puts a value on the mediator; the form in which the original documentation writes it.
    @inlinable
    @discardableResult
    public func attach<M: Mediator, S: State>(
        to mediator: M, onSystemState type: S.Type, emitMediatorValue: @escaping @Sendable (S) -> M.Value
    ) -> Self {
        attach(to: mediator, onSystemStateType: type, emitMediatorValue: emitMediatorValue)
    }
}

// MARK: System to system

extension Attachable {
    /// A state of this type becomes an event of another system.
    ///
    /// Neither system keeps the other alive. An event for a system that has been stopped is dropped, counted there, and
    /// shown to its observer.
    ///
    /// - Parameter beforeStart: what becomes of an event when the other system has not been started.
    /// - Parameter emitAttachedSystemEvent: what the other system is sent.
    /// - Parameter onSystemStateType: the type of the states that are passed on.
    /// - Parameter other: the other system.
    @inlinable
    @discardableResult
    public func attach<S: State>(
        to other: some Attachable, onSystemStateType: S.Type, beforeStart: BeforeStart = .hold,
        emitAttachedSystemEvent: @escaping @Sendable (S) -> any Event
    ) -> Self {
        let hold = beforeStart == .hold
        system.loop.add(
            .sink(name: "to system") { [weak target = other.system.loop, entering = other.system.entering] state, _ in
                guard let state = exact(state, S.self), let target else { return }
                let event = emitAttachedSystemEvent(state)
                entering?.see(event)
                target.send(event, holdBeforeStart: hold)
            })
        return self
    }

    /// A state of this type becomes an event of another system, always the same one.
    @inlinable
    @discardableResult
    public func attach<S: State>(
        to other: some Attachable, onSystemStateType: S.Type, beforeStart: BeforeStart = .hold,
        emitAttachedSystemEvent event: any Event
    ) -> Self {
        attach(to: other, onSystemStateType: S.self, beforeStart: beforeStart) { (_: S) in event }
    }
}
