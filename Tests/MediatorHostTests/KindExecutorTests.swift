import FeedbackKit
import FeedbackKitTesting
import Logging
import MediatorConfiguration
import MediatorHost
import Synchronization
import TestSupport
import Testing

/// The executor of a kind.
private struct Where: CustomTestStringConvertible {
    let testDescription: String
    let executor: any LoopExecutor
}

/// Holds up whoever passes, on the thread, while it is closed.
private final class Door: Sendable {
    private let isClosed = Mutex(false)
    private let semaphore = ThreadSemaphore()
    private let arrived = AsyncStream<Void>.makeStream()

    func close() { isClosed.withLock { $0 = true } }

    func open() {
        isClosed.withLock { $0 = false }
        semaphore.signal()
    }

    func pass() {
        guard isClosed.withLock({ $0 }) else { return }
        arrived.continuation.finish()
        semaphore.wait()
    }

    /// Returns when somebody is held up.
    func someoneWaits() async {
        for await _ in arrived.stream {}
    }
}

/// A kind may block, so it must not have the thread of the turn that asks for it: that one's next turn would wait for it.
@Suite(.timeLimit(.minutes(20))) struct `Where a kind turns` {
    private enum Call: String, Codable, CaseIterable { case ring }
    private struct Phone: Codable { var calls = 0 }
    private struct None: Codable {}

    @Test(arguments: [
        Where(testDescription: "the shared pool", executor: .sharedPool),
        Where(testDescription: "the sender's thread", executor: .sendersThread),
    ])
    private func `is no turn of the configured system that sends to it`(_ place: Where) async throws {
        let door = Door()
        let kind = try TypedKind<Phone, Call, None>.loop(
            "phone", description: nil, parameters: None.self, defaults: nil
        ) { _ in
            Loop(
                initial: Phone(), executor: place.executor,
                reduce: { phone, _ in
                    door.pass()
                    phone.calls += 1
                    return .handled
                })
        }
        let kinds = SystemCatalogue([kind])
        let host = try Host(
            graph: try KindFixture.graph(
                """
                system: caller
                states: { Ready: {}, Calling: {} }
                events: { Call: {}, Wait: {} }
                fromOutside: any
                initialState: Ready
                transitions: { Ready: { Call: Calling }, Calling: { Wait: Ready } }
                ---
                system: phone
                kind: phone
                ---
                links: { call: { attach: caller, toSystem: phone, onState: Calling, emitEvent: ring } }
                """, kinds.kinds),
            effects: EffectCatalogue([]), kinds: kinds, time: .manual(ManualClock()),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        host.start()
        await host.settled()
        door.close()
        try host.emit("Call", to: "caller", fields: [])
        await door.someoneWaits()
        // The kind is held up. The caller takes the next event only if the kind is not within its turn.
        try host.emit("Wait", to: "caller", fields: [])
        try await suspend(while: host.systemStatus("caller").state.index != 0)
        door.open()
        await host.stop(within: .seconds(1))
    }
}
