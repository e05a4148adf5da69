import FeedbackKit
import FeedbackKitServiceLifecycle
import Logging
import ServiceLifecycle
import ServiceLifecycleTestKit
import Testing

private struct Working: State {}
private struct Done: State {}
private struct Finish: Event {}
private struct Broken: Error {}

@Suite(.timeLimit(.minutes(5))) struct `A system as a service` {
    private func system(_ effect: @escaping @Sendable () -> Effect<any Event>) -> System {
        System {
            InitialState { Working() }
            Feedbacks { Feedback(on: Working.self, strategy: .continueOnNewState) { _ in effect() } }
            Transitions { From(Working.self) { On(Finish.self, transitionTo: Done()) } }
        }
    }

    @Test func `stops gently with the group`() async throws {
        let system = system { .nothing }
        let (started, continuation) = AsyncStream.makeStream(of: Void.self)
        let watching = system.watchStart { continuation.yield() }
        try await testGracefulShutdown { trigger in
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await system.service().run() }
                for await _ in started { break }
                system.send(Finish())
                trigger.triggerGracefulShutdown()
                try await group.waitForAll()
            }
        }
        #expect(system.state is Done, "what waited was taken")
        #expect(system.snapshot.phase == .stopped)
        watching.cancel()
    }

    @Test func `ends the group with its fault`() async {
        let system = system { .attempt { _ in throw Broken() } }
        let group = ServiceGroup(services: [system.service()], logger: Logger(label: "test"))
        await #expect(throws: LoopFault.self) { try await group.run() }
        #expect(system.fault?.error is Broken)
    }

    @Test func `is cancelled with its task`() async throws {
        let loop = Loop<Int, Int>(initial: 0) { _, _ in .unhandled }
        let running = Task { try await loop.service().run() }
        running.cancel()
        try await running.value
        #expect(loop.phase == .stopped)
    }
}

extension System {
    /// Calls `body` when the first state is published.
    fileprivate func watchStart(_ body: @escaping @Sendable () -> Void) -> Task<Void, Never> {
        let states = stream
        return Task {
            for await _ in states {
                body()
                return
            }
        }
    }
}
