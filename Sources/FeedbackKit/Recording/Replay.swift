/// The speed of a replay.
public enum ReplayPace: Sendable, Hashable {
    /// The recorded speed.
    case original
    /// A multiple of the recorded speed: 2 takes half the time. The factor must be positive.
    case times(Double)
    /// No delays.
    case immediately

    /// Returns the time at which an entry recorded at `nanoseconds` is due, or `nil` for immediately.
    func due(_ nanoseconds: Int64) -> Duration? {
        switch self {
        case .immediately: return nil
        case .original: return .nanoseconds(nanoseconds)
        case .times(let factor):
            let scaled = Double(nanoseconds) / factor
            return .nanoseconds(scaled < 9e18 ? Int64(scaled) : 9_000_000_000_000_000_000)
        }
    }

    /// Throws an error if the factor is not positive.
    func check() throws(RecordingError) {
        guard case .times(let factor) = self, !(factor.isFinite && factor > 0) else { return }
        throw RecordingError(
            .invalidPace, "a recording cannot be replayed \(factor) times as fast; give a number above 0")
    }
}

/// The progress of a replay.
public struct ReplayProgress: Sendable, Hashable {
    /// The number of replayed entries.
    public let played: Int
    /// The number of all entries.
    public let total: Int

    /// Creates a progress value.
    public init(played: Int, total: Int) {
        self.played = played
        self.total = total
    }
}

/// The result of a replay.
public struct ReplayResult: Sendable, Hashable {
    /// The end of a replay.
    public enum Outcome: Sendable, Hashable {
        /// All entries were replayed.
        case finished
        /// All entries were replayed, but the final state differs from the recorded one.
        case diverged(expected: String, found: String)
        /// The replay's task was cancelled; the state is that after the last replayed entry.
        case cancelled
        /// The store or system refused an entry: it stopped, its mailbox was full, or another replay was running.
        case refused(DispatchResult)
        /// The recording cannot be replayed.
        case failed(RecordingError)
    }

    /// The end of the replay.
    public let outcome: Outcome
    /// The progress at the end.
    public let progress: ReplayProgress
}

/// The number of entries that a replay sends before it waits until they are taken. It keeps a long recording from
/// filling the mailbox.
let replayChunk = 64

/// Plays entries in their order at a pace.
///
/// - Parameters:
///   - clock: The clock of the replay.
///   - send: Sends the actions of an entry.
///   - settled: Returns when the sent actions have been taken.
func play<S, A>(
    _ recording: Recording<S, A>, pace: ReplayPace, clock: any Clock<Duration>,
    progress: (@Sendable (ReplayProgress) -> Void)?,
    send: ([A]) async -> DispatchResult, settled: () async -> Void
) async -> ReplayResult {
    let total = recording.entries.count
    func result(_ outcome: ReplayResult.Outcome, _ played: Int) -> ReplayResult {
        ReplayResult(outcome: outcome, progress: ReplayProgress(played: played, total: total))
    }
    let elapsed = stopwatch(clock)
    for (index, entry) in recording.entries.enumerated() {
        if let due = pace.due(entry.at) {
            let wait = due - elapsed()
            if wait > .zero, (try? await clock.sleep(for: wait)) == nil { return result(.cancelled, index) }
        }
        if Task.isCancelled { return result(.cancelled, index) }
        let sent = await send(entry.actions)
        guard sent == .accepted else { return result(.refused(sent), index) }
        if pace != .immediately || (index + 1).isMultiple(of: replayChunk) { await settled() }
        progress?(ReplayProgress(played: index + 1, total: total))
    }
    await settled()
    return result(.finished, total)
}
