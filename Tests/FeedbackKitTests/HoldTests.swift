import FeedbackKit
import FeedbackKitTesting
import TestSupport
import Testing

private enum Sender {
    @TaskLocal static var name = "nobody"
}

/// A loop that holds a transition takes no event until the transition is completed.
@Suite(.timeLimit(.minutes(20))) struct `A loop that holds a transition` {
    typealias Step = Holding.Step

    init() { Traveller.departIfWanted() }

    /// Steps after event 1 is held and event 10 waits, and the expected log at their end.
    struct Row: Sendable, CustomTestStringConvertible {
        let steps: [Step]
        let log: [String]
        var testDescription: String { "\(steps)" }

        /// In the log, "rest" stands for the completion and event 10.
        init(_ steps: [Step], _ log: [String]) {
            self.steps = steps
            self.log = log.flatMap { $0 == "rest" ? ["show [1]", "take 10", "show [1, 10]"] : [$0] }
        }
    }

    private static let rows: [Row] = [
        Row([.complete], ["rest"]),
        Row([.complete, .complete], ["rest"]),
        Row([.mark, .complete], ["mark", "rest"]),
        Row([.complete, .mark], ["rest", "mark"]),
        Row(
            [.watch, .complete],
            ["watch []", "watch [1]", "show [1]", "take 10", "watch [1, 10]", "show [1, 10]"]),
        Row([.due], []),
        Row([.due, .complete], ["rest", "due"]),
        Row([.due, .stop, .complete], ["rest", "due", "stopped"]),
        Row([.due, .cancel], ["not due", "stopped"]),
        // Events and resets.
        Row([.send(11), .complete], ["rest", "take 11", "show [1, 10, 11]"]),
        Row([.send(2), .complete], ["rest", "take 2"]),
        Row([.send(2), .send(11), .complete], ["rest", "take 2"]),
        Row(
            [.send(2), .send(11), .complete, .complete],
            ["rest", "take 2", "show [1, 10, 2]", "take 11", "show [1, 10, 2, 11]"]),
        Row([.sendFirst(11), .complete], ["show [1]", "take 11", "show [1, 11]", "take 10", "show [1, 11, 10]"]),
        Row(
            [.sendFirst(11), .sendFirst(12), .pause, .complete, .resume],
            [
                "show [1]", "take 12", "show [1, 12]", "take 11", "show [1, 12, 11]", "take 10",
                "show [1, 12, 11, 10]",
            ]),
        // Pauses.
        Row([.pause], []),
        Row([.resume, .complete], ["rest"]),
        Row([.pause, .resume], []),
        Row([.pause, .resume, .complete], ["rest"]),
        Row([.pause, .complete], ["show [1]"]),
        Row([.pause, .mark, .complete], ["mark", "show [1]"]),
        Row([.pause, .complete, .resume], ["rest"]),
        Row([.pause, .send(11), .complete, .send(12)], ["show [1]"]),
        // Stops.
        Row([.stop], []),
        Row([.stop, .complete], ["rest", "stopped"]),
        Row([.stop, .send(11), .sendFirst(12), .complete], ["rest", "stopped"]),
        Row([.stop, .pause, .resume, .complete], ["rest", "stopped"]),
        Row([.stop, .mark, .complete], ["mark", "rest", "stopped"]),
        Row([.sendFirst(2), .stop, .complete], ["show [1]", "take 2"]),
        Row(
            [.sendFirst(2), .stop, .complete, .complete],
            ["show [1]", "take 2", "show [1, 2]", "take 10", "show [1, 2, 10]", "stopped"]),
        Row([.pause, .stop], []),
        Row([.pause, .stop, .complete], ["show [1]", "stopped"]),
        Row([.pause, .complete, .stop], ["show [1]", "stopped"]),
        Row([.cancel, .complete], ["stopped"]),
        Row([.pause, .cancel, .complete], ["stopped"]),
        Row([.stop, .cancel, .complete], ["stopped"]),
        Row([.pause, .stop, .cancel, .complete], ["stopped"]),
        // Exchanges.
        Row([.exchange], []),
        Row([.exchange, .complete], ["rest", "exchange [1, 10]"]),
        Row([.awaitExchange, .complete], ["show [1]"]),
        Row(
            [.awaitExchange, .exchange, .complete], ["show [1]", "exchange [1]", "take 10", "show [1, 10]"]),
        Row([.awaitExchange, .stop, .complete], ["rest", "stopped"]),
        Row([.pause, .exchange, .complete], ["show [1]", "exchange [1]"]),
        Row([.pause, .exchange, .complete, .resume], ["show [1]", "exchange [1]", "take 10", "show [1, 10]"]),
        Row([.exchange, .stop, .complete], ["rest", "exchange [1, 10]", "stopped"]),
        Row([.pause, .exchange, .stop, .complete], ["no exchange", "show [1]", "stopped"]),
        Row([.exchange, .cancel, .complete], ["no exchange", "stopped"]),
    ]

    @Test(arguments: rows, [false, true])
    func `keeps what comes in its order`(row: Row, isObserved: Bool) {
        let observer = TransitionLog()
        let holding = Holding(observer: isObserved ? observer : nil)
        holding.loop.start()
        holding.carryOut(.send(1))
        holding.carryOut(.send(10))
        #expect(holding.log.all == ["show []", "take 1"])
        #expect(holding.loop.holdsTransition && holding.loop.state == [])
        for step in row.steps { holding.carryOut(step) }
        let all = holding.log.all
        #expect(Array(all.dropFirst(2)) == row.log)
        #expect((holding.loop.phase == .stopped) == row.log.contains("stopped"))
        let shown = all.filter { $0.hasPrefix("show") }.dropFirst()
        #expect(holding.loop.counters.transitions == UInt64(shown.count))
        if isObserved { #expect(observer.log.all == Array(shown)) }
        holding.loop.cancel()
    }

    @Test func `answers a pause and a resumption as any loop does`() {
        let holding = Holding()
        let loop = holding.loop
        loop.start()
        loop.send(1)
        #expect(!loop.resume() && !loop.isPaused, "it holds a transition, but is not paused")
        #expect(loop.pause() && loop.isPaused && !loop.pause())
        #expect(loop.resume() && !loop.isPaused && loop.holdsTransition)
        #expect(holding.desk.complete() && !loop.holdsTransition)
        #expect(loop.state == [1])
        loop.cancel()
    }

    @Test func `forgets the transition when it is cancelled`() {
        let holding = Holding()
        let loop = holding.loop
        loop.start()
        loop.send(1)
        loop.send(10)
        #expect(loop.cancelCounting() == 1)
        #expect(!loop.holdsTransition && !holding.desk.complete() && !loop.hold())
        #expect(loop.state == [] && loop.phase == .stopped)
        #expect(loop.counters.transitions == 0 && loop.counters.refused == 1)
    }

    @Test(arguments: [
        (Overflow.dropNewest, [10, 11]), (.dropOldest, [11, 12]), (.keepLatest, [12]), (.block, [10, 11]),
    ])
    func `keeps to the limit of its mailbox`(overflow: Overflow, expected: [Int]) {
        let holding = Holding(limit: 2, overflow: overflow)
        let loop = holding.loop
        loop.start()
        loop.send(1)
        for event in 10...12 { loop.send(event) }
        #expect(loop.snapshot.waiting == expected.count)
        #expect(loop.counters.droppedByLimit == UInt64(3 - expected.count))
        holding.desk.complete()
        #expect(loop.state == [1] + expected)
        loop.cancel()
    }

    @Test func `fails when its mailbox overflows, if that is the policy`() {
        let holding = Holding(limit: 2, overflow: .fail)
        let loop = holding.loop
        loop.start()
        loop.send(1)
        for event in 10...12 { loop.send(event) }
        #expect(loop.fault != nil && loop.phase == .stopped)
        #expect(!holding.desk.complete() && loop.state == [])
    }

    @Test func `lets the sender of an event wait for room`() async {
        let holding = Holding(limit: 1)
        let loop = holding.loop
        loop.start()
        loop.send(1)
        loop.send(10)
        async let result = loop.sendWhenRoom(11)
        await suspend(while: loop.snapshot.waiting < 2)
        holding.desk.complete()
        #expect(await result == .accepted)
        #expect(loop.state == [1, 10, 11])
        loop.cancel()
    }

    @Test func `ends and starts side effects at the completion`() async {
        let work = Feedback<[Int], Int>(name: "work", cancellation: .onNewState) { _, _ -> Effect<Int> in
            .run { _ in await untilCancelled() }
        }
        let holding = Holding(feedbacks: [work])
        let loop = holding.loop
        loop.start()
        loop.send(1)
        #expect(loop.counters.effectsStarted == 1 && loop.counters.effectsCancelled == 0)
        holding.desk.complete()
        #expect(loop.counters.effectsStarted == 2 && loop.counters.effectsCancelled == 1)
        loop.cancel()
        await loop.stopped()
    }

    @Test func `withdraws the events of side effects that the completion ends`() async {
        let (gate, sent) = (Gate(), Gate())
        let work = Feedback<[Int], Int>(name: "work", cancellation: .onNewState) { state, _ -> Effect<Int> in
            guard state.isEmpty else { return .nothing }
            return .run { send in
                await gate.opened()
                send(11)
                sent.open()
                await untilCancelled()
            }
        }
        let holding = Holding(feedbacks: [work])
        let loop = holding.loop
        loop.start()
        loop.send(1)
        gate.open()
        await sent.opened()
        #expect(loop.snapshot.waiting == 1)
        holding.desk.complete()
        #expect(loop.state == [1] && loop.counters.withdrawn == 1 && loop.snapshot.waiting == 0)
        loop.cancel()
        await loop.stopped()
    }

    @Test(arguments: [false, true])
    func `takes the outcomes of side effects when it stops`(isPaused: Bool) async {
        let (gate, sent) = (Gate(), Gate())
        let work = Feedback<[Int], Int>(name: "work", cancellation: .never) { state, _ -> Effect<Int> in
            guard state.isEmpty else { return .nothing }
            return .run { send in
                await gate.opened()
                send(11)
                sent.open()
            }
        }
        let holding = Holding(feedbacks: [work])
        let loop = holding.loop
        loop.start()
        loop.send(1)
        if isPaused { loop.pause() }
        loop.send(10)
        gate.open()
        await sent.opened()
        #expect(loop.beginStopTakingOutcomes() == (isPaused ? 1 : 0))
        #expect(loop.phase == .stopping)
        holding.desk.complete()
        await loop.stopped()
        #expect(loop.state == (isPaused ? [1, 11] : [1, 10, 11]))
    }

    @Test func `is cancelled if the completion does not come within the limit of a stop`() async {
        let clock = ManualClock()
        let holding = Holding(clock: clock)
        let loop = holding.loop
        loop.start()
        loop.send(1)
        loop.send(10)
        async let stop: Void = loop.stop(within: .seconds(5))
        await clock.nextDeadline(in: .seconds(5))
        #expect(loop.phase == .stopping)
        clock.advance(by: .seconds(5))
        await stop
        #expect(!holding.desk.complete())
        #expect(holding.log.all == ["show []", "take 1", "stopped"])
    }

    @Test func `can be completed by its reducer`() {
        let holding = Holding(completesAtOnce: true)
        holding.loop.start()
        for event in [1, 2, 10] { holding.loop.send(event) }
        #expect(
            holding.log.all == [
                "show []", "take 1", "show [1]", "take 2", "show [1, 2]", "take 10", "show [1, 2, 10]",
            ])
        holding.loop.cancel()
    }

    @Test func `applies an update without entering a state`() {
        let holding = Holding()
        let loop = holding.loop
        loop.start()
        holding.carryOut(.watch)
        loop.send(1)
        holding.desk.complete(isUpdate: true)
        #expect(holding.log.all == ["show []", "watch []", "take 1", "watch [1]"])
        #expect(loop.state == [1] && loop.counters.updates == 1 && loop.counters.transitions == 0)
        loop.cancel()
    }

    @Test func `shows the state with the values of the sender of the event`() {
        Sender.$name.travelWithEvents()
        let seen = Log<String>()
        let holding = Holding(feedbacks: [.sink(name: "see") { _, _ in seen.add(Sender.name) }])
        holding.loop.start()
        Sender.$name.withValue("Ann") { _ = holding.loop.send(1) }
        Sender.$name.withValue("Bob") { _ = holding.desk.complete() }
        #expect(seen.all == ["nobody", "Ann"])
        holding.loop.cancel()
    }

    @Test func `may hold no other one`() async {
        await #expect(processExitsWith: .failure) {
            var machine = LoopMachine<Int, Int, String>(state: 0, limit: 1, overflow: .dropNewest)
            _ = machine.start()
            _ = machine.holdTransition()
            _ = machine.holdTransition()
        }
    }

    @Test func `completes no transition that it does not hold`() async {
        await #expect(processExitsWith: .failure) {
            var machine = LoopMachine<Int, Int, String>(state: 0, limit: 1, overflow: .dropNewest)
            _ = machine.start()
            _ = machine.addCompletion(.init(state: 1, event: 1, isUpdate: false))
        }
    }
}
