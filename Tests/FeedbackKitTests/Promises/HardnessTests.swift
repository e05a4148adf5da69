import FeedbackKit
import FeedbackKitTesting
import Synchronization
import Testing
import TestSupport

/// Random walks, compared with a model of the rules. Each is reproducible from its seed.
@Suite(.timeLimit(.minutes(20))) struct `What holds in every run` {
    init() { Traveller.departIfWanted() }

    @Test(arguments: 1...UInt64(40 * soakFactor))
    func `any interleaving of senders keeps each sender's order`(seed: UInt64) async {
        var random = SplitMix64(seed: seed)
        let senders = Int.random(in: 1...12, using: &random)
        let events = Int.random(in: 1...400, using: &random)
        let queue = QueueExecutor("loop")
        let executors: [any LoopExecutor] = [.sharedPool, .sendersThread, .task(queue), .actor(MainActor.shared)]
        let executor = executors[Int.random(in: 0..<executors.count, using: &random)]
        let limit = Bool.random(using: &random) ? Int.random(in: 1...64, using: &random) : .max
        let startsLate = Bool.random(using: &random)

        let loop = Loop<[[Int]], (sender: Int, number: Int)>(
            initial: Array(repeating: [], count: senders), mailboxLimit: limit, overflow: .block
        ) { state, event in
            state[event.sender].append(event.number)
            return .handled
        }
        loop.setExecutor(executor)
        if !startsLate { loop.start() }
        let begun = Counter()
        await withTaskGroup(of: Void.self) { group in
            for sender in 0..<senders {
                group.addTask {
                    for number in 0..<events {
                        // The last sender to begin starts the loop, so a full mailbox never waits for a start.
                        if startsLate, number == 0 {
                            let last = begun.add(1) == senders
                            if last { loop.start() }
                        }
                        await loop.sendWhenRoom((sender, number))
                    }
                }
            }
        }
        await settled(loop)
        #expect(loop.state == Array(repeating: Array(0..<events), count: senders))
        #expect(loop.counters.events == UInt64(senders * events))
        await loop.stop()
    }

    /// Many senders that cannot wait, on loops with a contended lock. Every accepted event is taken in its sender's
    /// order, even if the loop is stopped at once.
    @Test(arguments: [false, true]) func `nothing that was accepted is lost, however crowded`(isWatched: Bool) async {
        for round in 0..<(200 * soakFactor) {
            let loop = Loop<[[Int]], (sender: Int, number: Int)>(initial: Array(repeating: [], count: 8)) {
                state, event in
                state[event.sender].append(event.number)
                return .handled
            }
            let watching = isWatched ? loop.watch { _ in } : nil
            loop.start()
            let accepted = Record<Int>()
            await withTaskGroup(of: Void.self) { group in
                for sender in 0..<8 {
                    group.addTask {
                        let results = (0..<40).map { loop.send((sender, $0)) }
                        accepted.add(results.count { $0 == .accepted })
                    }
                }
                if round % 2 == 0 { group.addTask { loop.beginStop() } }
            }
            await loop.stop()
            #expect(loop.state.reduce(0) { $0 + $1.count } == accepted.values.reduce(0, +))
            #expect(loop.state.allSatisfy { $0 == $0.sorted() && Set($0).count == $0.count })
            if round % 2 == 1 { #expect(loop.counters.events == 320) }
            watching?.cancel()
        }
    }

    /// The rule by which a feedback of the model treats its running effect.
    private enum Strategy: CaseIterable {
        case cancelOnNewState, continueOnNewState, cancelOnEven, replacePrevious, named, namedAndKept
    }

    private enum Move: Sendable, CaseIterable {
        case next, stay, unknown, cancelNamed
    }

    @Test(arguments: 1...UInt64(300 * soakFactor))
    func `any sequence of states and strategies leaves exactly the effects running that the rules say`(seed: UInt64)
        async
    {
        var random = SplitMix64(seed: seed)
        let strategies = (0..<Int.random(in: 1...5, using: &random)).map { _ in
            Strategy.allCases.randomElement(using: &random) ?? .named
        }
        // A feedback answers only states whose number is a multiple of its period.
        let periods = strategies.map { _ in Int.random(in: 1...3, using: &random) }
        let running = Effects()

        let feedbacks = strategies.indices.map { index -> Feedback<Int, Move> in
            let strategy = strategies[index]
            let rule: CancellationRule<Int> =
                switch strategy {
                case .cancelOnNewState: .onNewState
                case .cancelOnEven: .when { $0 % 2 == 0 }
                default: .never
                }
            return Feedback(cancellation: rule) { (state: Int, event: Move?) in
                if case .cancelNamed = event { return .cancel(id: "name") }
                guard state % periods[index] == 0 else { return .nothing }
                let effect = Effect<Move>.subscribe { _, _ in
                    running.insert(index, state)
                    return Subscription { running.remove(index, state) }
                }
                return switch strategy {
                case .replacePrevious: effect.replacingPrevious()
                case .named: effect.id("name")
                case .namedAndKept: effect.id("name", replacing: false)
                default: effect
                }
            }
        }
        let loop = Loop<Int, Move>(initial: 0, feedbacks: feedbacks, executor: .sendersThread) { state, move in
            switch move {
            case .next, .cancelNamed:
                state += 1
                return .handled
            case .stay:
                state += 100
                return .stay
            case .unknown: return .unhandled
            }
        }

        var model: [Set<Int>] = Array(repeating: [], count: strategies.count)
        /// The effect that holds the name.
        var named: (feedback: Int, state: Int)?
        func enter(_ state: Int, by move: Move?) {
            for (index, strategy) in strategies.enumerated() where move != nil {
                if strategy == .cancelOnNewState { model[index] = [] }
            }
            for (index, strategy) in strategies.enumerated() {
                if strategy == .cancelOnEven, move != nil, state % 2 == 0 { model[index] = [] }
                if move == .cancelNamed {
                    if let held = named { model[held.feedback].remove(held.state) }
                    named = nil
                    continue
                }
                guard state % periods[index] == 0 else { continue }
                switch strategy {
                case .replacePrevious: model[index] = [state]
                case .named:
                    if let held = named { model[held.feedback].remove(held.state) }
                    named = (index, state)
                    model[index].insert(state)
                case .namedAndKept:
                    guard named == nil else { continue }
                    named = (index, state)
                    model[index].insert(state)
                default: model[index].insert(state)
                }
            }
        }

        var state = 0
        loop.start()
        enter(0, by: nil)
        for step in 0..<60 {
            #expect(running.sets(count: strategies.count) == model, "after \(step) moves")
            let move = Move.allCases.randomElement(using: &random) ?? .next
            loop.send(move)
            if move == .next || move == .cancelNamed {
                state += 1
                enter(state, by: move)
            }
        }
        #expect(running.sets(count: strategies.count) == model)
        #expect(loop.snapshot.feedbacks.map(\.running) == model.map(\.count))
        loop.cancel()
        await loop.stopped()
        #expect(running.sets(count: strategies.count) == strategies.map { _ in [] })
    }

    /// The running effects.
    private final class Effects: Sendable {
        private struct Entry: Hashable {
            let feedback: Int
            let state: Int
        }
        private let entries = Mutex<Set<Entry>>([])
        func insert(_ feedback: Int, _ state: Int) {
            entries.withLock { _ = $0.insert(Entry(feedback: feedback, state: state)) }
        }
        func remove(_ feedback: Int, _ state: Int) {
            entries.withLock { _ = $0.remove(Entry(feedback: feedback, state: state)) }
        }
        func sets(count: Int) -> [Set<Int>] {
            let entries = entries.withLock { $0 }
            return (0..<count).map { feedback in Set(entries.filter { $0.feedback == feedback }.map(\.state)) }
        }
    }

    @Test(arguments: 1...UInt64(repetitions(60 * soakFactor)))
    func `stop and cancel at any moment leave no task alive`(seed: UInt64) async {
        var random = SplitMix64(seed: seed)
        let alive = Counter()
        let feedbacks: [Feedback<Int, Int>] = [
            Feedback(cancellation: .onNewState) { (state: Int, _: Int?) in
                Effect.run { send in
                    alive.add(1)
                    defer { alive.add(-1) }
                    for _ in 0..<(state % 3) { await Task.yield() }
                    send(1)
                }
            },
            Feedback(cancellation: .never) { (state: Int, _: Int?) in
                guard state % 5 == 0 else { return .nothing }
                return Effect.run { send in
                    alive.add(1)
                    defer { alive.add(-1) }
                    // This effect ignores its cancellation.
                    for _ in 0..<20 { await Task.yield() }
                    send(2)
                }
            },
            Feedback(cancellation: .never) { (state: Int, _: Int?) in
                Effect.after(.seconds(1000), 3).id("timer").untilStop()
            },
            Feedback(cancellation: .never) { (state: Int, _: Int?) in
                guard state % 4 == 0 else { return .nothing }
                return Effect.attempt { send in
                    alive.add(1)
                    defer { alive.add(-1) }
                    try await send.clock.sleep(for: .seconds(1000))
                }.timeout(after: .seconds(500), 4).replacingPrevious()
            },
            .source { send in
                alive.add(1)
                let task = Task {
                    while !Task.isCancelled {
                        send(5)
                        await Task.yield()
                    }
                    alive.add(-1)
                }
                return Subscription { task.cancel() }
            },
        ]
        let loop = Loop<Int, Int>(initial: 0, feedbacks: feedbacks, clock: ManualClock()) { state, _ in
            state += 1
            return .handled
        }
        let moment = Int.random(in: 0...200, using: &random)
        let way = Int.random(in: 0...3, using: &random)
        loop.start()
        await suspend(while: loop.state < moment)
        switch way {
        case 0: loop.cancel()
        case 1: await loop.stop(within: .zero)
        case 2:
            let run = Task { try await loop.run() }
            run.cancel()
            _ = await run.result
        default:
            loop.beginStop()
            loop.cancel()
        }
        await loop.stopped()
        // A source's own task may be one step behind its subscription; all other effects have ended.
        await suspend(while: alive.value > 0)
        #expect(loop.snapshot.feedbacks.map(\.running) == [0, 0, 0, 0, 0])
        #expect(loop.send(1) == .dropped(.stopped))
    }
}
