/// Why a simulation could not carry something out.
public struct SimulationError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What kind of error it is.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The name of the code.
        public let description: String

        /// Nothing is runnable, nobody sleeps, and nothing came from elsewhere within the limit.
        public static let stalled = Code(description: "stalled")
        /// More steps than ``Simulation/maximumSteps``.
        public static let exhausted = Code(description: "exhausted")
        /// It is being driven already.
        public static let driven = Code(description: "driven")
    }

    /// What kind of error it is.
    public let code: Code
    /// What happened, why, and what to do.
    public let message: String

    /// The message.
    public var description: String { message }
}

extension Simulation {
    /// Runs an async function as a task of the simulation, and drives the simulation until it has ended. Time passes as
    /// far as the function needs it.
    ///
    ///     try await simulation.perform { await loop.stop(within: .seconds(5)) }
    ///
    /// It is how a test awaits something that only happens when the simulation is driven.
    ///
    /// - Parameters:
    ///   - limit: how long to wait, in real time, for something from elsewhere when nothing is left to run and nobody
    ///     sleeps on the clock.
    ///   - body: what to run; cancelled when the calling task is cancelled, and when this function throws.
    /// - Throws: what `body` throws; a ``SimulationError`` if it does not end.
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
                    + "something sets itself off again without end, or maximumSteps is too low")
        case .refused:
            SimulationError(code: .driven, message: "the simulation is being driven already")
        case .done, .rest:
            SimulationError(
                code: .stalled,
                message: "the function waits for something that does not come: nothing is runnable, nobody sleeps on "
                    + "the clock, and nothing came from outside the simulation within \(limit)")
        }
    }
}
