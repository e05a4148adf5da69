import FeedbackKit
import FeedbackKitTesting
import Logging
import MediatorConfiguration
import MediatorHost
import Synchronization
import Testing

/// The executor of a kind.
private struct Where: CustomTestStringConvertible {
    let testDescription: String
    let executor: any LoopExecutor
}

/// A kind may block, so it must not have the thread of the turn that asks for it: that one's next turn would wait for it.
@Suite(.timeLimit(.minutes(5))) struct `Where a kind turns` {
    private enum Call: String, Codable, CaseIterable { case ring }
    private struct Phone: Codable { var calls = 0 }
    private struct None: Codable {}

    @Test(arguments: [
        Where(testDescription: "the shared pool", executor: .sharedPool),
        Where(testDescription: "the sender's thread", executor: .sendersThread),
    ])
    private func `is no turn of the configured system that sends to it`(_ place: Where) async throws {
        let jobs = Mutex<Set<Int>>([])
        let time = HostTime.manual(ManualClock()) {
            // The configured system asks for the time in its turn, before it sends.
            let job = withUnsafeCurrentTask { $0?.hashValue }
            if let job { jobs.withLock { _ = $0.insert(job) } }
        }
        let (rings, rung) = AsyncStream<Bool>.makeStream()
        let kind = try TypedKind<Phone, Call, None>.loop(
            "phone", description: nil, parameters: None.self, defaults: nil
        ) { _ in
            Loop(
                initial: Phone(), executor: place.executor,
                reduce: { phone, _ in
                    let job = withUnsafeCurrentTask { $0?.hashValue }
                    rung.yield(jobs.withLock { jobs in job.map { jobs.contains($0) } ?? false })
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
                events: { Call: {} }
                fromOutside: any
                initialState: Ready
                transitions: { any: { Call: Calling } }
                ---
                system: phone
                kind: phone
                ---
                links: { call: { attach: caller, toSystem: phone, onState: Calling, emitEvent: ring } }
                """, kinds.kinds),
            effects: EffectCatalogue([]), kinds: kinds, time: time,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        host.start()
        for _ in 0..<4 { #expect(await host.stuckSystems(within: .seconds(1_000_000)).isEmpty) }
        try host.emit("Call", to: "caller", fields: [])
        var iterator = rings.makeAsyncIterator()
        #expect(await iterator.next() == false, "the kind turned on the turn of who called it")
        await host.stop(within: .seconds(1))
    }
}
