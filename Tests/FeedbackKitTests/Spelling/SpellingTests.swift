import FeedbackKit
import FeedbackKitTesting
import Testing

/// Spellings that the compiler must accept without additional types.
@Suite struct SpellingTests {
    struct Number: FeedbackKit.State, Equatable { var value = 0 }
    struct Other: FeedbackKit.State {}
    struct Next: Event { var step = 1 }

    typealias Plain = Feedback<Int, Int>
    typealias Declared = Feedback<any State, any Event>

    static func fetch(_ number: Int) async -> Int? { number < 3 ? number + 1 : nil }

    // MARK: Feedbacks of a typed loop

    static func effectsOfNothing() -> Plain { .effects { _ in nil } }
    static func effectsByCondition() -> Plain { .effects { state in state > 0 ? .just(1) : .nothing } }
    static func middlewareOfNothing() -> Plain { .eventMiddleware { state, event in nil } }
    static func effectAtOnce() -> Plain { Feedback(cancellation: .never) { state, event in .just(1) } }
    static func answerOrNone() -> Plain { Feedback(cancellation: .never) { state, event in state > 0 ? 1 : nil } }
    static func effectThatSends() -> Plain { Feedback { state, _ in .run { send in send(state) } } }
    static func asyncAnswer() -> Plain { Feedback(skippingRepeated: { $0 }) { state in await fetch(state) } }
    static func effectInStatements() -> Plain {
        Feedback { state, _ in
            guard state > 0 else { return .nothing }
            return .run { send in send(state) }
        }
    }

    @Test(arguments: [
        (effectsOfNothing(), 1, 1), (effectsByCondition(), 1, 3), (middlewareOfNothing(), 1, 1),
        (effectAtOnce(), 0, 3), (answerOrNone(), 1, 3), (effectThatSends(), 1, 3), (asyncAnswer(), 1, 3),
        (effectInStatements(), 1, 3),
    ])
    func `feedbacks of a typed loop`(feedback: Plain, first: Int, last: Int) async {
        let loop = Loop<Int, Int>(initial: first, feedbacks: [feedback]) { state, event in
            guard state < 3 else { return .stay }
            state = min(3, state + max(1, event))
            return .handled
        }
        loop.start()
        for await state in loop.states() where state == last { break }
        #expect(loop.state == last)
        loop.cancel()
        await loop.stopped()
    }

    // MARK: Feedbacks of a system

    static func answerOfNothing() -> Declared { Feedback(on: Number.self, strategy: .cancelOnNewState) { _ in nil } }
    static func answerInStatements() -> Declared {
        Feedback(on: Number.self, strategy: .cancelOnNewState) { state in
            guard state.value < 3 else { return nil }
            return Next()
        }
    }
    static func effectOnState() -> Declared {
        Feedback(on: Number.self, strategy: .cancelOnNewState) { state in Effect.run { send in send(Next()) } }
    }
    static func effectOnStateInStatements() -> Declared {
        Feedback(on: Number.self, strategy: .continueOnNewState) { state in
            guard state.value < 3 else { return .nothing }
            return .just(Next(step: 3))
        }
    }
    static func effectOnAnyState() -> Declared {
        Feedback(on: AnyState.self, strategy: .cancelOnNewState) { state in Effect.run { send in send(Next()) } }
    }
    static func asyncOnState() -> Declared {
        Feedback(on: Number.self, strategy: .cancelOnNewState) { state async in
            await fetch(state.value).map { _ in Next() }
        }
    }
    static func sendingOnState() -> Declared {
        Feedback(on: Number.self, strategy: .cancelOnNewState) { state, send in send(Next()) }
    }

    @Test(arguments: [
        (answerOfNothing(), 0), (answerInStatements(), 3), (effectOnState(), 3), (effectOnStateInStatements(), 3),
        (effectOnAnyState(), 3), (asyncOnState(), 3), (sendingOnState(), 3),
    ])
    func `feedbacks of a system`(feedback: Declared, last: Int) async {
        let system = System {
            InitialState { Number() }
            Feedbacks { feedback }
            Transitions {
                From(Number.self) { state in
                    On(Next.self, transitionTo: AnyState.self) { event -> any State in
                        state.value < 3 ? Number(value: min(3, state.value + event.step)) : Other()
                    }
                    .disable { state.value >= 3 }
                }
            }
        }
        let end = Task { await first(of: system) { ($0 as? Number)?.value == last } }
        system.start()
        #expect((await end.value as? Number)?.value == last)
        system.cancel()
    }

    // MARK: Stores, loops and thunks

    static func storeOfTypedReducer() -> BaseStore<Int, Never, Int> {
        BaseStore(state: 0, reducer: Reducer { (state: inout Int, action: Int) in state += action })
    }
    static func storeOfReducer() -> BaseStore<Int, Never, Int> {
        BaseStore(state: 0, reducer: Reducer { state, action in state += action })
    }
    static func thunkOfActions() -> Thunk<Int, Int, Int, Void> { Thunk { state, action, _ in [.sync(action)] } }
    static func thunkThatAsks() -> Thunk<Int, Int, Int, Void> {
        Thunk { state, action, _ in .sync(await state() + action) }
    }
    static func storeOfThunk() -> BaseStore<Int, Int, Int> {
        BaseStore(
            state: 0, reducer: Reducer<Int, Int> { state, action in state += action },
            thunk: Thunk { _, action, _ in [.sync(action)] })
    }

    @Test func `stores of reducers and thunks`() async {
        for store in [Self.storeOfTypedReducer(), Self.storeOfReducer()] {
            store.dispatch(sync: 1)
            await store.dispatch(sync: [1, 2]).ended()
            #expect(store.state == 4)
        }
        let store = Self.storeOfThunk()
        await store.dispatch(async: 1).ended()
        await store.dispatch(.sync(1), .async(2)).ended()
        #expect(store.state == 4)
        for thunk in [Self.thunkOfActions(), Self.thunkThatAsks()] {
            let reducer = Reducer<Int, Int> { state, action in state += action }
            let store = BaseStore(state: 0, reducer: reducer, thunk: thunk)
            await store.dispatch(async: 5).ended()
            #expect(store.state == 5)
        }
    }

    static func loopThatChanges() -> Loop<Int, Int> {
        system(initial: 0, reduce: { state, event in state += event }, feedbacks: []).makeLoop()
    }
    static func loopThatReturns() -> Loop<Int, Int> {
        system(initial: 0, reduce: { state, event in state + event }, feedbacks: []).makeLoop()
    }

    @Test func `loops of typed systems`() async {
        for loop in [Self.loopThatChanges(), Self.loopThatReturns()] {
            loop.start()
            loop.send(3)
            await settled(loop)
            #expect(loop.state == 3)
            loop.cancel()
        }
    }

    // MARK: Attaching

    @Test func `a closure without types attaches in the direction that its answer says`() {
        let mediator = PassthroughMediator<Int>()
        let seen = Record<Int>()
        let watching = mediator.subscribe { seen.add($0) }
        let system = System {
            InitialState { Number() }
            Transitions {
                From(Number.self) { state in On(Next.self, transitionTo: Number(value: state.value + 1)) }
            }
        }.execute(on: .sendersThread)
        system.attach(to: mediator) { _ in nil }
            .attach(to: mediator) { $0 is Number ? 1 : nil }
            .attach(to: mediator) { $0 == 2 ? Next() : nil }
        system.start()
        mediator.send(2)
        #expect(seen.values == [1, 2, 1] || seen.values == [1, 1, 2])
        #expect(system.state as? Number == Number(value: 1))
        watching.cancel()
        system.cancel()
    }
}
