import FeedbackKit
import FeedbackKitTesting
import TestSupport
import Testing

private struct Shop: Equatable, Sendable {
    var total = 0
    var names: [String] = []
}

private enum Sale: Equatable, Sendable {
    case add(Int)
    case name(String)
    case noise
}

private enum Errand: Equatable, Sendable {
    case fetch(String)
    case forever
    case twice
}

private func makeStore(
    _ executor: any LoopExecutor, clock: any Clock<Duration>, limits: StoreLimits = StoreLimits()
) -> BaseStore<Shop, Errand, Sale> {
    BaseStore(
        state: Shop(),
        reducer: Reducer<Shop, Sale> { state, action in
            switch action {
            case .add(let number): state.total += number
            case .name(let name): state.names.append(name)
            case .noise: break
            }
        },
        thunk: Thunk { (_, errand: Errand, _) -> ThunkOutput<Errand, Sale> in
            switch errand {
            case .fetch(let name):
                .run { send in
                    guard (try? await clock.sleep(for: .seconds(1))) != nil else { return }
                    send(.sync(.name(name)))
                }
            case .forever: .actions(.async(.forever))
            case .twice: .actions(.sync(.add(1), .add(2)), .sync(.name("two")))
            }
        },
        middleware: Middleware { (_, action: Sale, _) in action == .noise ? [] : [action] },
        publishOn: executor, clock: clock, limits: limits)
}

@Suite struct TestBaseStoreTests {
    private func drive(_ limits: StoreLimits = StoreLimits()) -> TestBaseStore<Shop, Errand, Sale> {
        TestBaseStore { makeStore($0, clock: $0.clock, limits: limits) }
    }

    @Test func `a store that the program makes is driven to the last batch`() {
        let test = drive()
        test.dispatch(sync: .add(1), .add(2)) { $0.total = 3 }
        test.dispatch(sync: .noise)
        test.dispatch(async: .fetch("a"))
        test.advance(by: .seconds(1))
        test.receive(.name("a")) { $0.names = ["a"] }
        test.dispatch(async: .twice)
        test.receive(.add(1), .add(2)) { $0.total = 6 }
        test.receive(.name("two")) { $0.names = ["a", "two"] }
        #expect(test.state == Shop(total: 6, names: ["a", "two"]))
        test.finish()
    }

    @Test func `each thing that is not asserted is a failure of its own`() {
        let messages = failures {
            let test = drive()
            test.dispatch(sync: .add(1))
            test.dispatch(sync: .add(1)) { $0.total = 7 }
            test.receive(.name("a"))
            test.dispatch(async: .twice)
            test.receive(.add(1)) { $0.total = 3 }
            test.dispatch(async: .fetch("b"))
            test.finish()
            test.dispatch(sync: .add(1))
        }
        #expect(
            messages == [
                """
                dispatch(sync: [Sale.add(1)]) leads to a change that was not asserted (- before, + after):
                  Shop(
                -     total: 0
                +     total: 1
                      … 1 unchanged
                  )
                """,
                """
                dispatch(sync: [Sale.add(1)]) leads to another state (- expected, + actual):
                  Shop(
                -     total: 7
                +     total: 2
                      … 1 unchanged
                  )
                """,
                "expected [Sale.name(\"a\")], but no batch arrived; running: 0 thunks; the time is 0.0 seconds; "
                    + "no task sleeps on the clock",
                """
                expected another batch (- expected, + actual):
                  [
                      … 1 unchanged
                +     [1]: Sale.add(2)
                  ]
                """,
                "before dispatch(async: [Errand.fetch(\"b\")]): received and not asserted: 1 batch: "
                    + "[Sale.name(\"two\")]; assert each with receive",
                "thunks still run at finish(): 1; let them end, or end them with stop()",
                "dispatch(sync: [Sale.add(1)]) after the end: the store has been stopped",
            ])
    }

    @Test func `a dispatch that goes beyond a limit is asserted, or fails`() {
        let test = drive(StoreLimits(depth: 10))
        test.dispatch(async: .forever)
        #expect(test.receiveFault()?.code == .depthExceeded)
        test.finish()
        let messages = failures {
            let test = drive(StoreLimits(depth: 10))
            test.receiveFault()
            test.dispatch(async: .forever)
            test.stop()
        }
        #expect(messages.count == 2)
        #expect(messages.first?.hasPrefix("expected that a dispatch goes beyond a limit, but none has") == true)
        #expect(messages.last?.hasPrefix("before stop(): the dispatch was ended: Errand.forever came about") == true)
    }

    @Test func `a store that has run before, or runs elsewhere, cannot be driven, and a driver needs an end`() async {
        let used = makeStore(.sendersThread, clock: ContinuousClock())
        used.dispatch(sync: .add(1))
        let other = makeStore(HeldExecutor(), clock: ContinuousClock())
        let messages = failures {
            _ = TestBaseStore(used, in: Simulation())
            _ = TestBaseStore(other, in: Simulation())
            _ = drive()
        }
        #expect(
            messages == [
                "a TestBaseStore must see its store from the beginning, but something has been dispatched to this one "
                    + "already",
                "a TestBaseStore needs a store that turns on its simulation: make it with publishOn: simulation",
                "a TestBaseStore was released without finish() or stop(), so its remaining events were not checked",
            ])
        used.cancel()
        other.cancel()
    }

    @Test func `waits for batches from outside the simulation`() async {
        let gate = Gate()
        let test = TestBaseStore<Int, Int, Int> { simulation in
            BaseStore(
                state: 0, reducer: Reducer<Int, Int> { state, action in state += action },
                thunk: Thunk { (_, action: Int, _) -> ThunkOutput<Int, Int> in
                    .subscribe { send, finish in
                        let task = Task.detached {
                            await gate.opened()
                            send(.sync(action))
                            finish()
                        }
                        return Subscription { task.cancel() }
                    }
                }, publishOn: simulation, clock: simulation.clock)
        }
        test.dispatch(async: 5)
        gate.open()
        await test.waitForBatch(within: .seconds(60))
        test.receive(5) { $0 = 5 }
        test.stop()
    }
}

/// An executor that runs nothing.
private struct HeldExecutor: LoopExecutor {
    var eventsPerTurn: Int { 1 }
    func enqueue(_ turn: @escaping @Sendable () -> Void) {}
}
