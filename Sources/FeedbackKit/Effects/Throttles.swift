import Synchronization

/// The start times of throttled effects, by name. Only the loop's turn uses it.
@usableFromInline
package final class Throttles: Sendable {
    private struct Start: Sendable {
        let interval: Duration
        let elapsed: @Sendable () -> Duration
    }

    private struct Known: Sendable {
        var starts: [EffectID: Start] = [:]
        /// The number of names at which expired starts are forgotten.
        var bound = 64
    }

    private let known = Mutex(Known())

    /// Creates a record without starts.
    package init() {}

    /// The number of known names.
    package var count: Int { known.withLock { $0.starts.count } }

    /// Returns a Boolean value that indicates whether the last start of a name is at least `interval` ago. It returns
    /// `true` for an unknown name.
    package func mayStart(_ id: EffectID, after interval: Duration) -> Bool {
        guard let last = known.withLock({ $0 }).starts[id] else { return true }
        return last.elapsed() >= interval
    }

    /// Records a start of a name at the present time of the clock.
    package func noteStart(_ id: EffectID, _ interval: Duration, by clock: any Clock<Duration>) {
        // Names and the clock are the caller's code, so the lock is not held during their calls.
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
