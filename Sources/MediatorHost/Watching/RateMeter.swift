import CommonExpression
import FeedbackKit
import MediatorConfiguration
import Synchronization

/// A counter of the events that a watcher receives and of those left out, in periods. A period begins with its first event.
final class RateMeter: Sendable {
    private struct Machine {
        /// The time at which the period began; `nil` before the first period.
        var period: Duration?
        var told = 0
        var leftOut = 0
        var hasTimer = false
        var timer: PendingCall?
        var isEnded = false
    }

    private let rate: WatchRate
    private let time: HostTime
    private let periodIsOver: @Sendable () -> Void
    private let machine = Mutex(Machine())

    /// Creates a meter.
    ///
    /// - Parameter periodIsOver: A function that is called at the end of a period in which an event was left out.
    init(_ rate: WatchRate, time: HostTime, periodIsOver: @escaping @Sendable () -> Void) {
        self.rate = rate
        self.time = time
        self.periodIsOver = periodIsOver
    }

    /// Counts an event. Returns `false` if the event is left out.
    func isWithin() -> Bool {
        let now = time.elapsed()
        let (isWithin, end) = machine.withLock { machine -> (Bool, Duration?) in
            if machine.period.map({ now - $0 >= rate.period }) ?? true {
                machine.period = now
                machine.told = 0
            }
            if machine.told < rate.count {
                machine.told += 1
                return (true, nil)
            }
            machine.leftOut += 1
            guard !machine.hasTimer, !machine.isEnded else { return (false, nil) }
            machine.hasTimer = true
            return (false, machine.period.map { $0 + rate.period })
        }
        if let end { startTimer(end) }
        return isWithin
    }

    private func startTimer(_ end: Duration) {
        let timer = time.call(at: end) { [weak self] in self?.expire() }
        let isKept = machine.withLock { machine in
            guard !machine.isEnded else { return false }
            // The timer may have ended already.
            if machine.hasTimer { machine.timer = timer }
            return true
        }
        if !isKept { timer.cancel() }
    }

    private func expire() {
        let timer = machine.withLock { machine in
            machine.hasTimer = false
            return machine.timer.take()
        }
        withExtendedLifetime(timer) {}
        periodIsOver()
    }

    /// Returns the number of events left out since the last call, once the period is over.
    func takeLeftOut() -> Int {
        let now = time.elapsed()
        return machine.withLock { machine in
            guard let period = machine.period, now - period >= rate.period else { return 0 }
            defer { machine.leftOut = 0 }
            return machine.leftOut
        }
    }

    /// Ends the meter, because the reader has gone.
    func end() {
        let timer = machine.withLock { machine in
            machine.isEnded = true
            return machine.timer.take()
        }
        timer?.cancel()
    }
}
