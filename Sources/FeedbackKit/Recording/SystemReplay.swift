/// Replays a system's recording into a fresh system with the same transitions and without feedbacks: nothing but the
/// states happens again.
///
///     let replay = try SystemReplay(recording, transitions: system.transitions)
///     await replay.run(pace: .immediately)
///     replay.system.state
///
/// It reaches the same state if the transitions are pure. A transition that is disabled by a condition from outside, or
/// that makes its state from the time or from chance, may lead elsewhere; a fingerprint tells.
public struct SystemReplay: Sendable {
    /// The system that the events are replayed into. It has no feedbacks; it can be watched, and sending it other
    /// events leads it away from what was recorded.
    public let system: System
    private let recording: SystemRecording

    /// Makes the system, in the recording's initial state.
    ///
    /// Throws a ``RecordingError`` if there is no initial state.
    ///
    /// - Parameters:
    ///   - transitions: those of the system that was recorded.
    ///   - initial: where to begin if the recording has no initial state.
    ///   - clock: what time it is for the replay.
    ///   - recording: what was recorded.
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

    /// Sends the recorded events. Cancelling the task ends the replay where it is. Run it once.
    ///
    /// - Parameters:
    ///   - pace: how fast.
    ///   - fingerprint: what to compare the final state by, if the recording has a fingerprint.
    ///   - progress: called after each entry.
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
