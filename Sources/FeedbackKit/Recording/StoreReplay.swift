import Synchronization

extension BaseStore where SyncAction: Codable {
    /// Replays a recording: sets the state to the recording's initial one (to the one the store was made with, if it
    /// has none), then gives the recorded batches to the reducer, past middleware, side-effect hook and thunk.
    ///
    /// Meanwhile dispatch is locked: it answers ``DispatchResult/locked``. Thunks that run when the replay begins are
    /// cancelled, since what they yield belongs to the state that is left, and so is a dispatch with thunks that is
    /// accepted at the very moment when the replay begins; other actions that were accepted are taken before the replay
    /// begins. (The original lets thunks that run interfere, and calls the side-effect hook.) Those who watch see
    /// what is replayed, as batches after the middleware.
    ///
    /// Cancelling the task ends the replay where it is, and unlocks dispatch.
    ///
    /// - Parameters:
    ///   - recording: what to replay.
    ///   - pace: how fast. A time that has already passed (a slow reducer) is not waited for.
    ///   - clock: what time it is; the store's own, if not said.
    ///   - fingerprint: what to compare the final state by, if the recording has a fingerprint.
    ///   - progress: called after each entry.
    @discardableResult
    public func replay<Initial: Codable & Sendable>(
        _ recording: Recording<Initial, SyncAction>, pace: ReplayPace = .original,
        clock: (any Clock<Duration>)? = nil,
        fingerprint: (@Sendable (State) -> String)? = nil,
        progress: (@Sendable (ReplayProgress) -> Void)? = nil
    ) async -> ReplayResult {
        let none = ReplayProgress(played: 0, total: recording.entries.count)
        do { try pace.check() } catch { return ReplayResult(outcome: .failed(error), progress: none) }
        let initial: State
        switch recording.initial {
        case nil: initial = initialState
        case let saved? as State?: initial = saved
        default:
            let error = RecordingError(
                .missingInitialState,
                """
                the recording begins with a \(Initial.self), and the store's state is a \(State.self); \
                replay it into a store of the kind it was recorded from
                """)
            return ReplayResult(outcome: .failed(error), progress: none)
        }
        guard turn.lock() else { return ReplayResult(outcome: .refused(.locked), progress: none) }
        defer { turn.unlock() }
        // Who dispatched just before the lock may not have got as far as the mailbox.
        while !turn.hasTakenAll, loop.phase == .running {
            await Task.yield()
            await loop.pendingTaken()
        }
        let before = turn.replayedCount.load(ordering: .acquiring)
        let begun = DispatchResult(await loop.sendWhenRoom(.reset(initial)))
        guard begun == .accepted else { return ReplayResult(outcome: .refused(begun), progress: none) }
        await loop.pendingTaken()
        var result = await play(
            recording, pace: pace, clock: clock ?? loop.clock, progress: progress,
            send: { DispatchResult(await loop.sendWhenRoom(.replayed($0))) },
            settled: { await loop.pendingTaken() })
        // A mailbox that lets new events take the place of old ones may have dropped what was sent: it is counted, and
        // dispatch is only unlocked when the turn knows it.
        let taken = turn.replayedCount.load(ordering: .acquiring) &- before
        if result.outcome == .finished, taken != UInt64(recording.entries.count) {
            result = ReplayResult(outcome: .refused(.dropped(.mailboxFull)), progress: result.progress)
        }
        // Nothing else is taken yet, so this is exactly where the replay has led.
        if result.outcome == .finished, let expected = recording.fingerprint, let found = fingerprint?(state),
            found != expected
        {
            result = ReplayResult(
                outcome: .diverged(expected: expected, found: found), progress: result.progress)
        }
        repeat {
            await loop.sendWhenRoom(.unlock)
            await loop.pendingTaken()
        } while turn.isReplaying.load(ordering: .acquiring) && loop.phase == .running
        return result
    }

    /// Whether a replay is under way, and dispatch locked.
    public var isReplaying: Bool { turn.isLocked.load(ordering: .acquiring) }
}
