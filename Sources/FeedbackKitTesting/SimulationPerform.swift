/// The reason why a simulation could not complete a function.
public struct SimulationError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of an error.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The name of the kind.
        public let description: String

        /// Nothing is runnable, no task sleeps, and no outside work arrived within the limit.
        public static let stalled = Code(description: "stalled")
        /// The function needed more steps than ``Simulation/maximumSteps``.
        public static let exhausted = Code(description: "exhausted")
        /// Another caller drives the simulation.
        public static let driven = Code(description: "driven")
    }

    /// The kind of the error.
    public let code: Code
    /// The problem, its cause, and the remedy.
    public let message: String

    /// The message.
    public var description: String { message }
}

extension Simulation {
    /// Runs an async function as a task of the simulation, and drives the simulation until the function ends. The
    /// simulated time advances as needed.
    ///
    ///     try await simulation.perform { await loop.stop(within: .seconds(5)) }
    ///
    /// Use it to await something that happens only while the simulation is driven.
    ///
    /// - Parameters:
    ///   - limit: The maximum real time to wait for outside work when nothing is runnable and no task sleeps on the
    ///     clock.
    ///   - body: The function. It is cancelled when the calling task is cancelled, and when this function throws.
    /// - Throws: The error of `body`, or a ``SimulationError`` if `body` does not end.
    public func perform<R: Sendable>(
        within limit: Duration = .seconds(5),
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line,
        column: UInt = #column,
        _ body: @escaping @Sendable () async throws -> R
    ) async throws -> R {
        let place = SourcePlace(fileID, filePath, line, column)
        let result = SharedValue<Result<R, any Error>?>(nil)
        let task = Task(executorPreference: self) {
            let outcome: Result<R, any Error>
            do { outcome = .success(try await body()) } catch { outcome = .failure(error) }
            result.with { $0 = outcome }
        }
        return try await withTaskCancellationHandler {
            while true {
                let outcome = drive(.end, limit: maximumSteps, place) { result.value != nil }
                if let result = result.value { return try result.get() }
                if outcome == .rest, await arrival(before: Self.deadline(in: limit), countingSleepers: true) {
                    continue
                }
                let wasCancelled = Task.isCancelled
                task.cancel()
                settle()
                if let result = result.value, wasCancelled { return try result.get() }
                throw wasCancelled ? CancellationError() : error(outcome, limit)
            }
        } onCancel: {
            task.cancel()
        }
    }

    private func error(_ outcome: Outcome, _ limit: Duration) -> SimulationError {
        switch outcome {
        case .exhausted:
            SimulationError(
                code: .exhausted,
                message: "the function did not end within \(maximumSteps) steps of the simulation with seed \(seed): "
                    + "some work restarts itself without end, or maximumSteps is too low")
        case .refused:
            SimulationError(code: .driven, message: "the simulation is being driven already")
        case .done, .rest:
            SimulationError(
                code: .stalled,
                message: "the function waits for an event that never arrives: nothing is runnable, no task sleeps on "
                    + "the clock, and nothing came from outside the simulation within \(limit)")
        }
    }
}
