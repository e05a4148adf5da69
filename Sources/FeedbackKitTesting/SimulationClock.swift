/// The clock of a ``Simulation``. It stands still while an entry is runnable, then jumps to the next deadline.
///
/// Sleeping until the present or the past is a suspension point at which other work may run.
public struct SimulationClock: Clock, Sendable {
    /// An instant, relative to the simulation's start.
    public typealias Instant = ManualClock.Instant

    /// The simulation that advances the clock.
    let simulation: Simulation

    /// The current simulated time.
    public var now: Instant { simulation.now }

    /// The resolution: one nanosecond.
    public var minimumResolution: Swift.Duration { .nanoseconds(1) }

    /// Sleeps until the simulation has advanced to the deadline. Throws `CancellationError` when the task is cancelled.
    public func sleep(until deadline: Instant, tolerance: Swift.Duration? = nil) async throws {
        try await simulation.sleep(until: deadline)
    }
}
