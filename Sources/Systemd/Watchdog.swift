import CSystemd
public import ServiceLifecycle

/// The result of a check of the process.
public enum Liveness: Sendable, Hashable {
    /// All parts of the process make progress.
    case alive
    /// These parts are stuck. The names are for the log, in reading order.
    case stuck([String])
}

/// Feeds the service manager's watchdog while a check reports that the process makes progress.
///
/// The check runs every half interval. The watchdog sends `WATCHDOG=1` only if the check answers ``Liveness/alive``
/// within ``checkLimit``. While all is well, at most 7/10 of the interval passes between two messages. While a part is
/// stuck, no message is sent, and the service manager ends the process (`WatchdogSec=` in systemd.service(5)). After a
/// check without a message, the next check comes after ``checkLimit``, so that a short block does not end the process.
///
/// The check runs as a child task and is cancelled when its time is over. The watchdog waits for a check that ignores
/// cancellation and sends nothing in the meantime, which has the same effect.
public struct Watchdog: Service, CustomStringConvertible {
    /// The reason why no message was sent.
    public enum Withheld: Sendable, Hashable {
        /// The check reported these parts as stuck.
        case stuck([String])
        /// The check did not answer within this time.
        case checkOverran(limit: Duration)
        /// The process is alive, but the message could not be sent. The value is a number of errno(3).
        case undeliverable(errno: Int32)
    }

    /// The time within which the service manager expects a message.
    public let interval: Duration
    /// The time limit of a check: a fifth of the interval.
    public var checkLimit: Duration { interval / 5 }

    private let clock: any Clock<Duration>
    private let notifier: Notifier
    private let check: @Sendable () async -> Liveness
    private let onStuck: @Sendable (Withheld) -> Void

    /// Creates a watchdog.
    ///
    /// - Parameters:
    ///   - interval: The interval from ``configuredInterval()``, above zero.
    ///   - clock: Measures the half intervals and the check's limit.
    ///   - notifier: The notifier that sends the messages.
    ///   - check: Returns whether the process makes progress. It should answer at once and respond to cancellation.
    ///   - onStuck: Called each time no message is sent, for logging.
    public init(
        interval: Duration,
        clock: any Clock<Duration> = ContinuousClock(),
        notifier: Notifier = Notifier(),
        check: @escaping @Sendable () async -> Liveness,
        onStuck: @escaping @Sendable (Withheld) -> Void
    ) {
        precondition(interval > .zero, "A watchdog's interval must be above zero, but it is \(interval).")
        self.interval = interval
        self.clock = clock
        self.notifier = notifier
        self.check = check
        self.onStuck = onStuck
    }

    /// Returns the interval within which the service manager expects a message, or `nil` if it expects none.
    ///
    /// Source: sd_watchdog_enabled(3), which reads `$WATCHDOG_USEC` and `$WATCHDOG_PID`.
    public static func configuredInterval() throws(SystemdError) -> Duration? {
        var microseconds: UInt64 = 0
        let result = sd_watchdog_enabled(0, &microseconds)
        guard result >= 0 else {
            throw SystemdError(
                code: .malformedWatchdog,
                message: "Whether the service manager watches this process is unknown, because $WATCHDOG_USEC or "
                    + "$WATCHDOG_PID is not a valid number; correct both or unset both",
                errno: Int32(truncatingIfNeeded: result.magnitude)
            )
        }
        return result == 0 ? nil : .microseconds(Int64(clamping: microseconds))
    }

    /// The name in the log of the service group. By default it would print the whole value.
    public var description: String { "watchdog" }

    /// Checks and sends now and then every half interval, or sooner after a failed check, until graceful shutdown or
    /// cancellation.
    public func run() async {
        await cancelWhenGracefulShutdown { await self.runLoop(clock: self.clock) }
    }

    private func runLoop<C: Clock>(clock: C) async where C.Duration == Duration {
        var next = clock.now
        while !Task.isCancelled {
            let period = await checkAndFeed() ? interval / 2 : checkLimit
            next = next.advanced(by: period)
            let now = clock.now
            // After the process was suspended or starved, continue from now instead of catching up.
            if next <= now { next = now.advanced(by: period) }
            do { try await clock.sleep(until: next, tolerance: nil) } catch { return }
        }
    }

    /// Checks, and sends if alive. Returns whether the message was sent or no service manager exists.
    private func checkAndFeed() async -> Bool {
        switch await checkWithinLimit() {
        case .answered(.alive):
            guard case .failed(let errno) = notifier.notify(.watchdog) else { return true }
            onStuck(.undeliverable(errno: errno))
        case .answered(.stuck(let names)):
            onStuck(.stuck(names))
        case .overran, .cancelled:
            break
        }
        return false
    }

    private enum CheckResult {
        case answered(Liveness)
        case overran
        case cancelled
    }

    /// Runs the check with its time limit. Reports an overrun before it waits for the check to end.
    private func checkWithinLimit() async -> CheckResult {
        await withTaskGroup(of: CheckResult.self) { group in
            group.addTask { .answered(await check()) }
            group.addTask {
                do { try await clock.sleep(for: checkLimit) } catch { return .cancelled }
                return .overran
            }
            defer { group.cancelAll() }
            guard let first = await group.next() else { return .cancelled }
            switch first {
            case .answered: return Task.isCancelled ? .cancelled : first
            case .overran: onStuck(.checkOverran(limit: checkLimit))
            case .cancelled: break
            }
            return first
        }
    }
}
