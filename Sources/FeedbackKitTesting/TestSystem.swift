public import FeedbackKit

/// Drives a ``FeedbackKit/System`` step by step: each event that is sent, each that comes from a side effect or a
/// mediator, and each new state must be asserted, or the test fails at the line that should have done it.
///
///     let test = TestSystem { simulation in
///         System(clock: simulation.clock) { InitialState { … }; Feedbacks { … }; Transitions { … } }
///     }
///     test.start(expecting: VolumeState(value: 10))
///     test.send(IncreaseEvent(), newStateIs: VolumeState(value: 11))
///     test.advance(by: .seconds(1))
///     test.receive(DecreaseEvent.self, newStateIs: VolumeState(value: 10))
///     test.finish()
///
/// It is to a system what ``TestStore`` is to a typed loop: it runs on a ``Simulation``, holds back what events led to
/// until the test asserts it, and fails on the same things. Systems that are attached to each other run on one
/// simulation: `execute(on: simulation)` for those that are not driven.
public final class TestSystem: Sendable {
    private let driver: LoopDriver<any State, any Event>
    /// The system.
    public let system: System

    /// Drives a system that is not started yet.
    ///
    /// It turns on the simulation from now on, and its observer is replaced; its clock should be the simulation's.
    ///
    /// - Parameters:
    ///   - system: not started.
    ///   - simulation: runs it; by default one of its own with seed 0.
    ///   - observer: told everything that happens in the system.
    public init(
        _ system: System, in simulation: Simulation = Simulation(),
        observer: (any LoopObserver<any State, any Event>)? = nil,
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line,
        column: UInt = #column
    ) {
        self.system = system
        driver = LoopDriver(
            system.loop, in: simulation, observer: observer, kind: "TestSystem",
            at: SourcePlace(fileID, filePath, line, column))
    }

    /// Builds a system, for instance with the simulation's clock, and drives it.
    public convenience init(
        in simulation: Simulation = Simulation(),
        observer: (any LoopObserver<any State, any Event>)? = nil,
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line,
        column: UInt = #column,
        _ build: (Simulation) -> System
    ) {
        self.init(
            build(simulation), in: simulation, observer: observer, fileID: fileID, filePath: filePath, line: line,
            column: column)
    }

    /// What runs it.
    public var simulation: Simulation { driver.simulation }

    /// The state after the last event that was asserted.
    public var state: any State { driver.state }

    // MARK: Life

    /// Starts the system, and asserts its initial state if one is given.
    public func start(
        expecting state: (any State)? = nil,
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) {
        driver.start(expecting: state, at: SourcePlace(fileID, filePath, line, column))
    }

    /// Ends the test and asserts that nothing is left over: no event that was not asserted, no side effect that runs.
    ///
    /// Mediators may be attached. Timers, and tasks that go on until the stop, are to be ended by the test, or by
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
    public func send(
        _ event: any Event, newStateIs state: any State,
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) {
        send(event, "send", .state(state), SourcePlace(fileID, filePath, line, column))
    }

    /// Sends an event and asserts that a rule keeps the state.
    public func sendUnchanged(
        _ event: any Event,
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) {
        send(event, "sendUnchanged", .unchanged, SourcePlace(fileID, filePath, line, column))
    }

    /// Sends an event and asserts that no transition handles it.
    public func sendUnhandled(
        _ event: any Event,
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) {
        send(event, "sendUnhandled", .unhandled, SourcePlace(fileID, filePath, line, column))
    }

    private func send(
        _ event: any Event, _ verb: String, _ expectation: LoopDriver<any State, any Event>.Expectation,
        _ place: SourcePlace
    ) {
        if driver.prepare(event, verb, at: place) { driver.send(event, expectation, at: place) }
    }

    // MARK: Receiving

    /// Asserts that this event came from a side effect or a mediator, and the new state it led to.
    public func receive(
        _ event: any Event, newStateIs state: any State,
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) {
        driver.receive(.equal(to: event), at: SourcePlace(fileID, filePath, line, column)) { _ in .state(state) }
    }

    /// Asserts that an event of this type came from a side effect or a mediator, and the new state it led to.
    public func receive<E: Event>(
        _ type: E.Type, newStateIs state: any State,
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) {
        driver.receive(.ofType(type), at: SourcePlace(fileID, filePath, line, column)) { _ in .state(state) }
    }

    /// Asserts that an event for which the condition holds came from a side effect or a mediator, and the new state it
    /// led to.
    public func receive(
        where condition: (any Event) -> Bool, newStateIs state: any State,
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) {
        withoutActuallyEscaping(condition) { condition in
            let place = SourcePlace(fileID, filePath, line, column)
            driver.receive(.condition(condition), at: place) { _ in .state(state) }
        }
    }

    /// Asserts that this event came from a side effect or a mediator, and that a rule keeps the state on it.
    public func receiveUnchanged(
        _ event: any Event,
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) {
        driver.receive(.equal(to: event), at: SourcePlace(fileID, filePath, line, column)) { _ in .unchanged }
    }

    /// Asserts that this event came from a side effect or a mediator, and that no transition handled it.
    public func receiveUnhandled(
        _ event: any Event,
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) {
        driver.receive(.equal(to: event), at: SourcePlace(fileID, filePath, line, column)) { _ in .unhandled }
    }

    /// Asserts that an event of this type came from a side effect or a mediator, and that a rule keeps the state on it.
    public func receiveUnchanged<E: Event>(
        _ type: E.Type,
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) {
        driver.receive(.ofType(type), at: SourcePlace(fileID, filePath, line, column)) { _ in .unchanged }
    }

    /// Asserts that an event of this type came from a side effect or a mediator, and that no transition handled it.
    public func receiveUnhandled<E: Event>(
        _ type: E.Type,
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) {
        driver.receive(.ofType(type), at: SourcePlace(fileID, filePath, line, column)) { _ in .unhandled }
    }

    /// Asserts that a side effect has failed with an error that nobody turned into an event, which ends the system.
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

    /// Waits in real time, at most so long, then asserts like `receive` with an event.
    public func receive(
        _ event: any Event, within limit: Duration, newStateIs state: any State,
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) async {
        await driver.waitForEvent(within: limit, at: SourcePlace(fileID, filePath, line, column))
        receive(event, newStateIs: state, fileID: fileID, filePath: filePath, line: line, column: column)
    }

    /// Waits in real time, at most so long, then asserts like `receive` with a type.
    public func receive<E: Event>(
        _ type: E.Type, within limit: Duration, newStateIs state: any State,
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) async {
        await driver.waitForEvent(within: limit, at: SourcePlace(fileID, filePath, line, column))
        receive(type, newStateIs: state, fileID: fileID, filePath: filePath, line: line, column: column)
    }

    /// Waits in real time, at most so long, then asserts like `receive` with a condition.
    public nonisolated(nonsending) func receive(
        where condition: (any Event) -> Bool, within limit: Duration, newStateIs state: any State,
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) async {
        await driver.waitForEvent(within: limit, at: SourcePlace(fileID, filePath, line, column))
        receive(where: condition, newStateIs: state, fileID: fileID, filePath: filePath, line: line, column: column)
    }
}
