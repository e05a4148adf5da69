import FeedbackKit
import FeedbackKitTesting
import Synchronization
import Testing
import TestSupport

private struct Counting: State, Equatable { let value: Int }
private struct Paused: State {}
private struct Add: Event, Equatable { var amount = 1 }
private struct Pause: Event {}

private func add(a: Int, state: Counting) -> (any Event)? { state.value == 0 ? Add(amount: a) : nil }
private func addLater(a: Int, b: Int, state: Counting) async -> (any Event)? {
    state.value == 0 ? Add(amount: a * b) : nil
}
private func five(a: Int, b: Int, c: Int, d: Int, f: Int, state: Counting) -> (any Event)? {
    state.value == 0 ? Add(amount: a + b + c + d + f) : nil
}

private func system(_ feedbacks: Feedbacks) -> System {
    System {
        InitialState { Counting(value: 0) }
        feedbacks
        Transitions {
            From(Counting.self) { state in
                On(Add.self, transitionTo: Counting.self) { event in Counting(value: state.value + event.amount) }
                On(Pause.self, transitionTo: Paused())
            }
        }
    }.execute(on: .sendersThread)
}

/// The effect of modifiers on a feedback and on its container.
@Suite(.timeLimit(.minutes(20))) struct `Modifiers of feedbacks` {
    @Test func `a disabled feedback starts nothing while the condition holds`() {
        let isDisabled = Atomic(true)
        let system = system(
            Feedbacks {
                Feedback(on: Counting.self, strategy: .continueOnNewState) { (state: Counting) -> (any Event)? in
                    state.value % 2 == 1 ? Add() : nil
                }.disable { isDisabled.load(ordering: .relaxed) }
            })
        system.start()
        system.send(Add())
        #expect(system.state as? Counting == Counting(value: 1))
        isDisabled.store(false, ordering: .relaxed)
        system.send(Add(amount: 2))
        #expect(system.state as? Counting == Counting(value: 4))
    }

    @Test func `states and events are told, by the feedback and by the container, and all closures are kept`() {
        let seen = Record<String>()
        let system = system(
            Feedbacks {
                Feedback(on: Counting.self, strategy: .continueOnNewState) { (state: Counting) -> (any Event)? in
                    state.value < 1 ? Add() : nil
                }
                .onStateReceived { seen.add("own state \($0)") }
                .onEventEmitted { seen.add("own event \($0)") }
            }
            .onStateReceived { seen.add("first state \($0)") }
            .onStateReceived { seen.add("second state \($0)") }
            .onEventEmitted { seen.add("first event \($0)") }
            .onEventEmitted { seen.add("second event \($0)") })
        system.start()
        #expect(
            seen.values == [
                "second state Counting(value: 0)", "first state Counting(value: 0)", "own state Counting(value: 0)",
                "own event Add(amount: 1)", "first event Add(amount: 1)", "second event Add(amount: 1)",
                "second state Counting(value: 1)", "first state Counting(value: 1)", "own state Counting(value: 1)",
            ])
    }

    @Test func `a container whose feedbacks receive no states is told of each state once`() {
        for isEmpty in [true, false] {
            let seen = Record<String>()
            let source = Feedback<any FeedbackKit.State, any FeedbackKit.Event>.source { _ in Subscription {} }
            let container = Feedbacks { if !isEmpty { source } }
            let system = system(
                container
                    .onStateReceived { seen.add("first \($0)") }
                    .onStateReceived { seen.add("second \($0)") })
            system.start()
            system.send(Add(amount: 1))
            #expect(
                seen.values == [
                    "second Counting(value: 0)", "first Counting(value: 0)",
                    "second Counting(value: 1)", "first Counting(value: 1)",
                ])
            system.cancel()
        }
    }

    @Test func `modifiers keep the executor, whatever their order`() async {
        let queue = QueueExecutor("feedback")
        for order in [0, 1] {
            let seen = Record<Bool>()
            let base = Feedback<any FeedbackKit.State, any FeedbackKit.Event>(
                on: Counting.self, strategy: .continueOnNewState
            ) { (state: Counting) -> (any Event)? in
                seen.add(queue.isCurrent)
                return state.value < 2 ? Add() : nil
            }
            let feedback =
                order == 0
                ? base.execute(on: .task(queue)).disable { false } : base.disable { false }.execute(on: .task(queue))
            let system = system(Feedbacks { feedback })
            system.start()
            // The third state may be stopped before the feedback sees it.
            _ = await first(of: system) { ($0 as? Counting)?.value == 2 }
            await system.stop()
            #expect(seen.values.prefix(2) == [true, true] && !seen.values.contains(false))
        }
    }

    @Test func `functions with dependencies become side effects`() async {
        for feedback in [
            Feedback(on: Counting.self, strategy: .continueOnNewState, perform: SideEffect.make(add, 12)),
            Feedback(on: Counting.self, strategy: .continueOnNewState, perform: SideEffect.make(addLater, 3, 4)),
            Feedback(on: Counting.self, strategy: .continueOnNewState, perform: SideEffect.make(five, 1, 2, 3, 4, 2)),
        ] {
            let system = system(Feedbacks { feedback })
            system.start()
            #expect(await first(of: system) { ($0 as? Counting)?.value == 12 } != nil)
            await system.stop()
        }
    }

    @Test func `dependencies may have the labels of Feedbacks`() async {
        for feedback in [
            Feedback(on: Counting.self, strategy: .continueOnNewState, perform: SideEffect.make(add, arg: 12)),
            Feedback(
                on: Counting.self, strategy: .continueOnNewState, perform: SideEffect.make(addLater, arg1: 3, arg2: 4)),
            Feedback(
                on: Counting.self, strategy: .continueOnNewState,
                perform: SideEffect.make(five, arg1: 1, arg2: 2, arg3: 3, arg4: 4, arg5: 2)),
        ] {
            let system = system(Feedbacks { feedback })
            system.start()
            #expect(await first(of: system) { ($0 as? Counting)?.value == 12 } != nil)
            await system.stop()
        }
        @Sendable func three(_ a: Int, _ b: Int, _ c: Int, _ state: Int) -> Int { a + b + c + state }
        @Sendable func four(_ a: Int, _ b: Int, _ c: Int, _ d: Int, _ state: Int) async -> Int { a + b + c + d + state }
        let sum: @Sendable (Int) -> Int = SideEffect.make(three, arg1: 1, arg2: 2, arg3: 3)
        let later: @Sendable (Int) async -> Int = SideEffect.make(four, arg1: 1, arg2: 2, arg3: 3, arg4: 4)
        #expect(sum(4) == 10)
        #expect(await later(5) == 15)
    }

    @Test func `the whole-stream form sees every state of its type in one stream`() async {
        let seen = Record<Int>()
        let feedback = Feedback<any FeedbackKit.State, any FeedbackKit.Event>(on: Counting.self) { states in
            states.compactMap { state -> (any Event)? in
                seen.add(state.value)
                return state.value < 5 ? Add() : Pause()
            }
        }
        // One value in two systems: each system has a stream of its own.
        for _ in 0..<2 {
            let system = system(Feedbacks { feedback }).execute(on: .sharedPool)
            system.start()
            _ = await first(of: system) { $0 is Paused }
            #expect(system.snapshot.feedbacks[0].running == 1)
            await system.stop(within: .seconds(60))
        }
        #expect(seen.values == [0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5])
    }

    @Test func `the whole-stream form on any state sees all of them`() async {
        let system = system(
            Feedbacks {
                Feedback(on: AnyState.self) { states in
                    states.map { state -> any Event in state is Counting ? Pause() : Add() }
                }
            })
        system.start()
        _ = await first(of: system) { $0 is Paused }
        await suspend(while: system.snapshot.counters.unhandled == 0)
        await system.stop()
    }
}

/// A feedback on a part of a state.
@Suite(.timeLimit(.minutes(20))) struct `Feedbacks on a part of a state` {
    private struct Whole: Sendable { var part: Int? }
    private enum Change: Sendable, Equatable {
        case set(Int?)
        case inner(String)
    }

    private func loop(_ feedback: Feedback<Int, String>, seen: Record<Change>) -> Loop<Whole, Change> {
        Loop(
            initial: Whole(part: nil),
            feedbacks: [
                feedback.pullback(
                    state: { (whole: Whole) in whole.part }, embed: Change.inner,
                    extract: { if case .inner(let text) = $0 { text } else { nil } })
            ],
            executor: .sendersThread
        ) { state, event in
            seen.add(event)
            if case .set(let part) = event { state.part = part }
            return .handled
        }
    }

    @Test func `it sees its part only, its own events, and a part that comes back is a beginning`() {
        let (seen, inner) = (Record<Change>(), Record<String>())
        let loop = loop(
            Feedback(cancellation: .never) { (state: Int, event: String?) in
                inner.add("\(state) \(event ?? "-")")
                return event == nil ? Effect.just("hello") : .nothing
            }, seen: seen)
        loop.start()
        loop.send(.set(1))
        loop.send(.set(nil))
        loop.send(.set(2))
        #expect(inner.values == ["1 -", "1 hello", "2 -", "2 hello"])
        #expect(seen.values == [.set(1), .inner("hello"), .set(nil), .set(2), .inner("hello")])
    }

    @Test func `when the part goes, what runs is cancelled`() {
        let (seen, ended) = (Record<Change>(), Record<String>())
        let loop = loop(
            Feedback(cancellation: .never) { (state: Int, event: String?) in
                event == nil && state == 1 ? Effect.subscribe { _, _ in Subscription { ended.add("ended") } } : .nothing
            }, seen: seen)
        loop.start()
        loop.send(.set(1))
        loop.send(.set(2))
        #expect(ended.values.isEmpty)
        loop.send(.set(nil))
        #expect(ended.values == ["ended"])
    }

    @Test func `several feedbacks in one value keep their order and their names`() {
        let seen = Record<String>()
        let feedback = Feedback<Int, Int>.combine(
            Feedback.sink(name: "first") { _, _ in seen.add("first") },
            Feedback.combine(Feedback.sink(name: "second") { _, _ in seen.add("second") }),
            Feedback.sink(name: "third") { _, _ in seen.add("third") })
        let loop = Loop<Int, Int>(initial: 0, feedbacks: [feedback], executor: .sendersThread) { _, _ in .handled }
        loop.start()
        #expect(seen.values == ["first", "second", "third"])
        #expect(loop.snapshot.feedbacks.map(\.name) == ["first", "second", "third"])
    }
}

/// Reducers and their combinations.
@Suite struct `Combining reducers` {
    private struct Whole: Equatable {
        var count = 0
        var maybe: Int?
    }

    @Test func `a reducer needs no environment, or one, or several`() {
        let none = Reducer<Int, Int> { $0 += $1 }
        let one = Reducer<Int, Int, String> { state, event, text in state += event + text.count }
        let two = Reducer<Int, Int, String, Bool> {
            (state: inout Int, event, text, isOn) in state += isOn ? event : text.count
        }
        var state = 0
        none(&state, 1)
        one(&state, 2, "four")
        two(&state, 9, "ab", false)
        #expect(state == 9)
        #expect(one(state: 1, action: 2, "three") == 8)
    }

    @Test func `they combine in order, each on what the one before has made`() {
        let reducer = Reducer<[Int], Int>.combine(
            Reducer { $0.append($1) }, .returning { state, _ in state + [state.count] })
        #expect(reducer(state: [], action: 7) == [7, 1])
    }

    @Test func `a pullback touches its part only, and an optional state only if it is there`() {
        let count = Reducer<Int, Int> { $0 += $1 }
        let whole = Reducer.combine(
            count.pullback(state: \Whole.count, event: { (event: String) in Int(event) }),
            count.optional().pullback(state: \Whole.maybe, event: { (event: String) in Int(event) }))
        #expect(whole(state: Whole(), action: "3") == Whole(count: 3, maybe: nil))
        #expect(whole(state: Whole(count: 1, maybe: 1), action: "3") == Whole(count: 4, maybe: 4))
        #expect(whole(state: Whole(count: 1, maybe: 1), action: "three") == Whole(count: 1, maybe: 1))
    }

    @Test func `logging tells the event and both states`() {
        let log = Record<String>()
        let reducer = Reducer<Int, Int> { $0 += $1 }.logging { log.add("\($1) + \($0) = \($2)") }
        #expect(reducer(state: 1, action: 2) == 3)
        #expect(log.values == ["1 + 2 = 3"])
    }
}

/// The executors of loops.
@Suite(.timeLimit(.minutes(20))) struct `Executors of the caller's own` {
    private actor Place {
        let seen = Record<Bool>()
        nonisolated func note() {
            preconditionIsolated()
            seen.add(true)
        }
    }

    private func turnThousand(on executor: some LoopExecutor, check: @escaping @Sendable () -> Void) async -> Int {
        let loop = Loop<Int, Int>(initial: 0, executor: executor) { state, event in
            check()
            state += event
            return .handled
        }
        loop.start()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 { group.addTask { for _ in 0..<250 { loop.send(1) } } }
        }
        await settled(loop)
        let sum = loop.state
        await loop.stop()
        return sum
    }

    @Test func `an actor: the loop turns in its isolation`() async {
        let place = Place()
        #expect(await turnThousand(on: .actor(place)) { place.note() } == 1000)
        #expect(place.seen.values.count == 1000)
    }

    @Test func `the main actor`() async {
        #expect(await turnThousand(on: .actor(MainActor.shared)) { MainActor.preconditionIsolated() } == 1000)
    }

    @Test func `a serial executor`() async {
        let executor = SerialQueueExecutor("serial")
        #expect(
            await turnThousand(on: .serial(executor)) { precondition(executor.isCurrent, "not on the queue") } == 1000)
    }

    @Test func `a quick function runs where its feedback's executor says, and is withdrawn when it comes too late`()
        async
    {
        let (place, last) = (Place(), Gate())
        let loop = Loop<Int, Int>(
            initial: 0,
            feedbacks: [
                Feedback(
                    cancellation: .onNewState,
                    answer: { (state: Int, _: Int?) in
                        place.note()
                        if state == 3 { last.open() }
                        return state < 3 ? 1 : nil
                    }
                ).execute(on: .actor(place))
            ]
        ) { state, event in
            state += event
            return .handled
        }
        loop.start()
        await last.opened()
        await loop.stop()
        #expect(loop.state == 3 && place.seen.values.count == 4)
    }
}
