import FeedbackKit
import Testing

/// What the document's application has, with an address instead of a `URL` and a loader instead of a `URLSession`.
enum Redux {
    struct State: Equatable, Codable {
        var text: String?
        var counter: Int
    }

    enum Action {
        enum Sync: Codable, Equatable {
            case modify(Modification)
            case setText(String?)

            enum Modification: Codable, Equatable {
                case increase
                case decrease
                case set(Int)
            }
        }

        enum Async: Equatable {
            case networkCall(String)
            case reset
        }
    }

    struct Environment {
        let load: @Sendable (String) async throws -> [UInt8]
    }

    enum Reducers {
        static let main = Reducer<State, Action.Sync, Environment> { state, action, environment in
            switch action {
            case let .modify(action):
                state.counter = modification(state: state.counter, action: action, environment)
            case let .setText(text):
                state.text = text
            }
        }

        static let modification = Reducer<Int, Action.Sync.Modification, Environment> { state, action, _ in
            switch action {
            case .increase:
                state += 1
            case .decrease:
                state -= 1
            case let .set(value):
                state = value
            }
        }
    }

    static let thunk: Thunk<State, Action.Sync, Action.Async, Environment> = .init {
        state, action, environment async -> [EitherAction<Action.Async, Action.Sync>] in
        switch action {
        case let .networkCall(url):
            do {
                let data = try await environment.load(url)
                return [.sync(await state.map { .modify(.set($0.counter + data.count)) })]
            } catch {
                return [.sync(.setText("\(error)"))]
            }
        case .reset:
            return [
                .modify(.set(0)),
                .setText(nil),
            ]
            .map { .sync($0) }
        }
    }

    struct Offline: Error {}

    static let environment = Environment { url in
        guard url != "offline" else { throw Offline() }
        return [UInt8](repeating: 0, count: url.utf8.count)
    }

    static func makeStore(publishOn executor: any LoopExecutor = .sharedPool) -> Store {
        Store(
            state: .init(counter: 0),
            reducer: Reducers.main,
            thunk: thunk,
            environment: environment,
            publishOn: executor
        )
    }
}

// The document's own type aliases; the first one hides the module's name where it is seen.
extension Redux {
    typealias Store = BaseStore<Redux.State, Redux.Action.Async, Redux.Action.Sync>
}
typealias SubStore<SubState: Equatable & Sendable, SubAction: Sendable> = LensedStore<
    Redux.State, SubState, Redux.Action.Async, Redux.Action.Sync, SubAction
>

@Suite struct StoreDocumentTests {
    @Test func `the counter of the document counts, through the store and through its lenses`() async {
        let store = Redux.makeStore()
        let counterStore: SubStore<Int, Redux.Action.Sync.Modification> = store.lensing(
            state: \.counter,
            actions: { .modify($0) }
        )
        let textStore: SubStore<String?, String?> = store.lensing(
            state: \.text,
            actions: { .setText($0) }
        )
        store.dispatch(sync: .modify(.decrease))
        counterStore.dispatch(sync: .increase)
        counterStore.dispatch(sync: .increase)
        #expect(await textStore.dispatch(sync: "hello").value == .finished)
        #expect(store.state == .init(text: "hello", counter: 1))
        #expect(counterStore.state == 1)
        #expect(textStore.state == "hello")
    }

    @Test func `the network call of the document adds what it loaded to the state it finds when it is done`() async {
        let store = Redux.makeStore()
        await store.dispatch(sync: .modify(.set(100))).ended()
        #expect(await store.dispatch(async: .networkCall("12345")).value == .finished)
        #expect(store.state.counter == 105)
        await store.dispatch(async: .networkCall("offline")).ended()
        #expect(store.state == .init(text: "Offline()", counter: 105))
        await store.dispatch(async: .reset).ended()
        #expect(store.state == .init(text: nil, counter: 0))
    }
}
