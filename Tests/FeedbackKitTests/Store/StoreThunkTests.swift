import FeedbackKit
import FeedbackKitTesting
import TestSupport
import Testing

@Suite struct StoreThunkTests {
    @Test func `async actions run side by side, and their actions are taken as they arrive`() async {
        let gates = TallyGates()
        let store = tallyStore(gates: gates)
        let dispatch = store.dispatch(async: .both("a"), .both("b"))
        await until(store) { $0.log.count == 2 }
        gates["b"].open()
        await until(store) { $0.log.last == "b ends" }
        gates["a"].open()
        #expect(await dispatch.value == .finished)
        #expect(Set(store.state.log.prefix(2)) == ["a begins", "b begins"])
        #expect(store.state.log.suffix(2) == ["b ends", "a ends"])
    }

    @Test func `async actions dispatched serially run one after the other`() async {
        let gates = TallyGates()
        gates["b"].open()
        let store = tallyStore(gates: gates)
        let dispatch = store.dispatch(
            serially: true, .async(.both("a"), .chain(2)), .sync(.note("between")), .async(.both("b")))
        await until(store) { $0.log == ["a begins"] }
        gates["a"].open()
        #expect(await dispatch.value == .finished)
        #expect(store.state.log == ["a begins", "a ends", "end", "between", "b begins", "b ends"])
        #expect(store.state.total == 2)
    }

    @Test func `all that a serial action leads to comes before the next element of its thunk`() async {
        let store = BaseStore<[String], String, String>(
            state: [], reducer: Reducer<[String], String> { $0.append($1) },
            thunk: Thunk { (_, name, _) -> AsyncStream<EitherAction<String, String>> in
                AsyncStream { continuation in
                    continuation.yield(.sync(name + "("))
                    if name.count < 3 { continuation.yield(.async(name + "x", name + "y")) }
                    continuation.yield(.sync(")" + name))
                    continuation.finish()
                }
            })
        await store.dispatch(serially: true, async: "a").ended()
        #expect(
            store.state == [
                "a(", "ax(", "axx(", ")axx", "axy(", ")axy", ")ax", "ay(", "ayx(", ")ayx", "ayy(", ")ayy", ")ay", ")a",
            ])
    }

    @Test func `collecting gathers every sync action of the tree into one batch`() async {
        let store = tallyStore()
        let states = Record<Tally>()
        let subscription = store.watchStates { states.add($0) }
        let outcome = await store.dispatch(
            collect: true, .sync(.note("first")), .async(.chain(50)), .sync(.note("second"))
        ).value
        #expect(outcome == .finished)
        #expect(states.values.count == 2)
        // The chain runs beside the actions after it, so its end comes at any place behind the first one.
        #expect(states.values.last?.total == 50)
        #expect(states.values.last?.log.first == "first")
        #expect(states.values.last?.log.sorted() == ["end", "first", "second"])
        await store.dispatch(collect: true, .sync(.add(1)), .sync(.add(1))).ended()
        #expect(states.values.count == 3)
        withExtendedLifetime(subscription) {}
    }

    @Test(arguments: [false, true]) func `a cancelled dispatch ends, and nothing of it comes any more`(
        serially: Bool
    ) async {
        let gates = TallyGates()
        let store = tallyStore(gates: gates)
        let dispatch = store.dispatch(serially: serially, async: .both("a"), .wait("b"))
        await until(store) { $0.log == ["a begins"] }
        dispatch.cancel()
        gates["a"].open()
        gates["b"].open()
        #expect(await dispatch.value == .cancelled)
        #expect(store.state.log == ["a begins"])
        // The end of the task may come a moment later.
        await suspend(while: store.snapshot.feedbacks.map(\.running) != [0])
        let collected = store.dispatch(collect: true, .sync(.add(1)), .async(.wait("c")))
        collected.cancel()
        gates["c"].open()
        #expect(await collected.value == .cancelled)
        #expect(store.state.total == 0)
    }

    @Test(arguments: [false, true]) func `an action that yields itself for ever is ended by the limit of depth`(
        serially: Bool
    ) async {
        let faults = Record<StoreFault>()
        let store = tallyStore(limits: StoreLimits(depth: 100), onFault: { faults.add($0) })
        let outcome = await store.dispatch(serially: serially, async: .forever).value
        guard case .failed(let fault) = outcome else {
            Issue.record("it ended as \(outcome)")
            return
        }
        #expect(fault.code == .depthExceeded)
        #expect(
            fault.message == """
                the dispatch was ended: TallyWork.forever came about by more than 100 actions each of which led to \
                the next, and StoreLimits.depth is 100; let the thunk loop instead of yielding its own action, or raise the limit
                """)
        #expect(faults.values == [fault])
        #expect(store.faultCount == 1 && store.lastFault == fault)
        await store.dispatch(sync: .nothing).ended()
        #expect(store.state.total <= 101)
    }

    @Test(arguments: [false, true]) func `without a limit it goes on, at the same depth of the stack, until cancelled`(
        serially: Bool
    ) async {
        let store = tallyStore(limits: StoreLimits(depth: .max))
        let dispatch = store.dispatch(serially: serially, async: .forever)
        let reached = Gate()
        let subscription = store.watchStates { if $0.total >= 20_000 { reached.open() } }
        await reached.opened()
        subscription.cancel()
        dispatch.cancel()
        #expect(await dispatch.value == .cancelled)
        let total = store.state.total
        await store.dispatch(sync: .nothing).ended()
        #expect(store.state.total == total)
    }

    @Test func `a dispatch that multiplies is ended by the limit of outstanding actions`() async {
        let store = tallyStore(limits: StoreLimits(outstanding: 64))
        guard case .failed(let fault) = await store.dispatch(async: .fork).value else {
            Issue.record("it went on")
            return
        }
        #expect(fault.code == .tooManyOutstanding)
        #expect(
            fault.message == """
                the dispatch was ended: more than 64 of its async actions were under way at a time \
                (StoreLimits.outstanding); dispatch them serially, or raise the limit
                """)
    }

    @Test func `a dispatch that collects too much is ended by its limit`() async {
        let store = tallyStore(limits: StoreLimits(collected: 10))
        guard case .failed(let fault) = await store.dispatch(collect: true, async: .chain(20)).value else {
            Issue.record("it went on")
            return
        }
        #expect(fault.code == .tooManyCollected)
        #expect(store.state == Tally())
    }

    @Test func `a thunk reads the state when its work is done, with its own actions`() async {
        let store = BaseStore<Int, Int, Int>(
            state: 5, reducer: Reducer<Int, Int> { $0 = $1 },
            thunk: Thunk { (state, factor, _, send) async in
                send(.sync(await state.map { $0 * factor }))
                send(.sync(await state() + 1))
            })
        await store.dispatch(async: 10).ended()
        #expect(store.state == 51)
    }

    @Test(arguments: [false, true]) func `a callback source ends its dispatch when it reports its end`(
        serially: Bool
    ) async {
        let mediator = PassthroughMediator<Int>()
        let ready = Gate()
        let store = BaseStore<[Int], Int, Int>(
            state: [], reducer: Reducer<[Int], Int> { $0.append($1) },
            thunk: Thunk { (_, last, _) -> ThunkOutput<Int, Int> in
                .subscribe { send, finish in
                    let subscription = mediator.subscribe { value in
                        send(.sync(value))
                        if value == last { finish() }
                    }
                    ready.open()
                    return subscription
                }
            })
        let dispatch = store.dispatch(serially: serially, async: 3)
        await ready.opened()
        for value in 1...5 { mediator.send(value) }
        #expect(await dispatch.value == .finished)
        #expect(store.state == [1, 2, 3])
        #expect(mediator.snapshot.subscribers == 0)
    }

    @Test(arguments: [false, true]) func `cancelling the store leaves no task and no subscription`(
        serially: Bool
    ) async {
        let mediator = PassthroughMediator<Int>()
        let begun = Gate()
        let store = BaseStore<Int, Int, Int>(
            state: 0, reducer: Reducer<Int, Int> { $0 += $1 },
            thunk: Thunk { (_, kind, _) -> ThunkOutput<Int, Int> in
                switch kind {
                case 0:
                    .subscribe { send, _ in
                        begun.open()
                        return mediator.subscribe { send(.sync($0)) }
                    }
                case 1: .run { _ in try? await ManualClock().sleep(for: .seconds(1)) }
                default: .sequence(AsyncStream { _ in })
                }
            })
        let dispatches = [0, 1, 2].map { store.dispatch(serially: serially, async: $0) }
        await begun.opened()
        store.cancel()
        await store.stopped()
        for dispatch in dispatches {
            let outcome = await dispatch.value
            #expect(outcome == .cancelled || outcome == .incomplete)
        }
        #expect(mediator.snapshot.subscribers == 0)
        #expect(store.snapshot.feedbacks.map(\.running) == [0])
    }

    @Test func `a graceful stop waits for thunks, and drops the actions that they still yield`() async {
        let gates = TallyGates()
        let store = tallyStore(gates: gates)
        let dispatch = store.dispatch(async: .both("a"))
        await until(store) { $0.log == ["a begins"] }
        store.beginStop()
        #expect(store.snapshot.phase == .stopping)
        gates["a"].open()
        await store.stopped()
        #expect(await dispatch.value == .incomplete)
        #expect(store.state.log == ["a begins"])
    }

    @Test func `async actions are seen when they are given to the thunk`() async {
        for serially in [false, true] {
            let store = tallyStore()
            let seen = Record<TallyWork>()
            let (states, changes) = (Record<Int>(), Record<Int>())
            let subscriptions = [
                store.watchAsyncActions({ seen.add($0) }), store.watchStates { states.add($0.total) },
                store.watchChanges { changes.add($0.total) },
            ]
            await store.dispatch(serially: serially, async: .chain(2)).ended()
            await store.dispatch(sync: .nothing).ended()
            #expect(seen.values == [.chain(2), .chain(1), .chain(0)])
            #expect(states.values == [0, 1, 2, 2, 2])
            #expect(changes.values == [0, 1, 2, 2])
            withExtendedLifetime(subscriptions) {}
        }
    }
}
