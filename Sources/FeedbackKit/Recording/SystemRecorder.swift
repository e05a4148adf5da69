import Synchronization

/// What happened to a ``System``: its events, and, if states can be saved, its initial state.
public typealias SystemRecording = Recording<CodedState, CodedEvent>

/// Records the events of a ``System``: those that a transition handled, in the order in which they were taken. Events
/// that were not handled have changed nothing, and are left out.
///
///     let recorder = SystemRecorder(system, events: EventCodec { IncreaseEvent.self }, states: StateCodec { … })
///     recorder.start()
///     …
///     let recording = try await recorder.stop(application: "1.4.2")
///
/// It adds one feedback to the system, which stays there for the system's life and costs little while nothing is
/// recorded; so make one recorder for a system, and start and stop it as often as needed. It does not keep the system
/// alive.
public final class SystemRecorder: Sendable {
    private typealias Log = RecordingLog<any State, any Event>

    /// A recording that is under way.
    private final class Session: Sendable {
        let elapsed: @Sendable () -> Duration

        init(elapsed: @escaping @Sendable () -> Duration) {
            self.elapsed = elapsed
        }
    }

    private struct Machine: Sendable {
        var state: (any State)?
        var log: Log?
        var session: Session?
    }

    /// What the system's feedback shares with the recorder.
    private final class Core: Sendable {
        private let machine = Mutex(Machine())

        /// Notes what the system shows, on its turn. The clock is asked, and what goes is released, outside the lock.
        func see(_ state: any State, _ event: (any Event)?) {
            let (known, before): (Session?, (any State)?) = machine.withLock { machine in
                guard machine.session == nil else { return (machine.session, nil) }
                defer { machine.state = state }
                return (nil, machine.state)
            }
            withExtendedLifetime(before) {}
            guard let known else { return }
            let elapsed = known.elapsed()
            let old: (state: (any State)?, log: Log.Released?) = machine.withLock { machine in
                defer { machine.state = state }
                // A recording that was started meanwhile has only just begun.
                let time = machine.session === known ? elapsed : .zero
                guard let event else { return (machine.state, machine.log?.begin(with: state, at: time)) }
                return (machine.state, machine.log?.append([event], leadingTo: state, at: time))
            }
            withExtendedLifetime(old) {}
        }

        /// Begins a recording with the state that was shown last.
        func begin(_ new: Log, _ session: Session) {
            let old: (log: Log?, session: Session?) = machine.withLock { machine in
                let old = (machine.log, machine.session)
                (machine.log, machine.session) = (new, session)
                // The new recording is empty, so there is nothing in it to be released.
                if let state = machine.state { _ = machine.log?.begin(with: state, at: .zero) }
                return old
            }
            withExtendedLifetime(old) {}
        }

        /// Ends the recording.
        func end() -> Log? {
            let old: (log: Log?, session: Session?) = machine.withLock { machine in
                defer { (machine.log, machine.session) = (nil, nil) }
                return (machine.log, machine.session)
            }
            return old.log
        }
    }

    private let core = Core()
    private let events: EventCodec
    private let states: StateCodec?
    private let clock: any Clock<Duration>
    private let pending: @Sendable () async -> Void

    /// Makes a recorder for a system, best before the system starts.
    ///
    /// - Parameters:
    ///   - events: the types of event that can be recorded.
    ///   - states: the types of state that can be saved; without it, the initial state is not recorded.
    ///   - system: the system to record.
    public init(_ system: System, events: EventCodec, states: StateCodec? = nil) {
        self.events = events
        self.states = states
        clock = system.loop.clock
        pending = { [weak loop = system.loop] in
            // Before the start there is nothing to wait for, and nobody who would take it.
            guard let loop, loop.phase != .notStarted else { return }
            await loop.pendingTaken()
        }
        system.loop.add(
            .sink(name: "recorder") { [core] state, event in core.see(state, event) })
    }

    /// Begins to record, with the state that the system is in; for a system that has not started, with its first one.
    /// A recording that was under way is discarded.
    ///
    /// - Parameters:
    ///   - limit: how many events to keep, at least 1.
    ///   - overflow: what to do beyond the limit.
    public func start(limit: Int = 100_000, overflow: RecordingOverflow = .stop) {
        core.begin(Log(limit: limit, overflow: overflow), Session(elapsed: stopwatch(clock)))
    }

    /// Ends the recording when every event sent so far has been taken, and answers with it; `nil` if none was under
    /// way.
    ///
    /// Throws a ``RecordingError`` that names the type if an event, or the initial state, is of a type that its codec
    /// does not know.
    ///
    /// - Parameters:
    ///   - application: the version of the application, as it names it.
    ///   - fingerprint: tells the final state from others, for the replay to compare.
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
