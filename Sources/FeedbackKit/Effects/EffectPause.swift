import Synchronization

/// A wait within an effect, before the effect goes on with something else.
@usableFromInline
package enum EffectPause<Event: Sendable>: Sendable {
    /// A wait for the events that were sent before, and for those that the present state leads to at once.
    case none
    /// A wait by the loop's clock, and then for the events that were sent before. A gentle stop ends it.
    ///
    /// - Parameter end: The end of the wait. If it is `nil`, the delay counts from the start of the wait.
    case delay(Duration, until: End? = nil, Interruption? = nil)
    /// The run of an async function, and then a wait for the events that were sent before.
    ///
    /// - Parameter endsAtStop: A Boolean value that indicates whether a gentle stop ends the function.
    case task(endsAtStop: Bool, Interruption? = nil, @Sendable (Send<Event>) async -> Void)

    /// A fixed end of a wait. Waits with the same end are over together.
    @usableFromInline
    package struct End: Sendable {
        /// The end by the continuous clock, if that is the clock of the loop.
        @usableFromInline let instant: ContinuousClock.Instant?
        /// The same wait as an async function, for any other clock.
        @usableFromInline let sleep: @Sendable () async throws -> Void

        package init(_ instant: ContinuousClock.Instant?, sleep: @escaping @Sendable () async throws -> Void) {
            self.instant = instant
            self.sleep = sleep
        }
    }

    /// Returns the same wait in an effect with transformed events.
    func map<Other: Sendable>(_ transform: @escaping @Sendable (Event) -> Other) -> EffectPause<Other> {
        switch self {
        case .none: .none
        case .delay(let delay, let end, let interruption):
            .delay(delay, until: end.map { .init($0.instant, sleep: $0.sleep) }, interruption)
        case .task(let endsAtStop, let interruption, let body):
            .task(endsAtStop: endsAtStop, interruption) { await body($0.contramap(transform)) }
        }
    }
}

extension Effect {
    /// Returns an effect that waits and then goes on.
    ///
    /// The loop decides how it goes on, on its turn, when it has taken all events that were sent before the end of the wait. A
    /// paused loop decides after it is resumed. A wait is part of the effect, so an effect that goes on and on with further
    /// waits is one effect.
    ///
    /// - Parameters:
    ///   - pause: The wait.
    ///   - then: A function that returns the continuation. It is called on the loop's turn, unless the effect is cancelled, the
    ///     wait is interrupted, or the loop stops.
    package static func waiting(
        _ pause: EffectPause<Event>, then: @escaping @Sendable () -> Continuation
    ) -> Effect {
        Effect(kind: .waiting(pause, then: then))
    }
}

/// Ends one wait of an effect from outside, so that the effect does not go on.
///
/// It is for one wait. After the wait an interruption does nothing, even if the loop has not taken its decision yet.
@usableFromInline
package final class Interruption: Sendable {
    private enum Phase: Sendable {
        case new
        case armed(@Sendable () -> Void)
        case interrupted
        case over
    }

    private let phase = Mutex(Phase.new)

    package init() {}

    /// Ends the wait, now or when it begins.
    package func interrupt() {
        let before = phase.withLock { phase in
            let before = phase
            if case .over = before { return before }
            phase = .interrupted
            return before
        }
        if case .armed(let end) = before { end() }
    }

    /// Sets the function that ends the wait. Calls it at once if the interruption came before.
    @usableFromInline
    func arm(_ end: @escaping @Sendable () -> Void) {
        let isInterrupted = phase.withLock { phase in
            switch phase {
            case .new, .armed:
                phase = .armed(end)
                return false
            case .interrupted: return true
            case .over: return false
            }
        }
        if isInterrupted { end() }
    }

    /// Notes the end of the wait, and releases the function. Returns `false` if an interruption came before.
    @usableFromInline @discardableResult
    func end() -> Bool {
        // The function is released after the lock.
        let before = phase.withLock { phase in
            let before = phase
            if case .interrupted = before { return before }
            phase = .over
            return before
        }
        if case .interrupted = before { return false }
        return true
    }
}
