import DequeModule

/// A recording while it is being made: a plain, bounded value.
///
/// It calls nobody: where the oldest entries go, the state to begin with is one that it was shown. It keeps one of
/// sixty-four of them at most, so that it holds few states. What goes is handed out, so that it is not released under
/// the lock of who holds the recording.
struct RecordingLog<State: Sendable, Action: Sendable>: Sendable {
    /// A batch of actions.
    struct Entry: Sendable {
        let at: Duration
        let actions: [Action]
        /// The state after it, if the recording may begin here.
        let after: State?
    }

    /// What is no longer part of the recording.
    struct Released: Sendable {
        var states: [State] = []
        var entries = Deque<Entry>()
    }

    let limit: Int
    let overflow: RecordingOverflow
    /// How many actions there are between two places where the recording may begin.
    private let stride: Int
    private(set) var initial: State?
    /// The state after the last entry.
    private(set) var final: State?
    private(set) var entries = Deque<Entry>()
    private(set) var isComplete = true
    private var count = 0
    /// How many actions there are behind the last place where the recording may begin.
    private var sincePlace = 0
    /// When the initial state was current.
    private var begin = Duration.zero

    init(limit: Int, overflow: RecordingOverflow) {
        self.limit = max(1, limit)
        self.overflow = overflow
        stride = max(1, self.limit / 64)
    }

    /// Begins, or begins anew, with a state.
    mutating func begin(with state: State, at time: Duration) -> Released {
        let old = Released(states: [initial, final].compactMap(\.self), entries: entries)
        (initial, final, begin) = (state, state, time)
        entries = []
        (count, sincePlace) = (0, 0)
        isComplete = true
        return old
    }

    /// Notes actions, and the state they have led to; a batch larger than the limit counts as one that does not fit.
    mutating func append(_ actions: [Action], leadingTo state: State, at time: Duration) -> Released {
        var old = Released()
        guard isComplete, !actions.isEmpty else { return old }
        if overflow == .dropOldest { makeRoom(for: actions.count, at: time, &old) }
        if let final { old.states.append(final) }
        if count + actions.count > limit {
            guard overflow == .dropOldest else {
                isComplete = false
                old.states = []
                return old
            }
            // It is alone in the way: the recording begins behind it.
            if let initial { old.states.append(initial) }
            (initial, final, begin) = (state, state, time)
            return old
        }
        sincePlace += actions.count
        let mayBegin = overflow == .dropOldest && sincePlace >= stride
        if mayBegin { sincePlace = 0 }
        entries.append(Entry(at: time, actions: actions, after: mayBegin ? state : nil))
        count += actions.count
        final = state
        return old
    }

    /// Lets the oldest entries go, up to a place where the recording may begin.
    private mutating func makeRoom(for more: Int, at time: Duration, _ old: inout Released) {
        while count + more > limit, !entries.isEmpty {
            var place: (state: State, at: Duration)?
            while place == nil, let oldest = entries.popFirst() {
                count -= oldest.actions.count
                place = oldest.after.map { ($0, oldest.at) }
                old.entries.append(oldest)
            }
            if entries.isEmpty { sincePlace = 0 }
            guard let state = place?.state ?? final else { return }
            if let initial { old.states.append(initial) }
            (initial, begin) = (state, place?.at ?? old.entries.last?.at ?? time)
        }
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
