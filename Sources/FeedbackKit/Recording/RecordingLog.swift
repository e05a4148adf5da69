import DequeModule

/// A bounded recording in progress, as a plain value.
///
/// It calls no functions. When it drops the oldest entries, its initial state becomes a state that it received. It
/// keeps at most one state in sixty-four, so it holds few states. Dropped values are returned to the caller, so that
/// they are not released under the caller's lock.
struct RecordingLog<State: Sendable, Action: Sendable>: Sendable {
    /// A batch of actions.
    struct Entry: Sendable {
        let at: Duration
        let actions: [Action]
        /// The state after the batch, if the recording may start here.
        let after: State?
    }

    /// The values that have left the recording.
    struct Released: Sendable {
        var states: [State] = []
        var entries = Deque<Entry>()
    }

    let limit: Int
    let overflow: RecordingOverflow
    /// The number of actions between two possible starts of the recording.
    private let stride: Int
    private(set) var initial: State?
    /// The state after the last entry.
    private(set) var final: State?
    private(set) var entries = Deque<Entry>()
    private(set) var isComplete = true
    private var count = 0
    /// The number of actions after the last possible start.
    private var sincePlace = 0
    /// The time of the initial state.
    private var begin = Duration.zero

    init(limit: Int, overflow: RecordingOverflow) {
        self.limit = max(1, limit)
        self.overflow = overflow
        stride = max(1, self.limit / 64)
    }

    /// Starts or restarts the recording with a state.
    mutating func begin(with state: State, at time: Duration) -> Released {
        let old = Released(states: [initial, final].compactMap(\.self), entries: entries)
        (initial, final, begin) = (state, state, time)
        entries = []
        (count, sincePlace) = (0, 0)
        isComplete = true
        return old
    }

    /// Appends actions and the state that they led to. A batch larger than the limit counts as one that does not fit.
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
            // The batch alone exceeds the limit, so the recording starts after it.
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

    /// Drops the oldest entries up to a possible start of the recording.
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

    /// Returns the entries with times since the start, and converts their actions.
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
    /// The duration in whole nanoseconds, rounded down and clamped to 0 through `Int64.max`.
    var wholeNanoseconds: Int64 {
        let (seconds, attoseconds) = components
        guard seconds >= 0 else { return 0 }
        let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        guard !overflow else { return .max }
        let (sum, tooLarge) = whole.addingReportingOverflow(max(0, attoseconds) / 1_000_000_000)
        return tooLarge ? .max : sum
    }
}

/// Returns a function that returns the time since this call.
func stopwatch<C: Clock<Duration>>(_ clock: C) -> @Sendable () -> Duration {
    let start = clock.now
    return { start.duration(to: clock.now) }
}
