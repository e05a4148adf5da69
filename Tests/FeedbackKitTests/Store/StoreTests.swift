import FeedbackKit
import FeedbackKitTesting
import Synchronization
import Testing

@Suite struct StoreTests {
    @Test func `the first dispatch is never lost, over 10 000 fresh stores`() async {
        for number in 0..<10_000 {
            let store = tallyStore()
            let outcome = await store.dispatch(sync: .add(number)).value
            #expect(outcome == .finished && store.state.total == number)
        }
    }

    @Test func `a batch gives one new state`() async {
        let store = tallyStore(publishOn: .sendersThread)
        let states = Record<Int>()
        let subscription = store.watchStates { states.add($0.total) }
        store.dispatch(sync: .add(1), .add(2), .add(3))
        store.dispatch(sync: [.add(10), .add(20)])
        store.dispatch(.sync(.add(100)), .sync(.add(200), .add(300)))
        #expect(states.values == [0, 6, 36, 136, 636])
        withExtendedLifetime(subscription) {}
    }

    @Test func `a state that does not differ is an update, but no change`() async {
        let store = tallyStore(publishOn: .sendersThread)
        let (states, changes) = (Record<Int>(), Record<Int>())
        let subscriptions = [
            store.watchStates { states.add($0.total) }, store.watchChanges { changes.add($0.total) },
        ]
        store.dispatch(sync: .nothing)
        store.dispatch(sync: .add(1))
        store.dispatch(sync: .add(1), .add(-1))
        #expect(states.values == [0, 0, 1, 1])
        #expect(changes.values == [0, 1])
        withExtendedLifetime(subscriptions) {}
    }

    @Test func `a hundred thousand dispatches from eight tasks keep each sender's order`() async {
        struct Last: Equatable, Sendable {
            var last = [Int](repeating: -1, count: 8)
            var faults = 0
            var count = 0
        }
        let store = BaseStore<Last, Never, Int>(
            state: Last(),
            reducer: Reducer<Last, Int> { state, action in
                let (sender, number) = (action % 8, action / 8)
                if state.last[sender] != number - 1 { state.faults += 1 }
                state.last[sender] = number
                state.count += 1
            })
        await withTaskGroup(of: Void.self) { group in
            for sender in 0..<8 {
                group.addTask {
                    for number in 0..<12_500 { store.dispatch(sync: number * 8 + sender) }
                }
            }
        }
        await store.dispatch(sync: []).ended()
        #expect(store.state.count == 100_000)
        #expect(store.state.faults == 0)
    }

    @Test func `nothing is kept of a million dispatches`() async {
        struct Load: Sendable { let counted: TallyCounted }
        let store = BaseStore<Int, Load, Load>(
            state: 0, reducer: Reducer<Int, Load> { state, _ in state += 1 },
            thunk: Thunk { (_, load, _) -> [EitherAction<Load, Load>] in [.sync(load)] },
            publishOn: .sendersThread)
        for _ in 0..<1_000_000 { store.dispatch(sync: Load(counted: TallyCounted())) }
        for _ in 0..<10_000 { store.dispatch(async: Load(counted: TallyCounted())) }
        for _ in 0..<1_000 { await store.dispatch(serially: true, async: Load(counted: TallyCounted())).ended() }
        #expect(store.state == 1_011_000)
        await store.stop()
        // The task of a thunk releases its action a moment after it has reported its end.
        for _ in 0..<1_000_000 where TallyCounted.living.load(ordering: .relaxed) > 0 { await Task.yield() }
        #expect(TallyCounted.living.load(ordering: .relaxed) == 0)
    }

    @Test func `a released store is gone, and its streams end`() async {
        weak var loop: AnyObject?
        var store: TallyStore? = tallyStore()
        weak let known = store
        loop = store
        let changes = store?.changes
        await store?.dispatch(sync: .add(1)).ended()
        store = nil
        var count = 0
        if let changes { for await _ in changes { count += 1 } }
        #expect(count == 2)
        #expect(known == nil && loop == nil)
    }

    @Test func `watchers are called in the order in which they subscribed`() async {
        let store = tallyStore(publishOn: .sendersThread)
        let told = Record<String>()
        let subscriptions = [
            store.watchActionsAndStates({ told.add("pair \($0.previous.total)→\($0.current.total)") }),
            store.watchChanges { told.add("change \($0.total)") },
            store.watchActions(.afterMiddleware, { told.add("after \($0.count)") }),
            store.lensing(state: \.total).watchChanges { told.add("lens \($0)") },
            store.watchStates { told.add("state \($0.total)") },
        ]
        store.dispatch(sync: .add(1), .add(1))
        #expect(
            told.values == [
                "change 0", "lens 0", "state 0", "pair 0→2", "change 2", "after 2", "lens 2", "state 2",
            ])
        for subscription in subscriptions { subscription.cancel() }
        store.dispatch(sync: .add(1))
        #expect(told.values.count == 8)
    }

    @Test func `an action dispatched from within a watcher queues`() async {
        let store = tallyStore(publishOn: .sendersThread)
        let seen = Record<Int>()
        let first = store.watchChanges { [weak store] state in
            if state.total < 5 { store?.dispatch(sync: .add(1)) }
            seen.add(state.total)
        }
        let second = store.watchChanges { seen.add($0.total * 10) }
        store.dispatch(sync: .add(-3))
        #expect(seen.values == [0, 1, 2, 3, 4, 5, 50, 2, 20, 3, 30, 4, 40, 5, 50])
        withExtendedLifetime((first, second)) {}
    }

    @Test func `a stopped store refuses actions and reports it`() async {
        let store = tallyStore()
        await store.stop()
        #expect(store.dispatch(sync: .add(1)).result == .dropped(.stopped))
        #expect(await store.dispatch(sync: .add(1)).value == .refused(.dropped(.stopped)))
        #expect(await store.dispatch(async: .forever).value == .refused(.dropped(.stopped)))
        #expect(await store.dispatch(serially: true, async: .forever).value == .refused(.dropped(.stopped)))
    }

    @Test func `a full mailbox drops the newest action, and the dispatch reports it`() async {
        let turns = HeldTurns()
        let store = BaseStore<Int, Never, Int>(
            state: 0, reducer: Reducer<Int, Int> { state, action in state += action }, publishOn: turns,
            mailboxLimit: 2)
        turns.run()
        #expect(store.dispatch(sync: 1).result == .accepted)
        #expect(store.dispatch(sync: 2).result == .accepted)
        let refused = store.dispatch(sync: 4)
        #expect(refused.result == .dropped(.mailboxFull))
        turns.run()
        #expect(await refused.value == .refused(.dropped(.mailboxFull)))
        #expect(store.state == 3)
        store.cancel()
        turns.run()
    }
}
