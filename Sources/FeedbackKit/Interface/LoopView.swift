/// Access to a loop for a user interface. It does not keep the loop alive.
struct LoopAccess<State: Sendable, Event: Sendable>: Sendable {
    /// Returns the current state, or `nil` if the loop is gone.
    let current: @Sendable () -> State?
    let send: @Sendable (Event) -> SendResult
    let mutate: @Sendable (Mutation<State>) -> SendResult
}

/// A loop as seen by a user interface, whose state and event may be parts of the loop's. It keeps the loop alive.
struct LoopView<State: Sendable, Event: Sendable>: Sendable {
    typealias Watch =
        @Sendable (_ handler: @escaping @Sendable (State) -> Void, _ finish: @escaping @Sendable () -> Void) ->
        Subscription

    let access: LoopAccess<State, Event>
    let current: @Sendable () -> State
    let watch: Watch
    let start: @Sendable () -> Bool
    let stop: @Sendable (Duration) async -> Void
    let cancel: @Sendable () -> Void
    let fault: @Sendable () -> LoopFault?

    /// Creates a view of a whole loop.
    init(_ loop: Loop<State, Update<State, Event>>) {
        access = LoopAccess(
            current: { [weak loop] in loop?.state },
            send: { [weak loop] in loop?.send(.event($0)) ?? .dropped(.stopped) },
            mutate: { [weak loop] in loop?.send(.mutation($0)) ?? .dropped(.stopped) })
        current = { loop.state }
        watch = { loop.watch($0, finish: $1) }
        start = { loop.start() }
        stop = { await loop.stop(within: $0) }
        cancel = { loop.cancel() }
        fault = { loop.fault }
    }

    /// Creates a view of a part of another view.
    init<WholeState, WholeEvent>(
        _ whole: LoopView<WholeState, WholeEvent>, path: any WritableKeyPath<WholeState, State> & Sendable,
        embed: @escaping @Sendable (Event) -> WholeEvent, areSame: (@Sendable (State, State) -> Bool)?
    ) {
        let access = whole.access
        self.access = LoopAccess(
            current: { access.current()?[keyPath: path] },
            send: { access.send(embed($0)) },
            mutate: { mutation in access.mutate(Mutation { mutation.apply(to: &$0[keyPath: path]) }) })
        current = { whole.current()[keyPath: path] }
        watch = { handler, finish in
            guard let areSame else { return whole.watch({ handler($0[keyPath: path]) }, finish) }
            let last = LoopMemory<State?>(nil)
            return whole.watch(
                { state in
                    let part = state[keyPath: path]
                    if let last = last.value, areSame(last, part) { return }
                    last.value = part
                    handler(part)
                }, finish)
        }
        start = whole.start
        stop = whole.stop
        cancel = whole.cancel
        fault = whole.fault
    }
}
