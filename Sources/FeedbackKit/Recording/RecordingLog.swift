import DequeModule

/// A recording while it is being made: a plain, bounded value.
struct RecordingLog<State: Sendable, Action: Sendable>: Sendable {
    let limit: Int
    let overflow: RecordingOverflow
    /// What an action does to a state, for moving the initial state on.
    let reduce: @Sendable (inout State, Action) -> Void
    private(set) var initial: State?
    private(set) var entries = Deque<(at: Duration, actions: [Action])>()
    private(set) var isComplete = true
    private var count = 0
    /// When the initial state was current.
    private var begin = Duration.zero

    init(limit: Int, overflow: RecordingOverflow, reduce: @escaping @Sendable (inout State, Action) -> Void) {
        self.limit = max(1, limit)
        self.overflow = overflow
        self.reduce = reduce
    }

    /// Begins, or begins anew, with a state.
    mutating func begin(with state: State, at time: Duration) {
        initial = state
        begin = time
        entries = []
        count = 0
        isComplete = true
    }

    /// Notes actions; a batch larger than the limit counts as one that does not fit.
    mutating func append(_ actions: [Action], at time: Duration) {
        guard isComplete, !actions.isEmpty else { return }
        if overflow == .dropOldest {
            while count + actions.count > limit, let oldest = entries.popFirst() {
                count -= oldest.actions.count
                moveOn(over: oldest.actions, at: oldest.at)
            }
            if actions.count > limit { return moveOn(over: actions, at: time) }
        }
        guard count + actions.count <= limit else {
            isComplete = false
            return
        }
        entries.append((time, actions))
        count += actions.count
    }

    private mutating func moveOn(over actions: [Action], at time: Duration) {
        guard var state = initial else { return }
        for action in actions { reduce(&state, action) }
        initial = state
        begin = time
    }

    /// The state after the last entry.
    func final() -> State? {
        guard var state = initial else { return nil }
        for entry in entries {
            for action in entry.actions { reduce(&state, action) }
        }
        return state
    }

    /// The entries with times since the beginning; converts what they hold.
    func entries<S, A, E: Error>(
        _ convert: (Action) throws(E) -> A
    ) throws(E) -> [Recording<S, A>.Entry] {
        var converted: [Recording<S, A>.Entry] = []
        converted.reserveCapacity(entries.count)
        for entry in entries {
            var actions: [A] = []
            for action in entry.actions { actions.append(try convert(action)) }
            converted.append(.init(at: (entry.at - begin).wholeNanoseconds, actions: actions))
        }
        return converted
    }
}

extension Duration {
    /// In whole nanoseconds, rounded down and held within what fits; not negative.
    var wholeNanoseconds: Int64 {
        let (seconds, attoseconds) = components
        guard seconds >= 0 else { return 0 }
        let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        guard !overflow else { return .max }
        let (sum, tooLarge) = whole.addingReportingOverflow(max(0, attoseconds) / 1_000_000_000)
        return tooLarge ? .max : sum
    }
}

/// A function that tells how much time has passed since this call.
func stopwatch<C: Clock<Duration>>(_ clock: C) -> @Sendable () -> Duration {
    let start = clock.now
    return { start.duration(to: clock.now) }
}
