/// The clock of a ``Simulation``: it stands still while anything is runnable there, then jumps to the next deadline.
///
/// Sleeping until a moment that is not later than now is a point at which something else may run.
public struct SimulationClock: Clock, Sendable {
    /// A moment, counted from the simulation's beginning.
    public typealias Instant = ManualClock.Instant

    /// What drives it.
    let simulation: Simulation

    /// What time it is.
    public var now: Instant { simulation.now }

    /// Exact.
    public var minimumResolution: Swift.Duration { .nanoseconds(1) }

    /// Sleeps until the simulation has advanced to the deadline. Throws `CancellationError` when the task is cancelled.
    public func sleep(until deadline: Instant, tolerance: Swift.Duration? = nil) async throws {
        try await simulation.sleep(until: deadline)
    }
}
