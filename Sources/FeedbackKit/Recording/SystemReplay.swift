/// A replay of a system's recording in a new system with the same transitions and without feedbacks. Only the states
/// are repeated; no side effect runs.
///
///     let replay = try SystemReplay(recording, transitions: system.transitions)
///     await replay.run(pace: .immediately)
///     replay.system.state
///
/// The replay reaches the same state if the transitions are pure. It may diverge if a transition is disabled by an
/// external condition, or makes its state from the time or at random. A fingerprint detects this.
public struct SystemReplay: Sendable {
    /// The system that receives the events. It has no feedbacks. You may watch it; if you send it other events, it
    /// diverges from the recording.
    public let system: System
    private let recording: SystemRecording

    /// Creates the system in the recording's initial state.
    ///
    /// Throws a ``RecordingError`` if there is no initial state.
    ///
    /// - Parameters:
    ///   - transitions: The transitions of the recorded system.
    ///   - initial: The initial state if the recording has none.
    ///   - clock: The clock for the replay.
    ///   - recording: The recording.
    public init(
        _ recording: SystemRecording, transitions: Transitions, initial: (any State)? = nil,
        clock: any Clock<Duration> = ContinuousClock()
    ) throws(RecordingError) {
        guard let first = recording.initial?.state ?? initial else {
            throw RecordingError(
                .missingInitialState,
                "the recording has no initial state: record with a StateCodec, or give the replay an initial state")
        }
        self.recording = recording
        system = System(clock: clock) {
            InitialState { first }
            transitions
        }
    }

    /// Sends the recorded events. Cancelling the task ends the replay at the current entry. Call it once.
    ///
    /// - Parameters:
    ///   - pace: The speed.
    ///   - fingerprint: Returns a text that identifies the final state, to compare with the recording's fingerprint.
    ///   - progress: Called after each entry.
    @discardableResult
    public func run(
        pace: ReplayPace = .original, fingerprint: (@Sendable (any State) -> String)? = nil,
        progress: (@Sendable (ReplayProgress) -> Void)? = nil
    ) async -> ReplayResult {
        do {
            try pace.check()
        } catch {
            let none = ReplayProgress(played: 0, total: recording.entries.count)
            return ReplayResult(outcome: .failed(error), progress: none)
        }
        system.start()
        let loop = system.loop
        let result = await play(
            recording, pace: pace, clock: loop.clock, progress: progress,
            send: { events in
                for event in events {
                    let sent = await loop.sendWhenRoom(event.event)
                    guard sent == .accepted else { return DispatchResult(sent) }
                }
                return .accepted
            }, settled: { await loop.pendingTaken() })
        guard result.outcome == .finished, let expected = recording.fingerprint, let fingerprint else { return result }
        let found = fingerprint(system.state)
        guard found != expected else { return result }
        return ReplayResult(outcome: .diverged(expected: expected, found: found), progress: result.progress)
    }
}
