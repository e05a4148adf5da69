import CommonExpression
package import MediatorConfiguration

/// Holds a link that is part of a loop to its limit: a circuit breaker, as a plain value.
///
/// The link may fire as often as the limit says within any period. When it would fire more often, it opens: nothing passes
/// any more, not even slowly, since a loop that turns without end is to be seen, not merely slowed down. It closes by
/// itself at the first attempt after a whole period without any.
package struct LinkBreaker: Sendable {
    /// What becomes of an attempt to fire.
    package enum Verdict: Sendable {
        /// It fires.
        case fires
        /// It fires again, the first time since it was open.
        case closes
        /// It does not fire, the first time.
        case opens
        /// It does not fire.
        case holds
    }

    private let limit: Int
    private let period: Duration
    /// When it fired last, as often as the limit says, in a ring; it grows only as far as it is used.
    private var times: [Duration] = []
    private var next = 0
    /// When it was tried last, while open.
    private var lastAttempt: Duration?

    /// A breaker that is closed.
    package init(_ limit: RateLimit) {
        self.limit = limit.count
        period = limit.period.swiftDuration
    }

    /// Whether it is open at a time.
    package func isOpen(at now: Duration) -> Bool {
        lastAttempt.map { now - $0 < period } ?? false
    }

    /// An attempt to fire. Constant time.
    package mutating func attempt(at now: Duration) -> Verdict {
        let wasOpen = lastAttempt != nil
        if isOpen(at: now) {
            lastAttempt = now
            return .holds
        }
        if wasOpen {
            lastAttempt = nil
            times.removeAll(keepingCapacity: true)
            next = 0
        }
        if times.count < limit {
            times.append(now)
        } else if now - times[next] >= period {
            times[next] = now
            next = (next + 1) % limit
        } else {
            lastAttempt = now
            return .opens
        }
        return wasOpen ? .closes : .fires
    }
}
