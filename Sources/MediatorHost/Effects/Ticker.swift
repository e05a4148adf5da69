import CommonExpression
import FeedbackKit
import MediatorConfiguration
import Synchronization

/// Keeps the cadence of a feedback with `every` or `at`.
///
/// A wait ends when the system enters another state, whatever the strategy. The strategy decides about an active run.
final class Ticker: Sendable {
    /// The times of the ticks.
    enum Plan: Sendable {
        case every(Duration)
        case at([CalendarExpression])
    }

    private enum Cadence: Sendable {
        case interval(IntervalCadence)
        case calendar(CalendarCadence)
    }

    /// The time of a tick, by the clock that decides about it.
    private enum Next: Sendable {
        case elapsed(Duration)
        case calendar(Timestamp)
    }

    private struct Machine {
        var cadence: Cadence
        var generation: UInt64 = 0
        var waiting: Interruption?
        /// The random delay of the next tick, or `nil` before it is drawn.
        var extra: Duration?
        /// The time of the next tick, during a wait for it.
        var next: Next?
        /// The calendar times of the last step.
        var expressions: [CalendarExpression] = []

        /// Returns the random delay of the next tick. It is drawn once for each tick.
        mutating func extra(from moment: Moment) -> Duration {
            let extra = extra ?? moment.random
            self.extra = extra
            return extra
        }
    }

    private let machine: Mutex<Machine>
    /// The time zone of calendar times without a time zone, as the latest wait found it.
    private let zone = Latest(ZoneOffsets.utc)
    private let isCalendar: Bool
    private let time: HostTime
    private let waits: Waits
    private let report: @Sendable (MissedCount) -> Void

    /// - Parameters:
    ///   - isCalendar: A Boolean value that indicates whether the ticks follow the calendar, rather than an interval.
    ///   - report: A function that receives the number of ticks that were left out.
    init(
        time: HostTime, waits: Waits, missed: MissedTicks = .once, isCalendar: Bool = false,
        report: @escaping @Sendable (MissedCount) -> Void = { _ in }
    ) {
        self.isCalendar = isCalendar
        self.time = time
        self.waits = waits
        self.report = report
        machine = Mutex(
            Machine(
                cadence: isCalendar
                    ? .calendar(CalendarCadence(missed: missed)) : .interval(IntervalCadence(missed: missed))))
    }

    /// The time of the next tick, during a wait for it.
    var next: Timestamp? {
        guard !waits.isClosed, let next = machine.withLock({ $0.next }) else { return nil }
        return switch next {
        case .elapsed(let due): time.moment(at: due)
        case .calendar(let time): time
        }
    }

    /// Returns the time from now until a number of further ticks have come, or `nil` if there are not so many.
    func span(of count: Int, _ plan: Plan) -> Duration? {
        switch plan {
        case .every(let interval): return interval * count
        case .at(let expressions):
            let (now, zone) = (time.now(), zone.now)
            var tick = now
            for _ in 0..<count {
                guard let next = Self.next(expressions, after: tick, in: zone) else { return nil }
                tick = next
            }
            return tick.span(since: now)
        }
    }

    /// Notes that the system has entered a state, and ends the wait of the previous state. Returns the number of the new wait.
    ///
    /// - Parameter isAsked: A Boolean value that indicates whether the state asks for the side effect.
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
        old?.interrupt()
        return generation
    }

    /// Returns the wait before the first step of a state, and before the step after a tick.
    ///
    /// An interval waits for its next tick at once. If the tick is due already, only a step can take it, because the earlier
    /// events may lead to another state. Calendar times wait for the time zone, whose lookup may read a file, so it is not in
    /// the activation.
    func pause(_ generation: UInt64, _ plan: Plan, jitter: Duration) -> EffectPause<SystemEvent> {
        guard case .every(let interval) = plan else { return sleep(until: nil) }
        let moment = moment(jitter)
        var missed: [MissedCount] = []
        let pause = machine.withLock { machine -> EffectPause<SystemEvent> in
            guard machine.generation == generation, case .interval(var cadence) = machine.cadence else { return .none }
            let extra = machine.extra(from: moment)
            guard
                case .wait(let due) = cadence.step(
                    at: moment.elapsed, every: interval, extra: extra, report: { missed.append($0) })
            else {
                missed = []
                return .none
            }
            machine.cadence = .interval(cadence)
            return wait(for: due, interval, moment, &machine)
        }
        for count in missed { report(count) }
        return pause
    }

    /// Takes a step of a wait, in the activation of the system. Returns a due tick, or a wait for the next one.
    ///
    /// - Parameters:
    ///   - generation: The number of the wait.
    ///   - plan: The times of the ticks.
    ///   - jitter: The upper limit of the random delay of a tick.
    func step(_ generation: UInt64, _ plan: Plan, jitter: Duration) -> WaitStep {
        let (moment, zone) = (moment(jitter), isCalendar ? zone.now : .utc)
        var missed: [MissedCount] = []
        let step: WaitStep = machine.withLock { machine in
            guard machine.generation == generation else { return .ended }
            machine.waiting = nil
            machine.next = nil
            let extra = machine.extra(from: moment)
            switch (machine.cadence, plan) {
            case (.interval(var cadence), .every(let interval)):
                let step = cadence.step(at: moment.elapsed, every: interval, extra: extra) { missed.append($0) }
                machine.cadence = .interval(cadence)
                guard case .wait(let due) = step else { break }
                return .wait(wait(for: due, interval, moment, &machine))
            case (.calendar(var cadence), .at(let expressions)):
                // The ticks of new calendar times before this step were not missed.
                if machine.expressions != expressions { cadence.pause() }
                machine.expressions = expressions
                let step = cadence.step(
                    at: moment.now, extra: extra, next: { Self.next(expressions, after: $0, in: zone) }
                ) { missed.append($0) }
                machine.cadence = .calendar(cadence)
                if case .never = step { return .ended }
                guard case .wait(let tick) = step else { break }
                guard let due = tick.advanced(by: extra) else { return .ended }
                let interruption = Interruption()
                machine.waiting = interruption
                machine.next = .calendar(due)
                return .wait(sleep(until: due, unless: interruption))
            default: preconditionFailure("a feedback has one schedule")
            }
            machine.extra = nil
            return .due
        }
        for count in missed { report(count) }
        return step
    }

    /// Returns a step that waits for something before the tick. Another state ends the wait.
    func wait(_ generation: UInt64, for body: @escaping @Sendable () async -> Void) -> WaitStep {
        machine.withLock { machine in
            guard machine.generation == generation else { return .ended }
            let interruption = Interruption()
            machine.waiting = interruption
            machine.next = nil
            return .wait(.task(endsAtStop: true, interruption) { _ in await body() })
        }
    }

    /// The present time by both clocks, and a random delay for a tick.
    private struct Moment {
        let elapsed: Duration
        let now: Timestamp
        let random: Duration
    }

    private func moment(_ jitter: Duration) -> Moment {
        Moment(elapsed: time.elapsed(), now: time.now(), random: jitter > .zero ? jitter * time.random() : .zero)
    }

    /// Begins a wait for a tick of an interval, together with other ticks that are due soon after.
    private func wait(
        for due: Duration, _ interval: Duration, _ moment: Moment, _ machine: inout Machine
    ) -> EffectPause<SystemEvent> {
        let end = IntervalCadence.gathered(due, interval)
        let interruption = Interruption()
        machine.waiting = interruption
        machine.next = .elapsed(end)
        return time.pause(from: moment.elapsed, until: end, unless: interruption)
    }

    /// Returns a wait until a calendar time, and for the time zone.
    private func sleep(until due: Timestamp?, unless interruption: Interruption? = nil) -> EffectPause<SystemEvent> {
        .task(endsAtStop: true, interruption) { [time, zone] _ in
            do {
                if let due { try await time.sleepUntil(due) }
                zone.become(time.zone())
            } catch {
                // A wait that fails or is cancelled is the last one.
                withUnsafeCurrentTask { $0?.cancel() }
            }
        }
    }

    /// Returns the first point in time of all expressions that is at least a millisecond after another.
    private static func next(
        _ expressions: [CalendarExpression], after time: Timestamp, in zone: ZoneOffsets
    ) -> Timestamp? {
        let time = time.advanced(by: .nanoseconds(ConfigurationLimits.shortestPeriod - 1_000)) ?? time
        return expressions.compactMap { $0.next(after: time, in: zone) }.min()
    }
}
