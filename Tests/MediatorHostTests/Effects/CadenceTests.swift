import CommonExpression
import MediatorConfiguration
import MediatorHost
import Testing

/// When ticks are, as plain values.
@Suite struct `Cadences` {
    /// Looks at the given moments, in seconds, and returns the ticks of each look, and the reports.
    private static func interval(
        _ missed: MissedTicks, every seconds: Int, at moments: [Double], pausing pauses: Set<Int> = []
    ) -> (steps: [String], reports: [MissedCount]) {
        var cadence = IntervalCadence(missed: missed)
        var reports: [MissedCount] = []
        let steps = moments.enumerated().map { index, moment -> String in
            if pauses.contains(index) { cadence.pause() }
            let step = cadence.step(at: .seconds(moment), every: .seconds(seconds), extra: .zero) { reports.append($0) }
            return switch step {
            case .run: "run"
            case .wait(let due): "\(Double(due.components.seconds) + Double(due.components.attoseconds) / 1e18)"
            case .never: "never"
            }
        }
        return (steps, reports)
    }

    @Test func `an interval counts from when the run before began, and one that was missed is made up for at once`() {
        let (steps, reports) = Self.interval(.once, every: 10, at: [0, 0, 4, 10, 35, 35, 45])
        #expect(steps == ["run", "10.0", "10.0", "run", "run", "45.0", "run"])
        #expect(reports.isEmpty)
    }

    @Test func `what is hardly late does not creep`() {
        let (steps, _) = Self.interval(.once, every: 10, at: [0, 11, 20.5, 30.9, 41.1, 41.2, 52])
        #expect(steps == ["run", "run", "run", "run", "run", "51.1", "run"])
        // A day of ticks that are each a little late.
        var cadence = IntervalCadence(missed: .once)
        var runs = 0
        var now = Duration.zero
        while now < .seconds(86_400) {
            switch cadence.step(at: now, every: .seconds(1), extra: .zero, report: { _ in }) {
            case .run: runs += 1
            case .wait(let due): now = due + .microseconds(700)
            case .never: Issue.record("there is always another")
            }
        }
        #expect(runs == 86_400)
    }

    @Test(arguments: [
        // The interval, when a tick is due, and when it is waited for, in nanoseconds.
        (1_000_000_000, 1_000_300_000, 1_010_000_000), (1_000_000_000, 1_010_000_000, 1_010_000_000),
        (50_000_000, 123_456_789, 123_456_789), (123_456_789, 370_370_367, 371_604_667),
        (3_600_000_000_000, 3_600_000_000_001, 3_600_050_000_000), (1_000_000_000, 0, 0),
    ])
    func `ticks that are due at about the same time wake together`(interval: Int, due: Int, expected: Int) {
        let moment = IntervalCadence.gathered(.nanoseconds(due), .nanoseconds(interval))
        #expect(moment == .nanoseconds(expected))
        #expect(IntervalCadence.gathered(moment, .nanoseconds(interval)) == moment)
        let odd = Duration.nanoseconds(due) + Duration(secondsComponent: 0, attosecondsComponent: 1)
        #expect(IntervalCadence.gathered(odd, .nanoseconds(interval)) >= odd)
    }

    @Test func `skip: one that is late is made, those before it are left out, and the grid stays`() {
        let (steps, reports) = Self.interval(.skip, every: 10, at: [0, 10, 34, 34, 40, 51, 51])
        #expect(steps == ["run", "run", "run", "40.0", "run", "run", "60.0"])
        #expect(reports == [.left(1, isLate: false)])
    }

    @Test func `skip: one that is more than a minute late is left out`() {
        let (steps, reports) = Self.interval(
            .skip, every: 3_600, at: [0, 3_660, 7_261, 10_800, 20_000, 20_000, 21_600])
        #expect(steps == ["run", "run", "10800.0", "run", "21600.0", "21600.0", "run"])
        #expect(reports == [.left(1, isLate: true), .left(2, isLate: true)])
    }

    @Test func `all: each is made up for, and the grid stays`() {
        let (steps, reports) = Self.interval(.all, every: 10, at: [0, 35, 35, 35, 35, 40, 40])
        #expect(steps == ["run", "run", "run", "run", "40.0", "run", "50.0"])
        #expect(reports.isEmpty)
    }

    @Test func `all: there is an end to it, which is told once`() {
        let (steps, reports) = Self.interval(
            .all, every: 1, at: [0] + Array(repeating: 1_000, count: 103) + [5_000, 5_000])
        #expect(steps.prefix(102).allSatisfy { $0 == "run" })
        #expect(Array(steps[102...]) == ["1001.0", "1001.0", "run", "run"])
        #expect(reports == [.beyond(1_000 - 101), .beyond(4_000 - 101)])
        // Ticks that come during a backlog are reported with it.
        let (_, more) = Self.interval(.all, every: 1, at: [0, 500, 600, 700])
        #expect(more == [.beyond(500 - 101)])
    }

    @Test(arguments: MissedTicks.allCases)
    func `what passed while nobody asked was not missed`(missed: MissedTicks) {
        // In the third and the fifth moment the state has been left and entered again.
        let (steps, reports) = Self.interval(missed, every: 10, at: [0, 10, 500, 500, 505, 510], pausing: [2, 4])
        #expect(steps == ["run", "run", "run", "510.0", "510.0", "run"])
        #expect(reports.isEmpty)
    }

    @Test(arguments: MissedTicks.allCases)
    func `a jitter is later by so much, and no drift`(missed: MissedTicks) {
        var cadence = IntervalCadence(missed: missed)
        func step(_ now: Int, _ extra: Int) -> TickStep<Duration> {
            cadence.step(at: .seconds(now), every: .seconds(10), extra: .seconds(extra)) { _ in }
        }
        #expect(step(0, 2) == .wait(until: .seconds(2)))
        #expect(step(2, 2) == .run)
        #expect(step(2, 3) == .wait(until: .seconds(15)))
        #expect(step(15, 3) == .run)
        #expect(step(15, 1) == .wait(until: .seconds(missed == .once ? 26 : 23)))
    }

    // MARK: By the calendar

    private static func time(_ text: String) throws -> Timestamp {
        try #require(Timestamp(rfc3339: "2026-11-\(text)Z"))
    }

    private static func calendar(
        _ missed: MissedTicks, _ expression: String, at moments: [String]
    ) throws -> (steps: [String], reports: [MissedCount]) {
        var cadence = CalendarCadence(missed: missed)
        let expression = try CalendarExpression(expression)
        var reports: [MissedCount] = []
        let steps = try moments.map { moment -> String in
            let now = try time(moment)
            let step = cadence.step(at: now, next: { expression.next(after: $0, in: .utc) }) { reports.append($0) }
            return switch step {
            case .run: "run"
            case .wait(let due): String("\(due)".dropFirst(8).dropLast())
            case .never: "never"
            }
        }
        return (steps, reports)
    }

    @Test(arguments: MissedTicks.allCases)
    func `a tick comes when the calendar says so, and only then`(missed: MissedTicks) throws {
        let (steps, reports) = try Self.calendar(
            missed, "08:00", at: ["21T07:00:00", "21T07:59:59.9", "21T08:00:00", "21T08:00:00.1", "22T08:00:00.2"])
        #expect(steps == ["21T08:00:00", "21T08:00:00", "run", "22T08:00:00", "run"])
        #expect(reports.isEmpty)
    }

    @Test func `skip: up to a minute late is in time, later is missed`() throws {
        let (steps, reports) = try Self.calendar(
            .skip, "08:00", at: ["21T07:00:00", "21T08:01:00", "22T08:01:01", "25T08:00:10", "25T08:00:10"])
        #expect(steps == ["21T08:00:00", "run", "23T08:00:00", "run", "26T08:00:00"])
        #expect(reports == [.left(nil, isLate: true)])
    }

    @Test func `once: one for all that were missed`() throws {
        let (steps, reports) = try Self.calendar(
            .once, "08:00", at: ["21T07:00:00", "24T12:00:00", "24T12:00:00", "25T08:00:00"])
        #expect(steps == ["21T08:00:00", "run", "25T08:00:00", "run"])
        #expect(reports.isEmpty)
    }

    @Test func `all: one for each, but for no more than a hundred`() throws {
        let (steps, reports) = try Self.calendar(
            .all, "08:00",
            at: ["21T07:00:00", "24T12:00:00", "24T12:00:00", "24T12:00:00", "24T12:00:00", "24T12:00:00"])
        #expect(steps == ["21T08:00:00", "run", "run", "run", "run", "25T08:00:00"])
        #expect(reports.isEmpty)
        let many = try Self.calendar(
            .all, "*:*:*", at: ["21T07:00:00"] + Array(repeating: "21T08:00:00", count: 102) + ["29T08:00:00"])
        #expect(many.steps.dropFirst().prefix(101).allSatisfy { $0 == "run" })
        #expect(many.steps[102] == "21T08:00:01")
        #expect(many.reports == [.beyond(3_600 - 101), .beyond(Backlog.mostCounted - 101)])
    }

    @Test(arguments: MissedTicks.allCases)
    func `a clock that is set back a little repeats nothing, one that is set back further does`(missed: MissedTicks)
        throws
    {
        let (steps, _) = try Self.calendar(
            missed, "08:00",
            at: ["21T07:00:00", "21T08:00:00", "21T07:59:30", "21T08:00:00.5", "21T07:00:00", "21T08:00:00"])
        #expect(steps == ["21T08:00:00", "run", "22T08:00:00", "22T08:00:00", "21T08:00:00", "run"])
    }

    @Test(arguments: MissedTicks.allCases)
    func `a tick that is to be later is one, however often the state is left meanwhile`(missed: MissedTicks) throws {
        var cadence = CalendarCadence(missed: missed)
        let expression = try CalendarExpression("08:00")
        func step(_ now: String, _ extra: Int) throws -> TickStep<Timestamp> {
            try cadence.step(
                at: Self.time(now), extra: .seconds(extra), next: { expression.next(after: $0, in: .utc) }
            ) { _ in }
        }
        #expect(try step("21T07:00:00", 5) == .wait(until: Self.time("21T08:00:00")))
        #expect(try step("21T08:00:04", 5) == .wait(until: Self.time("21T08:00:00")))
        #expect(try step("21T08:00:05", 5) == .run)
        // The run leads to another state and back, and the next delay is longer.
        #expect(try step("21T08:00:06", 600) == .wait(until: Self.time("22T08:00:00")))
        cadence.pause()
        #expect(try step("21T08:00:07", 600) == .wait(until: Self.time("22T08:00:00")))
        // The system began again between a time and the jitter added to it: that time is over.
        cadence = CalendarCadence(missed: missed)
        #expect(try step("22T08:00:07", 600) == .wait(until: Self.time("23T08:00:00")))
        #expect(try step("23T08:09:59", 600) == .wait(until: Self.time("23T08:00:00")))
        #expect(try step("23T08:10:00", 600) == .run)
        #expect(try step("23T08:10:00", 0) == .wait(until: Self.time("24T08:00:00")))
    }

    @Test func `what passed while nobody asked is not missed, and what never comes again is not waited for`() throws {
        var cadence = CalendarCadence(missed: .all)
        let expression = try CalendarExpression("2026-11-21 08:00,09")
        func step(_ now: String) throws -> TickStep<Timestamp> {
            try cadence.step(at: Self.time(now), next: { expression.next(after: $0, in: .utc) }) { _ in }
        }
        #expect(try step("21T07:00:00") == .wait(until: Self.time("21T08:00:00")))
        cadence.pause()
        #expect(try step("21T08:00:30") == .wait(until: Self.time("21T08:09:00")))
        #expect(try step("21T08:09:00") == .run)
        #expect(try step("21T08:09:00") == .never)
    }

    @Test(arguments: MissedTicks.allCases)
    func `a tick that was made later comes once, however much later the next one is to be`(missed: MissedTicks) throws {
        var cadence = CalendarCadence(missed: missed)
        let expression = try CalendarExpression("*:00")
        func step(_ now: String, _ minutes: Int) throws -> TickStep<Timestamp> {
            try cadence.step(
                at: Self.time(now), extra: .seconds(60 * minutes), next: { expression.next(after: $0, in: .utc) }
            ) { _ in }
        }
        // A tick before the request is none of its ticks.
        #expect(try step("21T07:10:00", 30) == .wait(until: Self.time("21T08:00:00")))
        #expect(try step("21T08:00:00", 1) == .wait(until: Self.time("21T08:00:00")))
        #expect(try step("21T08:01:00", 1) == .run)
        #expect(try step("21T08:01:00", 25) == .wait(until: Self.time("21T09:00:00")))
        #expect(try step("21T09:25:00", 25) == .run)
        #expect(try step("21T09:25:00", 5) == .wait(until: Self.time("21T10:00:00")))
        #expect(try step("21T10:05:00", 5) == .run)
        // The run has led to another state, and that back.
        cadence.pause()
        #expect(try step("21T10:06:00", 29) == .wait(until: Self.time("21T11:00:00")))
        #expect(try step("21T11:29:00", 29) == .run)
        // The clock was set back a little, too.
        cadence.pause()
        #expect(try step("21T11:28:50", 0) == .wait(until: Self.time("21T12:00:00")))
        #expect(try step("21T12:00:00", 0) == .run)
        cadence.pause()
        #expect(try step("21T11:59:30", 0) == .wait(until: Self.time("21T13:00:00")))
        // Set back further, it is another time.
        #expect(try step("21T11:30:00", 0) == .wait(until: Self.time("21T12:00:00")))
    }
    @Test(arguments: MissedTicks.allCases)
    func `a tick that is to come later is not lost where its state is left for a moment`(missed: MissedTicks) throws {
        var cadence = CalendarCadence(missed: missed)
        let expression = try CalendarExpression("02:30")
        func step(_ now: String) throws -> TickStep<Timestamp> {
            try cadence.step(at: Self.time(now), extra: .seconds(420), next: { expression.next(after: $0, in: .utc) }) {
                _ in
            }
        }
        #expect(try step("21T02:00:00") == .wait(until: Self.time("21T02:30:00")))
        cadence.pause()
        #expect(try step("21T02:33:00") == .wait(until: Self.time("21T02:30:00")))
        #expect(try step("21T02:37:00") == .run)
        cadence.pause()
        #expect(try step("21T02:38:00") == .wait(until: Self.time("22T02:30:00")))
        cadence.pause()
        // It was not asked for when it would have come.
        #expect(try step("22T02:38:00") == .wait(until: Self.time("23T02:30:00")))
    }
}
