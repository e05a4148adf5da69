import Dispatch
import FeedbackKit
import FeedbackKitOpenCombine
import FeedbackKitTesting
import Foundation
import FoundationNetworking
import OpenCombine
import OpenCombineDispatch
import OpenCombineFoundation
import Testing

// The examples of the documentation of Recombine.

private enum Redux {
    // Changed: `Codable`, as the document recommends for recordings; today Swift synthesizes the conformances.
    struct State: Equatable, Codable {
        var text: String?
        var counter: Int
    }
}

// Use enums for your actions to ensure a well typed implementation.
extension Redux {
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

        enum Async {
            case networkCall(URL)
            case reset
        }
    }
}

// Also create an environment type for any data needed by all elements.
extension Redux {
    struct Environment {
        let queue: DispatchQueue
    }
}

extension Redux {
    // Changed: the document's enum has the name `Reducer` too, which hides the type that it uses. A nested reducer
    // receives the environment in its call.
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
}

extension Redux {
    static let thunk: Thunk<State, Action.Sync, Action.Async, Environment> = .init {
        state, action, _ -> AnyPublisher<EitherAction<Action.Async, Action.Sync>, Never> in
        switch action {
        case let .networkCall(url):
            // Changed: explicit types where today's Swift infers none, and a patient session.
            return URLSession.patient
                .dataTaskPublisher(for: url)
                .flatMap { data, _ in
                    state.map {
                        Action.Sync.modify(.set($0.counter + data.count))
                    }
                }
                .catch { error in
                    Just(Action.Sync.setText(error.localizedDescription))
                }
                .map { .sync($0) }
                .eraseToAnyPublisher()
        case .reset:
            return [
                Action.Sync.modify(.set(0)),
                .setText(nil),
            ]
            .map { .sync($0) }
            .publisher
            .eraseToAnyPublisher()
        }
    }

    static let asyncThunk: Thunk<State, Action.Sync, Action.Async, Environment> = .init {
        state, action, _ async -> [EitherAction<Action.Async, Action.Sync>] in
        switch action {
        case let .networkCall(url):
            do {
                let (data, _) = try await URLSession.patient.data(from: url)
                return [.sync(await state.map { .modify(.set($0.counter + data.count)) })]
            } catch {
                return [.sync(.setText(error.localizedDescription))]
            }
        case .reset:
            return [
                .modify(.set(0)),
                .setText(nil),
            ]
            .map { .sync($0) }
        }
    }
}

// It's recommended to create typealiases
// Changed: parameters are `Sendable`.
private typealias Store = BaseStore<Redux.State, Redux.Action.Async, Redux.Action.Sync>
private typealias SubStore<SubState: Equatable & Sendable, SubAction: Sendable> = LensedStore<
    Redux.State, SubState, Redux.Action.Async, Redux.Action.Sync, SubAction
>

extension Redux {
    // Changed: a function instead of one static store, so that tests do not share it. The environment is explicit.
    // `RunLoop.main` is `DispatchQueue.main`, because the main thread of a test runs no run loop.
    fileprivate static func store(_ form: Form) -> Store {
        Store(
            state: .init(counter: 0),
            reducer: Reducers.main,
            thunk: form == .publisher ? thunk : asyncThunk,
            environment: Environment(queue: .main),
            publishOn: DispatchQueue.main
        )
    }
}

/// The document's `ContentView`. Changed: without SwiftUI, `@EnvironmentObject`s are properties, the body is text, and
/// the buttons are functions.
private struct ContentView {
    var store: Store
    var counterStore: SubStore<Int, Redux.Action.Sync.Modification>
    var textStore: SubStore<String?, String?>

    var body: String {
        if let text = textStore.state {
            "Error: \(text) \(counterStore.state)"
        } else {
            "\(counterStore.state)"
        }
    }

    func minus() -> Dispatch {
        store.dispatch(sync: .modify(.decrease))
    }

    func plus() -> Dispatch {
        counterStore.dispatch(sync: .increase)
    }

    // Changed: the address is that of a local server.
    func networkRequest(_ url: URL) -> Dispatch {
        store.dispatch(async: .networkCall(url))
    }

    func reset() -> Dispatch {
        store.dispatch(async: .reset)
    }

    init(_ store: Store) {
        self.store = store
        counterStore = store.lensing(
            state: \.counter,  // Using a keypath to narrow the state to just the counter
            actions: { .modify($0) }  // Using a function to narrow our actions to just modifictions
        )
        textStore = store.lensing(
            state: \.text,
            actions: { .setText($0) }  // You can even narrow your actions to a singular action with no sub-actions!
        )
    }
}

@Suite(.timeLimit(.minutes(5)))
struct RecombineDocumentTests {
    private static func server(_ gate: Gate? = nil) throws -> LocalServer {
        try LocalServer { _ in
            gate?.pass()
            return LocalServer.Response(body: Data("12345".utf8))
        }
    }

    @Test(arguments: Form.allCases) func `the buttons of the view change the counter and the text`(form: Form)
        async throws
    {
        let server = try Self.server()
        let store = Redux.store(form)
        let view = ContentView(store)
        #expect(view.body == "0")
        await view.plus().ended()
        await view.plus().ended()
        await view.minus().ended()
        #expect(view.body == "1")
        await view.networkRequest(try server.url("/")).ended()
        #expect(view.body == "6", "the counter and the five bytes of the answer")
        await view.reset().ended()
        #expect(view.body == "0")
        await store.stop()
        server.stop()
    }

    @Test(arguments: Form.allCases) func `a network error becomes the text`(form: Form) async throws {
        let server = try Self.server()
        let url = try server.url("/")
        server.stop()  // No server listens there any more.
        let store = Redux.store(form)
        let view = ContentView(store)
        await view.networkRequest(url).ended()
        #expect(view.body.hasPrefix("Error: "))
        await view.reset().ended()
        #expect(view.body == "0")
        await store.stop()
    }

    @Test(arguments: Form.allCases) func `a thunk reads the state when its work is done`(form: Form) async throws {
        let gate = Gate()
        let server = try Self.server(gate)
        let store = Redux.store(form)
        let view = ContentView(store)
        let request = view.networkRequest(try server.url("/"))
        await view.plus().ended()
        gate.open()
        await request.ended()
        #expect(view.body == "6", "what was pressed meanwhile counts")
        await store.stop()
        server.stop()
    }

    @Test(arguments: Form.allCases) func `each action of a thunk gives one state, published on the main queue`(
        form: Form
    ) async {
        let log = Log<String>()
        let key = DispatchSpecificKey<Bool>()
        DispatchQueue.main.setSpecific(key: key, value: true)
        let store = Redux.store(form)
        let watching = store.publisher.sink { state in
            log.add("\(state.counter) \(state.text ?? "-") \(DispatchQueue.getSpecific(key: key) == true)")
        }
        await store.dispatch(sync: .modify(.set(7)), .setText("a")).ended()
        await store.dispatch(async: .reset).ended()
        #expect(log.entries.filter { $0.hasSuffix("false") } == [])
        #expect(log.entries == ["0 - true", "7 a true", "0 a true", "0 - true"])
        watching.cancel()
        await store.stop()
    }

    @Test(arguments: Form.allCases) func `a lensed store is not updated by irrelevant changes`(form: Form) async {
        let store = Redux.store(form)
        let view = ContentView(store)
        let log = Log<String>()
        let texts = view.textStore.changesPublisher.sink { log.add("text \($0 ?? "-")") }
        let counts = view.counterStore.changesPublisher.sink { log.add("count \($0)") }
        await store.dispatch(sync: .modify(.increase)).ended()
        await view.textStore.dispatch(sync: "b").ended()
        await view.counterStore.dispatch(sync: .set(1)).ended()
        #expect(log.entries == ["text -", "count 0", "count 1", "text b"])
        texts.cancel()
        counts.cancel()
        await store.stop()
    }

    @Test func `async twin: a lensed store is not updated by irrelevant changes`() async {
        let store = Redux.store(.async)
        let view = ContentView(store)
        let changes = view.textStore.changes
        await store.dispatch(sync: .modify(.increase)).ended()
        await view.textStore.dispatch(sync: "b").ended()
        await store.stop()
        var texts: [String?] = []
        for await text in changes { texts.append(text) }
        #expect(texts == [nil, "b"])
    }

    @Test func `a nested reducer deals with one field`() {
        let environment = Redux.Environment(queue: .main)
        #expect(Redux.Reducers.modification(state: 3, action: .decrease, environment) == 2)
        let state = Redux.Reducers.main(state: .init(text: "a", counter: 3), action: .modify(.set(9)), environment)
        #expect(state == Redux.State(text: "a", counter: 9))
    }

    // "Replay: … you can replay these actions using a custom handler". "Screenshotting: … you can serialise lists of
    // actions into JSON, … and deserialise them into lists of actions to be applied".
    @Test(arguments: Form.allCases) func `actions are recorded, saved as JSON, and replayed to the same state`(
        form: Form
    ) async throws {
        let server = try Self.server()
        let store = Redux.store(form)
        let view = ContentView(store)
        store.startRecording()
        await view.plus().ended()
        await view.networkRequest(try server.url("/")).ended()
        await view.textStore.dispatch(sync: "c").ended()
        let recorded: Recording<Redux.State, Redux.Action.Sync>? = await store.stopRecording(application: "1.0")
        let recording = try #require(recorded)
        #expect(store.state == Redux.State(text: "c", counter: 6))
        await store.stop()

        let json = try JSONEncoder().encode(recording)
        let loaded = try JSONDecoder().decode(Recording<Redux.State, Redux.Action.Sync>.self, from: json)
        #expect(loaded.entries.flatMap(\.actions) == [.modify(.increase), .modify(.set(6)), .setText("c")])
        let other = Redux.store(form)
        await other.dispatch(sync: .modify(.set(100))).ended()
        let requests = server.requests.count
        let result = await other.replay(loaded, pace: .immediately)
        #expect(result.outcome == .finished)
        #expect(other.state == Redux.State(text: "c", counter: 6))
        #expect(server.requests.count == requests, "a replay does not ask the network")
        await other.stop()
        server.stop()
    }
}
