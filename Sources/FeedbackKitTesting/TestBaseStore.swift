public import FeedbackKit

/// A driver that tests a ``FeedbackKit/BaseStore`` step by step. The test must assert each batch that the reducer takes
/// and each change of the state; otherwise it fails at the line that should have asserted it.
///
///     let test = TestBaseStore { simulation in
///         BaseStore(state: …, reducer: …, thunk: …, publishOn: simulation, clock: simulation.clock)
///     }
///     test.dispatch(sync: .add(1)) { $0.total = 1 }
///     test.dispatch(async: .load)
///     test.advance(by: .seconds(1))
///     test.receive(.loaded("a")) { $0.names = ["a"] }
///     test.finish()
///
/// It is for a store what ``TestStore`` is for a loop. The store is the program's own, with its middleware and thunk,
/// and both run on a ``Simulation``. A store starts itself, so create it on the simulation and pass it here before you
/// dispatch anything. The closures in the example turn the state before a batch into the expected state after it.
///
/// The test fails if:
///
/// - a received batch is not asserted before the next `dispatch`, `finish` or `stop`;
/// - a change differs from the asserted one;
/// - an expected batch does not arrive;
/// - a dispatch exceeds a limit and the test does not assert that;
/// - a thunk still runs at `finish()`;
/// - the driver is released without `finish()` or `stop()`.
///
/// After a failure it continues from the actual state.
public final class TestBaseStore<State: Equatable & Sendable, AsyncAction: Sendable, SyncAction: Sendable>: Sendable {
    /// The type of the store.
    public typealias Store = BaseStore<State, AsyncAction, SyncAction>

    /// A batch that the store has taken.
    private struct Entry: Sendable {
        /// The batch as it was dispatched, or `nil` if it bypassed the middleware.
        let before: [SyncAction]?
        /// The batch as the reducer received it; empty if the middleware dropped all of it.
        let actions: [SyncAction]
        let old: State
        let new: State
    }

    private enum Stage: Sendable { case running, over, unusable }

    private struct Memory: Sendable {
        var stage = Stage.running
        var isWatching = false
        var entries: [Entry] = []
        var lost = 0
        /// The state after the last asserted batch.
        var state: State
        /// The number of faults that the test has asserted.
        var faults: UInt64 = 0
    }

    /// The store, for operations that the driver does not offer.
    public let store: Store
    /// The simulation that runs the store.
    public let simulation: Simulation
    private let memory: SharedValue<Memory>
    private let watching: Subscription
    private let birth: SourcePlace

    /// The maximum number of batches that are kept; later batches are only counted.
    private static var maximumEntries: Int { 10_000 }

    /// Drives a store on which nothing has run.
    ///
    /// - Parameters:
    ///   - store: A store created with `publishOn: simulation` and the simulation's clock.
    ///   - simulation: The simulation that runs the store.
    public init(
        _ store: Store, in simulation: Simulation,
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line,
        column: UInt = #column
    ) {
        let place = SourcePlace(fileID, filePath, line, column)
        self.store = store
        self.simulation = simulation
        birth = place
        let memory = SharedValue(Memory(state: store.initialState))
        self.memory = memory
        let snapshot = store.snapshot
        let isFresh = snapshot.counters.events == 0 && snapshot.waiting == 0 && snapshot.phase == .running
        watching = store.watchSteps(
            { state, step in
                let entry = step.flatMap { step in
                    step.before == nil && step.after == nil
                        ? nil
                        : Entry(before: step.before, actions: step.after ?? [], old: step.previous, new: state)
                }
                memory.with { memory in
                    memory.isWatching = true
                    guard let entry else { return }
                    if memory.entries.count < Self.maximumEntries {
                        memory.entries.append(entry)
                    } else {
                        memory.lost += 1
                    }
                }
            }, finish: {})
        simulation.run(.now, at: place)
        let message: String
        if !isFresh {
            message = "must see its store from the beginning, but something has been dispatched to this one already"
        } else if !memory.with({ $0.isWatching }) {
            message = "needs a store that turns on its simulation: make it with publishOn: simulation"
        } else {
            return
        }
        memory.with { $0.stage = .unusable }
        FailureReport.report("a TestBaseStore \(message)", at: place)
    }

    /// Builds a store on a simulation and drives it.
    public convenience init(
        in simulation: Simulation = Simulation(),
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line,
        column: UInt = #column,
        building build: (Simulation) -> Store
    ) {
        self.init(
            build(simulation), in: simulation, fileID: fileID, filePath: filePath, line: line, column: column)
    }

    deinit {
        guard memory.with({ $0.stage == .running }) else { return }
        FailureReport.report(
            "a TestBaseStore was released without finish() or stop(), so its remaining events were not checked",
            at: birth)
        store.cancel()
        simulation.settle()
    }

    /// The state after the last asserted batch.
    public var state: State { memory.with { $0.state } }

    // MARK: Dispatching

    /// Dispatches one batch and asserts the new state. If the middleware drops the whole batch, the state must be
    /// unchanged.
    ///
    /// - Parameter change: Turns the state before into the expected state; without it, an equal state is expected.
    public func dispatch(
        sync actions: SyncAction..., change: (inout State) -> Void = { _ in },
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) {
        let place = SourcePlace(fileID, filePath, line, column)
        let name = "dispatch(sync: \(describe(actions)))"
        guard prepare(name, at: place) else { return }
        let result = store.dispatch(sync: actions).result
        simulation.run(.now, at: place)
        let entry: Entry? = memory.with { memory in
            memory.entries.firstIndex { $0.before != nil }.map { memory.entries.remove(at: $0) }
        }
        if let entry { return check(entry, name, change, at: place) }
        FailureReport.report("\(name) was not taken: \(result)", at: place)
    }

    /// Dispatches async actions. Assert their results with `receive`.
    @discardableResult
    public func dispatch(
        serially: Bool = false, collect: Bool = false, async actions: AsyncAction...,
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) -> Dispatch {
        let place = SourcePlace(fileID, filePath, line, column)
        _ = prepare("dispatch(async: \(describe(actions)))", at: place)
        let dispatch = store.dispatch(serially: serially, collect: collect, async: actions)
        simulation.run(.now, at: place)
        return dispatch
    }

    /// Advances the simulated time. Assert the resulting batches with `receive`.
    ///
    /// - Parameter duration: The duration, not negative.
    public func advance(
        by duration: Duration,
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) {
        let place = SourcePlace(fileID, filePath, line, column)
        guard isRunning("advance(by: \(duration))", at: place) else { return }
        if duration < .zero {
            return FailureReport.report("time cannot be advanced by \(duration): it does not go back", at: place)
        }
        simulation.run(.now, at: place)
        simulation.run(.until(simulation.now.advanced(by: duration)), at: place)
    }

    // MARK: Receiving

    /// Asserts that the reducer has taken these actions as one batch, and the new state.
    ///
    /// - Parameter change: Turns the state before into the expected state; without it, an equal state is expected.
    public func receive(
        _ actions: SyncAction..., change: (inout State) -> Void = { _ in },
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) {
        let place = SourcePlace(fileID, filePath, line, column)
        let name = "receive(\(describe(actions)))"
        guard isRunning(name, at: place) else { return }
        simulation.run(.now, at: place)
        let entry: Entry? = memory.with { memory in
            // A batch that the middleware dropped produced nothing to assert.
            memory.entries.firstIndex { !$0.actions.isEmpty }.map { memory.entries.remove(at: $0) }
        }
        guard let entry else {
            return FailureReport.report("expected \(describe(actions)), but no batch arrived; \(status)", at: place)
        }
        guard areEqual(actions, entry.actions) else {
            move(to: entry.new)
            let message =
                "expected another batch (- expected, + actual):\n\(visibleDifference(from: actions, to: entry.actions))"
            return FailureReport.report(message, at: place)
        }
        check(entry, name, change, at: place)
    }

    /// Asserts that a dispatch ended because it exceeded a limit.
    ///
    /// - Returns: The fault, or `nil` if no dispatch exceeded a limit.
    @discardableResult
    public func receiveFault(
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) -> StoreFault? {
        let place = SourcePlace(fileID, filePath, line, column)
        guard isRunning("receiveFault()", at: place) else { return nil }
        simulation.run(.now, at: place)
        let count = store.faultCount
        let isNew = memory.with { memory in
            defer { memory.faults = count }
            return memory.faults < count
        }
        if isNew { return store.lastFault }
        FailureReport.report("expected that a dispatch goes beyond a limit, but none has; \(status)", at: place)
        return nil
    }

    /// Waits in real time until a batch can be received, for thunks that leave the simulation, such as a network call.
    /// Returns at the latest after the limit; the next `receive` reports a missing batch.
    public func waitForBatch(
        within limit: Duration,
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) async {
        let place = SourcePlace(fileID, filePath, line, column)
        let deadline = Simulation.deadline(in: limit)
        repeat {
            guard simulation.run(.now, at: place), memory.with({ $0.entries.isEmpty }) else { return }
        } while await simulation.arrival(before: deadline, countingSleepers: false)
        simulation.run(.now, at: place)
    }

    // MARK: Lifecycle

    /// Ends the test and asserts that no unasserted batch and no running thunk remain.
    public func finish(
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) {
        let place = SourcePlace(fileID, filePath, line, column)
        guard prepare("finish()", at: place) else { return }
        let running = store.snapshot.feedbacks.reduce(0) { $0 + $1.running }
        if running > 0 {
            FailureReport.report(
                "thunks still run at finish(): \(running); let them end, or end them with stop()", at: place)
        }
        end(within: .zero, at: place)
    }

    /// Ends the test and all running thunks: gracefully, and after the limit by cancellation. Asserts that no
    /// unasserted batch remains.
    ///
    /// - Parameter limit: The maximum simulated time for the thunks.
    public func stop(
        within limit: Duration = .seconds(5),
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) {
        let place = SourcePlace(fileID, filePath, line, column)
        if prepare("stop()", at: place) { end(within: max(.zero, limit), at: place) }
    }

    private func end(within limit: Duration, at place: SourcePlace) {
        memory.with { $0.stage = .over }
        store.beginStop()
        let horizon = SimulationStateMachine.Horizon.until(simulation.now.advanced(by: limit))
        let isOver = { [store] in store.snapshot.phase == .stopped }
        if simulation.drive(horizon, limit: simulation.maximumSteps, place, until: isOver) == .done { return }
        store.cancel()
        simulation.run(.now, at: place)
        guard !isOver() else { return }
        FailureReport.report("the store does not end: it has been cancelled, but \(status)", at: place)
    }

    // MARK: Checks

    private func isRunning(_ operation: String, at place: SourcePlace) -> Bool {
        switch memory.with({ $0.stage }) {
        case .running: return true
        case .unusable: return false
        case .over:
            FailureReport.report("\(operation) after the end: the store has been stopped", at: place)
            return false
        }
    }

    /// Prepares for a new action: every received batch must have been asserted.
    private func prepare(_ operation: String, at place: SourcePlace) -> Bool {
        guard isRunning(operation, at: place) else { return false }
        simulation.run(.now, at: place)
        let faults = store.faultCount
        let (entries, lost, isFaulty): ([Entry], Int, Bool) = memory.with { memory in
            defer { (memory.entries, memory.lost, memory.faults) = ([], 0, faults) }
            return (memory.entries, memory.lost, memory.faults < faults)
        }
        if isFaulty, let fault = store.lastFault {
            FailureReport.report(
                "before \(operation): \(fault); if this is intended, assert it with receiveFault", at: place)
        }
        let left = entries.filter { !$0.actions.isEmpty }
        guard let last = left.last else { return true }
        move(to: lost > 0 ? store.state : last.new)
        let names = left.prefix(10).map { describe($0.actions) }.joined(separator: ", ")
        let count = left.count + lost
        let message =
            "before \(operation): received and not asserted: \(count) batch\(count == 1 ? "" : "es"): \(names)"
            + (count > 10 ? ", …" : "") + "; assert each with receive"
        FailureReport.report(message, at: place)
        return true
    }

    /// Returns the old state from the lock, so that it is not released under it.
    private func move(to new: State) {
        let old = memory.with { memory in
            let old = memory.state
            memory.state = new
            return old
        }
        withExtendedLifetime(old) {}
    }

    /// Compares the outcome of a batch with the expectation.
    private func check(_ entry: Entry, _ operation: String, _ change: (inout State) -> Void, at place: SourcePlace) {
        var expected = state
        change(&expected)
        move(to: entry.new)
        guard expected != entry.new else { return }
        let message =
            expected == entry.old
            ? "leads to a change that was not asserted (- before, + after):\n"
                + visibleDifference(from: entry.old, to: entry.new)
            : "leads to another state (- expected, + actual):\n\(visibleDifference(from: expected, to: entry.new))"
        FailureReport.report("\(operation) \(message)", at: place)
    }

    /// The running thunks and the time, as text.
    private var status: String {
        let running = store.snapshot.feedbacks.reduce(0) { $0 + $1.running }
        let deadline =
            simulation.nextDeadline.map { "the next deadline is \($0.offset)" } ?? "no task sleeps on the clock"
        return "running: \(running) thunk\(running == 1 ? "" : "s"); the time is \(simulation.now.offset); \(deadline)"
    }
}
