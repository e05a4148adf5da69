import FeedbackKit
import FeedbackKitOpenCombine
import OpenCombine
import Testing

/// Every operator of the typed dialect with a publisher as its side effect, in each of its spellings.
@Suite(.timeLimit(.minutes(5)))
struct TypedPublisherTests {
    private struct State: Equatable {
        var value = 0
        var query: String?
        var requests: Set<String> = []
    }

    private enum Event: Equatable {
        case set(Int)
        case query(String?)
        case requests(Set<String>)
        case got(String)
    }

    /// Returns the emissions of one feedback's side effect in a loop.
    private final class Bench: Sendable {
        let loop: Loop<State, Event>
        let got = Log<String>()

        init(_ feedback: Feedback<State, Event>) {
            let got = got
            loop = FeedbackKit.system(
                initial: State(),
                reduce: { (state: inout State, event: Event) in
                    switch event {
                    case .set(let value): state.value = value
                    case .query(let query): state.query = query
                    case .requests(let requests): state.requests = requests
                    case .got(let text): got.add(text)
                    }
                }, feedbacks: [feedback], executor: .sendersThread
            ).makeLoop()
            loop.start()
        }

        func send(_ events: Event...) -> [String] {
            for event in events { loop.send(event) }
            return got.entries
        }
    }

    private static func answer(_ text: String) -> Just<Event> { Just(.got(text)) }

    @Test func `effects`() {
        let effect = { @Sendable (state: State) in
            state.value > 0 && state.value < 3
                ? Just(Event.set(state.value + 1)).eraseToAnyPublisher() : Empty().eraseToAnyPublisher()
        }
        for feedback in [Feedback<State, Event>.effects(effect), Feedback(effects: effect), .middleware(effect)] {
            let bench = Bench(feedback)
            _ = bench.send(.set(1))
            #expect(bench.loop.state.value == 3)
        }
    }

    @Test func `predicate`() {
        for isStatic in [true, false] {
            let ticks = PassthroughMediator<String>()
            let effect = { @Sendable (_: State) in ticks.publisher.map { Event.got($0) } }
            let holds = { @Sendable (state: State) in state.value > 0 }
            let bench = Bench(
                isStatic ? .predicate(predicate: holds, effects: effect) : Feedback(predicate: holds, effects: effect))
            ticks.send("early")
            _ = bench.send(.set(1))
            ticks.send("a")
            _ = bench.send(.set(0))
            ticks.send("late")
            #expect(bench.got.entries == ["a"])
            #expect(ticks.snapshot.subscribers == 0)
        }
    }

    @Test func `whenBecomesTrue`() {
        let effect = { @Sendable (state: State) in Self.answer("\(state.value)") }
        let holds = { @Sendable (state: State) in state.value > 0 }
        for feedback in [
            Feedback<State, Event>.whenBecomesTrue(holds, effects: effect),
            Feedback(whenBecomesTrue: holds, effects: effect),
        ] {
            #expect(Bench(feedback).send(.set(1), .set(2), .set(0), .set(3)) == ["1", "3"])
        }
    }

    @Test func `firstValueAfterNil`() {
        let effect = { @Sendable (query: String) in Self.answer(query) }
        for feedback in [
            Feedback<State, Event>.firstValueAfterNil({ $0.query }, effects: effect),
            Feedback(firstValueAfterNil: { $0.query }, effects: effect),
        ] {
            #expect(Bench(feedback).send(.query("a"), .query("b"), .query(nil), .query("c")) == ["a", "c"])
        }
    }

    @Test func `skippingRepeated and react to one request`() {
        let effect = { @Sendable (query: String) in Self.answer(query) }
        for feedback in [
            Feedback<State, Event>.skippingRepeated(state: { $0.query }, effects: effect),
            Feedback(skippingRepeated: { $0.query }, effects: effect),
            .react(request: { $0.query }, effects: effect),
        ] {
            #expect(
                Bench(feedback).send(.query("a"), .set(1), .query("b"), .query(nil), .query("b")) == ["a", "b", "b"])
        }
    }

    @Test func `lensing`() {
        let effect = { @Sendable (query: String) in [Event.got(query), .set(2)].publisher }
        let part = { @Sendable (state: State) in state.value == 1 ? state.query : nil }
        for feedback in [
            Feedback<State, Event>.lensing(state: part, effects: effect), Feedback(lensing: part, effects: effect),
        ] {
            // The first event leads to a state with the same part, which restarts the effect and withdraws the second
            // event.
            let bench = Bench(feedback)
            bench.loop.add(.sink { _, event in if event == .got("a") { bench.loop.send(.set(0)) } })
            #expect(bench.send(.query("a"), .set(1)) == ["a", "a"])
            #expect(bench.loop.state.value == 0)
        }
        let ofEvents = Feedback<State, Event>.lensing(
            event: { if case .set(let value) = $0 { value } else { nil } }, effects: { Self.answer("\($0)") })
        #expect(Bench(ofEvents).send(.set(1), .query("a"), .set(1)) == ["1", "1"])
    }

    @Test func `compacting`() {
        let effect = { @Sendable (value: Int) in Self.answer("\(value)") }
        for feedback in [
            Feedback<State, Event>.compacting(
                state: { $0.map(\.value).removeDuplicates().dropFirst() }, effects: effect),
            Feedback(compacting: { $0.map(\.value).removeDuplicates().dropFirst() }, effects: effect),
        ] {
            #expect(Bench(feedback).send(.set(1), .set(1), .query("a"), .set(2)) == ["1", "2"])
        }
        let ofEvents = Feedback<State, Event>.compacting(
            events: { $0.compactMap { if case .set(let value) = $0 { value } else { nil } } }, effects: effect)
        #expect(Bench(ofEvents).send(.set(1), .query("a"), .set(1)) == ["1", "1"])
    }

    @Test func `middleware with the event`() {
        let feedback = Feedback<State, Event>.eventMiddleware {
            (state: State, event: Event) -> AnyPublisher<Event, Never> in
            if case .set(let value) = event {
                Self.answer("\(value) \(state.value)").eraseToAnyPublisher()
            } else {
                Empty().eraseToAnyPublisher()
            }
        }
        #expect(Bench(feedback).send(.set(1), .query("a"), .set(2)) == ["1 1", "2 2"])
    }

    @Test func `react to a set of requests`() {
        let ticks = PassthroughMediator<String>()
        let feedback = Feedback<State, Event>.react(requests: { $0.requests }) { (request: String) in
            ticks.publisher.map { Event.got("\(request) \($0)") }
        }
        let bench = Bench(feedback)
        _ = bench.send(.requests(["a", "b"]))
        ticks.send("1")
        _ = bench.send(.requests(["b"]))
        ticks.send("2")
        #expect(bench.got.entries == ["a 1", "b 1", "b 2"])
        _ = bench.send(.requests([]))
        #expect(ticks.snapshot.subscribers == 0)
    }

    @Test func `react to requests by name`() {
        let ticks = PassthroughMediator<String>()
        let feedback = Feedback<State, Event>.react(
            requests: { $0.query.map { ["only": $0] } ?? [:] },
            effects: { (request: String, _: AsyncStream<String>) in
                ticks.publisher.map { Event.got("\(request) \($0)") }
            })
        let bench = Bench(feedback)
        _ = bench.send(.query("a"))
        ticks.send("1")
        _ = bench.send(.query("b"))
        ticks.send("2")
        #expect(bench.got.entries == ["a 1", "a 2"], "a changed request leaves its effect running")
        _ = bench.send(.query(nil))
        #expect(ticks.snapshot.subscribers == 0)
    }

    @Test func `custom`() {
        let bench = Bench(
            .custom { states in states.map(\.value).removeDuplicates().dropFirst().map { Event.got("\($0)") } })
        #expect(bench.send(.set(1), .query("a"), .set(2)) == ["1", "2"])
    }
}
