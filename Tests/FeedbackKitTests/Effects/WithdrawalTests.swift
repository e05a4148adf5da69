import FeedbackKit
import Testing

/// The withdrawal of events: those of cancelled effects, as in the originals.
@Suite struct `Withdrawal` {
    private typealias Words = Feedback<String, String>

    /// Appends each event, with the given feedbacks, until the text has the given length.
    private func states(_ count: Int, _ feedbacks: Words...) -> [String] {
        let seen = Record<String>()
        let loop = Loop<String, String>(initial: "initial", feedbacks: feedbacks, executor: .sendersThread) {
            state, event in
            guard seen.values.count + 1 < count else { return .unhandled }
            state += event
            seen.add(state)
            return .handled
        }
        loop.start()
        return ["initial"] + seen.values
    }

    private static let alternating = [
        "initial", "initial_a", "initial_a_b", "initial_a_b_a", "initial_a_b_a_b",
    ]

    @Test(arguments: [
        [Words(effects: { _ in "_a" }), Words(effects: { _ in "_b" })],
        [.effects { _ in Effect.just("_a") }, .effects { _ in Effect.just("_b") }],
        [.middleware { _ in "_a" }, .middleware { _ in "_b" }],
        [.lensing(state: { $0 }) { _ in Effect.just("_a") }, .lensing(state: { $0 }) { _ in Effect.just("_b") }],
        [
            .effects { _ in Effect.subscribe { send, finish in Self.answer("_a", send, finish) } },
            .effects { _ in Effect.subscribe { send, finish in Self.answer("_b", send, finish) } },
        ],
        [.effects { _ in .all([.just("_a"), .nothing]) }, .effects { _ in .all([.just("_b"), .nothing]) }],
    ])
    func `of two feedbacks that always answer at once both get through`(feedbacks: [Feedback<String, String>]) {
        #expect(states(5, .combine(feedbacks)) == Self.alternating)
    }

    private static func answer(
        _ event: String, _ send: Send<String>, _ finish: @Sendable () -> Void
    ) -> Subscription {
        send(event)
        finish()
        return Subscription {}
    }

    @Test func `of two feedbacks of a system that always answer at once both get through`() {
        struct Text: FeedbackKit.State { var value = "initial" }
        struct Part: Event { let value: String }
        let seen = Record<String>()
        let system = System {
            InitialState { Text() }
            Feedbacks {
                Feedback(on: Text.self, strategy: .cancelOnNewState) { _ in Part(value: "_a") }
                Feedback(on: Text.self, strategy: .cancelOnNewState) { _ in Part(value: "_b") }
                Feedback(on: Text.self, strategy: .continueOnNewState) { text in
                    seen.add(text.value)
                    return nil
                }
            }
            Transitions {
                From(Text.self) { text in
                    On(Part.self, transitionTo: Text.self) { Text(value: text.value + $0.value) }
                        .disable { seen.values.count == 5 }
                }
            }
        }.execute(on: .sendersThread)
        system.start()
        #expect(seen.values == Self.alternating)
    }

    /// One effect emits two events, and ends or continues; the first event leads to a new state.
    @Test(arguments: [true, false]) func `the events of an effect are withdrawn if it still ran`(ends: Bool) {
        let loop = Loop<Int, Int>(
            initial: 0,
            feedbacks: [
                Feedback { state, _ in
                    guard state == 0 else { return .nothing }
                    return .subscribe { send, finish in
                        send(1)
                        send(10)
                        if ends { finish() }
                        return Subscription {}
                    }
                }
            ], executor: .sendersThread
        ) { state, event in
            state += event
            return .handled
        }
        loop.start()
        #expect(loop.state == (ends ? 11 : 1))
        #expect(loop.counters.withdrawn == (ends ? 0 : 1))
        #expect(loop.remembered == 0)
    }

    @Test func `an effect whose state is over sends nothing more, also if it has ended`() {
        let sends = Record<Send<Int>>()
        let loop = Loop<Int, Int>(
            initial: 0,
            feedbacks: [
                Feedback { state, _ in
                    .subscribe { send, finish in
                        sends.add(send)
                        finish()
                        return Subscription {}
                    }
                }
            ], executor: .sendersThread
        ) { state, event in
            state += event
            return .handled
        }
        loop.start()
        #expect(sends.values[0](1) == .accepted)
        #expect(sends.values[0](1) == .dropped(.cancelled))
        #expect(loop.state == 1)
    }

    @Test func `a graceful stop takes the events of a source that it ends, also under a name`() async {
        let seen = Record<Int>()
        let loop = Loop<Int, Int>(
            initial: 0,
            feedbacks: [
                Feedback(cancellation: .never) { _, event in
                    guard event == 1 else { return .nothing }
                    return Effect.subscribe { send, _ in
                        send(2)
                        return Subscription {}
                    }.untilStop().id("source")
                },
                .sink { _, _ in },
            ], executor: .sendersThread
        ) { state, event in
            seen.add(event)
            state = event
            return .handled
        }
        loop.start()
        // Runs on the loop's executor; the source's event comes behind it, after the stop has begun.
        loop.add(.sink { [weak loop] state, _ in if state == 1 { loop?.beginStop() } })
        loop.send(1)
        await loop.stopped()
        #expect(seen.values == [1, 2])
        #expect(loop.counters.withdrawn == 0)
    }

    @Test func `under a name an effect that has ended makes room for the next one all the same`() {
        let loop = Loop<Int, Int>(
            initial: 0,
            feedbacks: [
                Feedback(cancellation: .never) { state, _ in
                    state == 0 ? .all([.just(1), .just(10).id("answer"), .just(100).id("answer")]) : .nothing
                }
            ], executor: .sendersThread
        ) { state, event in
            state += event
            return .handled
        }
        loop.start()
        #expect(loop.state == 101)
    }
}
