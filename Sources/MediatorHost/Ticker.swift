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

    private enum Step {
        case leave
        case run
        case wait(Waits.Ticket)
    }

    private let machine: Mutex<Machine>
    private let time: HostTime
    private let waits: Waits
    private let pause: PauseGate
    private let report: @Sendable (MissedCount) -> Void

    /// - Parameters:
    ///   - isCalendar: whether there are ticks by the calendar, rather than by intervals.
    ///   - pause: holds up its ticks; those that are missed meanwhile are dealt with as after any time asleep.
    ///   - report: is told of ticks that are left out.
    init(
        time: HostTime, waits: Waits, missed: MissedTicks = .once, isCalendar: Bool = false,
        pause: PauseGate = PauseGate(), report: @escaping @Sendable (MissedCount) -> Void = { _ in }
    ) {
        self.time = time
        self.waits = waits
        self.pause = pause
        self.report = report
        machine = Mutex(
            Machine(
                cadence: isCalendar
                    ? .calendar(CalendarCadence(missed: missed)) : .interval(IntervalCadence(missed: missed))))
    }

    /// When the next tick is, while it is waited for.
    var next: Timestamp? { machine.withLock { $0.next } }

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

    /// Calls `run` at each tick until the state is left, the system stops, the task is cancelled, or there are none any
    /// more.
    ///
    /// - Parameter jitter: how much later each may be, at random.
    func tick(_ generation: UInt64, _ plan: Plan, jitter: Duration = .zero, run: () async -> Void) async {
        while await wait(generation, plan, jitter) {
            await run()
        }
    }

    /// Waits for the next run; `false` if there is none.
    private func wait(_ generation: UInt64, _ plan: Plan, _ jitter: Duration) async -> Bool {
        while !Task.isCancelled {
            await pause.pass()
            switch step(generation, plan, jitter) {
            case .leave: return false
            case .run: return true
            case .wait(let ticket): guard await waits.finish(ticket) else { return false }
            }
        }
        return false
    }

    private func step(_ generation: UInt64, _ plan: Plan, _ jitter: Duration) -> Step {
        let (elapsed, now) = (time.elapsed(), time.now())
        // Looked up for calendar times only: it may mean a look at a file.
        let zone = if case .at = plan { time.zone() } else { ZoneOffsets.utc }
        let random = jitter > .zero ? jitter * time.random() : .zero
        var missed: [MissedCount] = []
        let step: Step = machine.withLock { machine in
            guard machine.generation == generation else { return .leave }
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
                guard let ticket = waits.begin({ [time] in try await time.sleep(moment) }) else { return .leave }
                machine.waiting = ticket
                machine.next = now.advanced(by: due - elapsed)
                return .wait(ticket)
            case (.calendar(var cadence), .at(let expressions)):
                // At other times it was not waited for these.
                if machine.expressions != expressions { cadence.pause() }
                machine.expressions = expressions
                let step = cadence.step(
                    at: now, extra: extra, next: { Self.next(expressions, after: $0, in: zone) }
                ) { missed.append($0) }
                machine.cadence = .calendar(cadence)
                if case .never = step { return .leave }
                guard case .wait(let tick) = step else { break }
                guard let due = tick.advanced(by: extra),
                    let ticket = waits.begin({ [time] in try await time.sleepUntil(due) })
                else { return .leave }
                machine.waiting = ticket
                machine.next = due
                return .wait(ticket)
            default: preconditionFailure("a feedback has one schedule")
            }
            machine.extra = nil
            return .run
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
