import Synchronization

/// A recording of a ``System``: its events, and, with a state codec, its initial state.
public typealias SystemRecording = Recording<CodedState, CodedEvent>

/// A recorder for the events of a ``System``. It records the events that a transition handled, in the order in which
/// they were taken. It omits unhandled events, because they changed nothing.
///
///     let recorder = SystemRecorder(system, events: EventCodec { IncreaseEvent.self }, states: StateCodec { … })
///     recorder.start()
///     …
///     let recording = try await recorder.stop(application: "1.4.2")
///
/// The recorder adds one feedback to the system for the system's whole life. The feedback costs little when nothing is
/// recorded. So create one recorder per system, and start and stop it as needed. It does not keep the system alive.
public final class SystemRecorder: Sendable {
    private typealias Log = RecordingLog<any State, any Event>

    /// A recording in progress.
    private final class Session: Sendable {
        let elapsed: @Sendable () -> Duration

        init(elapsed: @escaping @Sendable () -> Duration) {
            self.elapsed = elapsed
        }
    }

    private struct Storage: Sendable {
        var state: (any State)?
        var log: Log?
        var session: Session?
    }

    /// The state shared by the system's feedback and the recorder.
    private final class Core: Sendable {
        private let storage = Mutex(Storage())

        /// Records a published state on the system's executor. The clock is read, and dropped values are released,
        /// outside the lock.
        func record(_ state: any State, _ event: (any Event)?) {
            let (known, before): (Session?, (any State)?) = storage.withLock { storage in
                guard storage.session == nil else { return (storage.session, nil) }
                defer { storage.state = state }
                return (nil, storage.state)
            }
            withExtendedLifetime(before) {}
            guard let known else { return }
            let elapsed = known.elapsed()
            let old: (state: (any State)?, log: Log.Released?) = storage.withLock { storage in
                defer { storage.state = state }
                // A recording that started since then begins at time zero.
                let time = storage.session === known ? elapsed : .zero
                guard let event else { return (storage.state, storage.log?.begin(with: state, at: time)) }
                return (storage.state, storage.log?.append([event], leadingTo: state, at: time))
            }
            withExtendedLifetime(old) {}
        }

        /// Starts a recording with the last published state.
        func begin(_ new: Log, _ session: Session) {
            let old: (log: Log?, session: Session?) = storage.withLock { storage in
                let old = (storage.log, storage.session)
                (storage.log, storage.session) = (new, session)
                // The new recording is empty, so it drops nothing.
                if let state = storage.state { _ = storage.log?.begin(with: state, at: .zero) }
                return old
            }
            withExtendedLifetime(old) {}
        }

        /// Ends the recording.
        func end() -> Log? {
            let old: (log: Log?, session: Session?) = storage.withLock { storage in
                defer { (storage.log, storage.session) = (nil, nil) }
                return (storage.log, storage.session)
            }
            return old.log
        }
    }

    private let core = Core()
    private let events: EventCodec
    private let states: StateCodec?
    private let clock: any Clock<Duration>
    private let pending: @Sendable () async -> Void

    /// Creates a recorder for a system, preferably before the system starts.
    ///
    /// - Parameters:
    ///   - events: The event types that can be recorded.
    ///   - states: The state types that can be saved. Without it, the initial state is not recorded.
    ///   - system: The system to record.
    public init(_ system: System, events: EventCodec, states: StateCodec? = nil) {
        self.events = events
        self.states = states
        clock = system.loop.clock
        pending = { [weak loop = system.loop] in
            // Before the start nothing has been sent to wait for, and no loop would take it.
            guard let loop, loop.phase != .notStarted else { return }
            await loop.pendingTaken()
        }
        system.loop.add(
            .sink(name: "recorder") { [core] state, event in core.record(state, event) }.seeingUpdates())
    }

    /// Starts to record with the system's current state, or with the first state of a system that has not started. A
    /// running recording is discarded.
    ///
    /// - Parameters:
    ///   - limit: The maximum number of events to keep, at least 1.
    ///   - overflow: The rule for events beyond the limit.
    public func start(limit: Int = 100_000, overflow: RecordingOverflow = .stop) {
        core.begin(Log(limit: limit, overflow: overflow), Session(elapsed: stopwatch(clock)))
    }

    /// Ends the recording after every event sent so far has been taken. Returns the recording, or `nil` if none was
    /// running.
    ///
    /// Throws a ``RecordingError`` that names the type if a codec does not contain the type of an event or of the
    /// initial state.
    ///
    /// - Parameters:
    ///   - application: The version of the application, in its own notation.
    ///   - fingerprint: Returns a text that identifies the final state, which the replay compares.
    public func stop(
        application: String = "", fingerprint: (@Sendable (any State) -> String)? = nil
    ) async throws(RecordingError) -> SystemRecording? {
        await pending()
        guard let log = core.end() else { return nil }
        var initial: CodedState?
        if let states, let state = log.initial { initial = try CodedState(state, codec: states) }
        return SystemRecording(
            application: application, initial: initial,
            entries: try log.entries { event throws(RecordingError) in try CodedEvent(event, codec: events) },
            isComplete: log.isComplete,
            fingerprint: fingerprint.flatMap { fingerprint in log.final.map { fingerprint($0) } })
    }
}
