import FeedbackKit
import FeedbackKitTesting
import Testing

@Suite struct `A test store` {
    @Test func `is silent when everything is asserted`() {
        let store = makeStore()
        store.start(expecting: Counter())
        store.send(.start) { $0.isRunning = true }
        store.advance(by: .seconds(1))
        store.receive(.tick) { $0.count = 1 }
        store.advance(by: .seconds(2))
        store.receive(.tick) { $0.count = 2 }
        store.receive(where: { $0 == .tick }) { $0.count = 3 }
        store.sendUnchanged(.keep)
        store.sendUnhandled(.unknown)
        store.send(.add(0))
        store.send(.stop) { $0.isRunning = false }
        #expect(store.state == Counter(count: 3))
        store.advance(by: .seconds(60))
        store.finish()
        #expect(store.simulation.now.offset == .seconds(63))
    }

    @Test func `names a change that differs from the asserted one, and continues from the actual state`() {
        let messages = failures {
            let store = makeStore()
            store.start(expecting: Counter(count: 1))
            store.send(.add(2)) { $0.count = 3 }
            store.send(.add(2))
            store.send(.add(2)) { $0.count = 6 }
            store.send(.start) { $0.count = 6 }
            store.stop()
        }
        #expect(
            messages == [
                "the initial state is another (- expected, + actual):\n"
                    + "  Counter(\n-     count: 1\n+     count: 0\n      … 1 unchanged\n  )",
                "CounterEvent.add(2) leads to another state (- expected, + actual):\n"
                    + "  Counter(\n-     count: 3\n+     count: 2\n      … 1 unchanged\n  )",
                "CounterEvent.add(2) leads to a change that was not asserted (- before, + after):\n"
                    + "  Counter(\n-     count: 2\n+     count: 4\n      … 1 unchanged\n  )",
                "CounterEvent.start leads to a change that was not asserted (- before, + after):\n"
                    + "  Counter(\n      … 1 unchanged\n-     isRunning: false\n+     isRunning: true\n  )",
            ])
    }

    @Test func `names an event that came and was not asserted`() {
        let messages = failures {
            let store = makeStore()
            store.start()
            store.send(.start) { $0.isRunning = true }
            store.advance(by: .seconds(2))
            store.send(.stop) { $0.isRunning = false }
            #expect(store.state == Counter(count: 2))
            store.send(.start) { $0.isRunning = true }
            store.advance(by: .seconds(1))
            store.stop()
        }
        #expect(
            messages == [
                "before send(CounterEvent.stop): received and not asserted: 2 events: CounterEvent.tick, "
                    + "CounterEvent.tick; assert each with receive",
                "before stop(): received and not asserted: 1 event: CounterEvent.tick; assert each with receive",
            ])
    }

    @Test func `names another event than the expected one`() {
        let messages = failures {
            let store = makeStore([answering(.just([.add(5), .tick, .unknown]))])
            store.start()
            store.send(.add(1)) { $0.count = 1 }
            store.receive(.add(4)) { $0.count = 5 }
            store.receive(where: { $0 == .stop })
            store.receive(Int.self)
            store.finish()
        }
        #expect(
            messages == [
                "expected to receive CounterEvent.add(4), got CounterEvent.add(5) (- expected, + actual):\n"
                    + "  CounterEvent.add(\n-     4\n+     5\n  )",
                "expected to receive an event that meets the condition, got CounterEvent.tick",
                "expected to receive an event of type Int, got CounterEvent.unknown",
            ])
    }

    @Test func `reports the running effects and the time if an event does not arrive`() {
        let messages = failures {
            let store = makeStore()
            store.start()
            store.receive(.tick)
            store.send(.start) { $0.isRunning = true }
            store.advance(by: .milliseconds(400))
            store.receive(.tick) { $0.count = 1 }
            store.stop()
        }
        #expect(
            messages == [
                "expected to receive CounterEvent.tick, but no event arrived; no side effect runs; "
                    + "the time is 0.0 seconds; no task sleeps on the clock",
                "expected to receive CounterEvent.tick, but no event arrived; running: 1 side effect of ticking; "
                    + "the time is 0.4 seconds; the next deadline is 1.0 seconds",
            ])
    }

    @Test func `names a side effect that still runs at the end`() {
        let messages = failures {
            let store = makeStore()
            store.start()
            store.send(.start) { $0.isRunning = true }
            store.finish()
            #expect(store.loop.phase == .stopped)
        }
        #expect(
            messages == [
                "side effects still run at finish(): running: 1 side effect of ticking; the time is 0.0 seconds; "
                    + "the next deadline is 1.0 seconds; let them end, or end them with stop()"
            ])
    }

    @Test func `names unexpected kinds of rules`() {
        let messages = failures {
            let store = makeStore()
            store.start()
            store.send(.unknown)
            store.send(.unknown) { $0.count = 9 }
            store.sendUnchanged(.unknown)
            store.send(.keep)
            store.send(.keep) { $0.count = 9 }
            store.sendUnhandled(.keep)
            store.sendUnchanged(.add(0))
            store.sendUnhandled(.add(0))
            store.sendUnchanged(.add(1))
            store.sendUnhandled(.add(1))
            store.finish()
        }
        let equal =
            "leads to an equal state, which is a new state nevertheless: feedbacks see it, and side effects that new "
            + "states cancel are restarted; assert it with send"
        #expect(
            messages == [
                "CounterEvent.unknown is not handled in Counter(count: 0, isRunning: false); if this is intended, "
                    + "assert it with sendUnhandled",
                "CounterEvent.unknown is not handled in Counter(count: 0, isRunning: false); expected the new state "
                    + "Counter(count: 9, isRunning: false)",
                "CounterEvent.unknown is not handled in Counter(count: 0, isRunning: false); if this is intended, "
                    + "assert it with sendUnhandled",
                "CounterEvent.keep is handled by a rule that keeps the state, so there is no new one; assert it with "
                    + "sendUnchanged",
                "CounterEvent.keep is handled by a rule that keeps the state, so there is no new one (- expected, "
                    + "+ actual):\n  Counter(\n-     count: 9\n+     count: 0\n      … 1 unchanged\n  )",
                "CounterEvent.keep is handled by a rule that keeps the state; assert it with sendUnchanged",
                "CounterEvent.add(0) \(equal)",
                "CounterEvent.add(0) \(equal)",
                "CounterEvent.add(1) leads to a new state, expected none (- before, + after):\n"
                    + "  Counter(\n-     count: 0\n+     count: 1\n      … 1 unchanged\n  )",
                "CounterEvent.add(1) is handled, expected it not to be (- before, + after):\n"
                    + "  Counter(\n-     count: 1\n+     count: 2\n      … 1 unchanged\n  )",
            ])
    }

    @Test func `receives events that change nothing`() {
        let store = makeStore([answering(.just([.keep, .unknown]))])
        store.start()
        store.send(.add(1)) { $0.count = 1 }
        store.receiveUnchanged(.keep)
        store.receiveUnhandled(.unknown)
        store.send(.add(1)) { $0.count = 2 }
        store.receiveUnchanged(CounterEvent.self)
        store.receiveUnhandled(CounterEvent.self)
        store.finish()
    }

    @Test func `keeps so many events and counts those that follow`() {
        let many = 10_005
        let messages = failures {
            let store = TestStore<Int, Int>(
                initial: 0,
                feedbacks: [
                    Feedback(name: "count", cancellation: .never) { $1 != nil && $0 < many ? .just($0) : .nothing }
                ]
            ) { state, _ in
                state += 1
                return .handled
            }
            store.start()
            store.send(0) { $0 = 1 }
            store.send(7) { $0 = many + 1 }
            #expect(store.state == many + 1)
            store.finish()
        }
        #expect(
            messages == [
                "before send(7): received and not asserted: 10004 events: 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, …; "
                    + "assert each with receive"
            ])
    }

    @Test func `does not wait for the end of a loop that feeds itself without end`() async {
        let messages = await failures {
            let store = TestStore<Int, Int>(
                initial: 0, feedbacks: [Feedback(name: "again") { .just($0 + ($1 ?? 1)) }],
                in: Simulation(maximumSteps: 100)
            ) { _, event in event == 0 ? .stay : .handled }
            store.start()
            await store.waitForEvent(within: .seconds(600))
            store.loop.cancel()
            store.simulation.runUntilIdle()
            store.stop()
        }
        #expect(messages.count == 3)
        #expect(
            messages.prefix(2).allSatisfy { $0.hasPrefix("the simulation with seed 0 did not come to rest within 100") }
        )
        #expect(messages.last?.hasPrefix("before stop(): received and not asserted: 199 events: 1, 1, ") == true)
    }

    @Test func `keeps to its order of calls`() {
        let messages = failures {
            let store = makeStore()
            store.send(.start)
            store.start()
            store.start()
            store.advance(by: .seconds(-1))
            store.finish()
            store.send(.start)
            store.finish()
        }
        #expect(
            messages == [
                "send(CounterEvent.start) before start(): call start() first",
                "start() has been called before",
                "time cannot be advanced by -1.0 seconds: it does not go back",
                "send(CounterEvent.start) after the end: the loop has been stopped",
                "finish() after the end: the loop has been stopped",
            ])
    }

    @Test func `lets sources of outside events continue until the end`() {
        let messages = failures {
            let source = Feedback<Counter, CounterEvent>.source(name: "source") { _ in Subscription {} }
            let store = makeStore([
                source, answering(.subscribe { _, _ in Subscription {} }.untilStop()),
            ])
            store.start()
            store.send(.add(1)) { $0.count = 1 }
            store.loop.add(source)
            store.finish()
            let other = makeStore([source, answering(.subscribe { _, _ in Subscription {} })])
            other.start()
            other.send(.add(1)) { $0.count = 1 }
            other.finish()
        }
        #expect(
            messages == [
                "side effects still run at finish(): running: 1 side effect of answering; the time is 0.0 seconds; "
                    + "no task sleeps on the clock; let them end, or end them with stop()"
            ])
    }

    @Test func `reports that it was released without an end`() {
        let messages = failures {
            do {
                let store = makeStore()
                store.start()
                store.send(.start) { $0.isRunning = true }
                store.advance(by: .seconds(1))
            }
            _ = makeStore()
        }
        #expect(
            messages == [
                "a TestStore was released without finish() or stop(), so its remaining events were not checked; received "
                    + "and not asserted: 1 event: CounterEvent.tick; running: 1 side effect of ticking",
                "a TestStore was made and never started: call start()",
            ])
    }

    @Test func `compares states without == by their fields`() {
        struct Plain: Sendable {
            var names: [String] = []
        }
        let messages = failures {
            let store = TestStore<Plain, String>(initial: Plain()) { state, event in
                state.names.append(event)
                return .handled
            }
            store.start(expecting: Plain())
            store.send("a") { $0.names = ["a"] }
            store.send("b") { $0.names = ["b"] }
            store.finish()
        }
        #expect(
            messages == [
                """
                "b" leads to another state (- expected, + actual):
                  Plain(
                      names: [
                +         [0]: "a"
                          … 1 unchanged
                      ]
                  )
                """
            ])
    }

    @Test func `reports at the line of the caller`() {
        let collector = FailureCollector()
        FailureReport.$collector.withValue(collector) {
            let store = makeStore()
            store.start()
            store.send(.unknown)
            store.finish()
        }
        #expect(collector.failures.map { $0.place.line } == [#line - 3])
        #expect(collector.failures.map { "\($0.place.fileID)" } == [#fileID])
    }
}
