import FeedbackKit
import Testing

/// A model of workers and senders with one queue. Each step is one access to shared data.
private struct PoolModel: Hashable {
    /// The next step of a thread.
    enum Step: Hashable {
        /// A sender adds one of its remaining items.
        case add(Int)
        /// A thread reads the roster, changes it, calls the woken worker, and continues with `then`.
        indirect case read(then: Step)
        indirect case wake(then: Step)
        indirect case call(Int, then: Step)
        /// The steps of a worker.
        case look(isSearching: Bool)
        case endSearch
        case lookForMore
        case run
        case park(wasSearching: Bool)
        case lookAgain
        case reclaim
        case wait
        case end
    }

    var roster: Roster
    var waiting = 0
    var done = 0
    var isCalled: [Bool]
    var steps: [Step]
    let workers: Int
    /// A Boolean value that indicates whether an idle worker searches once more.
    let looksAgain: Bool

    init(workers: Int, senders: [Int], looksAgain: Bool = true) {
        roster = Roster(idle: workers)
        isCalled = Array(repeating: false, count: workers)
        steps = Array(repeating: .wait, count: workers) + senders.map { .add($0) }
        self.workers = workers
        self.looksAgain = looksAgain
    }

    /// The model after the next step of a thread; `nil` without such a step.
    func next(_ thread: Int) -> PoolModel? {
        var model = self
        switch steps[thread] {
        case .end, .add(0): return nil
        case .add(let left):
            model.waiting += 1
            model.steps[thread] = .read(then: .add(left - 1))
        case .read(let then):
            model.steps[thread] = roster.searches == 0 && roster.idle != 0 ? .wake(then: then) : then
        case .wake(let then):
            model.steps[thread] = model.roster.wake(.max).map { .call($0, then: then) } ?? then
        case .call(let worker, let then):
            model.isCalled[worker] = true
            model.steps[thread] = then
        case .look(let isSearching):
            if waiting > 0 {
                model.waiting -= 1
                model.steps[thread] = isSearching ? .endSearch : .run
            } else {
                model.steps[thread] = .park(wasSearching: isSearching)
            }
        case .endSearch:
            model.steps[thread] = model.roster.endSearch() ? .lookForMore : .run
        case .lookForMore:
            model.steps[thread] = waiting > 0 ? .read(then: .run) : .run
        case .run:
            model.done += 1
            model.steps[thread] = .look(isSearching: false)
        case .park(let wasSearching):
            model.roster.park(thread, wasSearching: wasSearching)
            model.steps[thread] = looksAgain ? .lookAgain : .wait
        case .lookAgain:
            model.steps[thread] = waiting > 0 ? .reclaim : .wait
        case .reclaim:
            model.steps[thread] = model.roster.reclaim(thread) ? .look(isSearching: true) : .wait
        case .wait:
            guard isCalled[thread] else { return nil }
            model.isCalled[thread] = false
            model.steps[thread] = .look(isSearching: true)
        }
        return model
    }

    /// The number of reachable models, and those in which no thread has a step.
    func explored() -> (count: Int, ends: [PoolModel]) {
        var seen: Set<PoolModel> = [self]
        var open = [self]
        var ends: [PoolModel] = []
        while let model = open.popLast() {
            let following = model.steps.indices.compactMap(model.next)
            if following.isEmpty { ends.append(model) }
            for next in following where seen.insert(next).inserted { open.append(next) }
        }
        return (seen.count, ends)
    }
}

@Suite struct `The roster of a pool` {
    @Test(arguments: [(1, [3]), (2, [2]), (2, [1, 1]), (2, [2, 2]), (3, [3]), (3, [1, 2])])
    func `in every order of steps, all that is added is run, and all workers are idle in the end`(
        workers: Int, senders: [Int]
    ) {
        let (count, ends) = PoolModel(workers: workers, senders: senders).explored()
        #expect(count > 30)
        for end in ends {
            #expect(end.waiting == 0 && end.done == senders.reduce(0, +))
            #expect(end.roster == Roster(idle: workers) && !end.isCalled.contains(true))
        }
        #expect(!ends.isEmpty)
    }

    /// Proves that the test above can fail.
    @Test func `without a second look a wake-up is lost in some order`() {
        let (_, ends) = PoolModel(workers: 1, senders: [2], looksAgain: false).explored()
        #expect(ends.contains { $0.waiting > 0 })
    }

    @Test func `the lowest of those that are asked for is woken`() {
        var roster = Roster(idle: 4)
        let first = roster.wake(0b1100)
        #expect(first == 2 && roster.idle == 0b1011 && roster.searches == 1)
        // One looks for work: nobody else is woken.
        let second = roster.wake(.max)
        #expect(second == nil)
        let isLast = roster.endSearch()
        #expect(isLast)
        let third = roster.wake(0b0100)
        #expect(third == nil)
    }

    @Test func `forty-eight have room`() {
        var roster = Roster(idle: Roster.limit)
        for index in 0..<Roster.limit {
            let woken = roster.wake(.max)
            _ = roster.endSearch()
            #expect(woken == index)
        }
        #expect(roster.idle == 0 && roster.searches == 0)
    }
}
