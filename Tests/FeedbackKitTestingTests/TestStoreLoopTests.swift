import FeedbackKit
import FeedbackKitTesting
import Testing

extension `A test store` {
    @Test func `drives a loop that something around it has started`() {
        let store = TestStore<Counter, CounterEvent> { simulation, observer in
            let loop = Loop(
                initial: Counter(), feedbacks: [ticking], executor: simulation, clock: simulation.clock,
                observer: observer, reduce: reduceCounter)
            loop.start()
            return loop
        }
        store.start(expecting: Counter())
        store.send(.start) { $0.isRunning = true }
        store.advance(by: .seconds(1))
        store.receive(.tick) { $0.count = 1 }
        store.send(.stop) { $0.isRunning = false }
        store.finish()
    }

    @Test func `takes a reducer for its rules`() {
        let reducer = Reducer<Counter, CounterEvent> { state, event in _ = reduceCounter(&state, event) }
        let store = TestStore(initial: Counter(), reducer: reducer)
        store.start()
        store.send(.add(3)) { $0.count = 3 }
        store.send(.keep)
        store.finish()
    }

    @Test func `an observer of the test receives everything, however the loop is made`() {
        final class Watching: LoopObserver {
            typealias State = Counter
            typealias Event = CounterEvent
            let log = Log()
            func loopDidTransition(from old: Counter, to new: Counter, on event: CounterEvent) {
                log.add("\(old.count) → \(new.count)")
            }
        }
        let observer = Watching()
        let reducer = Reducer<Counter, CounterEvent> { state, event in _ = reduceCounter(&state, event) }
        let stores: [TestStore<Counter, CounterEvent>] = [
            TestStore(initial: Counter(), observer: observer, reducer: reducer),
            TestStore(initial: Counter(), observer: observer, reduce: reduceCounter),
            TestStore(observer: observer) { simulation, observer in
                Loop(
                    initial: Counter(), executor: simulation, clock: simulation.clock, observer: observer,
                    reduce: reduceCounter)
            },
        ]
        for store in stores {
            store.start()
            store.send(.add(3)) { $0.count = 3 }
            store.finish()
        }
        #expect(observer.log.lines == ["0 → 3", "0 → 3", "0 → 3"])
    }

    @Test func `a state may read the test's state while it is released`() {
        final class Asking: Sendable {
            private let ask: @Sendable () -> Void
            init(_ ask: @escaping @Sendable () -> Void) { self.ask = ask }
            deinit { ask() }
        }
        struct Holder: Sendable {
            var asking: Asking?
        }
        let asked = Log()
        let test = SharedValue<(@Sendable () -> Void)?>(nil)
        let store = TestStore<Holder, Int>(
            initial: Holder(),
            reduce: { state, event in
                state = Holder(
                    asking: event == 0
                        ? nil
                        : Asking {
                            asked.add("asked")
                            test.value?()
                        })
                return .handled
            })
        let look: @Sendable () -> Void = { [weak store] in _ = store?.state }
        test.with { $0 = look }
        store.start()
        let messages = failures {
            store.send(1)
            store.send(0)
        }
        #expect(messages.count == 2)
        #expect(asked.lines == ["asked"])
        store.finish()
    }

    @Test func `refuses a loop that has been started`() {
        let messages = failures {
            let loop = Loop<Int, Int>(initial: 0, executor: .sendersThread) { _, _ in .unhandled }
            loop.start()
            let store = TestStore(loop)
            store.start()
            store.send(1)
            store.finish()
        }
        #expect(messages == ["a TestStore must see its loop from the beginning, but this one has been started already"])
    }

    @Test func `drives a loop of its own making, and reports a different clock`() {
        let messages = failures {
            let loop = Loop(initial: Counter(), feedbacks: [ticking], reduce: reduceCounter)
            let store = TestStore(loop)
            store.start()
            store.receive(.tick)
            store.finish()
        }
        #expect(
            messages == [
                "expected to receive CounterEvent.tick, but no event arrived; no side effect runs; "
                    + "the time is 0.0 seconds; no task sleeps on the clock; "
                    + "the loop has another clock than the simulation, which does not drive it"
            ])
    }
}
