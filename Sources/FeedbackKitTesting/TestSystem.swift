public import FeedbackKit

/// A driver that tests a ``FeedbackKit/System`` step by step. The test must assert each event that it sends, each event
/// of a side effect or a mediator, and each new state. Otherwise it fails at the line that should have asserted it.
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
/// It is for a system what ``TestStore`` is for a typed loop. It runs on a ``Simulation``, holds the outcomes of events
/// until the test asserts them, and fails for the same reasons. Systems that are attached to each other run on one
/// simulation: call `execute(on: simulation)` on the systems without a driver.
public final class TestSystem: Sendable {
    private let driver: LoopDriver<any State, any Event>
    /// The system.
    public let system: System

    /// Drives a system that has not started.
    ///
    /// From now on the system runs on the simulation, and the driver replaces its observer. The system's clock should
    /// be the simulation's.
    ///
    /// - Parameters:
    ///   - system: A system that has not started.
    ///   - simulation: The simulation that runs the system; by default a new one with seed 0.
    ///   - observer: Receives all internal events of the system.
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

    /// Builds a system, for example with the simulation's clock, and drives it.
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

    /// The simulation that runs the system.
    public var simulation: Simulation { driver.simulation }

    /// The state after the last asserted event.
    public var state: any State { driver.state }

    // MARK: Lifecycle

    /// Starts the system, and asserts its initial state if given.
    public func start(
        expecting state: (any State)? = nil,
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) {
        driver.start(expecting: state, at: SourcePlace(fileID, filePath, line, column))
    }

    /// Ends the test and asserts that no unasserted event and no running side effect remain.
    ///
    /// Mediators may stay attached. The test must end timers, and tasks that last until the stop, by itself or with
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

    /// Asserts that a side effect or a mediator sent this event, and the new state.
    public func receive(
        _ event: any Event, newStateIs state: any State,
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) {
        driver.receive(.equal(to: event), at: SourcePlace(fileID, filePath, line, column)) { _ in .state(state) }
    }

    /// Asserts that a side effect or a mediator sent an event of this type, and the new state.
    public func receive<E: Event>(
        _ type: E.Type, newStateIs state: any State,
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) {
        driver.receive(.ofType(type), at: SourcePlace(fileID, filePath, line, column)) { _ in .state(state) }
    }

    /// Asserts that a side effect or a mediator sent an event that meets the condition, and the new state.
    public func receive(
        where condition: (any Event) -> Bool, newStateIs state: any State,
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) {
        withoutActuallyEscaping(condition) { condition in
            let place = SourcePlace(fileID, filePath, line, column)
            driver.receive(.condition(condition), at: place) { _ in .state(state) }
        }
    }

    /// Asserts that a side effect or a mediator sent this event, and that a rule handled it and kept the state.
    public func receiveUnchanged(
        _ event: any Event,
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) {
        driver.receive(.equal(to: event), at: SourcePlace(fileID, filePath, line, column)) { _ in .unchanged }
    }

    /// Asserts that a side effect or a mediator sent this event, and that no transition handled it.
    public func receiveUnhandled(
        _ event: any Event,
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) {
        driver.receive(.equal(to: event), at: SourcePlace(fileID, filePath, line, column)) { _ in .unhandled }
    }

    /// Asserts that a side effect or a mediator sent an event of this type, and that a rule handled it and kept the
    /// state.
    public func receiveUnchanged<E: Event>(
        _ type: E.Type,
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) {
        driver.receive(.ofType(type), at: SourcePlace(fileID, filePath, line, column)) { _ in .unchanged }
    }

    /// Asserts that a side effect or a mediator sent an event of this type, and that no transition handled it.
    public func receiveUnhandled<E: Event>(
        _ type: E.Type,
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) {
        driver.receive(.ofType(type), at: SourcePlace(fileID, filePath, line, column)) { _ in .unhandled }
    }

    /// Asserts that a side effect failed with an error that was not converted to an event. Such an error ends the
    /// system.
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

    /// Waits in real time up to `limit`, then asserts like `receive` with an event.
    public func receive(
        _ event: any Event, within limit: Duration, newStateIs state: any State,
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) async {
        await driver.waitForEvent(within: limit, at: SourcePlace(fileID, filePath, line, column))
        receive(event, newStateIs: state, fileID: fileID, filePath: filePath, line: line, column: column)
    }

    /// Waits in real time up to `limit`, then asserts like `receive` with a type.
    public func receive<E: Event>(
        _ type: E.Type, within limit: Duration, newStateIs state: any State,
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) async {
        await driver.waitForEvent(within: limit, at: SourcePlace(fileID, filePath, line, column))
        receive(type, newStateIs: state, fileID: fileID, filePath: filePath, line: line, column: column)
    }

    /// Waits in real time up to `limit`, then asserts like `receive` with a condition.
    public nonisolated(nonsending) func receive(
        where condition: (any Event) -> Bool, within limit: Duration, newStateIs state: any State,
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) async {
        await driver.waitForEvent(within: limit, at: SourcePlace(fileID, filePath, line, column))
        receive(where: condition, newStateIs: state, fileID: fileID, filePath: filePath, line: line, column: column)
    }
}
