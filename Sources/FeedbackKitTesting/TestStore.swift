public import FeedbackKit

/// Drives a typed loop step by step: each event that is sent, each that comes from a side effect, and each change of
/// state must be asserted, or the test fails at the line that should have done it.
///
///     let store = TestStore(initial: Counter(), feedbacks: [tick]) { state, event in … }
///     store.start()
///     store.send(.start) { $0.isRunning = true }
///     store.advance(by: .seconds(1))
///     store.receive(.tick) { $0.count = 1 }
///     store.send(.stop) { $0.isRunning = false }
///     store.finish()
///
/// The loop runs on a ``Simulation``, so that a test is instant and the same each time. The loop takes events as they
/// come; what they led to is held back until the test asserts it, in order. A closure changes the state before the
/// event into the one that is expected after it: `Equatable` states are compared by `==`, others by their fields.
///
/// It fails on: an event that was received and not asserted before the next `send`, `finish` or `stop`; a change that
/// differs from the asserted one, or was not asserted; an event that was expected and did not come; an event that no
/// rule handles and the test did not say so; a side effect that still runs at ``finish(fileID:filePath:line:column:)``;
/// and being dropped without an end. After a failure it goes on from what really happened.
public final class TestStore<State: Sendable, Event: Sendable>: Sendable {
    private let driver: LoopDriver<State, Event>

    /// Drives a loop that is not started yet.
    ///
    /// It turns on the simulation from now on, and its observer is replaced; its clock should be the simulation's.
    ///
    /// - Parameters:
    ///   - loop: not started.
    ///   - simulation: runs it; by default one of its own with seed 0.
    ///   - observer: told everything that happens in the loop.
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

    /// Drives a loop that is made, and perhaps started, by something of its own around it.
    ///
    /// - Parameters:
    ///   - simulation: runs it; by default one of its own with seed 0.
    ///   - observer: told everything that happens in the loop.
    ///   - build: makes the loop. It must turn on the simulation and have the observer; nothing of it may have run
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

    /// Builds a loop and drives it; the parameters are those of ``FeedbackKit/Loop``.
    ///
    /// - Parameter simulation: runs it, and is its clock; by default one of its own with seed 0.
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

    /// Builds a loop around a reducer, for which every event leads to a new state, and drives it.
    ///
    /// - Parameter simulation: runs it, and is its clock; by default one of its own with seed 0.
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

    /// What runs it.
    public var simulation: Simulation { driver.simulation }

    /// The loop, for what the store has no function for.
    public var loop: Loop<State, Event> { driver.loop }

    /// The state after the last event that was asserted.
    public var state: State { driver.state }

    // MARK: Life

    /// Starts the loop, and asserts its initial state if one is given.
    public func start(
        expecting state: State? = nil,
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) {
        driver.start(expecting: state, at: SourcePlace(fileID, filePath, line, column))
    }

    /// Ends the test and asserts that nothing is left over: no event that was not asserted, no side effect that runs.
    ///
    /// What brings events in from outside for as long as the loop runs (a source, a subscription that goes on until the
    /// stop) may be there; timers, and tasks that go on until the stop, are to be ended by the test, or by
    /// ``stop(within:fileID:filePath:line:column:)``.
    public func finish(
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) {
        driver.finish(at: SourcePlace(fileID, filePath, line, column))
    }

    /// Ends the test and whatever still runs: gently, and past the limit by cancellation. Asserts that no event is left
    /// over, and that side effects obey their cancellation.
    ///
    /// - Parameter limit: how long side effects may take, in simulated time.
    public func stop(
        within limit: Duration = .seconds(5),
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) {
        driver.stop(within: limit, at: SourcePlace(fileID, filePath, line, column))
    }

    /// Advances the simulated time; what comes of it is then to be received.
    ///
    /// - Parameter duration: not negative.
    public func advance(
        by duration: Duration,
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) {
        driver.advance(by: duration, at: SourcePlace(fileID, filePath, line, column))
    }

    // MARK: Sending

    /// Sends an event and asserts the new state it leads to.
    ///
    /// - Parameter change: makes the expected state of the one before; without it, an equal one is expected.
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

    /// Asserts that this event came from a side effect, and the new state it led to.
    ///
    /// - Parameter change: makes the expected state of the one before; without it, an equal one is expected.
    public func receive(
        _ event: Event, _ change: (inout State) -> Void = { _ in },
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) {
        driver.receive(.equal(to: event), at: SourcePlace(fileID, filePath, line, column)) { expectation($0, change) }
    }

    /// Asserts that an event of this type came from a side effect, and the new state it led to.
    public func receive<T>(
        _ type: T.Type, _ change: (inout State) -> Void = { _ in },
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) {
        driver.receive(.ofType(type), at: SourcePlace(fileID, filePath, line, column)) { expectation($0, change) }
    }

    /// Asserts that an event for which the condition holds came from a side effect, and the new state it led to.
    public func receive(
        where condition: (Event) -> Bool, _ change: (inout State) -> Void = { _ in },
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) {
        withoutActuallyEscaping(condition) { condition in
            let place = SourcePlace(fileID, filePath, line, column)
            driver.receive(.condition(condition), at: place) { expectation($0, change) }
        }
    }

    /// Asserts that this event came from a side effect, and that a rule keeps the state on it.
    public func receiveUnchanged(
        _ event: Event,
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) {
        driver.receive(.equal(to: event), at: SourcePlace(fileID, filePath, line, column)) { _ in .unchanged }
    }

    /// Asserts that this event came from a side effect, and that no rule handled it.
    public func receiveUnhandled(
        _ event: Event,
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) {
        driver.receive(.equal(to: event), at: SourcePlace(fileID, filePath, line, column)) { _ in .unhandled }
    }

    /// Asserts that an event of this type came from a side effect, and that a rule keeps the state on it.
    public func receiveUnchanged<T>(
        _ type: T.Type,
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) {
        driver.receive(.ofType(type), at: SourcePlace(fileID, filePath, line, column)) { _ in .unchanged }
    }

    /// Asserts that an event of this type came from a side effect, and that no rule handled it.
    public func receiveUnhandled<T>(
        _ type: T.Type,
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) {
        driver.receive(.ofType(type), at: SourcePlace(fileID, filePath, line, column)) { _ in .unhandled }
    }

    /// Asserts that a side effect has failed with an error that nobody turned into an event, which ends the loop.
    ///
    /// - Parameter feedback: the name of the feedback whose side effect it is; `nil`: any.
    /// - Returns: what failed and why; `nil` if nothing did.
    @discardableResult
    public func receiveFault(
        from feedback: String? = nil,
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) -> LoopFault? {
        driver.receiveFault(from: feedback, at: SourcePlace(fileID, filePath, line, column))
    }

    // MARK: Receiving from outside the simulation

    /// Waits in real time until an event is there to be received; for side effects that leave the simulation, such as a
    /// network call. Returns at the latest when the limit has passed; the `receive` after it says what is missing.
    public func waitForEvent(
        within limit: Duration,
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) async {
        await driver.waitForEvent(within: limit, at: SourcePlace(fileID, filePath, line, column))
    }

    /// Waits in real time, at most so long, then asserts like ``receive(_:_:fileID:filePath:line:column:)``.
    public nonisolated(nonsending) func receive(
        _ event: Event, within limit: Duration, _ change: (inout State) -> Void = { _ in },
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) async {
        await driver.waitForEvent(within: limit, at: SourcePlace(fileID, filePath, line, column))
        receive(event, change, fileID: fileID, filePath: filePath, line: line, column: column)
    }

    /// Waits in real time, at most so long, then asserts like `receive` with a type.
    public nonisolated(nonsending) func receive<T>(
        _ type: T.Type, within limit: Duration, _ change: (inout State) -> Void = { _ in },
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) async {
        await driver.waitForEvent(within: limit, at: SourcePlace(fileID, filePath, line, column))
        receive(type, change, fileID: fileID, filePath: filePath, line: line, column: column)
    }

    /// Waits in real time, at most so long, then asserts like `receive` with a condition.
    public nonisolated(nonsending) func receive(
        where condition: (Event) -> Bool, within limit: Duration, _ change: (inout State) -> Void = { _ in },
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) async {
        await driver.waitForEvent(within: limit, at: SourcePlace(fileID, filePath, line, column))
        receive(where: condition, change, fileID: fileID, filePath: filePath, line: line, column: column)
    }
}
