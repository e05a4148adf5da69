import CommonExpression
import MediatorConfiguration
import Synchronization

/// Keeps the cadence of a feedback with `every` or `at`.
///
/// Waiting ends when the system enters another state, whatever the strategy; the strategy decides about a run that is
/// under way.
final class Ticker: Sendable {
    /// When there are ticks.
    enum Plan: Sendable {
        case every(Duration)
        case at([CalendarExpression])
    }

    private enum Cadence: Sendable {
        case interval(IntervalCadence)
        case calendar(CalendarCadence)
    }

    private struct Machine {
        var cadence: Cadence
        var generation: UInt64 = 0
        var waiting: Waits.Ticket?
        /// How much later the next tick is to be; nil: it has not been drawn.
        var extra: Duration?
        /// When the next tick is, while it is waited for.
        var next: Timestamp?
        /// The calendar times that were waited for last.
        var expressions: [CalendarExpression] = []
    }

    private let machine: Mutex<Machine>
    private let time: HostTime
    private let waits: Waits
    private let report: @Sendable (MissedCount) -> Void

    /// - Parameters:
    ///   - isCalendar: whether there are ticks by the calendar, rather than by intervals.
    ///   - report: is told of ticks that are left out.
    init(
        time: HostTime, waits: Waits, missed: MissedTicks = .once, isCalendar: Bool = false,
        report: @escaping @Sendable (MissedCount) -> Void = { _ in }
    ) {
        self.time = time
        self.waits = waits
        self.report = report
        machine = Mutex(
            Machine(
                cadence: isCalendar
                    ? .calendar(CalendarCadence(missed: missed)) : .interval(IntervalCadence(missed: missed))))
    }

    /// When the next tick is, while it is waited for.
    var next: Timestamp? { waits.isClosed ? nil : machine.withLock { $0.next } }

    /// The system has entered a state: whoever waited for the old one gives up. Answers the number of the new wait.
    func enter(isAsked: Bool) -> UInt64 {
        let (generation, old) = machine.withLock { machine in
            machine.generation += 1
            machine.next = nil
            if !isAsked {
                switch machine.cadence {
                case .interval(var cadence):
                    cadence.pause()
                    machine.cadence = .interval(cadence)
                case .calendar(var cadence):
                    cadence.pause()
                    machine.cadence = .calendar(cadence)
                }
            }
            defer { machine.waiting = nil }
            return (machine.generation, machine.waiting)
        }
        if let old { waits.interrupt(old) }
        return generation
    }

    /// Takes a step of a wait, on the system's turn: a tick is due, or it is to be waited for.
    ///
    /// - Parameters:
    ///   - zone: the time zone of those calendar times that name none.
    ///   - jitter: how much later each tick may be, at random.
    func step(_ generation: UInt64, _ plan: Plan, in zone: ZoneOffsets, jitter: Duration = .zero) -> WaitStep {
        let (elapsed, now) = (time.elapsed(), time.now())
        let random = jitter > .zero ? jitter * time.random() : .zero
        var missed: [MissedCount] = []
        let step: WaitStep = machine.withLock { machine in
            guard machine.generation == generation else { return .ended }
            machine.waiting = nil
            machine.next = nil
            let extra = machine.extra ?? random
            machine.extra = extra
            switch (machine.cadence, plan) {
            case (.interval(var cadence), .every(let interval)):
                let step = cadence.step(at: elapsed, every: interval, extra: extra) { missed.append($0) }
                machine.cadence = .interval(cadence)
                guard case .wait(let due) = step else { break }
                let moment = IntervalCadence.gathered(due, interval)
                guard let ticket = waits.begin({ [time] in try await time.sleep(moment) }) else { return .ended }
                machine.waiting = ticket
                machine.next = now.advanced(by: moment - elapsed)
                return .wait(ticket)
            case (.calendar(var cadence), .at(let expressions)):
                // At other times it was not waited for these.
                if machine.expressions != expressions { cadence.pause() }
                machine.expressions = expressions
                let step = cadence.step(
                    at: now, extra: extra, next: { Self.next(expressions, after: $0, in: zone) }
                ) { missed.append($0) }
                machine.cadence = .calendar(cadence)
                if case .never = step { return .ended }
                guard case .wait(let tick) = step else { break }
                guard let due = tick.advanced(by: extra),
                    let ticket = waits.begin({ [time] in try await time.sleepUntil(due) })
                else { return .ended }
                machine.waiting = ticket
                machine.next = due
                return .wait(ticket)
            default: preconditionFailure("a feedback has one schedule")
            }
            machine.extra = nil
            return .due
        }
        for count in missed { report(count) }
        return step
    }

    /// The first point in time, of all expressions, at least a millisecond after another.
    private static func next(
        _ expressions: [CalendarExpression], after time: Timestamp, in zone: ZoneOffsets
    ) -> Timestamp? {
        let time = time.advanced(by: .nanoseconds(ConfigurationLimits.shortestPeriod - 1_000)) ?? time
        return expressions.compactMap { $0.next(after: time, in: zone) }.min()
    }
}
