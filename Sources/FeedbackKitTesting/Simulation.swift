public import FeedbackKit
import Synchronization

/// A seeded executor and its clock in one: turns of loops, parts of tasks and the ends of sleeps are entries of one
/// list, and a generator seeded with ``seed`` chooses which of the runnable entries runs next.
///
///     let simulation = Simulation(seed: 7)
///     let loop = Loop(initial: 0, feedbacks: […], executor: simulation, clock: simulation.clock) { … }
///     loop.start()
///     simulation.run(for: .seconds(10))
///
/// The same seed gives the same run, byte for byte (``trace``); other seeds give other interleavings. Time stands
/// still while anything is runnable, and then jumps to the next deadline, so that no run takes longer than its work.
///
/// Nothing happens until it is driven: by ``runUntilIdle(fileID:filePath:line:column:)``,
/// ``run(for:fileID:filePath:line:column:)``, ``runToEnd(fileID:filePath:line:column:)``,
/// ``step(fileID:filePath:line:column:)`` or ``perform(within:fileID:filePath:line:column:_:)``, from code that is
/// `async` or not. Everything runs on the thread that drives, one entry after the other; a loop takes one event a turn,
/// so that between any two events something else may run. Driving it from within itself, or from two threads at once,
/// is a failure.
///
/// What it cannot hold: work that goes elsewhere, such as a task started by `Task.detached` without this executor, an
/// actor with an executor of its own, the main actor, `Task.sleep` and other clocks, or real input and output. What
/// comes back from there is taken in safely, from any thread, but when it comes is not the seed's choice, so such a run
/// is not reproduced. Nor is a run whose code depends on the iteration order of a `Dictionary` or a `Set`, which the
/// standard library varies.
///
/// A task that never ends keeps its simulation in memory, since it is the executor of the task.
public final class Simulation: LoopExecutor, TaskExecutor {
    /// What chooses among the runnable entries.
    public let seed: UInt64
    /// How many steps one call of a driving function may take, at least 1; one that would take more is a failure.
    public let maximumSteps: Int

    private struct Guarded: Sendable {
        var machine: SimulationMachine
        var nextWaiter: UInt64 = 1
        /// Whoever waits in real time for something to arrive from elsewhere.
        var waiters: [UInt64: CheckedContinuation<Bool, Never>] = [:]

        mutating func takeWaiters() -> [CheckedContinuation<Bool, Never>] {
            defer { waiters = [:] }
            return waiters.keys.sorted().compactMap { waiters[$0] }
        }
    }

    private let guarded: Mutex<Guarded>

    /// A simulation at its beginning.
    public init(seed: UInt64 = 0, maximumSteps: Int = 200_000) {
        self.seed = seed
        self.maximumSteps = max(1, maximumSteps)
        guarded = Mutex(Guarded(machine: SimulationMachine(seed: seed)))
    }

    // MARK: Looking in

    /// The clock that it drives.
    public var clock: SimulationClock { SimulationClock(simulation: self) }

    /// What time it is.
    public var now: ManualClock.Instant { guarded.withLock { $0.machine.now } }

    /// How many entries are runnable.
    public var runnableCount: Int { guarded.withLock { $0.machine.runnable.count } }

    /// How many sleep on the clock.
    public var sleeperCount: Int { guarded.withLock { $0.machine.sleepers.count } }

    /// When the first sleeper wakes; `nil` if none sleeps.
    public var nextDeadline: ManualClock.Instant? { guarded.withLock { $0.machine.sleepers.first?.deadline } }

    /// How many entries have run.
    public var steps: UInt64 { guarded.withLock { $0.machine.steps } }

    /// What it has done so far.
    ///
    /// - Complexity: O(1); the lines are shared until the next step.
    public var trace: SimulationTrace { guarded.withLock { $0.machine.trace } }

    /// Adds a line of the test's own to the trace.
    public func note(_ text: String) {
        guarded.withLock { $0.machine.note(text) }
    }

    // MARK: Executor

    /// One: between any two events of a loop something else may run.
    public var eventsPerTurn: Int { 1 }

    /// Side effects run here, too.
    public var taskExecutor: (any TaskExecutor)? { self }

    /// Takes in a turn of a loop. From any thread.
    public func enqueue(_ turn: @escaping @Sendable () -> Void) {
        add(.turn(turn))
    }

    /// Takes in a part of a task. From any thread.
    public func enqueue(_ job: consuming ExecutorJob) {
        add(.job(UnownedJob(job)))
    }

    private func add(_ work: SimulationMachine.Work) {
        let waiters = guarded.withLock { guarded in
            guarded.machine.add(work)
            return guarded.takeWaiters()
        }
        for waiter in waiters { waiter.resume(returning: true) }
    }

    // MARK: Driving

    /// Runs one entry. Time does not pass.
    ///
    /// - Returns: `false` if nothing is runnable.
    @discardableResult
    public func step(
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) -> Bool {
        guard beginDriving(at: SourcePlace(fileID, filePath, line, column)) else { return false }
        defer { endDriving() }
        return runOne(within: .now)
    }

    /// Runs until nothing is runnable. Time does not pass.
    public func runUntilIdle(
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) {
        run(.now, at: SourcePlace(fileID, filePath, line, column))
    }

    /// Runs until nothing is runnable and so much time has passed. Who sleeps until then is woken and runs.
    ///
    /// - Parameter duration: not negative; time does not go back.
    public func run(
        for duration: Duration,
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) {
        run(.until(now.advanced(by: max(.zero, duration))), at: SourcePlace(fileID, filePath, line, column))
    }

    /// Runs until nothing is runnable and nobody sleeps. Something that sleeps again and again without end is a failure
    /// after ``maximumSteps``.
    public func runToEnd(
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) {
        run(.end, at: SourcePlace(fileID, filePath, line, column))
    }

    /// Runs up to the horizon; `false` if it did not get there, which has been reported.
    @discardableResult
    func run(_ horizon: SimulationMachine.Horizon, at place: SourcePlace) -> Bool {
        let outcome = drive(horizon, limit: maximumSteps, place, until: { false })
        if outcome == .exhausted { reportExhaustion(at: place) }
        return outcome == .rest
    }

    /// How driving ended.
    enum Outcome {
        /// What was waited for has happened.
        case done
        /// Nothing is left within the horizon.
        case rest
        /// The limit of steps is reached.
        case exhausted
        /// Someone else drives; that has been reported.
        case refused
    }

    /// Runs entries, at most `limit`, until `isDone` or nothing is left within the horizon.
    func drive(
        _ horizon: SimulationMachine.Horizon, limit: Int, _ place: SourcePlace, until isDone: () -> Bool
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
        if guarded.withLock({ $0.machine.beginDriving() }) { return true }
        let message =
            "the simulation is being driven already: its work must not drive it, nor may two threads; "
            + "await what the work needs instead"
        FailureReport.report(message, at: place)
        return false
    }

    private func endDriving() {
        guarded.withLock { $0.machine.endDriving() }
    }

    /// Runs one entry; `false` if there is none within the horizon.
    private func runOne(within horizon: SimulationMachine.Horizon) -> Bool {
        switch guarded.withLock({ $0.machine.next(within: horizon) }) {
        case .rest: return false
        case .run(.turn(let turn)): turn()
        case .run(.job(let job)): job.runSynchronously(on: asUnownedTaskExecutor())
        case .run(.wake(let sleep)): sleep.resume()
        }
        return true
    }

    /// Whether nothing is left within the horizon; time is not advanced.
    private func isAtRest(within horizon: SimulationMachine.Horizon) -> Bool {
        guarded.withLock { guarded in
            guard guarded.machine.runnable.isEmpty else { return false }
            guard let deadline = guarded.machine.sleepers.first?.deadline else { return true }
            switch horizon {
            case .now: return true
            case .until(let end): return end < deadline
            case .end: return false
            }
        }
    }

    /// Says that the limit of steps is reached, and what ran last.
    func reportExhaustion(at place: SourcePlace) {
        let lines = trace.latest.map { "\n  " + $0 }.joined()
        let message =
            "the simulation with seed \(seed) did not come to rest within \(maximumSteps) steps: something sets itself "
            + "off again without end, or maximumSteps is too low; the last lines of the trace:\(lines)"
        FailureReport.report(message, at: place)
    }
}

// MARK: Sleeping

extension Simulation {
    /// Sleeps until time has been advanced to the deadline.
    func sleep(until deadline: ManualClock.Instant) async throws {
        let number = guarded.withLock { $0.machine.takeNumber() }
        defer { guarded.withLock { $0.machine.forget(number) } }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: SimulationMachine.Sleep) in
                let (over, waiters) = guarded.withLock { guarded in
                    let over = guarded.machine.sleep(number, until: deadline, continuation)
                    return (over, over == nil ? guarded.takeWaiters() : [])
                }
                over?.resume(throwing: CancellationError())
                for waiter in waiters { waiter.resume(returning: true) }
            }
        } onCancel: {
            guarded.withLock { $0.machine.cancel(number) }?.resume(throwing: CancellationError())
        }
    }
}

extension Simulation {
    /// Ends every sleep as if it had been cancelled.
    func wakeAllSleepers() {
        for sleeper in guarded.withLock({ $0.machine.takeSleepers() }) {
            sleeper.sleep.resume(throwing: CancellationError())
        }
    }
}

// MARK: Waiting in real time

extension Simulation {
    /// Waits in real time until something has arrived from elsewhere.
    ///
    /// - Parameters:
    ///   - deadline: when to give up.
    ///   - counting: whether someone who sleeps counts as having arrived, since time may be advanced for them.
    /// - Returns: `false` if nothing has, until the deadline or the cancellation of the task.
    func arrival(before deadline: ContinuousClock.Instant, countingSleepers counting: Bool) async -> Bool {
        let id = guarded.withLock { guarded in
            defer { guarded.nextWaiter += 1 }
            return guarded.nextWaiter
        }
        let alarm = Task.detached { [weak self] in
            try? await ContinuousClock().sleep(until: deadline)
            self?.giveUp(id)
        }
        defer { alarm.cancel() }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer: Bool? = guarded.withLock { guarded in
                    if !guarded.machine.runnable.isEmpty { return true }
                    if counting, !guarded.machine.sleepers.isEmpty { return true }
                    if Task.isCancelled || ContinuousClock.now >= deadline { return false }
                    guarded.waiters[id] = continuation
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            giveUp(id)
        }
    }

    /// A moment in real time, so much later; not more than a year, since clocks of the system overflow.
    static func deadline(in limit: Duration) -> ContinuousClock.Instant {
        .now + min(limit, .seconds(365 * 86_400))
    }

    private func giveUp(_ id: UInt64) {
        guarded.withLock { $0.waiters.removeValue(forKey: id) }?.resume(returning: false)
    }
}
