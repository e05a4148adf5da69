public import FeedbackKit
import Synchronization

/// A seeded executor with its own clock. Jobs of loops, jobs of tasks and the ends of sleeps are entries of one list. A
/// generator seeded with ``seed`` chooses which runnable entry runs next.
///
///     let simulation = Simulation(seed: 7)
///     let loop = Loop(initial: 0, feedbacks: […], executor: simulation, clock: simulation.clock) { … }
///     loop.start()
///     simulation.run(for: .seconds(10))
///
/// The same seed produces the same run, byte for byte (``trace``); other seeds produce other interleavings. Time stands
/// still while an entry is runnable, and then jumps to the next deadline. A run therefore never waits.
///
/// Nothing happens until a test drives the simulation with one of these functions, from synchronous or async code:
///
/// - ``runUntilIdle(fileID:filePath:line:column:)``
/// - ``run(for:fileID:filePath:line:column:)``
/// - ``runToEnd(fileID:filePath:line:column:)``
/// - ``step(fileID:filePath:line:column:)``
/// - ``perform(within:fileID:filePath:line:column:_:)``
///
/// Everything runs on the driving thread, one entry after the other. A loop takes one event per entry, so other work
/// can run between any two events. Driving the simulation from within itself, or from two threads at once, is a
/// failure.
///
/// The simulation cannot control work outside of it. Examples are a task from `Task.detached` without this executor, an
/// actor with its own executor, the main actor, `Task.sleep` and other clocks, and real input and output. Results of such
/// work arrive safely from any thread, but the seed does not choose when, so the run is not reproducible. The same holds for
/// code that depends on the iteration order of a `Dictionary` or a `Set`, which the standard library varies.
///
/// A task that never ends keeps its simulation in memory, because the simulation is the task's executor.
public final class Simulation: LoopExecutor, TaskExecutor, TracingExecutor {
    /// The seed of the choice among runnable entries.
    public let seed: UInt64
    /// The number of choices that are random. Behind them, the oldest runnable entry runs.
    public let randomChoices: Int
    /// The maximum number of steps in one call of a driving function, at least 1. A call that needs more is a failure.
    public let maximumSteps: Int

    private struct State: Sendable {
        var machine: SimulationStateMachine
        var nextWaiter: UInt64 = 1
        /// The callers that wait in real time for work from outside.
        var waiters: [UInt64: CheckedContinuation<Bool, Never>] = [:]

        mutating func takeWaiters() -> [CheckedContinuation<Bool, Never>] {
            defer { waiters = [:] }
            return waiters.keys.sorted().compactMap { waiters[$0] }
        }
    }

    private let state: Mutex<State>

    /// A Boolean value that indicates whether the trace names loops, events, states and feedbacks.
    let namesLoops: Bool

    /// Creates a simulation at time zero.
    ///
    /// - Parameter namesLoops: A Boolean value that indicates whether the trace names loops, events, states and feedbacks. It
    ///   does so with an observer of each loop. Without names, a loop that has no observer of its own has none.
    public init(seed: UInt64 = 0, randomChoices: Int = .max, maximumSteps: Int = 200_000, namesLoops: Bool = true) {
        self.namesLoops = namesLoops
        self.seed = seed
        self.randomChoices = max(0, randomChoices)
        self.maximumSteps = max(1, maximumSteps)
        state = Mutex(State(machine: SimulationStateMachine(seed: seed, randomChoices: self.randomChoices)))
    }

    // MARK: Inspecting

    /// The clock of the simulation.
    public var clock: SimulationClock { SimulationClock(simulation: self) }

    /// The current simulated time.
    public var now: ManualClock.Instant { state.withLock { $0.machine.now } }

    /// The number of runnable entries.
    public var runnableCount: Int { state.withLock { $0.machine.runnable.count } }

    /// The deadlines of everything that waits by the clock, earliest first.
    public var deadlines: [ManualClock.Instant] { state.withLock { $0.machine.sleepers.map(\.deadline) } }

    /// The earliest deadline of everything that waits by the clock, or `nil` if nothing waits.
    public var nextDeadline: ManualClock.Instant? { state.withLock { $0.machine.sleepers.first?.deadline } }

    /// The number of choices among several entries.
    var choices: Int { state.withLock { $0.machine.choices } }

    /// The number of entries that have run.
    public var steps: UInt64 { state.withLock { $0.machine.steps } }

    /// The log of the run so far.
    ///
    /// - Complexity: O(1); the lines are shared until the next step.
    public var trace: SimulationTrace { state.withLock { $0.machine.trace } }

    /// Adds a line to the trace.
    public func note(_ text: String) {
        state.withLock { $0.machine.note(text) }
    }

    package func number(ofLoop name: String) -> Int? {
        namesLoops ? state.withLock { $0.machine.addLoop(name) } : nil
    }

    package func trace(_ line: String) {
        state.withLock { $0.machine.addLine(line) }
    }

    // MARK: Executor

    /// One event: other work can run between any two events of a loop.
    public var eventsPerTurn: Int { 1 }

    /// The simulation itself, which also runs side effects.
    public var taskExecutor: (any TaskExecutor)? { self }

    /// Adds a job of a loop, from any thread.
    public func enqueue(_ turn: @escaping @Sendable () -> Void) {
        add(.turn(turn))
    }

    /// Adds a job of a task, from any thread.
    public func enqueue(_ job: consuming ExecutorJob) {
        add(.job(UnownedJob(job)))
    }

    private func add(_ work: SimulationStateMachine.Work) {
        let waiters = state.withLock { state in
            state.machine.add(work)
            return state.takeWaiters()
        }
        for waiter in waiters { waiter.resume(returning: true) }
    }

    // MARK: Driving

    /// Runs one entry without advancing the time.
    ///
    /// - Returns: `false` if no entry is runnable.
    @discardableResult
    public func step(
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) -> Bool {
        guard beginDriving(at: SourcePlace(fileID, filePath, line, column)) else { return false }
        defer { endDriving() }
        return runOne(within: .now)
    }

    /// Runs until no entry is runnable, without advancing the time.
    public func runUntilIdle(
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) {
        run(.now, at: SourcePlace(fileID, filePath, line, column))
    }

    /// Advances the time by `duration`, and runs until no entry is runnable. Tasks that sleep up to that time wake and
    /// run.
    ///
    /// - Parameter duration: The duration, not negative; time does not go back.
    public func run(
        for duration: Duration,
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) {
        run(.until(now.advanced(by: max(.zero, duration))), at: SourcePlace(fileID, filePath, line, column))
    }

    /// Runs until no entry is runnable and no task sleeps. A task that sleeps repeatedly without end is a failure after
    /// ``maximumSteps``.
    public func runToEnd(
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) {
        run(.end, at: SourcePlace(fileID, filePath, line, column))
    }

    /// Runs up to the horizon. Returns `false` if it did not get there, which has been reported.
    @discardableResult
    func run(_ horizon: SimulationStateMachine.Horizon, at place: SourcePlace) -> Bool {
        let outcome = drive(horizon, limit: maximumSteps, place, until: { false })
        if outcome == .exhausted { reportExhaustion(at: place) }
        return outcome == .rest
    }

    /// The end of a drive.
    enum Outcome {
        /// The awaited condition holds.
        case done
        /// No entry is left within the horizon.
        case rest
        /// The limit of steps was reached.
        case exhausted
        /// Another caller drives the simulation; this has been reported.
        case refused
    }

    /// Runs at most `limit` entries, until `isDone` returns `true` or no entry is left within the horizon.
    func drive(
        _ horizon: SimulationStateMachine.Horizon, limit: Int, _ place: SourcePlace, until isDone: () -> Bool
    ) -> Outcome {
        guard beginDriving(at: place) else { return .refused }
        defer { endDriving() }
        var left = limit
        while !isDone() {
            if left == 0 { return isAtRest(within: horizon) ? .rest : .exhausted }
            left -= 1
            if !runOne(within: horizon) { return .rest }
        }
        return .done
    }

    private func beginDriving(at place: SourcePlace) -> Bool {
        if state.withLock({ $0.machine.beginDriving() }) { return true }
        let message =
            "the simulation is being driven already: its work must not drive it, nor may two threads; "
            + "await what the work needs instead"
        FailureReport.report(message, at: place)
        return false
    }

    private func endDriving() {
        state.withLock { $0.machine.endDriving() }
    }

    /// Runs one entry. Returns `false` if no entry is left within the horizon.
    private func runOne(within horizon: SimulationStateMachine.Horizon) -> Bool {
        switch state.withLock({ $0.machine.next(within: horizon) }) {
        case .rest: return false
        case .run(.turn(let turn)): turn()
        case .run(.job(let job)): job.runSynchronously(on: asUnownedTaskExecutor())
        case .run(.wake(let sleep)): sleep.resume()
        }
        return true
    }

    /// Returns whether no entry is left within the horizon, without advancing the time.
    private func isAtRest(within horizon: SimulationStateMachine.Horizon) -> Bool {
        state.withLock { state in
            guard state.machine.runnable.isEmpty else { return false }
            guard let deadline = state.machine.sleepers.first?.deadline else { return true }
            switch horizon {
            case .now: return true
            case .until(let end): return end < deadline
            case .end: return false
            }
        }
    }

    /// Reports that the limit of steps was reached, with the last steps.
    func reportExhaustion(at place: SourcePlace) {
        let lines = trace.latest.map { "\n  " + $0 }.joined()
        let message =
            "the simulation with seed \(seed) did not come to rest within \(maximumSteps) steps: some work restarts "
            + "itself without end, or maximumSteps is too low; the last lines of the trace:\(lines)"
        FailureReport.report(message, at: place)
    }
}

// MARK: Sleeping

extension Simulation {
    /// Sleeps until the time reaches the deadline.
    func sleep(until deadline: ManualClock.Instant) async throws {
        let number = state.withLock { $0.machine.takeNumber() }
        defer { state.withLock { $0.machine.forget(number) } }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: SimulationStateMachine.Sleep) in
                let (over, waiters) = state.withLock { state in
                    let over = state.machine.sleep(number, until: deadline, continuation)
                    return (over, over == nil ? state.takeWaiters() : [])
                }
                over?.resume(throwing: CancellationError())
                for waiter in waiters { waiter.resume(returning: true) }
            }
        } onCancel: {
            state.withLock { $0.machine.cancel(number) }?.resume(throwing: CancellationError())
        }
    }
}

extension Simulation {
    /// Ends every sleep like a cancellation.
    func wakeAllSleepers() {
        for sleeper in state.withLock({ $0.machine.takeSleepers() }) {
            sleeper.sleep.resume(throwing: CancellationError())
        }
    }
}

// MARK: Waiting in real time

extension Simulation {
    /// Waits in real time for work from outside.
    ///
    /// - Parameters:
    ///   - deadline: The end of the wait.
    ///   - counting: Whether a sleeping task counts as work, because the time may be advanced for it.
    /// - Returns: `false` if nothing arrived before the deadline or the cancellation of the task.
    func arrival(before deadline: ContinuousClock.Instant, countingSleepers counting: Bool) async -> Bool {
        let id = state.withLock { state in
            defer { state.nextWaiter += 1 }
            return state.nextWaiter
        }
        let alarm = Task.detached { [weak self] in
            try? await ContinuousClock().sleep(until: deadline)
            self?.giveUp(id)
        }
        defer { alarm.cancel() }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer: Bool? = state.withLock { state in
                    if !state.machine.runnable.isEmpty { return true }
                    if counting, !state.machine.sleepers.isEmpty { return true }
                    if Task.isCancelled || ContinuousClock.now >= deadline { return false }
                    state.waiters[id] = continuation
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            giveUp(id)
        }
    }

    /// Returns a deadline in real time, at most one year ahead, because system clocks overflow.
    static func deadline(in limit: Duration) -> ContinuousClock.Instant {
        .now + min(limit, .seconds(365 * 86_400))
    }

    private func giveUp(_ id: UInt64) {
        state.withLock { $0.waiters.removeValue(forKey: id) }?.resume(returning: false)
    }
}
