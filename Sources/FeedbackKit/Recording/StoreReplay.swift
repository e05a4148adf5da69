import Synchronization

extension BaseStore where SyncAction: Codable {
    /// Replays a recording: sets the state to the recording's initial state, then passes the recorded batches to the
    /// reducer. Without an initial state, the replay begins with the state with which the store was created. The
    /// batches bypass middleware, side-effect hook and thunk.
    ///
    /// During the replay, dispatch is locked and returns ``DispatchResult/locked``. The beginning of the replay cancels
    /// running thunks, because their actions belong to the state before it. It also cancels a dispatch with thunks that
    /// is accepted at that same moment. All other accepted actions are taken before the replay begins. Watchers receive
    /// the replayed batches as batches after the middleware. (The original does not cancel running thunks, and it calls
    /// the side-effect hook.)
    ///
    /// Cancelling the task ends the replay at the current entry and unlocks dispatch.
    ///
    /// - Parameters:
    ///   - recording: The recording.
    ///   - pace: The speed. If an entry is already late, for example because of a slow reducer, the replay does not
    ///     wait.
    ///   - clock: The clock; by default the store's own.
    ///   - fingerprint: Returns a text that identifies the final state, to compare with the recording's fingerprint.
    ///   - progress: Called after each entry.
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
        guard core.lock() else { return ReplayResult(outcome: .refused(.locked), progress: none) }
        defer { core.unlock() }
        // An action dispatched just before the lock may not be in the mailbox yet.
        while !core.hasTakenAll, loop.phase == .running {
            await Task.yield()
            await loop.pendingTaken()
        }
        let before = core.replayedCount.load(ordering: .acquiring)
        let begun = DispatchResult(await loop.sendWhenRoom(.reset(initial)))
        guard begun == .accepted else { return ReplayResult(outcome: .refused(begun), progress: none) }
        await loop.pendingTaken()
        var result = await play(
            recording, pace: pace, clock: clock ?? loop.clock, progress: progress,
            send: { DispatchResult(await loop.sendWhenRoom(.replayed($0))) },
            settled: { await loop.pendingTaken() })
        // A mailbox that drops waiting events may have dropped replayed batches. So count them, and unlock dispatch
        // only when the loop has counted all of them.
        let taken = core.replayedCount.load(ordering: .acquiring) &- before
        if result.outcome == .finished, taken != UInt64(recording.entries.count) {
            result = ReplayResult(outcome: .refused(.dropped(.mailboxFull)), progress: result.progress)
        }
        // No other action is taken yet, so this state is exactly the end of the replay.
        if result.outcome == .finished, let expected = recording.fingerprint, let found = fingerprint?(state),
            found != expected
        {
            result = ReplayResult(
                outcome: .diverged(expected: expected, found: found), progress: result.progress)
        }
        repeat {
            await loop.sendWhenRoom(.unlock)
            await loop.pendingTaken()
        } while core.isReplaying.load(ordering: .acquiring) && loop.phase == .running
        return result
    }

    /// A Boolean value that indicates whether a replay is running and dispatch is locked.
    public var isReplaying: Bool { core.isLocked.load(ordering: .acquiring) }
}
