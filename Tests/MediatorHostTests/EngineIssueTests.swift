import CommonExpression
import Dispatch
import FeedbackKit
import FeedbackKitTesting
import Logging
import MediatorConfiguration
import MediatorHost
import Synchronization
import TestSupport
import Testing

import class Foundation.ProcessInfo

/// Does something when a line is logged, on the thread that logs.
private final class Ear: Sendable {
    /// A message, and the link or system that it is about.
    typealias Hear = @Sendable (_ message: String, _ subject: String, _ metadata: Logger.Metadata) -> Void

    private let hear = Mutex<Hear?>(nil)

    func listen(_ hear: Hear?) { self.hear.withLock { $0 = hear } }

    var logger: Logger { Logger(label: "test") { _ in Handler(ear: self) } }

    private struct Handler: LogHandler {
        let ear: Ear
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.debug

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let merged = metadata.merging(event.metadata ?? [:]) { $1 }
            let subject = merged["link"] ?? merged["system"]
            ear.hear.withLock { $0 }?(event.message.description, subject.map { "\($0)" } ?? "", merged)
        }
    }
}

/// A thread of its own for what blocks: turns, or tasks.
private final class OwnThread: LoopExecutor, TaskExecutor {
    let eventsPerTurn = 256
    private let queue = DispatchQueue(label: "own thread")

    func enqueue(_ turn: @escaping @Sendable () -> Void) { queue.async(execute: turn) }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }

    /// Returns when all earlier turns and jobs have ended.
    func settle() async {
        await withCheckedContinuation { continuation in queue.async { continuation.resume() } }
    }
}

/// Holds up a thread once, until it is opened.
private final class Door: Sendable {
    private let semaphore = ThreadSemaphore()
    private let (arrivals, arrived) = AsyncStream<Void>.makeStream()

    func pass() {
        arrived.finish()
        semaphore.wait()
    }

    func open() { semaphore.signal() }

    /// Returns when somebody is held up.
    func someoneWaits() async { for await _ in arrivals {} }
}

private enum Work: Codable, CaseIterable {
    case idle
    case done(number: Int)

    static let allCases: [Work] = [.idle, .done(number: 0)]
}

private enum Order: Codable, CaseIterable {
    case work(number: Int)

    static let allCases: [Order] = [.work(number: 0)]
}

private struct None: Codable {}

/// Defects that were found by reading the engine, each with its test. A known issue that no longer occurs is reported.
@Suite(.timeLimit(.minutes(20))) struct `The engine at moments that are hard to meet` {
    private let ear = Ear()
    private let clock = ManualClock()

    private func host(_ text: String, kinds: [any SystemImplementation] = []) throws -> Host {
        let kinds = SystemCatalogue(kinds)
        return try Host(
            graph: try KindFixture.graph(text, kinds.kinds), effects: EffectCatalogue([]), kinds: kinds,
            time: .manual(clock), logger: ear.logger)
    }

    /// A link makes its event, which takes long for large data. If the target begins again in that time, the new loop
    /// takes the event.
    @Test func `an event of a link is taken, or its loss is logged, though its target begins anew`() async throws {
        let host = try host(
            """
            system: source
            states: { Ready: { load: list(int) } }
            events: { Load: { load: list(int) }, Go: {} }
            fromOutside: any
            initialState: { Ready: { load: [] } }
            transitions: { Ready: { Load: { to: Ready, set: { load: "${event.load}" } }, Go: Ready } }
            ---
            system: target
            states: { Ready: {} }
            events: { Take: { load: list(int) } }
            initialState: Ready
            transitions: { Ready: { Take: stay } }
            ---
            limits: { value: 16MiB }
            links:
              hand-on: { attach: source, toSystem: target, onState: Ready, emitEvent: { Take: { load: "${state.load}" } } }
            """)
        let lost = Mutex(0)
        let (firings, fired) = AsyncStream<Void>.makeStream()
        ear.listen { message, subject, metadata in
            if message.hasPrefix("events that waited"), let count = metadata["count"].flatMap({ Int("\($0)") }) {
                lost.withLock { $0 += count }
            }
            if message == "fired", subject == "hand-on" { fired.yield() }
        }
        var firing = firings.makeAsyncIterator()
        host.start()
        await firing.next()
        try host.emit("Load", to: "source", fields: [.list((0..<100_000).map { .int($0) })])
        await firing.next()
        await host.settled()
        // The window is some milliseconds, and the restart begins as it opens.
        var isExact = true
        for _ in 1...100 where isExact {
            try host.emit("Go", to: "source", fields: [])
            await firing.next()
            try await host.restart("target")
            await host.settled()
            let taken = try host.systemStatus("target").loop.counters.events
            isExact = try host.linkStatus("hand-on").fired == taken + UInt64(lost.withLock { $0 })
        }
        #expect(isExact)
        await host.stop(within: .seconds(1))
    }

    /// All incarnations of a system share its links. An incarnation that was left behind, because its reducer blocked, must
    /// not show them its next state.
    @Test func `what was replaced publishes nothing`() async throws {
        let door = Door()
        let threads = Mutex<[OwnThread]>([])
        let kind = try TypedKind<Work, Order, None>.loop(
            "worker", description: nil, parameters: None.self, defaults: nil
        ) { _ in
            let thread = OwnThread()
            let isFirst = threads.withLock { threads in
                threads.append(thread)
                return threads.count == 1
            }
            return Loop(initial: Work.idle, executor: thread) { state, order in
                if isFirst { door.pass() }
                if case .work(let number) = order { state = .done(number: number) }
                return .handled
            }
        }
        let host = try host(
            """
            system: worker
            kind: worker
            ---
            buses: { results: { kind: passthrough, value: int, fromOutside: read } }
            links: { tell: { attach: worker, to: results, onState: done, emitValue: "${state.number}" } }
            """, kinds: [kind])
        host.start()
        try host.emit("work", to: "worker", fields: [.int(1)])
        await door.someoneWaits()
        let restart = Task { try await host.restart("worker") }
        // Ten seconds for it to end; then it is left behind.
        await clock.nextDeadline(in: .seconds(10))
        clock.advance(by: .seconds(10))
        try await restart.value
        #expect(try host.systemStatus("worker").restarts == 1)
        door.open()
        await threads.withLock { $0[0] }.settle()
        let published = try host.busStatus("results").mediator.sent
        #expect(published == 0)
        // The one in its place does.
        try host.emit("work", to: "worker", fields: [.int(2)])
        await host.settled()
        #expect(try host.linkStatus("tell").fired > 0)
        await host.stop(within: .seconds(1))
    }

    /// A restart makes a successor, which may take a while. If a gentle stop comes in that time, the restart must not cancel the
    /// running side effects.
    @Test func `a gentle stop stays gentle where a restart is under way`() async throws {
        let stopping = ThreadSemaphore()
        let made = Mutex(0)
        let (ends, end) = AsyncStream<Void>.makeStream()
        let (begins, began) = AsyncStream<Void>.makeStream()
        let isCancelled = Mutex(false)
        let running = Mutex<Host?>(nil)
        let stop = Mutex<Task<Void, Never>?>(nil)
        let thread = OwnThread()
        let kind = try TypedKind<Work, Order, None>.loop(
            "worker", description: nil, parameters: None.self, defaults: nil
        ) { _ in
            let isSuccessor = made.withLock { made in
                made += 1
                return made == 2
            }
            if isSuccessor, let host = running.withLock({ $0 }) {
                let task = Task(executorPreference: thread) { _ = await host.stop(within: .seconds(3600)) }
                stop.withLock { $0 = task }
                // A restart makes the successor on the pool, so this blocks a thread of it. The stop, which ends the
                // wait, has a thread of its own.
                #expect(stopping.waitHoldingPoolThread(seconds: 60))
            }
            return Loop(
                initial: Work.idle,
                feedbacks: [
                    // A gentle stop ends sources at once, and lets side effects finish.
                    .source(name: "stopping") { _ in Subscription { stopping.signal() } },
                    Feedback(name: "work", cancellation: .never) { state, _ -> Effect<Order> in
                        guard case .done = state else { return .nothing }
                        return .attempt { _ in
                            began.finish()
                            await withTaskCancellationHandler {
                                for await _ in ends {}
                            } onCancel: {
                                isCancelled.withLock { $0 = true }
                                end.finish()
                            }
                        }
                    },
                ],
                reduce: { state, order in
                    if case .work(let number) = order { state = .done(number: number) }
                    return .handled
                })
        }
        let host = try host("system: worker\nkind: worker\n", kinds: [kind])
        running.withLock { $0 = host }
        host.start()
        try host.emit("work", to: "worker", fields: [.int(1)])
        for await _ in begins {}
        await #expect(throws: HostError.self) { try await host.restart("worker") }
        #expect(!isCancelled.withLock { $0 })
        end.finish()
        await stop.withLock { $0 }?.value
        running.withLock { $0 = nil }
    }

    /// A turn that another one asks for waits for its thread, though another thread is free. Here a slow log holds up the first
    /// turn. Only a time limit shows that the second does not come: no event says that a thread had nothing to do.
    @Test(.enabled(if: ProcessInfo.processInfo.activeProcessorCount > 1, "two threads are needed"))
    func `a system whose turn was asked for does not wait for who asked where a thread is free`() async throws {
        let host = try host(
            """
            system: a
            states: { Ready: {} }
            events: { Go: {} }
            fromOutside: any
            initialState: Ready
            transitions: { Ready: { Go: Ready } }
            ---
            system: b
            states: { Ready: {}, Greeted: {} }
            events: { Hello: {} }
            initialState: Ready
            transitions: { any: { Hello: Greeted } }
            ---
            buses: { told: { kind: passthrough, value: string, fromOutside: both } }
            links:
              a-greet: { attach: a, toSystem: b, onState: Ready, emitEvent: Hello }
              b-block: { attach: a, to: told, onState: Ready, emitValue: blocked }
              greeted: { attach: b, to: told, onState: Greeted, emitValue: greeted }
            """)
        host.start()
        await host.settled()
        let greeted = ThreadSemaphore()
        let (outcomes, outcome) = AsyncStream<Bool>.makeStream()
        ear.listen { message, subject, _ in
            guard message == "fired" else { return }
            if subject == "greeted" { greeted.signal() }
            // The turn that logs this holds a thread of the pool. Whether the other turn gets another one is the
            // question.
            if subject == "b-block" { outcome.yield(greeted.waitHoldingPoolThread(seconds: 2)) }
        }
        try host.emit("Go", to: "a", fields: [])
        var results = outcomes.makeAsyncIterator()
        #expect(await results.next() == true)
        await host.stop(within: .seconds(1))
    }
}
