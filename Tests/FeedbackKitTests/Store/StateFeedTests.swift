import FeedbackKit
import FeedbackKitTesting
import Synchronization
import Testing
import TestSupport

/// The memory of states for side effects that read them as a sequence.
@Suite(.serialized) struct StateFeedTests {
    /// Counts its live instances.
    final class Held: Sendable {
        static let living = Atomic<Int>(0)
        init() { Self.living.add(1, ordering: .sequentiallyConsistent) }
        deinit { Self.living.subtract(1, ordering: .sequentiallyConsistent) }
    }
    struct Holder: FeedbackKit.State { var held: Held }
    struct Next: Event {}

    static var living: Int { Held.living.load(ordering: .sequentiallyConsistent) }

    @Test func `nothing is kept of the states for a function that has returned`() async {
        let before = Self.living
        let loop = Loop<Held, Int>(initial: Held(), feedbacks: [.custom { _, _ in }], executor: .sendersThread) {
            state, _ in
            state = Held()
            return .handled
        }
        loop.start()
        await suspend(while: loop.snapshot.feedbacks[0].running > 0)
        for _ in 0..<1_000 { loop.send(1) }
        #expect(Self.living - before < 10)
        loop.cancel()
    }

    @Test func `nothing is kept of the states for a sequence that has ended`() async {
        let before = Self.living
        let system = System {
            InitialState { Holder(held: Held()) }
            Feedbacks {
                Feedback(on: Holder.self, perform: { _ in AsyncStream<any Event> { $0.finish() } })
                Feedback(on: AnyState.self, perform: { _ in AsyncStream<any Event> { $0.finish() } })
            }
            Transitions { From(Holder.self) { On(Next.self, transitionTo: Holder(held: Held())) } }
        }.execute(on: .sendersThread)
        system.start()
        await suspend(while: system.snapshot.feedbacks.contains(where: { $0.running > 0 }))
        for _ in 0..<1_000 { system.send(Next()) }
        #expect(Self.living - before < 10)
        system.cancel()
    }

    @Test func `every state reaches a function that reads them until it returns`() async {
        let seen = Record<Int>()
        let done = Gate()
        let loop = Loop<Int, Int>(
            initial: 0,
            feedbacks: [
                .custom { states, send in
                    for await (state, event) in states {
                        seen.add(state)
                        #expect((event == nil) == (state == 0))
                        if state == 100 { break }
                        send(1)
                    }
                    done.open()
                }
            ]
        ) { state, event in
            state += event
            return .handled
        }
        loop.start()
        await done.opened()
        #expect(seen.values == Array(0...100))
        loop.cancel()
        await loop.stopped()
    }
}
