import Synchronization

/// Records what a store's reducer sees, by watching it.
final class StoreRecorder<State: Equatable & Sendable, SyncAction: Sendable>: Sendable {
    private let log: Mutex<RecordingLog<State, SyncAction>>
    private let elapsed: @Sendable () -> Duration
    private let subscription = Mutex<Subscription?>(nil)

    init(_ log: RecordingLog<State, SyncAction>, elapsed: @escaping @Sendable () -> Duration) {
        self.log = Mutex(log)
        self.elapsed = elapsed
    }

    /// Keeps what it watches by.
    func keep(_ subscription: Subscription) {
        self.subscription.withLock { $0 = subscription }
    }

    /// Takes what it is shown.
    func see<AsyncAction>(_ state: State, _ step: StoreStep<State, AsyncAction, SyncAction>?) {
        let time = elapsed()
        // What goes is released here, and not under the lock.
        let released = log.withLock { log in
            guard let step, !step.isReset else { return log.begin(with: state, at: time) }
            return log.append(step.after ?? [], leadingTo: state, at: time)
        }
        withExtendedLifetime(released) {}
    }

    /// Ends it, and answers with what it has recorded.
    func end() -> RecordingLog<State, SyncAction> {
        let subscription = subscription.withLock { $0.take() }
        subscription?.cancel()
        return log.withLock { $0 }
    }
}

extension BaseStore {
    /// Begins to record the sync actions, as the reducer sees them, with their times by the store's clock.
    ///
    /// The recording begins with the state after everything dispatched before this call. If one was under way, it is
    /// discarded. A replay during a recording begins it anew, with the state that the replay began with.
    ///
    /// - Parameters:
    ///   - limit: how many actions to keep, at least 1.
    ///   - overflow: what to do beyond the limit.
    public func startRecording(limit: Int = 100_000, overflow: RecordingOverflow = .stop) {
        let new = StoreRecorder<State, SyncAction>(
            RecordingLog(limit: limit, overflow: overflow), elapsed: stopwatch(loop.clock))
        new.keep(tap({ state, step in new.see(state, step) }, finish: {}))
        let old = recorder.withLock { known in
            defer { known = new }
            return known
        }
        _ = old?.end()
    }

    /// Whether a recording is under way.
    public var isRecording: Bool { recorder.withLock { $0 != nil } }

    /// Ends the recording when everything dispatched so far has been taken.
    private func endRecording() async -> RecordingLog<State, SyncAction>? {
        await loop.pendingTaken()
        return recorder.withLock { $0.take() }?.end()
    }
}

extension BaseStore where SyncAction: Codable {
    /// Ends the recording and answers with it; `nil` if none was under way. What was dispatched before this call is in
    /// it.
    ///
    /// The state is not recorded: a replay begins with the state the store was made with, so a recording that should
    /// be replayed should be started first of all, and not drop its oldest actions.
    ///
    /// - Parameters:
    ///   - application: the version of the application, as it names it.
    ///   - fingerprint: tells the final state from others, for the replay to compare.
    public func stopRecording(
        application: String = "", fingerprint: (@Sendable (State) -> String)? = nil
    ) async -> Recording<Never, SyncAction>? {
        guard let log = await endRecording() else { return nil }
        return Recording(
            application: application, initial: nil, entries: log.entries { $0 }, isComplete: log.isComplete,
            fingerprint: log.final.flatMap { state in fingerprint.map { $0(state) } })
    }
}

extension BaseStore where State: Codable, SyncAction: Codable {
    /// Ends the recording and answers with it, its initial state included; `nil` if none was under way. What was
    /// dispatched before this call is in it.
    ///
    /// - Parameters:
    ///   - application: the version of the application, as it names it.
    ///   - fingerprint: tells the final state from others, for the replay to compare.
    public func stopRecording(
        application: String = "", fingerprint: (@Sendable (State) -> String)? = nil
    ) async -> Recording<State, SyncAction>? {
        guard let log = await endRecording() else { return nil }
        return Recording(
            application: application, initial: log.initial, entries: log.entries { $0 }, isComplete: log.isComplete,
            fingerprint: log.final.flatMap { state in fingerprint.map { $0(state) } })
    }
}
