import CommonExpression
package import MediatorConfiguration

/// Holds a link that is part of a loop to its limit: a circuit breaker, as a plain value.
///
/// The link may fire as often as the limit says within any period. When it would fire more often, it opens: nothing passes
/// any more, not even slowly, since a loop that turns without end is to be seen, not merely slowed down. It closes by
/// itself at the first attempt after a whole period without any.
///
/// For what has come over more links than the limit says it does not fire either. That ends the circle, so that all else passes as
/// before; it counts as open for what has come so far until a whole period has passed without such an attempt.
package struct LinkBreaker: Sendable {
    /// What becomes of an attempt to fire.
    package enum Verdict: Sendable, Equatable {
        /// It fires.
        case fires
        /// It fires again, the first time since it was open for all.
        case closes
        /// It does not fire, the first time.
        case opens(Excess)
        /// It does not fire.
        case holds
    }

    /// Which part of the limit it would have exceeded.
    package enum Excess: Sendable {
        /// It would have fired more often.
        case rate
        /// It would have fired for what has come over more links.
        case hops
    }

    private let limit: Int
    private let period: Duration
    private let hops: UInt32
    /// When it fired last, as often as the limit says, in a ring; it grows only as far as it is used.
    private var times: [Duration] = []
    private var next = 0
    /// When it was tried last, while open for all.
    private var lastAttempt: Duration?
    /// When it was tried last for what had come over too many links.
    private var lastExcess: Duration?

    /// A breaker that is closed.
    package init(_ limit: LoopLimit) {
        self.limit = limit.rate.count
        period = limit.rate.period.swiftDuration
        hops = limit.hops.flatMap(UInt32.init(exactly:)) ?? .max
    }

    /// By what it is open at a time; nil: it is not.
    package func excess(at now: Duration) -> Excess? {
        if let lastAttempt, now - lastAttempt < period { return .rate }
        if let lastExcess, now - lastExcess < period { return .hops }
        return nil
    }

    /// An attempt to fire. Constant time.
    ///
    /// - Parameter hops: how many links have been come over, this one included.
    package mutating func attempt(at now: Duration, hops: UInt32) -> Verdict {
        let wasOpen = lastAttempt != nil
        let excess = excess(at: now)
        if excess == .rate {
            lastAttempt = now
            return .holds
        }
        if hops > self.hops {
            lastExcess = now
            return excess == .hops ? .holds : .opens(.hops)
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
            return .opens(.rate)
        }
        return wasOpen ? .closes : .fires
    }
}
