import CommonExpression
package import MediatorConfiguration

/// Holds a link that is part of a loop to its limit: a circuit breaker, as a plain value.
///
/// The link may fire as often as the limit says within any period, and for what has come over as many links as the limit says.
/// When it would fire more often, or for what has come further, it opens: nothing passes any more, not even slowly, since a loop
/// that turns without end is to be seen, not merely slowed down. It closes by itself at the first attempt after a whole period
/// without any.
package struct LinkBreaker: Sendable {
    /// What becomes of an attempt to fire.
    package enum Verdict: Sendable, Equatable {
        /// It fires.
        case fires
        /// It fires again, the first time since it was open.
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
    /// When it was tried last, while open.
    private var lastAttempt: Duration?

    /// Why it opened last; nil: it never did.
    package private(set) var excess: Excess?

    /// A breaker that is closed.
    package init(_ limit: LoopLimit) {
        self.limit = limit.rate.count
        period = limit.rate.period.swiftDuration
        hops = limit.hops.flatMap(UInt32.init(exactly:)) ?? .max
    }

    /// Whether it is open at a time.
    package func isOpen(at now: Duration) -> Bool {
        lastAttempt.map { now - $0 < period } ?? false
    }

    /// An attempt to fire. Constant time.
    ///
    /// - Parameter hops: how many links have been come over, this one included.
    package mutating func attempt(at now: Duration, hops: UInt32) -> Verdict {
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
        guard hops <= self.hops else { return open(.hops, at: now) }
        if times.count < limit {
            times.append(now)
        } else if now - times[next] >= period {
            times[next] = now
            next = (next + 1) % limit
        } else {
            return open(.rate, at: now)
        }
        return wasOpen ? .closes : .fires
    }

    private mutating func open(_ excess: Excess, at now: Duration) -> Verdict {
        lastAttempt = now
        self.excess = excess
        return .opens(excess)
    }
}
