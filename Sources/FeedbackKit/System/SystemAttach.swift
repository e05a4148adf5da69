/// The rule for an event sent to an attached system that has not started.
@frozen
public enum BeforeStart: Sendable, Hashable {
    /// The event waits in the system's mailbox until the start.
    case hold
    /// The event is dropped, counted, and reported to the system's observer.
    case drop
}

/// An object that can be attached to mediators and systems: a ``System``, or an object around one, such as a
/// ``UISystem``.
///
/// Every form of `attach(to:)` modifies the system and returns the receiver for chaining.
public protocol Attachable: AnyObject, Sendable {
    /// The underlying system.
    var system: System { get }
}

extension System: Attachable {
    /// The system itself.
    @inlinable public var system: System { self }
}

extension UISystem: Attachable {}

// MARK: Mediator to system

extension Attachable {
    /// Converts values of the mediator to events of this system. A closure that returns `nil` sends no event.
    ///
    /// The system subscribes on its first turn, before its first state is published, and unsubscribes when it stops. On
    /// the shared pool the first turn may come after `start()` has returned. A ``PassthroughMediator`` loses the values
    /// that are sent before; wait for the first state of this system, or use a ``CurrentValueMediator``.
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
        system.loop.add(system.entering.map { source.onEventEmitted($0.handler) } ?? source)
        return self
    }

    /// Sends an event to this system for each value equal to `onMediatorValue`.
    @inlinable
    @discardableResult
    public func attach<M: Mediator>(
        to mediator: M, onMediatorValue expected: M.Value, emitSystemEvent: any Event
    ) -> Self where M.Value: Equatable {
        attach(to: mediator) { $0 == expected ? emitSystemEvent : nil }
    }

    /// Sends an event made from the value to this system for each value equal to `onMediatorValue`.
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
    /// Converts states of this system to values of the mediator. A closure that returns `nil` sends no value.
    @inlinable
    @discardableResult
    @_disfavoredOverload  // A closure that only returns `nil` fits both directions: prefer the other.
    public func attach<M: Mediator>(
        to mediator: M, emitMediatorValue: @escaping @Sendable (any State) -> M.Value?
    ) -> Self {
        system.loop.add(
            .sink(name: "to mediator") { state, _ in
                if let value = emitMediatorValue(state) { mediator.send(value) }
            })
        return self
    }

    /// Sends a value to the mediator for each state of this type.
    @inlinable
    @discardableResult
    public func attach<M: Mediator, S: State>(
        to mediator: M, onSystemStateType: S.Type, emitMediatorValue value: M.Value
    ) -> Self {
        attach(to: mediator) { exact($0, S.self) == nil ? nil : value }
    }

    /// Sends a value made from the state to the mediator for each state of this type.
    @inlinable
    @discardableResult
    public func attach<M: Mediator, S: State>(
        to mediator: M, onSystemStateType: S.Type, emitMediatorValue: @escaping @Sendable (S) -> M.Value
    ) -> Self {
        attach(to: mediator) { exact($0, S.self).map(emitMediatorValue) }
    }

    /// Sends a value to the mediator for each state equal to `onSystemState`.
    @inlinable
    @discardableResult
    public func attach<M: Mediator, S: State & Equatable>(
        to mediator: M, onSystemState expected: S, emitMediatorValue value: M.Value
    ) -> Self {
        attach(to: mediator) { exact($0, S.self) == expected ? value : nil }
    }

    /// Sends a value made from the state to the mediator for each state equal to `onSystemState`.
    @inlinable
    @discardableResult
    public func attach<M: Mediator, S: State & Equatable>(
        to mediator: M, onSystemState expected: S, emitMediatorValue: @escaping @Sendable (S) -> M.Value
    ) -> Self {
        attach(to: mediator) { exact($0, S.self) == expected ? emitMediatorValue(expected) : nil }
    }

    /// Sends a value to the mediator for each state of this type, with the argument labels of the original
    /// documentation.
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
    /// Sends an event to another system for each state of this type.
    ///
    /// Neither system keeps the other alive. If the other system has stopped, it drops and counts the event, and
    /// reports it to its observer.
    ///
    /// - Parameter beforeStart: The rule for an event sent before the other system has started.
    /// - Parameter emitAttachedSystemEvent: Makes the event for the other system.
    /// - Parameter onSystemStateType: The type of the states that cause events.
    /// - Parameter other: The other system.
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
                entering?.handler(event)
                target.send(event, holdBeforeStart: hold)
            })
        return self
    }

    /// Sends the same event to another system for each state of this type.
    @inlinable
    @discardableResult
    public func attach<S: State>(
        to other: some Attachable, onSystemStateType: S.Type, beforeStart: BeforeStart = .hold,
        emitAttachedSystemEvent event: any Event
    ) -> Self {
        attach(to: other, onSystemStateType: S.self, beforeStart: beforeStart) { (_: S) in event }
    }
}
