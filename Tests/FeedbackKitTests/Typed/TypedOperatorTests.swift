import FeedbackKit
import FeedbackKitTesting
import TestSupport
import Testing

@Suite struct TypedEffectsTests {
    @Test(arguments: [false, true])
    func `every state starts an effect and cancels the one before`(_ isMiddleware: Bool) {
        let probe = TypedProbe<KnobEvent>()
        let effect: @Sendable (Knob) -> Effect<KnobEvent> = { probe.effect($0.other) }
        let loop = knobLoop(nil, isMiddleware ? .middleware(effect) : .effects(effect))
        loop.send(.other)
        #expect(probe.log == ["start 0", "cancel 0", "start 1"])
        loop.cancel()
        #expect(probe.log.last == "cancel 1")
    }

    @Test func `a middleware sees the state after the reduction and the event that caused it`() {
        let seen = Record<String>()
        let loop = knobLoop(
            nil,
            .eventMiddleware { (state: Knob, event: KnobEvent) -> KnobEvent? in
                seen.add("\(event) → \(state.control ?? 0)")
                return nil
            })
        loop.send(.turn(1))
        loop.send(.turn(2))
        #expect(seen.values == ["turn(Optional(1)) → 1", "turn(Optional(2)) → 2"])
    }

    @Test func `of a middleware's effects only the latest runs`() {
        let probe = TypedProbe<KnobEvent>()
        let loop = knobLoop(nil, .eventMiddleware { (_: Knob, event: KnobEvent) in probe.effect(event) })
        loop.send(.other)
        loop.send(.turn(nil))
        #expect(probe.log == ["start other", "cancel other", "start turn(nil)"])
    }
}

@Suite struct TypedLensingTests {
    @Test func `every state restarts the effect, and a missing part only cancels`() {
        let probe = TypedProbe<KnobEvent>()
        let loop = knobLoop(1, KnobFeedback(lensing: { $0.control }) { probe.effect($0) })
        loop.send(.other)
        loop.send(.turn(nil))
        loop.send(.turn(2))
        #expect(probe.log == ["start 1", "cancel 1", "start 1", "cancel 1", "start 2"])
    }

    @Test func `an event of the kind replaces the effect and other events leave it alone`() {
        let probe = TypedProbe<KnobEvent>()
        let loop = knobLoop(
            9, .lensing(event: { if case .turn(let control) = $0 { control } else { nil } }) { probe.effect($0) })
        #expect(probe.log.isEmpty)
        loop.send(.turn(1))
        loop.send(.other)
        loop.send(.turn(nil))
        #expect(probe.log == ["start 1"])
        loop.send(.turn(2))
        #expect(probe.log == ["start 1", "cancel 1", "start 2"])
    }
}

@Suite struct TypedSkippingRepeatedTests {
    @Test func `only a part that differs restarts the effect`() {
        let probe = TypedProbe<KnobEvent>()
        let loop = knobLoop(nil, KnobFeedback(skippingRepeated: { $0.control }) { probe.effect($0) })
        let turns: [(KnobEvent, [String])] = [
            (.turn(nil), []), (.turn(1), ["start 1"]), (.turn(1), []), (.other, []),
            (.turn(2), ["cancel 1", "start 2"]), (.turn(nil), ["cancel 2"]), (.turn(2), ["start 2"]),
        ]
        var expected: [String] = []
        for (event, news) in turns {
            loop.send(event)
            expected += news
            #expect(probe.log == expected, "after \(event)")
        }
    }

    @Test func `a restart withdraws what the effect before has emitted and the loop not taken`() {
        let probe = TypedProbe<KnobEvent>()
        let loop = knobLoop(
            1, KnobFeedback(skippingRepeated: { $0.control }) { probe.effect($0) },
            .lensing(event: { $0 == .other ? 0 : nil }) { (_: Int) -> Effect<KnobEvent> in
                .just([.turn(2), .got("own")])
            },
            .sink { _, event in if event == .other { probe.emit(.got("stale"), from: "1") } })
        loop.send(.other)
        #expect(loop.state.received == ["own"])
        #expect(loop.counters.withdrawn == 1)
        probe.emit(.got("late"), from: "1")
        probe.emit(.got("new"), from: "2")
        #expect(loop.state.received == ["own", "new"])
        #expect(loop.counters.withdrawn == 2)
    }

    @Test func `an effect that ignores cancellation is waited for and emits nothing any more`() async {
        let gate = Gate()
        let ended = Record<Int>()
        let loop = knobLoop(
            1,
            KnobFeedback(skippingRepeated: { $0.control }) { control in
                await gate.opened()
                ended.add(control)
                return .got("from \(control)")
            })
        loop.send(.turn(2))
        loop.send(.turn(nil))
        #expect(loop.snapshot.feedbacks.first?.running == 2)
        gate.open()
        await loop.stop()
        #expect(ended.values.sorted() == [1, 2])
        #expect(loop.state.received.isEmpty)
    }

    @Test func `one feedback value serves two loops at once`() {
        let probe = TypedProbe<KnobEvent>()
        let feedback = KnobFeedback(skippingRepeated: { $0.control }) { probe.effect($0) }
        let (first, second) = (knobLoop(1, feedback), knobLoop(1, feedback))
        first.send(.turn(2))
        second.send(.turn(1))
        #expect(probe.log == ["start 1", "start 1", "cancel 1", "start 2"])
        #expect(first.snapshot.feedbacks.map(\.running) == [1])
        second.cancel()
        #expect(probe.log.last == "cancel 1")
        #expect(first.snapshot.feedbacks.map(\.running) == [1])
    }

    @Test func `a loop that is released cancels the effect and is gone`() {
        let probe = TypedProbe<KnobEvent>()
        weak var released: Loop<Knob, KnobEvent>?
        do {
            let loop = knobLoop(1, KnobFeedback(skippingRepeated: { $0.control }) { probe.effect($0) })
            released = loop
            loop.send(.turn(2))
        }
        #expect(released == nil)
        #expect(probe.log == ["start 1", "cancel 1", "start 2", "cancel 2"])
        #expect(probe.emit(.other, from: "2") == .dropped(.stopped))
    }
}

@Suite struct TypedPredicateTests {
    /// The condition and the effects that it should cause, beginning with the initial state.
    static let turns: [(Int, [String])] = [
        (0, []), (1, ["start 1"]), (2, []), (3, []), (-1, ["cancel 1"]), (-2, []), (4, ["start 4"]), (0, ["cancel 4"]),
    ]

    @Test(arguments: [0, 1, 2])
    func `the effect starts when the condition comes to hold and ends when it no longer does`(_ spelling: Int) {
        let probe = TypedProbe<KnobEvent>()
        let holds: @Sendable (Knob) -> Bool = { ($0.control ?? 0) > 0 }
        let effect: @Sendable (Knob) -> Effect<KnobEvent> = { probe.effect($0.control ?? 0) }
        let feedback: KnobFeedback =
            switch spelling {
            case 0: KnobFeedback(predicate: holds, effects: effect)
            case 1: KnobFeedback(whenBecomesTrue: holds, effects: effect)
            default:
                KnobFeedback(firstValueAfterNil: { holds($0) ? $0.control : nil }, effects: { probe.effect($0) })
            }
        let loop = knobLoop(Self.turns[0].0, feedback)
        var expected = Self.turns[0].1
        for (control, news) in Self.turns.dropFirst() {
            loop.send(.turn(control))
            expected += news
            #expect(probe.log == expected, "at \(control)")
        }
    }

    @Test func `a condition that holds in the initial state counts as coming to hold`() {
        let probe = TypedProbe<KnobEvent>()
        _ = knobLoop(1, KnobFeedback(predicate: { $0.control == 1 }) { probe.effect($0.other) })
        #expect(probe.log == ["start 0", "cancel 0"])
    }

    @Test func `the end of the condition withdraws what the effect has emitted`() {
        let probe = TypedProbe<KnobEvent>()
        let loop = knobLoop(
            1, KnobFeedback(predicate: { $0.control != nil }) { _ in probe.effect("it") },
            .lensing(event: { $0 == .other ? 0 : nil }) { (_: Int) -> KnobEvent? in .turn(nil) },
            .sink { _, event in if event == .other { probe.emit(.got("stale"), from: "it") } })
        loop.send(.other)
        #expect(loop.state == Knob(control: nil, other: 1))
        #expect(loop.counters.withdrawn == 1)
    }
}

@Suite struct TypedCompactingTests {
    @Test func `the effect is that of the latest value`() {
        let probe = TypedProbe<KnobEvent>()
        let loop = knobLoop(
            1,
            KnobFeedback(compacting: { $0.compactMap(\.control).filter { $0 < 10 }.removeDuplicates() }) {
                probe.effect($0)
            })
        for event in [KnobEvent.turn(1), .turn(nil), .turn(10), .turn(2), .other] { loop.send(event) }
        #expect(probe.log == ["start 1", "cancel 1", "start 2"])
    }

    @Test func `events are compacted too and the initial state is no event`() {
        let probe = TypedProbe<KnobEvent>()
        let loop = knobLoop(
            1,
            .compacting(events: { $0.filter { $0 == .other }.scan(0) { count, _ in count + 1 }.dropFirst() }) {
                probe.effect($0)
            })
        for event in [KnobEvent.other, .turn(1), .other, .other] { loop.send(event) }
        #expect(probe.log == ["start 2", "cancel 2", "start 3"])
    }

    @Test func `what the steps remember they remember for one loop`() {
        let probe = TypedProbe<KnobEvent>()
        let feedback = KnobFeedback.compacting(state: { $0.map(\.control).removeDuplicates() }) {
            probe.effect($0 ?? 0)
        }
        let loops = [knobLoop(1, feedback), knobLoop(1, feedback)]
        #expect(probe.log == ["start 1", "start 1"])
        for loop in loops { loop.send(.other) }
        #expect(probe.log == ["start 1", "start 1"])
    }
}

@Suite struct TypedManyStatesTests {
    /// Feedbacks and the number of their starts while a state counts from 0 to 10 000.
    static let cases: [(Feedback<Int, Bool>, Int)] = [
        (.init(effects: { _ in count() }), 10_001),
        (.init(effects: { _ in answer() }), 10_001),
        (.init(lensing: { $0.isMultiple(of: 2) ? $0 : nil }) { _ in count() }, 5_001),
        (.lensing(event: { $0 }) { _ in count() }, 10_000),
        (.init(skippingRepeated: { $0 / 10 }) { _ in count() }, 1_001),
        (.init(predicate: { $0 % 10 < 5 }) { _ in count() }, 1_001),
        (.init(whenBecomesTrue: { $0 % 10 < 5 }) { _ in count() }, 1_001),
        (.init(firstValueAfterNil: { $0 % 10 < 5 ? $0 : nil }) { _ in count() }, 1_001),
        (.eventMiddleware { (_: Int, _: Bool) in count() }, 10_000),
        (.init(compacting: { $0.map { $0 / 100 }.removeDuplicates() }) { _ in count() }, 101),
        (.compacting(events: { $0.scan(0) { $0 + ($1 ? 1 : 0) }.filter { $0 % 100 == 0 } }) { _ in count() }, 100),
        (.react(request: { $0 / 10 }) { _ in count() }, 1_001),
        (.react(requests: { Set([$0 / 10, -1]) }) { _ in count() }, 1_002),
        (.react(requests: { [$0 / 10: $0 / 5] }) { _, _ in count() }, 1_001),
        (Feedback(skippingRepeated: { $0 / 10 }) { _ in count() }.pullback(state: \.self, event: .identity), 1_001),
        (
            Feedback(effects: { _ in count() }).optional()
                .pullback(state: { $0 % 10 < 5 ? .some(.some($0)) : .some(nil) }, embed: { $0 }, extract: { $0 }), 5_001
        ),
    ]

    @TaskLocal static var starts: Record<Void>?

    static func count() -> Effect<Bool> {
        starts?.add(())
        return .subscribe { _, _ in Subscription {} }
    }

    static func answer() -> Bool? {
        starts?.add(())
        return nil
    }

    @Test(arguments: cases.indices)
    func `ten thousand states start exactly the effects they ask for and leave none behind`(_ index: Int) {
        let (feedback, expected) = Self.cases[index]
        let starts = Record<Void>()
        Self.$starts.withValue(starts) {
            let loop = system(
                initial: 0, reduce: { (count: inout Int, _: Bool) in count += 1 }, feedbacks: [feedback],
                executor: .sendersThread
            ).makeLoop()
            loop.start()
            for _ in 0..<10_000 { loop.send(true) }
            #expect(loop.state == 10_000)
            #expect(starts.values.count == expected, "\(feedback.name)")
            #expect((loop.snapshot.feedbacks.first?.running ?? 0) <= 2)
            loop.cancel()
            #expect(loop.phase == .stopped)
            #expect(loop.snapshot.feedbacks.first?.running == 0)
        }
    }
}
