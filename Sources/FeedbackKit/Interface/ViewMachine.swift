/// Access to a loop for a user interface. It does not keep the loop alive.
struct Reach<State: Sendable, Event: Sendable>: Sendable {
    /// Returns the current state, or `nil` if the loop is gone.
    let current: @Sendable () -> State?
    let send: @Sendable (Event) -> SendResult
    let mutate: @Sendable (Mutation<State>) -> SendResult
}

/// A loop as seen by a user interface, whose state and event may be parts of the loop's. It keeps the loop alive.
struct ViewMachine<State: Sendable, Event: Sendable>: Sendable {
    typealias Watch =
        @Sendable (_ see: @escaping @Sendable (State) -> Void, _ finish: @escaping @Sendable () -> Void) -> Subscription

    let reach: Reach<State, Event>
    let current: @Sendable () -> State
    let watch: Watch
    let start: @Sendable () -> Bool
    let stop: @Sendable (Duration) async -> Void
    let cancel: @Sendable () -> Void
    let fault: @Sendable () -> LoopFault?

    /// Creates a view of a whole loop.
    init(_ loop: Loop<State, Update<State, Event>>) {
        reach = Reach(
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

    /// Creates a view of a part of a larger machine.
    init<WholeState, WholeEvent>(
        _ whole: ViewMachine<WholeState, WholeEvent>, path: any WritableKeyPath<WholeState, State> & Sendable,
        embed: @escaping @Sendable (Event) -> WholeEvent, areSame: (@Sendable (State, State) -> Bool)?
    ) {
        let reach = whole.reach
        self.reach = Reach(
            current: { reach.current()?[keyPath: path] },
            send: { reach.send(embed($0)) },
            mutate: { mutation in reach.mutate(Mutation { mutation.apply(to: &$0[keyPath: path]) }) })
        current = { whole.current()[keyPath: path] }
        watch = { see, finish in
            guard let areSame else { return whole.watch({ see($0[keyPath: path]) }, finish) }
            let last = LoopMemory<State?>(nil)
            return whole.watch(
                { state in
                    let part = state[keyPath: path]
                    if let last = last.value, areSame(last, part) { return }
                    last.value = part
                    see(part)
                }, finish)
        }
        start = whole.start
        stop = whole.stop
        cancel = whole.cancel
        fault = whole.fault
    }
}
