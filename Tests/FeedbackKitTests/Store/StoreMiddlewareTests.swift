import FeedbackKit
import TestSupport
import Testing

@Suite struct StoreMiddlewareTests {
    typealias Words = BaseStore<[String], String, String>
    let reducer = Reducer<[String], String> { $0.append($1) }

    @Test func `middleware drops, changes and adds, and sees the state before the batch`() {
        let store = Words(
            state: ["first"], reducer: reducer,
            middleware: Middleware { (state, action, _) in
                switch action {
                case "drop": []
                case "double": ["one", "two"]
                default: ["\(action) after \(state.count)"]
                }
            }, publishOn: .sendersThread)
        store.dispatch(sync: "a", "drop", "double", "b")
        #expect(store.state == ["first", "a after 1", "one", "two", "b after 1"])
    }

    @Test func `what middleware dispatches goes through all of it again, behind what waits`() async {
        let store = Words(
            state: [], reducer: reducer,
            thunk: Thunk { (_, action, _) -> [EitherAction<String, String>] in [.sync(action + " done")] },
            middleware: Middleware(
                Middleware { (_, action, dispatch, _) in
                    if action == "again" {
                        dispatch(sync: "once more", "and more")
                        dispatch(async: "work")
                        return []
                    }
                    return [action]
                },
                Middleware { (_, action, _) in [action.uppercased()] }))
        await store.dispatch(sync: ["again", "x"]).ended()
        await store.dispatch(sync: []).ended()
        await store.dispatch(sync: []).ended()
        #expect(store.state == ["X", "ONCE MORE", "AND MORE", "WORK DONE"])
    }

    @Test func `a dispatch that is awaited includes what middleware dispatches for it`() async {
        let store = Words(
            state: [], reducer: reducer,
            thunk: Thunk { (_, action, _) -> [EitherAction<String, String>] in [.sync(action)] },
            middleware: Middleware { (_, action, dispatch, _) in
                if action.count < 50 { dispatch(sync: action + "+") }
                return [action]
            })
        await store.dispatch(async: "a").ended()
        #expect(store.state.count == 50)
    }

    @Test func `a sync dispatch includes what middleware dispatches for it`() async {
        let (started, release, cancelled) = (Gate(), Gate(), Gate())
        let store = Words(
            state: [], reducer: reducer,
            thunk: Thunk { (_, action, _) async -> [EitherAction<String, String>] in
                started.open()
                await withTaskCancellationHandler {
                    await release.opened()
                } onCancel: {
                    cancelled.open()
                }
                return [.sync(action)]
            },
            middleware: Middleware { (_, action, dispatch, _) in
                if action == "go" { dispatch(async: "work") }
                return [action]
            })
        let first = store.dispatch(sync: "go")
        await started.opened()
        first.cancel()
        await cancelled.opened()
        release.open()
        #expect(await first.value == .cancelled)
        await store.dispatch(sync: "go").ended()
        #expect(store.state == ["go", "go", "work"])
        await store.dispatch(sync: "a", "go").ended()
        #expect(store.state == ["go", "go", "work", "a", "go", "work"])
    }

    @Test func `middleware that dispatches what it sees is ended by the limit of depth`() async {
        let store = Words(
            state: [], reducer: reducer,
            middleware: Middleware { (_, action, dispatch, _) in
                dispatch(sync: action)
                return []
            }, publishOn: .sendersThread, limits: StoreLimits(depth: 1_000))
        store.dispatch(sync: "again")
        #expect(store.faultCount == 1)
        #expect(store.lastFault?.code == .depthExceeded)
    }

    @Test func `the hook sees each batch between middleware and reducer`() {
        let seen = Record<[String]>()
        let store = Words(
            state: [], reducer: Reducer<[String], String> { $0.append($1 + "\(seen.values.count)") },
            middleware: Middleware { (_, action, _) in action == "drop" ? [] : [action + "!"] },
            sideEffect: StoreSideEffect(
                StoreSideEffect { seen.add($0) }, StoreSideEffect { seen.add(["second"] + $0) }),
            publishOn: .sendersThread)
        store.dispatch(sync: "a", "b")
        store.dispatch(sync: "drop")
        store.dispatch(sync: "c")
        #expect(seen.values == [["a!", "b!"], ["second", "a!", "b!"], ["c!"], ["second", "c!"]])
        #expect(store.state == ["a!2", "b!2", "c!4"])
    }

    @Test func `actions are seen before and after the middleware`() {
        let store = Words(
            state: [], reducer: reducer,
            middleware: Middleware { (_, action, _) in action == "drop" ? [] : [action, action] },
            publishOn: .sendersThread)
        let (before, after) = (Record<[String]>(), Record<[String]>())
        let subscriptions = [
            store.watchActions(.beforeMiddleware, { before.add($0) }),
            store.watchActions(.afterMiddleware, { after.add($0) }),
        ]
        store.dispatch(sync: "a", "drop")
        store.dispatch(sync: "drop")
        #expect(before.values == [["a", "drop"], ["drop"]])
        #expect(after.values == [["a", "a"]])
        withExtendedLifetime(subscriptions) {}
    }

    @Test func `reducers nest, concatenate, and get their environment`() {
        struct Environment: Sendable { let step: Int }
        struct Pair: Equatable, Sendable {
            var left = 0
            var right = 0
        }
        let one = Reducer<Int, Int, Environment> { state, action, environment in state += action * environment.step }
        let both = Reducer<Pair, Int, Environment>.combine(
            Reducer { state, action, environment in one(&state.left, action, environment) },
            Reducer { state, action, environment in
                state.right = one(state: state.right, action: action, environment) + 1
            })
        let store = BaseStore<Pair, Never, Int>(
            state: Pair(), reducer: both, environment: Environment(step: 10), publishOn: .sendersThread)
        store.dispatch(sync: 1, 2)
        #expect(store.state == Pair(left: 30, right: 32))
    }
}
