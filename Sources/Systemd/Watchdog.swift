import CSystemd
public import ServiceLifecycle

/// What a check of the process found.
public enum Liveness: Sendable, Hashable {
    /// Everything turns.
    case alive
    /// These do not: names for the log, in the order in which they are to be read.
    case stuck([String])
}

/// Feeds the service manager's watchdog as long as a check says that everything turns.
///
/// Every half interval the check is asked; only when it answers ``Liveness/alive``, within ``checkLimit``, does the
/// service manager hear `WATCHDOG=1`. So at most 7/10 of the interval lie between two feedings while all is well, and
/// nothing is fed while anything is not: what the service manager then does (`WatchdogSec=` in systemd.service(5)) ends
/// the process. After a check that was not fed for the next one comes after ``checkLimit`` already, so that what is stuck
/// for a moment only does not end it.
///
/// The check runs as a child task and is cancelled when its time is over. A check that does not heed cancellation is
/// waited for meanwhile, and nothing is fed, which is the same verdict.
public struct Watchdog: Service, CustomStringConvertible {
    /// Why the watchdog was not fed this time.
    public enum Withheld: Sendable, Hashable {
        /// The check named these as stuck.
        case stuck([String])
        /// The check had not answered after this time.
        case checkOverran(limit: Duration)
        /// All is alive, but the message could not be sent: a number of errno(3).
        case undeliverable(errno: Int32)
    }

    /// The time within which the service manager wants to hear of the process.
    public let interval: Duration
    /// How long a check may take: a fifth of the interval.
    public var checkLimit: Duration { interval / 5 }

    private let clock: any Clock<Duration>
    private let notifier: Notifier
    private let check: @Sendable () async -> Liveness
    private let onStuck: @Sendable (Withheld) -> Void

    /// A watchdog that is not yet running.
    ///
    /// - Parameters:
    ///   - interval: What ``configuredInterval()`` says; above zero.
    ///   - clock: What measures the half intervals and the check's limit.
    ///   - notifier: Who is told.
    ///   - check: Whether everything turns. It should answer at once and heed cancellation.
    ///   - onStuck: Called each time the watchdog is not fed, to be logged.
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

    /// The interval within which the service manager wants to hear of this process, or `nil` when it does not ask.
    ///
    /// Source: sd_watchdog_enabled(3), which reads `$WATCHDOG_USEC` and `$WATCHDOG_PID`.
    public static func configuredInterval() throws(SystemdError) -> Duration? {
        var microseconds: UInt64 = 0
        let result = sd_watchdog_enabled(0, &microseconds)
        guard result >= 0 else {
            throw SystemdError(
                code: .malformedWatchdog,
                message: "Whether the service manager watches this process is unknown, because $WATCHDOG_USEC or "
                    + "$WATCHDOG_PID is not a valid number; set both rightly, or neither",
                errno: Int32(truncatingIfNeeded: result.magnitude)
            )
        }
        return result == 0 ? nil : .microseconds(Int64(clamping: microseconds))
    }

    /// What the group of services calls it; by itself that would write out everything that it holds.
    public var description: String { "watchdog" }

    /// Checks and feeds, at once and then every half interval, sooner after what was not fed, until graceful shutdown or
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
            // After a suspended or starved while, go on from now rather than catch up.
            if next <= now { next = now.advanced(by: period) }
            do { try await clock.sleep(until: next, tolerance: nil) } catch { return }
        }
    }

    /// Whether it was fed, or nobody is there to be fed.
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

    /// Runs the check against its limit; reports an overrun before it waits for the check to end.
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
