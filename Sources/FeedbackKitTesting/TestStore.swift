public import FeedbackKit

/// A driver that tests a typed loop step by step. The test must assert each event that it sends, each event of a side
/// effect, and each change of the state. Otherwise it fails at the line that should have asserted it.
///
///     let store = TestStore(initial: Counter(), feedbacks: [tick]) { state, event in … }
///     store.start()
///     store.send(.start) { $0.isRunning = true }
///     store.advance(by: .seconds(1))
///     store.receive(.tick) { $0.count = 1 }
///     store.send(.stop) { $0.isRunning = false }
///     store.finish()
///
/// The loop runs on a ``Simulation``, so the test takes no real time and repeats exactly. The loop takes events as they
/// arrive; their outcomes wait until the test asserts them, in order. The closures in the example turn the state before
/// an event into the expected state after it. `Equatable` states are compared by `==`, others by their fields.
///
/// The test fails if:
///
/// - a received event is not asserted before the next `send`, `finish` or `stop`;
/// - a change differs from the asserted one, or is not asserted;
/// - an expected event does not arrive;
/// - no rule handles an event and the test does not assert that;
/// - a side effect still runs at ``finish(fileID:filePath:line:column:)``;
/// - the driver is released without `finish()` or `stop()`.
///
/// After a failure it continues from the actual state.
public final class TestStore<State: Sendable, Event: Sendable>: Sendable {
    private let driver: LoopDriver<State, Event>

    /// Drives a loop that has not started.
    ///
    /// From now on the loop runs on the simulation, and the driver replaces its observer. The loop's clock should be
    /// the simulation's.
    ///
    /// - Parameters:
    ///   - loop: A loop that has not started.
    ///   - simulation: The simulation that runs the loop; by default a new one with seed 0.
    ///   - observer: Receives all internal events of the loop.
    public init(
        _ loop: Loop<State, Event>, in simulation: Simulation = Simulation(),
        observer: (any LoopObserver<State, Event>)? = nil,
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line,
        column: UInt = #column
    ) {
        driver = LoopDriver(
            loop, in: simulation, observer: observer, kind: "TestStore",
            at: SourcePlace(fileID, filePath, line, column))
    }

    /// Drives a loop that a wrapper creates, and perhaps starts.
    ///
    /// - Parameters:
    ///   - simulation: The simulation that runs the loop; by default a new one with seed 0.
    ///   - observer: Receives all internal events of the loop.
    ///   - build: Creates the loop. The loop must use the given simulation and observer, and nothing of it may have run
    ///     elsewhere.
    public init(
        in simulation: Simulation = Simulation(),
        observer: (any LoopObserver<State, Event>)? = nil,
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line,
        column: UInt = #column,
        building build: (Simulation, any LoopObserver<State, Event>) -> Loop<State, Event>
    ) {
        let recorder = LoopRecorder<State, Event>(next: observer)
        driver = LoopDriver(
            build(simulation, recorder), in: simulation, recordedBy: recorder, kind: "TestStore",
            at: SourcePlace(fileID, filePath, line, column))
    }

    /// Builds a loop and drives it. The parameters are those of ``FeedbackKit/Loop``.
    ///
    /// - Parameter simulation: The executor and clock of the loop; by default a new simulation with seed 0.
    public convenience init(
        initial: State,
        feedbacks: [Feedback<State, Event>] = [],
        in simulation: Simulation = Simulation(),
        mailboxLimit: Int = .max,
        overflow: Overflow = .dropNewest,
        observer: (any LoopObserver<State, Event>)? = nil,
        reduce: @escaping @Sendable (inout State, Event) -> Reduction,
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line,
        column: UInt = #column
    ) {
        let loop = Loop(
            initial: initial, feedbacks: feedbacks, executor: simulation, clock: simulation.clock,
            mailboxLimit: mailboxLimit, overflow: overflow, reduce: reduce)
        self.init(
            loop, in: simulation, observer: observer, fileID: fileID, filePath: filePath, line: line, column: column)
    }

    /// Builds a loop from a reducer for which every event produces a new state, and drives it.
    ///
    /// - Parameter simulation: The executor and clock of the loop; by default a new simulation with seed 0.
    public convenience init(
        initial: State,
        feedbacks: [Feedback<State, Event>] = [],
        in simulation: Simulation = Simulation(),
        mailboxLimit: Int = .max,
        overflow: Overflow = .dropNewest,
        observer: (any LoopObserver<State, Event>)? = nil,
        reducer: Reducer<State, Event>,
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line,
        column: UInt = #column
    ) {
        self.init(
            initial: initial, feedbacks: feedbacks, in: simulation, mailboxLimit: mailboxLimit, overflow: overflow,
            observer: observer,
            reduce: { state, event in
                reducer(&state, event)
                return .handled
            },
            fileID: fileID, filePath: filePath, line: line, column: column)
    }

    /// The simulation that runs the loop.
    public var simulation: Simulation { driver.simulation }

    /// The loop, for operations that the driver does not offer.
    public var loop: Loop<State, Event> { driver.loop }

    /// The state after the last asserted event.
    public var state: State { driver.state }

    // MARK: Lifecycle

    /// Starts the loop, and asserts its initial state if given.
    public func start(
        expecting state: State? = nil,
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) {
        driver.start(expecting: state, at: SourcePlace(fileID, filePath, line, column))
    }

    /// Ends the test and asserts that no unasserted event and no running side effect remain.
    ///
    /// Effects that bring events from outside for as long as the loop runs may remain: a source, or a subscription that
    /// lasts until the stop. The test must end timers, and tasks that last until the stop, by itself or with
    /// ``stop(within:fileID:filePath:line:column:)``.
    public func finish(
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) {
        driver.finish(at: SourcePlace(fileID, filePath, line, column))
    }

    /// Ends the test and all running side effects: gracefully, and after the limit by cancellation. Asserts that no
    /// unasserted event remains, and that side effects respond to cancellation.
    ///
    /// - Parameter limit: The maximum simulated time for the side effects.
    public func stop(
        within limit: Duration = .seconds(5),
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) {
        driver.stop(within: limit, at: SourcePlace(fileID, filePath, line, column))
    }

    /// Advances the simulated time. Assert the resulting events with `receive`.
    ///
    /// - Parameter duration: The duration, not negative.
    public func advance(
        by duration: Duration,
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) {
        driver.advance(by: duration, at: SourcePlace(fileID, filePath, line, column))
    }

    // MARK: Sending

    /// Sends an event and asserts the new state.
    ///
    /// - Parameter change: Turns the state before into the expected state; without it, an equal state is expected.
    public func send(
        _ event: Event, _ change: (inout State) -> Void = { _ in },
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) {
        let place = SourcePlace(fileID, filePath, line, column)
        guard driver.prepare(event, "send", at: place) else { return }
        driver.send(event, expectation(driver.state, change), at: place)
    }

    /// Sends an event and asserts that a rule keeps the state (``FeedbackKit/Reduction/stay``).
    public func sendUnchanged(
        _ event: Event,
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) {
        let place = SourcePlace(fileID, filePath, line, column)
        guard driver.prepare(event, "sendUnchanged", at: place) else { return }
        driver.send(event, .unchanged, at: place)
    }

    /// Sends an event and asserts that no rule handles it.
    public func sendUnhandled(
        _ event: Event,
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) {
        let place = SourcePlace(fileID, filePath, line, column)
        guard driver.prepare(event, "sendUnhandled", at: place) else { return }
        driver.send(event, .unhandled, at: place)
    }

    private func expectation(
        _ state: State, _ change: (inout State) -> Void
    ) -> LoopDriver<State, Event>.Expectation {
        var expected = state
        change(&expected)
        return .state(expected)
    }

    // MARK: Receiving

    /// Asserts that a side effect sent this event, and the new state.
    ///
    /// - Parameter change: Turns the state before into the expected state; without it, an equal state is expected.
    public func receive(
        _ event: Event, _ change: (inout State) -> Void = { _ in },
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) {
        driver.receive(.equal(to: event), at: SourcePlace(fileID, filePath, line, column)) { expectation($0, change) }
    }

    /// Asserts that a side effect sent an event of this type, and the new state.
    public func receive<T>(
        _ type: T.Type, _ change: (inout State) -> Void = { _ in },
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) {
        driver.receive(.ofType(type), at: SourcePlace(fileID, filePath, line, column)) { expectation($0, change) }
    }

    /// Asserts that a side effect sent an event that meets the condition, and the new state.
    public func receive(
        where condition: (Event) -> Bool, _ change: (inout State) -> Void = { _ in },
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) {
        withoutActuallyEscaping(condition) { condition in
            let place = SourcePlace(fileID, filePath, line, column)
            driver.receive(.condition(condition), at: place) { expectation($0, change) }
        }
    }

    /// Asserts that a side effect sent this event, and that a rule handled it and kept the state.
    public func receiveUnchanged(
        _ event: Event,
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) {
        driver.receive(.equal(to: event), at: SourcePlace(fileID, filePath, line, column)) { _ in .unchanged }
    }

    /// Asserts that a side effect sent this event, and that no rule handled it.
    public func receiveUnhandled(
        _ event: Event,
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) {
        driver.receive(.equal(to: event), at: SourcePlace(fileID, filePath, line, column)) { _ in .unhandled }
    }

    /// Asserts that a side effect sent an event of this type, and that a rule handled it and kept the state.
    public func receiveUnchanged<T>(
        _ type: T.Type,
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) {
        driver.receive(.ofType(type), at: SourcePlace(fileID, filePath, line, column)) { _ in .unchanged }
    }

    /// Asserts that a side effect sent an event of this type, and that no rule handled it.
    public func receiveUnhandled<T>(
        _ type: T.Type,
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) {
        driver.receive(.ofType(type), at: SourcePlace(fileID, filePath, line, column)) { _ in .unhandled }
    }

    /// Asserts that a side effect failed with an error that was not converted to an event. Such an error ends the loop.
    ///
    /// - Parameter feedback: The name of the side effect's feedback; `nil` for any.
    /// - Returns: The fault, or `nil` if no side effect failed.
    @discardableResult
    public func receiveFault(
        from feedback: String? = nil,
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) -> LoopFault? {
        driver.receiveFault(from: feedback, at: SourcePlace(fileID, filePath, line, column))
    }

    // MARK: Receiving from outside the simulation

    /// Waits in real time until an event can be received, for side effects that leave the simulation, such as a network
    /// call. Returns at the latest after the limit; the next `receive` reports a missing event.
    public func waitForEvent(
        within limit: Duration,
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) async {
        await driver.waitForEvent(within: limit, at: SourcePlace(fileID, filePath, line, column))
    }

    /// Waits in real time up to `limit`, then asserts like ``receive(_:_:fileID:filePath:line:column:)``.
    public nonisolated(nonsending) func receive(
        _ event: Event, within limit: Duration, _ change: (inout State) -> Void = { _ in },
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) async {
        await driver.waitForEvent(within: limit, at: SourcePlace(fileID, filePath, line, column))
        receive(event, change, fileID: fileID, filePath: filePath, line: line, column: column)
    }

    /// Waits in real time up to `limit`, then asserts like `receive` with a type.
    public nonisolated(nonsending) func receive<T>(
        _ type: T.Type, within limit: Duration, _ change: (inout State) -> Void = { _ in },
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) async {
        await driver.waitForEvent(within: limit, at: SourcePlace(fileID, filePath, line, column))
        receive(type, change, fileID: fileID, filePath: filePath, line: line, column: column)
    }

    /// Waits in real time up to `limit`, then asserts like `receive` with a condition.
    public nonisolated(nonsending) func receive(
        where condition: (Event) -> Bool, within limit: Duration, _ change: (inout State) -> Void = { _ in },
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) async {
        await driver.waitForEvent(within: limit, at: SourcePlace(fileID, filePath, line, column))
        receive(where: condition, change, fileID: fileID, filePath: filePath, line: line, column: column)
    }
}
