/// Attaching works as for a ``System``, and returns this object so that calls can be chained.
extension UISystem {
    /// Values of the mediator become events of this system, as the closure says; `nil`: no event.
    ///
    /// The system subscribes when it starts, before its first state is shown, and leaves when it stops.
    @discardableResult
    public func attach<M: Mediator>(
        to mediator: M, emitSystemEvent: @escaping @Sendable (M.Value) -> (any Event)?
    ) -> UISystem {
        self.system.attach(to: mediator, emitSystemEvent: emitSystemEvent)
        return self
    }

    /// A value equal to `onMediatorValue` becomes an event of this system.
    @discardableResult
    public func attach<M: Mediator>(
        to mediator: M, onMediatorValue expected: M.Value, emitSystemEvent: any Event
    ) -> UISystem where M.Value: Equatable {
        self.system.attach(to: mediator, onMediatorValue: expected, emitSystemEvent: emitSystemEvent)
        return self
    }

    /// A value equal to `onMediatorValue` becomes an event of this system, made from the value.
    @discardableResult
    public func attach<M: Mediator>(
        to mediator: M, onMediatorValue expected: M.Value,
        emitSystemEvent: @escaping @Sendable (M.Value) -> any Event
    ) -> UISystem where M.Value: Equatable {
        self.system.attach(to: mediator, onMediatorValue: expected, emitSystemEvent: emitSystemEvent)
        return self
    }

    /// States of this system become values of the mediator, as the closure says; `nil`: no value.
    @discardableResult
    public func attach<M: Mediator>(
        to mediator: M, emitMediatorValue: @escaping @Sendable (any State) -> M.Value?
    ) -> UISystem {
        self.system.attach(to: mediator, emitMediatorValue: emitMediatorValue)
        return self
    }

    /// A state of this type puts a value on the mediator.
    @discardableResult
    public func attach<M: Mediator, S: State>(
        to mediator: M, onSystemStateType: S.Type, emitMediatorValue value: M.Value
    ) -> UISystem {
        self.system.attach(to: mediator, onSystemStateType: S.self, emitMediatorValue: value)
        return self
    }

    /// A state of this type puts a value on the mediator, made from the state.
    @discardableResult
    public func attach<M: Mediator, S: State>(
        to mediator: M, onSystemStateType: S.Type, emitMediatorValue: @escaping @Sendable (S) -> M.Value
    ) -> UISystem {
        self.system.attach(to: mediator, onSystemStateType: S.self, emitMediatorValue: emitMediatorValue)
        return self
    }

    /// A state equal to `onSystemState` puts a value on the mediator.
    @discardableResult
    public func attach<M: Mediator, S: State & Equatable>(
        to mediator: M, onSystemState expected: S, emitMediatorValue value: M.Value
    ) -> UISystem {
        self.system.attach(to: mediator, onSystemState: expected, emitMediatorValue: value)
        return self
    }

    /// A state equal to `onSystemState` puts a value on the mediator, made from the state.
    @discardableResult
    public func attach<M: Mediator, S: State & Equatable>(
        to mediator: M, onSystemState expected: S, emitMediatorValue: @escaping @Sendable (S) -> M.Value
    ) -> UISystem {
        self.system.attach(to: mediator, onSystemState: expected, emitMediatorValue: emitMediatorValue)
        return self
    }

    /// A state of this type puts a value on the mediator; the form in which the original documentation writes it.
    @discardableResult
    public func attach<M: Mediator, S: State>(
        to mediator: M, onSystemState type: S.Type, emitMediatorValue: @escaping @Sendable (S) -> M.Value
    ) -> UISystem {
        self.system.attach(to: mediator, onSystemState: type, emitMediatorValue: emitMediatorValue)
        return self
    }

    /// A state of this type becomes an event of another system.
    ///
    /// Neither system keeps the other alive. An event for a system that has been stopped is dropped, counted there, and
    /// shown to its observer.
    ///
    /// - Parameter beforeStart: what becomes of an event when the other system has not been started.
    /// - Parameter emitAttachedSystemEvent: what the other system is sent.
    /// - Parameter onSystemStateType: the type of the states that are passed on.
    /// - Parameter system: the other system.
    @discardableResult
    public func attach<S: State>(
        to system: System, onSystemStateType: S.Type, beforeStart: BeforeStart = .hold,
        emitAttachedSystemEvent: @escaping @Sendable (S) -> any Event
    ) -> UISystem {
        self.system.attach(
            to: system, onSystemStateType: S.self, beforeStart: beforeStart,
            emitAttachedSystemEvent: emitAttachedSystemEvent)
        return self
    }

    /// A state of this type becomes an event of another system.
    ///
    /// Neither system keeps the other alive. An event for a system that has been stopped is dropped, counted there, and
    /// shown to its observer.
    ///
    /// - Parameter beforeStart: what becomes of an event when the other system has not been started.
    /// - Parameter emitAttachedSystemEvent: what the other system is sent.
    /// - Parameter onSystemStateType: the type of the states that are passed on.
    /// - Parameter other: the other system.
    @discardableResult
    public func attach<S: State, OtherState: Sendable>(
        to other: UISystem<OtherState>, onSystemStateType: S.Type, beforeStart: BeforeStart = .hold,
        emitAttachedSystemEvent: @escaping @Sendable (S) -> any Event
    ) -> UISystem {
        self.system.attach(
            to: other.system, onSystemStateType: S.self, beforeStart: beforeStart,
            emitAttachedSystemEvent: emitAttachedSystemEvent)
        return self
    }

    /// A state of this type becomes an event of another system, always the same one.
    @discardableResult
    public func attach<S: State>(
        to system: System, onSystemStateType: S.Type, beforeStart: BeforeStart = .hold,
        emitAttachedSystemEvent event: any Event
    ) -> UISystem {
        self.system.attach(
            to: system, onSystemStateType: S.self, beforeStart: beforeStart, emitAttachedSystemEvent: event)
        return self
    }

    /// A state of this type becomes an event of another system, always the same one.
    @discardableResult
    public func attach<S: State, OtherState: Sendable>(
        to other: UISystem<OtherState>, onSystemStateType: S.Type, beforeStart: BeforeStart = .hold,
        emitAttachedSystemEvent event: any Event
    ) -> UISystem {
        self.system.attach(
            to: other.system, onSystemStateType: S.self, beforeStart: beforeStart, emitAttachedSystemEvent: event)
        return self
    }
}

extension System {
    /// A state of this type becomes an event of another system.
    ///
    /// Neither system keeps the other alive. An event for a system that has been stopped is dropped, counted there, and
    /// shown to its observer.
    ///
    /// - Parameter beforeStart: what becomes of an event when the other system has not been started.
    /// - Parameter emitAttachedSystemEvent: what the other system is sent.
    /// - Parameter onSystemStateType: the type of the states that are passed on.
    /// - Parameter other: the other system.
    @discardableResult
    public func attach<S: State, OtherState: Sendable>(
        to other: UISystem<OtherState>, onSystemStateType: S.Type, beforeStart: BeforeStart = .hold,
        emitAttachedSystemEvent: @escaping @Sendable (S) -> any Event
    ) -> System {
        attach(
            to: other.system, onSystemStateType: S.self, beforeStart: beforeStart,
            emitAttachedSystemEvent: emitAttachedSystemEvent)
    }

    /// A state of this type becomes an event of another system, always the same one.
    @discardableResult
    public func attach<S: State, OtherState: Sendable>(
        to other: UISystem<OtherState>, onSystemStateType: S.Type, beforeStart: BeforeStart = .hold,
        emitAttachedSystemEvent event: any Event
    ) -> System {
        attach(to: other.system, onSystemStateType: S.self, beforeStart: beforeStart, emitAttachedSystemEvent: event)
    }
}
