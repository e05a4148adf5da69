import CommonExpression
import FeedbackKit
import FeedbackKitTesting
import Logging
import MediatorConfiguration
import MediatorHost
import Testing
import TestSupport

@Suite(.timeLimit(.minutes(20))) struct `A day` {
    private static let periods = [10, 10, 20, 30, 60, 60, 120, 300, 600, 900, 1800, 3600]
    /// In seconds.
    private static let day = repetitions(86_400)

    private static var configuration: String {
        let clocks = periods.enumerated().map { index, period in
            """
            system: clock-\(index)
            states: { Counting: { ticks: int } }
            events: { Tick: {} }
            initialState: { Counting: { ticks: 0 } }
            feedbacks: { tick: { onState: any, every: \(period)s, emit: Tick } }
            transitions: { Counting: { Tick: { to: Counting, set: { ticks: "${state.ticks + 1}" } } } }
            """
        }
        let links = periods.indices.map {
            "  tell-\($0): { attach: clock-\($0), to: ticks, onState: Counting, when: state.ticks > 0, emitValue: \($0) }"
        }
        let wiring = """
            buses: { ticks: { kind: passthrough, value: int, limit: 10000 } }
            links:
              add: { attach: sum, to: ticks, emitEvent: Add }
            """
        let sum = """
            system: sum
            states: { Summing: { total: int } }
            events: { Add: {} }
            initialState: { Summing: { total: 0 } }
            transitions: { Summing: { Add: { to: Summing, set: { total: "${state.total + 1}" } } } }
            """
        let job = """
            system: job
            states: { Idle: { runs: int, since: timestamp }, Busy: { runs: int, since: timestamp } }
            events: { Due: {}, Done: {} }
            initialState: { Idle: { runs: 0, since: "${now}" } }
            feedbacks:
              due: { onState: Idle, after: 1h, emit: Due }
              done: { onState: Busy, after: 5m, emit: Done }
            transitions:
              Idle: { Due: { to: Busy, set: { runs: "${state.runs + 1}", since: "${now}" } } }
              Busy: { Done: { to: Idle, set: { since: "${now}" } } }
            """
        let bells = """
            system: bells
            states: { Counting: { rings: int } }
            events: { Ring: {} }
            initialState: { Counting: { rings: 0 } }
            feedbacks:
              quarters: { onState: Counting, at: "*:0/15", emit: Ring }
              meals: { onState: Counting, at: [07:31:40, "Wed 12:10:50"], emit: Ring }
            transitions: { Counting: { Ring: { to: Counting, set: { rings: "${state.rings + 1}" } } } }
            """
        return (clocks + [sum, job, bells, wiring + "\n" + links.joined(separator: "\n")]).joined(separator: "\n---\n")
    }

    @Test func `of many timers passes in seconds, and every tick of it is there`() async throws {
        let clock = ManualClock()
        let began = clock.now
        let time = HostTime.settling(clock) {
            guard
                let now = Timestamp(
                    seconds: 1_700_000_000 + began.duration(to: clock.now).components.seconds, nanoseconds: 0)
            else { preconditionFailure("a day later is a time") }
            return now
        }
        let catalogue = EffectCatalogue([])
        let file = ConfigurationFile(path: "a.yaml", text: Self.configuration)
        let result = ConfigurationCompiler.compile(files: [file], effects: catalogue.schemas)
        let graph = try #require(result.graph, "\(result.diagnostics.map { $0.rendered() })")
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let host = try Host(graph: graph, effects: catalogue, time: time, logger: logger)
        host.start()

        func count(_ name: String) throws -> Int64 {
            guard case .structure(let data) = try host.systemStatus(name).state.data,
                case .int(let count) = data.fields[0]
            else { return -1 }
            return count
        }
        /// The number of times that the bells have rung: each quarter of an hour, and at two other times. The day
        /// begins on a Tuesday at 22:13:20, which is 800 seconds after the last quarter.
        func rings(by seconds: Int) -> Int {
            let quarters = (seconds + 800) / 900
            return quarters + (seconds >= 33_500 ? 1 : 0) + (seconds >= 50_250 ? 1 : 0)
        }
        /// Returns when everything is as it has to be by then; the first tick is at once.
        func settle(at seconds: Int) async throws {
            for (index, period) in Self.periods.enumerated() where seconds % period == 0 {
                try await suspend(while: count("clock-\(index)") < seconds / period + 1)
            }
            // A tick between a new state and its schedule would be the old state's.
            await host.settled()
            try await suspend(while: count("bells") < rings(by: seconds))
            guard seconds % 300 == 0 else { return }
            // A round of 65 minutes, the first 60 minutes after the start.
            let runs = seconds < 3600 ? 0 : (seconds - 3600) / 3900 + 1
            let isBusy = seconds >= 3600 && (seconds - 3600) % 3900 < 300
            while try count("job") < runs || (host.systemStatus("job").state.index == 1) != isBusy {
                await Task.yield()
            }
        }
        try await settle(at: 0)
        for step in 1...(Self.day / 10) {
            clock.advance(by: .seconds(10))
            try await settle(at: 10 * step)
        }
        let expected = Self.periods.map { Self.day / $0 + 1 }
        for (index, ticks) in expected.enumerated() { #expect(try count("clock-\(index)") == ticks) }
        let sum = Int64(expected.reduce(0, +))
        try await suspend(while: count("sum") < sum)
        #expect(try count("sum") == sum)
        #expect(try count("bells") == Int64(rings(by: Self.day)))
        #expect(try count("job") == Int64((Self.day - 3600) / 3900 + 1))
        for status in host.systemStatuses {
            #expect(status.faults == 0 && status.loop.counters.droppedByLimit == 0 && status.health == .healthy)
        }
        #expect(try host.busStatus("ticks").mediator.dropped == 0)
        await host.stop(within: .zero)
    }
}
