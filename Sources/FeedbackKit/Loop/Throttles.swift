import Synchronization

/// When effects that are not to start too often have started. Only the loop's turn uses it.
@usableFromInline
package final class Throttles: Sendable {
    private struct Start: Sendable {
        let interval: Duration
        let elapsed: @Sendable () -> Duration
    }

    private struct Known: Sendable {
        var starts: [EffectID: Start] = [:]
        /// At so many names, those that no longer count are forgotten.
        var bound = 64
    }

    private let known = Mutex(Known())

    package init() {}

    /// How many names are known.
    package var count: Int { known.withLock { $0.starts.count } }

    /// Whether the last start of the name is so long ago.
    package func mayStart(_ id: EffectID, after interval: Duration) -> Bool {
        guard let last = known.withLock({ $0 }).starts[id] else { return true }
        return last.elapsed() >= interval
    }

    /// The name starts now.
    package func noteStart(_ id: EffectID, _ interval: Duration, by clock: any Clock<Duration>) {
        // Taken out while names and clock, which are the caller's code, are asked.
        var known = self.known.withLock { known in
            defer { known = Known() }
            return known
        }
        known.starts[id] = Start(interval: interval, elapsed: Self.stopwatch(clock))
        if known.starts.count >= known.bound {
            known.starts = known.starts.filter { $1.elapsed() < $1.interval }
            known.bound = max(64, 2 * known.starts.count)
        }
        self.known.withLock { $0 = known }
    }

    private static func stopwatch<C: Clock>(_ clock: C) -> @Sendable () -> Duration where C.Duration == Duration {
        let start = clock.now
        return { start.duration(to: clock.now) }
    }
}
