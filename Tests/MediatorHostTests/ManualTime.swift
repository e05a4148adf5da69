import CommonExpression
import FeedbackKitTesting
import MediatorHost

extension HostTime {
    /// Time that is moved by hand, by the calendar too, which begins in November 2023.
    ///
    /// - Parameter look: called each time somebody looks at the calendar.
    static func manual(_ clock: ManualClock, look: @escaping @Sendable () -> Void = {}) -> HostTime {
        .settling(clock) {
            look()
            let (seconds, attoseconds) = clock.now.offset.components
            guard
                let now = Timestamp(
                    seconds: 1_700_000_000 + seconds, nanoseconds: Int32(attoseconds / 1_000_000_000))
            else { preconditionFailure("the test runs for thousands of years") }
            return now
        }
    }

    /// Time by a clock and a calendar, with an executor that knows when nothing is left to run.
    static func settling(_ clock: some Clock<Duration>, now: @escaping @Sendable () -> Timestamp) -> HostTime {
        HostTime(clock: clock, now: now, executor: SettlingPool())
    }
}

extension Timestamp {
    /// 1970.
    static var epoch: Timestamp {
        guard let epoch = Timestamp(seconds: 0, nanoseconds: 0) else { preconditionFailure("1970 is a year") }
        return epoch
    }
}
