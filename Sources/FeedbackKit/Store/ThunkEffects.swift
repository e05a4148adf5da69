/// The execution of thunks as side effects of the store's loop.
extension StoreCore {
    /// Starts the thunk for an async action.
    @inlinable
    func start(_ action: AsyncAction, _ part: Part, depth: Int, in state: State) -> Effect<Event> {
        let output = rules.thunk?(thunkState(state), action) ?? .nothing
        let ticket = part.ticket
        let next = depth + 1
        switch output.kind {
        case .actions(let actions):
            let events = actions.flatMap { self.events(for: $0, of: ticket, depth: next) }
            part.finish()
            return .just(events)
        case .task(let body):
            return run(part) { core, send in
                for actions in await body() { await core.offer(actions, of: ticket, depth: next, to: send) }
            }
        case .run(let body):
            return run(part) { core, send in
                await body(
                    ThunkSend { [weak core] in
                        core?.yield($0, of: ticket, depth: next, to: send) ?? .dropped(.stopped)
                    })
            }
        case .pull(let makeNext):
            return run(part) { core, send in
                let pull = makeNext()
                while !Task.isCancelled, let actions = await pull() {
                    await core.offer(actions, of: ticket, depth: next, to: send)
                }
            }
        case .subscribe(let start):
            return subscribe(part, start, depth: next)
        }
    }

    /// Returns an effect that runs work of a dispatch in a task and ends its part there.
    @inlinable
    func run(
        _ part: Part, _ body: @escaping @Sendable (StoreCore, Send<Event>) async -> Void
    ) -> Effect<Event> {
        let ticket = part.ticket
        guard let run = begin(ticket) else {
            part.finish()
            return .nothing
        }
        return Effect.run { [weak self] send in
            if let self, !ticket.isCancelled { await body(self, send) }
            if Task.isCancelled { ticket.cancel() }
            ticket.end(run)
            part.finish()
        }.id(run)
    }

    /// Returns an effect that lasts until a callback source reports its end.
    @inlinable
    func subscribe(
        _ part: Part,
        _ start:
            @escaping @Sendable (ThunkSend<AsyncAction, SyncAction>, @escaping @Sendable () -> Void) -> Subscription,
        depth: Int
    ) -> Effect<Event> {
        let ticket = part.ticket
        guard let run = begin(ticket) else {
            part.finish()
            return .nothing
        }
        return Effect.subscribe { [weak self] send, finish in
            let done: @Sendable () -> Void = {
                ticket.end(run)
                part.finish()
                finish()
            }
            guard let self, !ticket.isCancelled else {
                done()
                return Subscription {}
            }
            // The source may go on until its subscription is there to be cancelled.
            let thunkSend = ThunkSend<AsyncAction, SyncAction> { [weak self] in
                part.hasEnded
                    ? .dropped(.cancelled)
                    : self?.yield($0, of: ticket, depth: depth, to: send) ?? .dropped(.stopped)
            }
            let inner = start(thunkSend, done)
            return Subscription {
                inner.cancel()
                guard !part.hasEnded else { return }
                ticket.cancel()
                ticket.end(run)
                part.finish()
            }
        }.id(run)
    }

    /// Puts the actions that a thunk yields into the mailbox.
    @inlinable
    @discardableResult
    func yield(_ actions: Action, of ticket: Ticket, depth: Int, to send: Send<Event>) -> DispatchResult {
        guard !ticket.isCancelled else { return .dropped(.cancelled) }
        var result = DispatchResult.accepted
        for event in events(for: actions, of: ticket, depth: depth) {
            let sent = DispatchResult(send(event))
            if result == .accepted { result = sent }
        }
        return ticket.isCancelled ? .dropped(.cancelled) : result
    }

    /// Puts the actions that a thunk yields into the mailbox; under ``Overflow/block`` it waits for room.
    @usableFromInline
    func offer(_ actions: Action, of ticket: Ticket, depth: Int, to send: Send<Event>) async {
        guard !ticket.isCancelled else { return }
        for event in events(for: actions, of: ticket, depth: depth) { await send.offer(event) }
    }
}
