import FeedbackKit
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(20))) struct `An exchange in a running loop` {
    init() { Traveller.departIfWanted() }

    private typealias Exchange = LoopExchange<[Int], Int>

    private static func feedback(_ name: String, _ log: Log<String>) -> Feedback<[Int], Int> {
        .sink(name: name) { state, _ in log.add("\(name) \(state)") }
    }

    private static func loop(_ feedbacks: [Feedback<[Int], Int>], limit: Int = .max) -> Loop<[Int], Int> {
        Loop(initial: [0], feedbacks: feedbacks, executor: SendersThread(), mailboxLimit: limit) { state, event in
            state.append(event)
            return .handled
        }
    }

    @Test func `comes behind the events before it, and shows new feedbacks the state`() {
        let log = Log<String>()
        let loop = Self.loop([Self.feedback("a", log), Self.feedback("b", log)])
        loop.start()
        let slots = Mutex<[Int]>([])
        loop.exchange(
            { state in
                log.add("at \(state)")
                return Exchange(
                    state: state + [100],
                    parts: [
                        .new(Self.feedback("c", log), seesState: true), .kept(slot: 1, by: Self.feedback("B", log)),
                        .new(Self.feedback("d", log), seesState: false),
                    ], limit: 5, overflow: .dropNewest
                ) { new in slots.withLock { $0 = new } }
            }, ended: { log.add("ended") })
        loop.send(1)
        #expect(
            log.all == [
                "a [0]", "b [0]", "at [0]", "c [0, 100]", "c [0, 100, 1]", "B [0, 100, 1]", "d [0, 100, 1]",
            ])
        #expect(slots.withLock { $0 } == [0, 1, 2])
        #expect(loop.snapshot.feedbacks.map(\.name) == ["c", "B", "d"])
        #expect(loop.counters.transitions == 1)
        loop.cancel()
    }

    @Test func `uses the slots of removed feedbacks again`() {
        let log = Log<String>()
        let loop = Self.loop([Self.feedback("a", log), Self.feedback("b", log)])
        loop.start()
        let slots = Mutex<[[Int]]>([])
        for number in 0..<100 {
            loop.exchange(
                {
                    Exchange(
                        state: $0,
                        parts: [
                            .new(Self.feedback("\(number)", log), seesState: false),
                            .new(Self.feedback("\(number)", log), seesState: false),
                        ], limit: 5, overflow: .dropNewest
                    ) { new in slots.withLock { $0.append(new) } }
                }, ended: {})
        }
        #expect(slots.withLock { $0.count == 100 && $0.joined().allSatisfy { $0 < 2 } })
        loop.cancel()
    }

    @Test(arguments: [false, true]) func `ends the side effects of removed feedbacks, or lets them finish`(
        finishes: Bool
    ) async {
        let (gate, ended) = (Gate(), Log<String>())
        let work = Feedback<[Int], Int>(name: "work", cancellation: .never) { state, _ in
            guard state == [0] else { return .nothing }
            return .run { send in
                await gate.opened()
                ended.add(Task.isCancelled ? "cancelled" : "finished")
                send(7)
            }
        }
        let loop = Self.loop([work])
        loop.start()
        loop.exchange(
            {
                Exchange(state: $0, parts: [], finishing: finishes ? [0] : [], limit: 5, overflow: .dropNewest) { _ in }
            },
            ended: {})
        #expect(loop.snapshot.feedbacks.isEmpty)
        gate.open()
        #expect(await eventually { ended.all.count == 1 })
        #expect(ended.all == [finishes ? "finished" : "cancelled"])
        if finishes { #expect(await eventually { loop.state == [0, 7] }) }
        loop.cancel()
        await loop.stopped()
        #expect(loop.state == (finishes ? [0, 7] : [0]))
    }

    @Test func `of a paused loop is done at once, and what waits meets the new state`() {
        let log = Log<String>()
        let loop = Self.loop([Self.feedback("a", log)])
        loop.start()
        loop.pause()
        loop.send(1)
        loop.exchange(
            {
                Exchange(
                    state: $0 + [50], parts: [.kept(slot: 0, by: Self.feedback("A", log))], limit: 5, overflow: .fail
                ) { _ in }
            },
            ended: {})
        #expect(loop.state == [0, 50] && loop.isPaused)
        loop.resume()
        #expect(loop.state == [0, 50, 1])
        #expect(log.all == ["a [0]", "A [0, 50, 1]"])
        loop.cancel()
    }

    @Test func `keeps accepted events of a removed feedback`() {
        let loop = Self.loop([
            Feedback(name: "answer", cancellation: .onNewState, answer: { state, _ in state.count == 1 ? 5 : nil })
        ])
        loop.pause()
        loop.start()
        loop.pause()
        loop.send(1)
        loop.exchange({ Exchange(state: $0, parts: [], limit: 5, overflow: .fail) }, ended: {})
        loop.resume()
        #expect(loop.state == [0, 5, 1])
        loop.cancel()
    }

    @Test(arguments: [false, true]) func `comes before all that waits, where the loop awaits it`(isPaused: Bool) {
        let log = Log<String>()
        let loop = Self.loop([Self.feedback("a", log)])
        loop.start()
        loop.awaitExchange()
        if isPaused { loop.pause() }
        loop.send(1)
        #expect(loop.state == [0] && loop.isPaused == isPaused)
        loop.exchange(
            {
                Exchange(
                    state: $0 + [50], parts: [.new(Self.feedback("b", log), seesState: true)], limit: 5,
                    overflow: .dropNewest, willShow: { _ in log.add("will") }, didShow: { log.add("did") })
            }, ended: {})
        #expect(loop.state == (isPaused ? [0, 50] : [0, 50, 1]))
        loop.resume()
        #expect(loop.state == [0, 50, 1])
        let shown = isPaused ? ["did", "b [0, 50]"] : ["b [0, 50]", "did"]
        #expect(log.all == ["a [0]", "will"] + shown + ["b [0, 50, 1]"])
        loop.cancel()
    }

    @Test func `that is awaited and does not come before a stop keeps no event from being taken`() async {
        let loop = Self.loop([])
        loop.start()
        loop.awaitExchange()
        loop.send(1)
        await loop.stop()
        #expect(loop.state == [0, 1])
    }

    /// A feedback that emits an event for the first state, bound to that state.
    private static func answer(_ name: String, _ event: Int) -> Feedback<[Int], Int> {
        Feedback(name: name, cancellation: .boundToState, answer: { state, _ in state.count == 1 ? event : nil })
    }

    @Test(arguments: [false, true]) func `does not withdraw an accepted event for the feedback that takes its slot`(
        finishes: Bool
    ) {
        let loop = Self.loop([Self.answer("old", 5)])
        loop.pauseAtStart()
        loop.exchange(
            {
                Exchange(
                    state: $0, parts: [.new(Self.answer("new", 6), seesState: false)], finishing: finishes ? [0] : [],
                    limit: 5, overflow: .dropNewest)
            }, ended: {})
        loop.resume()
        #expect(loop.state == [0, 5])
        loop.cancel()
    }

    @Test func `does not revive a withdrawn event`() {
        // The first event leads to a new state, and withdraws the answer to the state before, which waits behind it.
        let loop = Loop<[Int], Int>(
            initial: [0], feedbacks: [Self.answer("bound", 5)], executor: SendersThread()
        ) { state, event in
            state.append(event)
            return .handled
        }
        let ended = Log<String>()
        loop.send(1)
        loop.add(
            .sink(name: "exchange") { [weak loop] state, _ in
                guard state == [0, 1] else { return }
                loop?.awaitExchange()
                loop?.exchange(
                    { Exchange(state: $0, parts: [], limit: 5, overflow: .fail) }, ended: { ended.add("ended") })
            })
        loop.start()
        #expect(loop.state == [0, 1] && loop.counters.withdrawn == 1 && ended.all.isEmpty)
        loop.cancel()
    }

    @Test func `shows the state to new feedbacks of a paused loop when it goes on`() {
        let log = Log<String>()
        let loop = Self.loop([])
        loop.start()
        loop.pause()
        loop.send(1)
        loop.exchange(
            {
                Exchange(
                    state: $0 + [50], parts: [.new(Self.feedback("new", log), seesState: true)], limit: 5,
                    overflow: .dropNewest)
            }, ended: {})
        #expect(log.all.isEmpty)
        loop.resume()
        #expect(log.all == ["new [0, 50]", "new [0, 50, 1]"])
        loop.cancel()
    }

    @Test func `shows another state to watchers only if it is news`() {
        let log = Log<[Int]>()
        let loop = Self.loop([])
        loop.start()
        let subscription = loop.watch { log.add($0) }
        for isNews in [false, true] {
            loop.exchange(
                { state in
                    var exchange = Exchange(state: state + [9], parts: [], limit: 5, overflow: .dropNewest)
                    exchange.isNews = isNews
                    return exchange
                }, ended: {})
        }
        #expect(log.all == [[0], [0, 9, 9]])
        subscription.cancel()
        loop.cancel()
    }

    @Test func `awaited twice keeps events back until the second one`() {
        let loop = Self.loop([])
        loop.start()
        loop.awaitExchange()
        loop.awaitExchange()
        loop.send(1)
        loop.exchange({ Exchange(state: $0 + [7], parts: [], limit: 5, overflow: .fail) }, ended: {})
        #expect(loop.state == [0, 7])
        loop.exchange({ Exchange(state: $0 + [8], parts: [], limit: 5, overflow: .fail) }, ended: {})
        #expect(loop.state == [0, 7, 8, 1])
        loop.cancel()
    }

    @Test func `of a loop that has ended is none`() {
        let log = Log<String>()
        let loop = Self.loop([])
        loop.start()
        loop.cancel()
        loop.exchange(
            { Exchange(state: $0, parts: [], limit: 5, overflow: .fail) }, ended: { log.add("ended") })
        #expect(log.all == ["ended"])
    }

    @Test func `changes the limit of the mailbox`() {
        let loop = Self.loop([], limit: 3)
        loop.start()
        loop.pause()
        for event in 1...3 { #expect(loop.send(event) == .accepted) }
        loop.exchange({ Exchange(state: $0, parts: [], limit: 1, overflow: .dropNewest) }, ended: {})
        #expect(loop.send(4) == .dropped(.mailboxFull))
        loop.resume()
        #expect(loop.state == [0, 1, 2, 3])
        loop.cancel()
    }
}

extension Loop {
    /// Starts a loop, and pauses it before it takes an event.
    fileprivate func pauseAtStart() {
        let subscription = watch { [weak self] _ in self?.pause() }
        start()
        subscription.cancel()
    }
}
