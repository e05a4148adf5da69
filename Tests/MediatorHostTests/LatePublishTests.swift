import CommonExpression
import Dispatch
import FeedbackKit
import FeedbackKitTesting
import Logging
import MediatorConfiguration
import MediatorHost
import Synchronization
import Testing
import TestSupport

private enum Late {
    /// Whether the present thread is the one that publishes.
    @TaskLocal static var isPublisher = false
}

@Suite(.timeLimit(.minutes(20))) struct `A value for a bus that changes its type` {
    private static func bus(of type: String) throws -> Graph {
        try graph(
            """
            system: counter
            states: { Counting: { n: int, of: string } }
            events: { Came: {} }
            initialState: { Counting: { n: 0, of: \(type) } }
            transitions: { Counting: { Came: { to: Counting, set: { n: "${state.n + 1}" } } } }
            ---
            buses: { level: { kind: passthrough, value: \(type), fromOutside: write } }
            links: { came: { attach: counter, to: level, emitEvent: Came } }

            """)
    }

    @Test func `arrives if the publisher found the bus before the reload and comes when that is over`() async throws {
        let (found, hasFound) = AsyncStream.makeStream(of: Void.self)
        let (ended, hasEnded) = AsyncStream.makeStream(of: Bool.self)
        let mayGoOn = ThreadSemaphore()
        let isHeld = Atomic(true)
        // The host looks at the calendar when it has found the bus, and before it puts the value there.
        let time = HostTime.manual(ManualClock()) {
            guard Late.isPublisher, isHeld.exchange(false, ordering: .relaxed) else { return }
            hasFound.finish()
            mayGoOn.wait()
        }
        let host = try Host(
            graph: try Self.bus(of: "int"), effects: EffectCatalogue([]), time: time,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        host.start()
        func sent() throws -> UInt64 { try host.busStatus("level").mediator.sent }
        func taken() throws -> UInt64 { try host.systemStatus("counter").loop.counters.events }
        try host.publish(.int(1), on: "level")
        DispatchQueue.global().async {
            let isAccepted = Late.$isPublisher.withValue(true) { (try? host.publish(.int(2), on: "level")) != nil }
            hasEnded.yield(isAccepted)
            hasEnded.finish()
        }
        for await _ in found {}
        try await host.apply(try Self.bus(of: "string"))
        #expect(try sent() == 1)
        // Before the value comes, the bus changes once more.
        try await host.apply(try Self.bus(of: "bool"))
        #expect(try sent() == 1)
        mayGoOn.signal()
        for await isAccepted in ended { #expect(isAccepted) }
        #expect(try sent() == 2)
        // The system that it is for has been replaced twice.
        #expect(await host.stuckSystems(within: .seconds(1)).isEmpty)
        #expect(try taken() == 2)
        try await host.apply(try Self.bus(of: "int"))
        try host.publish(.int(3), on: "level")
        #expect(try sent() == 3)
        await host.stop(within: .seconds(1))
    }
}
