import CommonExpression
import FeedbackKit
import FeedbackKitTesting
import Logging
import MediatorConfiguration
import MediatorHost
import Synchronization
import Testing
import TestSupport

/// Runs of a side effect. Each goes on until the test ends it, or until it is cancelled and then released.
private final class Works: EffectImplementation, Sendable {
    /// The end of a run.
    enum Event: Hashable, Sendable {
        case began(Int)
        case cancelled(Int)
        case ended(Int)
    }

    private struct State {
        var gates: [Int: AsyncStream<Void>.Continuation] = [:]
        /// The largest number of runs at once.
        var most = 0
        var present = 0
    }

    let events: AsyncStream<Event>
    private let told: AsyncStream<Event>.Continuation
    private let state = Mutex(State())

    init() { (events, told) = AsyncStream<Event>.makeStream() }

    let schema = EffectSchema(
        name: "work", parameters: [.init(name: "number", type: .int, required: true)], shortForm: "number",
        outcomes: [
            .init(
                name: "onDone", result: StructureType(name: "result", fields: [.init(name: "number", type: .int)]))
        ])

    /// The largest number of runs at once.
    var most: Int { state.withLock { $0.most } }

    /// Lets a run come to its end.
    func finish(_ number: Int) { state.withLock { $0.gates[number] }?.finish() }

    func run(_ arguments: [String: Value], in context: EffectContext) async {
        guard case .int(let value)? = arguments["number"] else { return }
        let number = Int(value)
        let (gate, opener) = AsyncStream<Void>.makeStream()
        state.withLock { state in
            state.gates[number] = opener
            state.present += 1
            state.most = max(state.most, state.present)
        }
        told.yield(.began(number))
        // It needs its time to end after it has been cancelled.
        await withTaskCancellationHandler {
            await Task.detached { for await _ in gate {} }.value
        } onCancel: { [told] in
            told.yield(.cancelled(number))
        }
        state.withLock { $0.present -= 1 }
        context.report(
            "onDone", .structure(Structure(type: schema.outcomes[0].result, fields: [.int(Int64(number))])))
        told.yield(.ended(number))
    }
}

@Suite struct `Runs that come while one runs` {
    /// A system that begins a run at each `Go`, and counts what the runs report.
    private static func system(_ keys: String) -> String {
        """
        system: worker
        states: { Busy: { asked: int, done: int, last: int } }
        events: { Go: {}, Done: { number: int } }
        fromOutside: Go
        initialState: { Busy: { asked: 0, done: 0, last: 0 } }
        feedbacks:
          work:
            onState: Busy
            when: state.asked > 0 && state.last == 0
            strategy: continueOnNewState
            \(keys)
            work: "${state.asked}"
            onDone: { Done: { number: "${result.number}" } }
        transitions:
          Busy:
            Go: { to: Busy, set: { asked: "${state.asked + 1}", last: "${0}" } }
            Done: { to: Busy, set: { done: "${state.done + 1}", last: "${event.number}" } }
        """
    }

    private struct Fixture {
        let works = Works()
        let host: Host

        init(_ keys: String) throws {
            let catalogue = EffectCatalogue([works])
            let file = ConfigurationFile(path: "a.yaml", text: `Runs that come while one runs`.system(keys))
            let result = ConfigurationCompiler.compile(files: [file], effects: catalogue.schemas)
            let graph = try #require(result.graph, "\(result.diagnostics.map { $0.rendered() })")
            let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            let now = try #require(Timestamp(seconds: 1_700_000_000, nanoseconds: 0))
            let time = HostTime.settling(ManualClock()) { now }
            host = try Host(graph: graph, effects: catalogue, time: time, logger: logger)
            host.start()
        }

        /// Asks for runs, one after the other.
        func go(_ count: Int) async throws {
            for _ in 0..<count {
                try host.emit("Go", to: "worker", fields: [])
                await host.settled()
            }
        }

        func status() throws -> SystemStatus { try host.systemStatus("worker") }

        /// Returns when so many have been reported, and gives the last one's number.
        func done(_ count: Int) async throws -> Int64 {
            while true {
                guard case .structure(let data) = try status().state.data, case .int(let done)? = data["done"],
                    case .int(let last)? = data["last"]
                else { preconditionFailure("the system has one state") }
                if done == count { return last }
                await Task.yield()
            }
        }
    }

    @Test func `run side by side unless it is said otherwise, up to a limit`() async throws {
        let fixture = try Fixture("limit: 2")
        var events = fixture.works.events.makeAsyncIterator()
        try await fixture.go(3)
        #expect(await Set([events.next(), events.next()]) == [.began(1), .began(2)])
        #expect(try fixture.status().lastFault?.message.hasPrefix("2 of its side effects run") == true)
        fixture.works.finish(1)
        #expect(await events.next() == .ended(1))
        fixture.works.finish(2)
        #expect(await events.next() == .ended(2))
        await fixture.host.stop(within: .seconds(1))
    }

    @Test func `do not begin where one is to run at a time, and that is no fault`() async throws {
        let fixture = try Fixture("mode: single")
        var events = fixture.works.events.makeAsyncIterator()
        try await fixture.go(3)
        #expect(await events.next() == .began(1))
        fixture.works.finish(1)
        #expect(await events.next() == .ended(1))
        #expect(try await fixture.done(1) == 1)
        try await fixture.go(1)
        #expect(await events.next() == .began(4))
        fixture.works.finish(4)
        #expect(try await fixture.done(2) == 4)
        #expect(try fixture.status().faults == 0 && fixture.works.most == 1)
        // Those that did not begin have left a trace.
        let skipped = try fixture.host.trace("worker").filter { $0.kind == .skipped }
        #expect(
            skipped.map(\.text)
                == [2, 3].map {
                    "the feedback work in Busy { asked: \($0), done: 0, last: 0 } did not begin, since its last run goes on"
                })
        #expect(skipped.allSatisfy { $0.feedback == "work" })
        let lines = fixture.host.snapshot.metrics.prometheusText.split(separator: "\n")
        #expect(lines.contains { $0.hasPrefix("mediatord_feedback_skipped_total{") && $0.hasSuffix("} 2") })
        await fixture.host.stop(within: .seconds(1))
    }

    @Test func `wait for each other in the order in which they were asked for`() async throws {
        let fixture = try Fixture("mode: queued")
        let count = 20
        var events = fixture.works.events.makeAsyncIterator()
        try await fixture.go(count)
        for number in 1...count {
            #expect(await events.next() == .began(number))
            fixture.works.finish(number)
            #expect(await events.next() == .ended(number))
        }
        #expect(try await fixture.done(count) == count)
        #expect(fixture.works.most == 1)
        await fixture.host.stop(within: .seconds(1))
    }

    @Test func `take the place of the one that runs, which first comes to its end, and of those that wait`()
        async throws
    {
        let fixture = try Fixture("mode: restart")
        var events = fixture.works.events.makeAsyncIterator()
        try await fixture.go(1)
        #expect(await events.next() == .began(1))
        try await fixture.go(3)
        #expect(await events.next() == .cancelled(1))
        fixture.works.finish(1)
        // The second and third never began.
        #expect(await Set([events.next(), events.next()]) == [.ended(1), .began(4)])
        fixture.works.finish(4)
        #expect(await events.next() == .ended(4))
        // A report of the first run after its end belongs to nobody.
        #expect(try await fixture.done(1) == 4)
        #expect(try fixture.status().faults == 0 && fixture.works.most == 1)
        await fixture.host.stop(within: .seconds(1))
    }

    @Test(arguments: ["mode: queued", "mode: restart"])
    func `do not begin once the system stops`(keys: String) async throws {
        let fixture = try Fixture(keys)
        var events = fixture.works.events.makeAsyncIterator()
        try await fixture.go(1)
        #expect(await events.next() == .began(1))
        try await fixture.go(2)
        if keys == "mode: restart" { #expect(await events.next() == .cancelled(1)) }
        async let stopped = fixture.host.stop(within: .seconds(60))
        try await suspend(while: fixture.status().health != .stopped)
        fixture.works.finish(1)
        #expect(await events.next() == .ended(1))
        #expect(await stopped.isEmpty)
        #expect(fixture.works.most == 1)
    }
}
