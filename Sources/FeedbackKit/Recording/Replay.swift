/// How fast a recording is replayed.
public enum ReplayPace: Sendable, Hashable {
    /// As it was recorded.
    case original
    /// So many times as fast: 2 takes half the time. It must be a positive number.
    case times(Double)
    /// Without waiting.
    case immediately

    /// When something recorded at `nanoseconds` is due; `nil`: at once.
    func due(_ nanoseconds: Int64) -> Duration? {
        switch self {
        case .immediately: return nil
        case .original: return .nanoseconds(nanoseconds)
        case .times(let factor):
            let scaled = Double(nanoseconds) / factor
            return .nanoseconds(scaled < 9e18 ? Int64(scaled) : 9_000_000_000_000_000_000)
        }
    }

    /// Throws if it is no pace.
    func check() throws(RecordingError) {
        guard case .times(let factor) = self, !(factor.isFinite && factor > 0) else { return }
        throw RecordingError(
            .invalidPace, "a recording cannot be replayed \(factor) times as fast; give a number above 0")
    }
}

/// How far a replay has come.
public struct ReplayProgress: Sendable, Hashable {
    /// How many entries have been replayed.
    public let played: Int
    /// How many there are.
    public let total: Int

    /// So many of so many.
    public init(played: Int, total: Int) {
        self.played = played
        self.total = total
    }
}

/// What a replay came to.
public struct ReplayResult: Sendable, Hashable {
    /// How it ended.
    public enum Outcome: Sendable, Hashable {
        /// Everything was replayed.
        case finished
        /// Everything was replayed, and the final state is another one than was recorded.
        case diverged(expected: String, found: String)
        /// The task it ran in was cancelled; the state is as after the last entry replayed.
        case cancelled
        /// The store or system did not take it: it stopped, its mailbox was full, or another replay was under way.
        case refused(DispatchResult)
        /// The recording cannot be replayed.
        case failed(RecordingError)
    }

    /// How it ended.
    public let outcome: Outcome
    /// How far it came.
    public let progress: ReplayProgress
}

/// How many entries are sent before the replay waits for them to be taken, so that a long recording does not fill the
/// mailbox.
let replayChunk = 64

/// Plays entries in their order at a pace.
///
/// - Parameters:
///   - clock: what time it is.
///   - send: takes the actions of an entry.
///   - settled: returns when what was sent has been taken.
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
