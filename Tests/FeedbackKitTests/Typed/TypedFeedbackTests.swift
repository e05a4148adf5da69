import Dispatch
import FeedbackKit
import FeedbackKitTesting
import TestSupport
import Testing

@Suite struct TypedCustomTests {
    @Test func `a custom feedback reads every state with its event and sends events`() async {
        let seen = Record<String>()
        let done = Gate()
        let loop = knobLoop(
            0,
            .custom { states, send in
                for await (state, event) in states {
                    seen.add("\(state.control ?? -1) \(event == nil ? "first" : "later")")
                    guard let control = state.control, control < 3 else { break }
                    send(.turn(control + 1))
                }
                done.open()
            })
        await done.opened()
        await loop.stop()
        #expect(seen.values == ["0 first", "1 later", "2 later", "3 later"])
    }

    @Test func `a custom feedback reads ten thousand states in order`() async {
        let done = Gate()
        let last = Record<Int>()
        let loop = knobLoop(
            0,
            .custom { states, _ in
                var expected = 0
                for await (state, _) in states {
                    guard state.other == expected else { break }
                    expected += 1
                    if expected > 10_000 { break }
                }
                last.add(expected)
                done.open()
            })
        for _ in 0..<10_000 { loop.send(.other) }
        await done.opened()
        #expect(last.values == [10_001])
        await loop.stop()
    }

    @Test func `a graceful stop ends a custom feedback that still reads`() async {
        let loop = knobLoop(0, .custom { states, _ in for await _ in states {} })
        await loop.stop(within: .seconds(3600))
        #expect(loop.phase == .stopped)
    }

    @Test func `an input sends to every loop that has its feedback`() {
        let (feedback, send) = KnobFeedback.input
        let (first, second) = (knobLoop(0, feedback), knobLoop(0, feedback))
        send(.turn(1))
        first.cancel()
        send(.turn(2))
        #expect(first.state.control == 1)
        #expect(second.state.control == 2)
    }
}

@Suite struct TypedPullbackTests {
    struct Whole: Sendable, Equatable {
        var knob = Knob(control: 1)
        var maybe: Knob?
        var count = 0
    }

    enum WholeEvent: Sendable, Equatable {
        case knob(KnobEvent)
        case maybe(KnobEvent)
        case set(Knob?)

        static let knobs = CasePath<WholeEvent, KnobEvent>(
            embed: WholeEvent.knob, extract: { if case .knob(let event) = $0 { event } else { nil } })
        static let maybes = CasePath<WholeEvent, KnobEvent>(
            embed: WholeEvent.maybe, extract: { if case .maybe(let event) = $0 { event } else { nil } })
    }

    static let knob = Reducer<Knob, KnobEvent> { knob, event in
        KnobEvent.reduce(&knob, event)
    }
    static let count = Reducer<Whole, WholeEvent> { whole, event in
        whole.count += 1
        if case .set(let knob) = event { whole.maybe = knob }
    }
    static let reducer = Reducer<Whole, WholeEvent>.combine(
        knob.pullback(state: \.knob, event: WholeEvent.knobs),
        knob.optional().pullback(state: \.maybe, event: WholeEvent.maybes),
        count)

    private func loop(_ feedbacks: [Feedback<Whole, WholeEvent>]) -> Loop<Whole, WholeEvent> {
        let loop = system(initial: Whole(), reduce: Self.reducer, feedbacks: feedbacks, executor: .sendersThread)
            .makeLoop()
        loop.start()
        return loop
    }

    @Test func `a feedback works on a part of a larger state by key path and case path`() {
        let probe = TypedProbe<KnobEvent>()
        let loop = loop([
            KnobFeedback(skippingRepeated: { $0.control }) { probe.effect($0) }
                .pullback(state: \.knob, event: WholeEvent.knobs)
        ])
        probe.emit(.got("a"), from: "1")
        loop.send(.knob(.turn(2)))
        loop.send(.maybe(.turn(3)))
        #expect(probe.log == ["start 1", "cancel 1", "start 2"])
        #expect(loop.state.knob == Knob(control: 2, received: ["a"]))
        #expect(loop.state.count == 3)
    }

    @Test func `only events of its own case reach a feedback that looks at events`() {
        let seen = Record<KnobEvent>()
        let loop = loop([
            KnobFeedback.eventMiddleware { (_: Knob, event: KnobEvent) -> KnobEvent? in
                seen.add(event)
                return nil
            }.pullback(state: \.knob, embed: WholeEvent.knob, extract: WholeEvent.knobs.extract)
        ])
        loop.send(.maybe(.other))
        loop.send(.knob(.other))
        #expect(seen.values == [.other])
    }

    @Test func `without a state the feedback rests and its effects are cancelled`() {
        let probe = TypedProbe<KnobEvent>()
        let loop = loop([
            KnobFeedback(skippingRepeated: { $0.control }) { probe.effect($0) }
                .optional().pullback(state: \.maybe, event: WholeEvent.maybes)
        ])
        #expect(probe.log.isEmpty)
        loop.send(.set(Knob(control: 7)))
        probe.emit(.got("a"), from: "7")
        #expect(loop.state.maybe?.received == ["a"])
        loop.send(.set(nil))
        loop.send(.set(Knob(control: 7)))
        #expect(probe.log == ["start 7", "cancel 7", "start 7"])
    }

    @Test func `a case path goes on from another`() {
        enum Root: Sendable, Equatable { case event(WholeEvent), none }
        let path = CasePath<Root, WholeEvent>(
            embed: Root.event, extract: { if case .event(let event) = $0 { event } else { nil } }
        ).appending(path: WholeEvent.knobs)
        #expect(path.embed(.other) == .event(.knob(.other)))
        #expect(path.extract(.event(.knob(.other))) == .other)
        #expect(path.extract(.event(.set(nil))) == nil)
        #expect(path.extract(.none) == nil)
        #expect(CasePath<Int, Int>.identity.extract(3) == 3)
    }
}

@Suite struct TypedModifierTests {
    @Test func `combined feedbacks keep their names and their order`() {
        let probe = TypedProbe<KnobEvent>()
        let both = KnobFeedback.combine(
            .skippingRepeated(name: "first", state: { $0.control }) { probe.effect("first \($0)") },
            .predicate(name: "second", predicate: { $0.control != nil }) { _ in probe.effect("second") })
        let loop = knobLoop(1, both)
        #expect(probe.log == ["start first 1", "start second"])
        #expect(loop.snapshot.feedbacks.map(\.name) == ["first", "second"])
    }

    @Test func `a disabled feedback starts nothing and has no memory of unseen states`() {
        let probe = TypedProbe<KnobEvent>()
        let loop = knobLoop(
            1,
            KnobFeedback(skippingRepeated: { $0.control }) { probe.effect($0) }
                .disable { probe.log.count == 1 })
        loop.send(.turn(2))
        #expect(probe.log == ["start 1"])
        #expect(loop.snapshot.feedbacks.map(\.running) == [1])
    }

    @Test(arguments: [0, 1, 2])
    func `a side effect runs on its feedback's executor`(_ form: Int) async {
        let executor = QueueExecutor("typed")
        let isThere: @Sendable () -> KnobEvent = {
            dispatchPrecondition(condition: .onQueue(executor.queue))
            return .got("there")
        }
        let feedback: KnobFeedback =
            switch form {
            case 0: KnobFeedback(skippingRepeated: { $0.control }) { _ in isThere() }
            case 1: KnobFeedback(predicate: { $0.control != nil }) { _ async in isThere() }
            default: .react(requests: { Set([$0.control ?? 0]) }) { _ async in isThere() }
            }
        let loop = knobLoop(1, feedback.execute(on: .task(executor)))
        for await state in loop.states() where state.received == ["there"] { break }
        await loop.stop()
    }

    @Test func `the states and events of a typed feedback can be watched`() {
        let seen = Record<String>()
        let loop = knobLoop(
            1,
            KnobFeedback(skippingRepeated: { $0.control }) { control in control < 3 ? .turn(control + 1) : nil }
                .onStateReceived { seen.add("state \($0.control ?? 0)") }
                .onEventEmitted { seen.add("\($0)") })
        #expect(loop.state.control == 3)
        #expect(
            seen.values == [
                "state 1", "turn(Optional(2))", "state 2", "turn(Optional(3))", "state 3",
            ])
    }
}
