import Synchronization

extension Feedback {
    /// Says where the side effects run; otherwise it is where the loop's executor says. Said twice, the innermost counts:
    /// that is the first one.
    ///
    /// Async functions run on the executor's task executor, if it has one, else on the shared pool; a quick function is
    /// called wherever the executor says.
    public func execute(on executor: some LoopExecutor) -> Feedback {
        guard self.executor == nil else { return self }
        var copy = self
        copy.executor = ExecutorBox(executor)
        return copy
    }

    /// While `disabled` holds, the feedback starts nothing, and what a source sends is dropped and counted as refused. It
    /// is asked each time a state arrives, on the loop's turn, or each time a source sends, wherever that does; side
    /// effects that run already go on as the feedback's rule says.
    public func disable(_ disabled: @escaping @Sendable () -> Bool) -> Feedback {
        modified { receive in
            { state, event in disabled() ? .nothing : receive(state, event) }
        } source: { subscribe in
            { send in subscribe(send.disabled(while: disabled)) }
        }
    }

    /// Calls `perform` with each state that is shown to the feedback, the initial one included, before it answers.
    /// On the loop's turn. A second call adds a closure, called before the first.
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

    /// Calls `perform` with each event that the side effects emit, before it is queued, wherever they run. Whether the
    /// loop takes it is another matter: a cancelled effect's events are withdrawn. A second call adds a closure, called
    /// after the first.
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

    /// What a side effect throws is told to `report`, with the feedback's name, instead of ending the loop.
    package func reportingErrors(to report: @escaping @Sendable (String, any Error) -> Void) -> Feedback {
        // What only answers cannot throw.
        if case .answer = kind { return self }
        let label = label
        return modified { receive in
            { state, event in receive(state, event).reportingErrors { report(label.text, $0) } }
        } source: {
            $0
        }
    }

    /// The same feedback with another way to answer, for each loop.
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

    /// The feedback within a loop of a larger state and event: the primitive under the `pullback`s and `optional()`.
    ///
    /// Where the larger state has no part, the feedback sees nothing, what it still runs is cancelled, and it forgets;
    /// when there is a part again, that is an initial state for it. A ``source(name:subscribe:)`` brings its events in
    /// all the same.
    ///
    /// - Parameters:
    ///   - state: the part of the larger state; `nil`: there is none now. Called on the loop's turn.
    ///   - embed: what an event of the feedback is in the larger loop.
    ///   - extract: what an event of the larger loop is for the feedback; `nil`: not its concern.
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
        return Whole(label: label, kind: kind, executor: executor)
    }
}

extension CancellationRule {
    /// The same rule on a part of a larger state; a missing part is the feedback's own concern.
    func pullback<Whole: Sendable>(_ part: @escaping @Sendable (Whole) -> S?) -> CancellationRule<Whole> {
        switch self {
        case .onNewState: .onNewState
        case .boundToState: .boundToState
        case .never: .never
        case .when(let holds): .when { part($0).map(holds) ?? false }
        }
    }
}
