import Synchronization

/// A watcher that records the batches that a store's reducer receives.
final class StoreRecorder<State: Equatable & Sendable, SyncAction: Sendable>: Sendable {
    private let log: Mutex<RecordingLog<State, SyncAction>>
    private let elapsed: @Sendable () -> Duration
    private let subscription = Mutex<Subscription?>(nil)

    init(_ log: RecordingLog<State, SyncAction>, elapsed: @escaping @Sendable () -> Duration) {
        self.log = Mutex(log)
        self.elapsed = elapsed
    }

    /// Keeps the subscription to the store.
    func keep(_ subscription: Subscription) {
        self.subscription.withLock { $0 = subscription }
    }

    /// Records a published state and its batch.
    func record<AsyncAction>(_ state: State, _ step: StoreStep<State, AsyncAction, SyncAction>?) {
        let time = elapsed()
        // Dropped values are released here and not under the lock.
        let released = log.withLock { log in
            guard let step, !step.isReset else { return log.begin(with: state, at: time) }
            return log.append(step.after ?? [], leadingTo: state, at: time)
        }
        withExtendedLifetime(released) {}
    }

    /// Ends the recording and returns its log.
    func end() -> RecordingLog<State, SyncAction> {
        let subscription = subscription.withLock { $0.take() }
        subscription?.cancel()
        return log.withLock { $0 }
    }
}

extension BaseStore {
    /// Starts to record the sync actions as the reducer receives them, with their times by the store's clock.
    ///
    /// The recording begins with the state after everything dispatched before this call. A running recording is
    /// discarded. A replay restarts the recording with the state in which the replay begins.
    ///
    /// - Parameters:
    ///   - limit: The maximum number of actions to keep, at least 1.
    ///   - overflow: The rule for actions beyond the limit.
    public func startRecording(limit: Int = 100_000, overflow: RecordingOverflow = .stop) {
        let new = StoreRecorder<State, SyncAction>(
            RecordingLog(limit: limit, overflow: overflow), elapsed: stopwatch(loop.clock))
        new.keep(watchSteps({ state, step in new.record(state, step) }, finish: {}))
        let old = recorder.withLock { known in
            defer { known = new }
            return known
        }
        _ = old?.end()
    }

    /// A Boolean value that indicates whether a recording is running.
    public var isRecording: Bool { recorder.withLock { $0 != nil } }

    /// Ends the recording after everything dispatched so far has been taken.
    private func endRecording() async -> RecordingLog<State, SyncAction>? {
        await loop.pendingTaken()
        return recorder.withLock { $0.take() }?.end()
    }
}

extension BaseStore where SyncAction: Codable {
    /// Ends the recording and returns it with everything dispatched before this call, or returns `nil` if no recording
    /// was running.
    ///
    /// The recording contains no state: a replay begins with the state with which the store was created. To replay a
    /// recording, start it before anything else and do not drop its oldest actions.
    ///
    /// - Parameters:
    ///   - application: The version of the application, in its own notation.
    ///   - fingerprint: Returns a text that identifies the final state, which the replay compares.
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
    /// Ends the recording and returns it with its initial state and everything dispatched before this call, or returns
    /// `nil` if no recording was running.
    ///
    /// - Parameters:
    ///   - application: The version of the application, in its own notation.
    ///   - fingerprint: Returns a text that identifies the final state, which the replay compares.
    public func stopRecording(
        application: String = "", fingerprint: (@Sendable (State) -> String)? = nil
    ) async -> Recording<State, SyncAction>? {
        guard let log = await endRecording() else { return nil }
        return Recording(
            application: application, initial: log.initial, entries: log.entries { $0 }, isComplete: log.isComplete,
            fingerprint: log.final.flatMap { state in fingerprint.map { $0(state) } })
    }
}
