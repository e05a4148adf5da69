import FeedbackKit
import FeedbackKitTesting
import Foundation
import Synchronization
import Testing
import TestSupport

@Suite struct StoreOutcomeTests {
    enum Work: Sendable, Equatable { case first, second }

    static let adding = Reducer<Int, Int> { (state: inout Int, action: Int) in state += action }

    func store(
        on turns: HeldTurns, mailboxLimit: Int = .max, overflow: Overflow = .dropNewest
    ) -> BaseStore<Int, Work, Int> {
        let store = BaseStore<Int, Work, Int>(
            state: 0, reducer: Self.adding,
            thunk: Thunk<Int, Int, Work, Void> { (_, _: Work, _) -> ThunkOutput<Work, Int> in .nothing },
            publishOn: turns, mailboxLimit: mailboxLimit, overflow: overflow)
        turns.run()
        return store
    }

    @Test
    func `a dispatch that the end of the store discards is incomplete, and one that was taken before is finished`()
        async
    {
        let turns = HeldTurns()
        let store = store(on: turns)
        let taken = store.dispatch(sync: 1)
        let batch = store.dispatch(sync: 1, 1)
        turns.run()
        let discarded = store.dispatch(sync: 5)
        let discardedBatch = store.dispatch(sync: 5, 6)
        store.cancel()
        turns.run()
        #expect(discarded.result == .accepted && discardedBatch.result == .accepted)
        #expect(store.state == 3)
        #expect(await taken.value == .finished)
        #expect(await batch.value == .finished)
        #expect(await discarded.value == .incomplete)
        #expect(await discardedBatch.value == .incomplete)
    }

    @Test func `actions that wait when a store stops gracefully are taken, and their dispatch finishes`() async {
        let turns = HeldTurns()
        let store = store(on: turns)
        let dispatch = store.dispatch(sync: 5)
        store.beginStop()
        let refused = store.dispatch(sync: 7)
        turns.run()
        #expect(store.state == 5)
        #expect(await dispatch.value == .finished)
        #expect(await refused.value == .refused(.dropped(.stopped)))
    }

    @Test(arguments: [Overflow.dropOldest, .keepLatest])
    func `a dispatch that makes room for another is incomplete`(overflow: Overflow) async {
        let turns = HeldTurns()
        let store = store(on: turns, mailboxLimit: 1, overflow: overflow)
        let taken = store.dispatch(sync: 1)
        turns.run()
        let (first, second) = (store.dispatch(sync: 5), store.dispatch(sync: 6, 7))
        let third = store.dispatch(sync: 9)
        turns.run()
        #expect(store.state == 10)
        #expect(await turns.run(until: { await taken.value }) == .finished)
        #expect(await turns.run(until: { await first.value }) == .incomplete)
        #expect(await turns.run(until: { await second.value }) == .incomplete)
        #expect(await turns.run(until: { await third.value }) == .finished)
        store.cancel()
        turns.run()
    }

    @Test(arguments: [Overflow.dropNewest, .dropOldest])
    func `an empty dispatch ends when the actions before it have been taken`(overflow: Overflow) async {
        let turns = HeldTurns()
        let store = store(on: turns, mailboxLimit: 1, overflow: overflow)
        store.dispatch(sync: 5)
        let empty = store.dispatch(sync: [])
        let seen = await turns.run(until: { [store] in
            _ = await empty.value
            return store.state
        })
        #expect(seen == 5)
        store.cancel()
        turns.run()
    }

    @Test func `the outcomes of many senders are those of their actions`() async {
        for overflow in [Overflow.dropNewest, .dropOldest] {
            let store = BaseStore<Int, Never, Int>(
                state: 0, reducer: Self.adding, mailboxLimit: 3, overflow: overflow)
            let finished = await withTaskGroup(of: Int.self, returning: Int.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        var finished = 0
                        for _ in 0..<500 where await store.dispatch(sync: 1).value == .finished { finished += 1 }
                        return finished
                    }
                }
                return await group.reduce(0, +)
            }
            #expect(store.state == finished)
        }
    }

    @Test func `a store whose mailbox may not overflow knows why it ended`() async {
        let turns = HeldTurns()
        let store = store(on: turns, mailboxLimit: 1, overflow: .fail)
        #expect(store.fault == nil)
        let taken = store.dispatch(sync: 1)
        turns.run()
        let waiting = store.dispatch(sync: 5)
        store.dispatch(sync: 7)
        turns.run()
        #expect(store.fault?.error is MailboxFull)
        #expect(store.lastFault == nil)
        #expect(await taken.value == .finished)
        #expect(await waiting.value == .incomplete)
    }

    @Test(arguments: [false, true])
    func `watching async actions does not change the behaviour of a bounded store`(isWatched: Bool) async {
        let turns = HeldTurns()
        let store = store(on: turns, mailboxLimit: 1, overflow: .dropOldest)
        let seen = Record<Work>()
        let watching = isWatched ? store.watchAsyncActions { seen.add($0) } : nil
        turns.run()
        let dispatch = store.dispatch(serially: true, collect: false, actions: [.async([.first, .second])])
        // Takes only the dispatch; its task runs on the pool and reaches its actions while a batch waits.
        turns.runOne()
        store.dispatch(sync: 5)
        _ = await dispatch.value
        turns.run()
        #expect(store.state == 5)
        #expect(seen.values == (isWatched ? [.first, .second] : []))
        withExtendedLifetime(watching) {}
        store.cancel()
        turns.run()
    }

    @Test func `a watcher of an endless serial dispatch only slows it down`() async {
        let turns = HeldTurns()
        let limits = StoreLimits(depth: .max)
        let begun = Counter()
        let store = BaseStore<Int, Work, Int>(
            state: 0, reducer: Self.adding,
            thunk: Thunk<Int, Int, Work, Void> { (_, work: Work, _) -> ThunkOutput<Work, Int> in
                begun.add(1)
                return .actions(.async(work))
            }, publishOn: turns, limits: limits)
        let seen = Counter()
        let watching = store.watchAsyncActions { _ in seen.add(1) }
        turns.run()
        let dispatch = store.dispatch(serially: true, async: .first)
        turns.runOne()
        // The turn may have shown some already, while its dispatch ran.
        let shown = seen.value
        await suspend(while: begun.value < 1_024 + shown)
        for _ in 0..<1_000 { await Task.yield() }
        #expect(begun.value == 1_024 + shown)
        // The loop then continues.
        await turns.run(until: { await suspend(while: seen.value < 1_025 + shown) })
        dispatch.cancel()
        #expect(await turns.run(until: { await dispatch.value }) == .cancelled)
        withExtendedLifetime(watching) {}
        store.cancel()
        turns.run()
    }

    @Test func `actions that are still computed as a replay begins are refused, and not lost`() async {
        let turns = HeldTurns()
        let store = store(on: turns)
        let recording = Recording<Int, Int>(application: "", initial: 100, entries: [.init(at: 0, actions: [1])])
        let (results, dispatched) = (Record<DispatchResult>(), Gate())
        Thread.detachNewThread {
            let actions = (0..<1).lazy.map { _ -> EitherAction<Work, Int> in
                Task { await store.replay(recording, pace: .immediately) }
                blockThread(until: store.isReplaying && turns.isWaiting)
                return .sync(5)
            }
            results.add(store.dispatch(serially: false, collect: false, actions: actions).result)
            dispatched.open()
        }
        await dispatched.opened()
        while store.isReplaying {
            turns.run()
            await Task.yield()
        }
        #expect(results.values == [.locked])
        #expect(store.state == 101)
        store.cancel()
        turns.run()
    }

    @Test func `an action accepted as a replay begins is taken before it`() async {
        let recording = Recording<Int, Int>(application: "", initial: 100, entries: [.init(at: 0, actions: [1])])
        let store = BaseStore<Int, Never, Int>(state: 0, reducer: Self.adding)
        let taken = Counter()
        let watching = store.watchActions(.beforeMiddleware) { taken.add($0.count) }
        let accepted = await withTaskGroup(of: Int.self, returning: Int.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    var accepted = 0
                    for _ in 0..<2_000 where store.dispatch(sync: 1).result == .accepted { accepted += 1 }
                    return accepted
                }
            }
            group.addTask {
                for _ in 0..<100 {
                    #expect(await store.replay(recording, pace: .immediately).outcome == .finished)
                }
                return 0
            }
            return await group.reduce(0, +)
        }
        await store.dispatch(sync: []).ended()
        #expect(taken.value == accepted)
        withExtendedLifetime(watching) {}
    }
}
