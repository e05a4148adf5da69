import FeedbackKit
import FeedbackKitTesting
import Testing

@Suite struct TypedReactTests {
    struct Wish: Sendable, Equatable {
        var request: Int?
        var requests: Set<Int> = []
        var byID: [String: Int] = [:]
        var received: [String] = []
    }

    enum Event: Sendable, Equatable {
        case one(Int?)
        case many(Set<Int>)
        case named([String: Int])
        case got(String)
        case gotThen(String, Set<Int>)
    }

    private func loop(_ wish: Wish, _ feedbacks: Feedback<Wish, Event>...) -> Loop<Wish, Event> {
        let loop = system(
            initial: wish,
            reduce: { (wish: inout Wish, event: Event) in
                switch event {
                case .one(let request): wish.request = request
                case .many(let requests): wish.requests = requests
                case .named(let requests): wish.byID = requests
                case .got(let text), .gotThen(let text, _): wish.received.append(text)
                }
            }, feedbacks: feedbacks, executor: .sendersThread
        ).makeLoop()
        loop.start()
        return loop
    }

    @Test func `an equal request leaves its effect alone and another restarts it`() {
        let probe = TypedProbe<Event>()
        let loop = loop(Wish(request: 1), .react(request: { $0.request }) { probe.effect($0) })
        loop.send(.got("x"))
        loop.send(.one(1))
        loop.send(.one(2))
        loop.send(.one(nil))
        #expect(probe.log == ["start 1", "cancel 1", "start 2", "cancel 2"])
    }

    @Test func `an effect that has ended is not started again by an equal request`() {
        let probe = TypedProbe<Event>()
        let loop = loop(Wish(requests: [1]), .react(requests: { $0.requests }) { probe.effect($0) })
        probe.finish("1")
        loop.send(.many([1, 2]))
        loop.send(.many([2]))
        loop.send(.many([1, 2]))
        #expect(probe.log == ["start 1", "start 2", "start 1"])
    }

    @Test func `each request of a set has an effect of its own`() {
        let probe = TypedProbe<Event>()
        let loop = loop(Wish(requests: [3, 1, 2]), .react(requests: { $0.requests }) { probe.effect($0) })
        #expect(probe.log == ["start 1", "start 2", "start 3"])
        loop.send(.many([2, 3, 4]))
        loop.send(.many([3]))
        #expect(
            probe.log == [
                "start 1", "start 2", "start 3", "cancel 1", "start 4", "cancel 2", "cancel 4",
            ])
        loop.cancel()
        #expect(probe.log.last == "cancel 3")
    }

    @Test func `a request that goes withdraws what its effect has emitted and no other's`() {
        let probe = TypedProbe<Event>()
        let loop = loop(
            Wish(requests: [1, 2]), .react(requests: { $0.requests }) { probe.effect($0) },
            .lensing(event: { $0 == .got("go") ? 0 : nil }) { (_: Int) -> Event? in .many([2]) },
            .sink { _, event in
                guard event == .got("go") else { return }
                probe.emit(.got("from 1"), from: "1")
                probe.emit(.got("from 2"), from: "2")
            })
        loop.send(.got("go"))
        #expect(loop.state.received == ["go", "from 2"])
        #expect(loop.counters.withdrawn == 1)
    }

    @Test func `a request that changes goes to the effect that runs`() async {
        let probe = TypedProbe<Event>()
        let changes = AsyncStream.makeStream(of: String.self)
        let loop = loop(
            Wish(byID: ["a": 1]),
            .react(requests: { $0.byID }) { (first: Int, requests: AsyncStream<Int>) -> Effect<Event> in
                .all([
                    probe.effect("from \(first)"),
                    .run { _ in
                        for await request in requests { changes.continuation.yield("\(first): \(request)") }
                        changes.continuation.yield("\(first) over")
                    },
                ])
            })
        var seen = changes.stream.makeAsyncIterator()
        #expect(await seen.next() == "1: 1")
        loop.send(.named(["a": 2]))
        #expect(await seen.next() == "1: 2")
        loop.send(.named(["a": 2]))
        loop.send(.got("x"))
        loop.send(.named(["a": 3]))
        #expect(await seen.next() == "1: 3")
        loop.send(.named([:]))
        #expect(await seen.next() == "1 over")
        loop.send(.named(["a": 3]))
        #expect(await seen.next() == "3: 3")
        #expect(probe.log == ["start from 1", "cancel from 1", "start from 3"])
        loop.cancel()
        await loop.stopped()
    }

    @Test func `two loops with one react feedback do not share requests or names`() {
        let probe = TypedProbe<Event>()
        let feedback = Feedback<Wish, Event>.react(requests: { $0.requests }) { probe.effect($0) }
        let (first, second) = (loop(Wish(requests: [1]), feedback, feedback), loop(Wish(requests: [1]), feedback))
        #expect(probe.log == ["start 1", "start 1", "start 1"])
        first.send(.many([]))
        #expect(probe.log == ["start 1", "start 1", "start 1", "cancel 1", "cancel 1"])
        #expect(second.snapshot.feedbacks.map(\.running) == [1])
    }

    @Test func `an effect with a name of its own keeps it`() {
        let probe = TypedProbe<Event>()
        let loop = loop(
            Wish(requests: [1]), .react(requests: { $0.requests }) { probe.effect($0).id("own \($0)") })
        loop.cancelEffect(EffectID("own 1"))
        #expect(probe.log == ["start 1", "cancel 1"])
        loop.send(.many([2]))
        loop.send(.many([]))
        #expect(probe.log == ["start 1", "cancel 1", "start 2", "cancel 2"])
    }
}
