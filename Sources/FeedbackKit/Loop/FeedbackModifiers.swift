import Synchronization

extension Feedback {
    /// Sets the executor of the side effects. Without it, the loop's executor decides. If it is set twice, the first
    /// (innermost) executor counts.
    ///
    /// Async functions run on the task executor of `executor`. If `executor` has no task executor, they run on Swift's
    /// global concurrent executor. Quick functions run on `executor` itself.
    public func execute(on executor: some LoopExecutor) -> Feedback {
        guard self.executor == nil else { return self }
        var copy = self
        copy.executor = ExecutorBox(executor)
        return copy
    }

    /// Shows the feedback also each update of a state, which enters no state; see ``Reduction/updated``.
    ///
    /// An update ends no side effect, so the side effects that the feedback starts for the same state run beside each other,
    /// unless its cancellation rule is ``CancellationRule/when(_:)``.
    public func seeingUpdates() -> Feedback {
        var copy = self
        copy.seesUpdates = true
        return copy
    }

    /// Disables the feedback while `disabled` returns `true`.
    ///
    /// A disabled feedback starts no side effects. The events of a disabled source are dropped and counted as refused,
    /// and it cannot stop the loop. Side effects that already run go on, under the cancellation rule of the feedback.
    ///
    /// - Parameter disabled: A function that is called for each state, on the loop's turn. For a source it is called
    ///   for each event and for ``Send/beginStop()``, on the thread that calls the sender.
    public func disable(_ disabled: @escaping @Sendable () -> Bool) -> Feedback {
        modified { receive in
            { state, event in disabled() ? .nothing : receive(state, event) }
        } source: { subscribe in
            { send in subscribe(send.disabled(while: disabled)) }
        }
    }

    /// Calls `perform` on the loop's turn with each state that the feedback sees, before the feedback answers. This
    /// includes the initial state. A second use of this modifier adds a closure, which is called before the first.
    public func onStateReceived(_ perform: @escaping @Sendable (S) -> Void) -> Feedback {
        modified { receive in
            { state, event in
                perform(state)
                return receive(state, event)
            }
        } source: {
            $0
        }
    }

    /// Calls `perform` with each event that the side effects emit, before it is queued, on the thread that emits it.
    /// The loop may still refuse or withdraw the event, for example after a cancellation of the effect. A second use of
    /// this modifier adds a closure, which is called after the first.
    public func onEventEmitted(_ perform: @escaping @Sendable (E) -> Void) -> Feedback {
        let tell: @Sendable (E) -> E = { event in
            perform(event)
            return event
        }
        return modified { receive in
            { state, event in receive(state, event).map(tell) }
        } source: { subscribe in
            { send in subscribe(send.contramap(tell)) }
        }
    }

    /// Returns a feedback that does not end the loop. It calls `report` with its name and each error of a side effect. A
    /// call of ``Send/beginStop()`` is such an error.
    package func reportingErrors(to report: @escaping @Sendable (String, any Error) -> Void) -> Feedback {
        // An answer cannot throw.
        if case .answer = kind { return self }
        let label = label
        return modified { receive in
            { state, event in receive(state, event).reportingErrors { report(label.text, $0) } }
        } source: { subscribe in
            { send in subscribe(send.stopping { report(label.text, StopRefused()) }) }
        }
    }

    /// Returns the same feedback with a changed answer in each loop.
    private func modified(
        _ receive: @escaping @Sendable (@escaping Receive) -> Receive,
        source:
            @escaping @Sendable (@escaping @Sendable (Send<E>) -> Subscription)
            -> @Sendable (Send<E>) -> Subscription
    ) -> Feedback {
        var copy = self
        switch kind {
        case .answer(let rule, let answer):
            copy.kind = .reaction(rule, receive { state, event in .call { answer(state, event) } })
            copy.answersAtOnce = true
        case .reaction(let rule, let inner):
            copy.kind = .reaction(rule, receive(inner))
        case .memory(let rule, let make):
            copy.kind = .memory(rule) { receive(make()) }
        case .source(let subscribe):
            copy.kind = .source(source(subscribe))
        case .group(let feedbacks):
            copy.kind = .group(feedbacks.map { $0.modified(receive, source: source) })
        }
        return copy
    }

    /// Returns the feedback for a loop with a larger state and event. The other `pullback`s and `optional()` use it.
    ///
    /// While the larger state has no part for the feedback, the feedback sees no states. Its running side effects are
    /// cancelled, and its memory is lost. When a part appears again, it is an initial state for the feedback. A
    /// ``source(name:subscribe:)`` sends its events at any time.
    ///
    /// - Parameters:
    ///   - state: A function that returns the part of the larger state, or `nil` if the part is missing. It is called
    ///     on the loop's turn.
    ///   - embed: A function that turns an event of the feedback into an event of the larger loop.
    ///   - extract: A function that turns an event of the larger loop into an event of the feedback, or returns `nil`
    ///     if the event does not concern the feedback.
    public func pullback<WholeState: Sendable, WholeEvent: Sendable>(
        state: @escaping @Sendable (WholeState) -> S?,
        embed: @escaping @Sendable (E) -> WholeEvent,
        extract: @escaping @Sendable (WholeEvent) -> E?
    ) -> Feedback<WholeState, WholeEvent> {
        typealias Whole = Feedback<WholeState, WholeEvent>
        func pulled(
            _ rule: CancellationRule<S>, _ make: @escaping @Sendable () -> Receive
        ) -> Whole.Kind {
            .memory(rule.pullback(state)) {
                let memory = Mutex<Receive?>(nil)
                return { whole, event in
                    guard let part = state(whole) else {
                        let had = memory.withLock { memory in
                            defer { memory = nil }
                            return memory
                        }
                        return had == nil ? .nothing : .cancelPrevious
                    }
                    var (receive, isNew) = (memory.withLock { $0 }, false)
                    if receive == nil {
                        let made = make()
                        memory.withLock { $0 = made }
                        (receive, isNew) = (made, true)
                    }
                    let effect = receive?(part, isNew ? nil : event.flatMap(extract)) ?? .nothing
                    return effect.map(embed)
                }
            }
        }
        let kind: Whole.Kind
        switch self.kind {
        case .answer(let rule, let answer):
            kind = pulled(rule) { { state, event in .call { answer(state, event) } } }
        case .reaction(let rule, let receive):
            kind = pulled(rule) { receive }
        case .memory(let rule, let make):
            kind = pulled(rule, make)
        case .source(let subscribe):
            kind = .source { send in subscribe(send.contramap(embed)) }
        case .group(let feedbacks):
            kind = .group(feedbacks.map { $0.pullback(state: state, embed: embed, extract: extract) })
        }
        var whole = Whole(label: label, kind: kind, executor: executor)
        whole.seesUpdates = seesUpdates
        whole.withdrawsEnded = withdrawsEnded
        return whole
    }
}

extension CancellationRule {
    /// Returns the same rule for a part of a larger state. The condition of `when` does not hold for a missing part,
    /// because the feedback itself handles that case.
    func pullback<Whole: Sendable>(_ part: @escaping @Sendable (Whole) -> S?) -> CancellationRule<Whole> {
        switch self {
        case .onNewState: .onNewState
        case .boundToState: .boundToState
        case .never: .never
        case .when(let holds): .when { part($0).map(holds) ?? false }
        }
    }
}
