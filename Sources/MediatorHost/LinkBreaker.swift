import CommonExpression
package import MediatorConfiguration

/// A circuit breaker for a link that is part of a loop, as a plain value.
///
/// The limit sets the number of firings within any period. If the link would exceed it, the breaker opens and holds back every
/// firing. It does not merely slow the link down, because an endless loop must be noticed. The breaker closes at the first
/// attempt after a whole period without attempts.
///
/// The limit also sets the number of links that an event may pass. An attempt beyond it does not fire, which ends the circle,
/// while all other attempts pass. ``excess(at:)`` reports such an attempt until a whole period has passed without another one.
package struct LinkBreaker: Sendable {
    /// The result of an attempt to fire.
    package enum Verdict: Sendable, Equatable {
        /// The link fires.
        case fires
        /// The link fires for the first time since the breaker was open for all attempts.
        case closes
        /// The link does not fire. The breaker was closed before.
        case opens(Excess)
        /// The link does not fire. The breaker was open before.
        case holds
    }

    /// The part of the limit that an attempt would exceed.
    package enum Excess: Sendable {
        /// The number of firings within a period.
        case rate
        /// The number of links that the event has passed.
        case hops
    }

    private let limit: Int
    private let period: Duration
    private let hops: UInt32
    /// The times of the latest firings, up to `limit`, in a ring. The ring grows only as needed.
    private var times: [Duration] = []
    private var next = 0
    /// The time of the latest attempt while the breaker is open for all attempts.
    private var lastAttempt: Duration?
    /// The time of the latest attempt for an event that had passed too many links.
    private var lastExcess: Duration?

    /// Creates a closed breaker.
    package init(_ limit: LoopLimit) {
        self.limit = limit.rate.count
        period = limit.rate.period.swiftDuration
        hops = limit.hops.flatMap(UInt32.init(exactly:)) ?? .max
    }

    /// Returns the exceeded part of the limit at a time; `nil` if the breaker is closed.
    package func excess(at now: Duration) -> Excess? {
        if let lastAttempt, now - lastAttempt < period { return .rate }
        if let lastExcess, now - lastExcess < period { return .hops }
        return nil
    }

    /// Decides on an attempt to fire. Constant time.
    ///
    /// - Parameter hops: The number of links that the event has passed, this link included.
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

/// A value that most parts of its sort do not have. Without it, its owner has room for one reference only.
enum Rare<Value> {
    case none
    indirect case some(Value)

    init(_ value: Value?) { self = value.map(Rare.some) ?? .none }

    /// The value, or `nil`.
    var value: Value? { if case .some(let value) = self { value } else { nil } }

    /// Changes a present value. Returns the result of the change, or `nil` without a value.
    mutating func change<Result>(_ change: (inout Value) -> Result) -> Result? {
        guard case .some(var value) = self else { return nil }
        // The value has no second owner while it changes, so its buffers are not copied.
        self = .none
        defer { self = .some(value) }
        return change(&value)
    }
}

extension Rare: Sendable where Value: Sendable {}
