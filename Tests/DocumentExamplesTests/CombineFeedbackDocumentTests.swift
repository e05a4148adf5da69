import FeedbackKit
import FeedbackKitOpenCombine
import FeedbackKitTesting
import Foundation
import FoundationNetworking
import OpenCombine
import OpenCombineFoundation
import Testing

// The examples of the documentation of CombineFeedback. Without SwiftUI, a view is a value whose body is text, a button
// is a label with a function, and a text field is a binding.

/// A stand-in for SwiftUI's `Button`.
private struct Button: Sendable {
    let label: String
    let action: @Sendable () -> Void
}

// MARK: "ViewModel": counter

private enum Counter {
    struct State: Equatable {
        var count = 0
    }

    enum Event {
        case increment
        case decrement
    }

    final class ViewModel: FeedbackKit.ViewModel<State, Event> {
        // Completed: the document shows only state and event.
        nonisolated init() {
            super.init(
                initial: State(), feedbacks: [], executor: .sendersThread,
                reduce: { (state: inout State, event: Event) in
                    switch event {
                    case .increment: state.count += 1
                    case .decrement: state.count -= 1
                    }
                })
        }
    }
}

// MARK: "ViewModel": infinite list

/// Completes the document's `Builder`.
private protocol Builder {}

extension Builder {
    func set<Value>(_ keyPath: WritableKeyPath<Self, Value>, _ value: Value) -> Self {
        var copy = self
        copy[keyPath: keyPath] = value
        return copy
    }
}

private final class MoviesViewModel: ViewModel<MoviesViewModel.State, MoviesViewModel.Event> {
    enum Event {
        case didLoad(Results<Movie>)
        case didFail(any Error)
        case fetchNext
    }

    struct State: Builder {
        var batch: Results<Movie>
        var movies: [Movie]
        var status: Status
    }

    enum Status {
        case idle
        case loading
        case failed(any Error)
    }

    private nonisolated static func reducer(state: State, event: Event) -> State {
        switch event {
        case .didLoad(let batch):
            return state.set(\.batch, batch)
                .set(\.movies, state.movies + batch.results)
                .set(\.status, .idle)
        case .didFail(let error):
            return state.set(\.status, .failed(error))
        case .fetchNext:
            return
                state
                .set(\.status, .loading)
        }
    }

    // Changed: `nonisolated`, because the loop is not on the main actor; `Publishers.Empty` is `Empty`; the page is
    // `batch.page`; the server is a parameter; `didFail` takes any error.
    private nonisolated static func whenLoading(_ server: MovieServer) -> Feedback<State, Event> {
        return Feedback(effects: { state -> AnyPublisher<Event, Never> in
            guard case .loading = state.status else {
                return Empty().eraseToAnyPublisher()
            }
            return URLSession.shared
                .fetchMovies(server, page: state.batch.page + 1)
                .map(Event.didLoad)
                .replaceError(replace: { Event.didFail($0) })
        })
    }

    private nonisolated static func whenLoadingAsync(_ server: MovieServer) -> Feedback<State, Event> {
        return Feedback(effects: { state async -> Event? in
            guard case .loading = state.status else { return nil }
            do {
                return .didLoad(try await URLSession.shared.movies(server, page: state.batch.page + 1))
            } catch {
                return .didFail(error)
            }
        })
    }

    // Completed: the initializer.
    nonisolated init(_ server: MovieServer, _ form: Form) {
        super.init(
            initial: State(batch: .empty(), movies: [], status: .idle),
            feedbacks: [form == .publisher ? Self.whenLoading(server) : Self.whenLoadingAsync(server)],
            reduce: { (state: State, event: Event) in Self.reducer(state: state, event: event) })
    }
}

private struct MovieCell {
    let movie: Movie
    let onAppear: @Sendable () -> Void
}

private struct MoviesView {
    typealias State = MoviesViewModel.State
    typealias Event = MoviesViewModel.Event
    let context: Context<State, Event>

    // Changed: a list of cells, each of which learns when it appears.
    var body: [MovieCell] {
        context.movies.map { movie in
            MovieCell(movie: movie) {
                // When we reach the end of the list
                // we send `fetchNext` event
                if self.context.movies.last == movie {
                    self.context.send(event: .fetchNext)
                }
            }
        }
    }
}

// MARK: "Context": sign in

private enum SignIn {
    struct State: Equatable {
        var email = ""
        var password = ""
        // Completed: the server's answer.
        var status = Status.editing
    }

    enum Status: Equatable {
        case editing
        case submitting
        case signedIn(String)
        case failed(String)
    }

    enum Event {
        case signIn
        case didSignIn(String)
        case didFail(String)
    }

    struct Credentials: Codable, Equatable {
        let email: String
        let password: String
    }

    static func reduce(_ state: inout State, _ event: Event) {
        switch event {
        case .signIn: state.status = .submitting
        case .didSignIn(let name): state.status = .signedIn(name)
        case .didFail(let message): state.status = .failed(message)
        }
    }

    /// Accepts one password, and greets with the name before the at sign.
    static func server() throws -> LocalServer {
        try LocalServer { request in
            let credentials = try JSONDecoder().decode(Credentials.self, from: request.body)
            guard request.method == "POST", request.path == "/sign-in", credentials.password == "secret" else {
                return LocalServer.Response(status: 401)
            }
            return try .json(credentials.email.components(separatedBy: "@")[0])
        }
    }

    static func request(_ server: LocalServer, _ state: State) throws -> URLRequest {
        var request = URLRequest(url: try server.url("/sign-in"))
        request.httpMethod = "POST"
        request.httpBody = try JSONEncoder().encode(Credentials(email: state.email, password: state.password))
        return request
    }

    static func whenSubmitted(_ server: LocalServer, _ form: Form) -> Feedback<State, Event> {
        switch form {
        case .publisher:
            Feedback(whenBecomesTrue: { $0.status == .submitting }) { state -> AnyPublisher<Event, Never> in
                Result { try Self.request(server, state) }.publisher
                    .flatMap { URLSession.shared.dataTaskPublisher(for: $0).mapError { $0 as any Error } }
                    .tryMap { try URLSession.decode(String.self, from: $0.data, $0.response) }
                    .map { Event.didSignIn($0) }
                    .replaceError(replace: { .didFail($0.localizedDescription) })
            }
        case .async:
            Feedback(whenBecomesTrue: { $0.status == .submitting }) { state async -> Event? in
                do {
                    let (data, response) = try await URLSession.shared.data(for: Self.request(server, state))
                    return .didSignIn(try URLSession.decode(String.self, from: data, response))
                } catch {
                    return .didFail(error.localizedDescription)
                }
            }
        }
    }
}

private final class SignInViewModel: ViewModel<SignIn.State, SignIn.Event> {
    nonisolated init(_ server: LocalServer, _ form: Form) {
        super.init(
            initial: SignIn.State(), feedbacks: [SignIn.whenSubmitted(server, form)],
            reduce: { (state: inout SignIn.State, event: SignIn.Event) in SignIn.reduce(&state, event) })
    }
}

private struct SignInView {
    private let context: Context<SignIn.State, SignIn.Event>

    init(context: Context<SignIn.State, SignIn.Event>) {
        self.context = context
    }

    // Changed: a form of two text fields, which are bindings, and a button.
    var body: (email: Binding<String>, password: Binding<String>, button: Button) {
        (
            context.binding(for: \.email),
            context.binding(for: \.password),
            Button(label: "Sign In", action: context.action(for: .signIn))
        )
    }

    /// The content of the screen.
    var text: String { "\(context.email) \(String(repeating: "*", count: context.password.count)) \(context.status)" }
    var status: SignIn.Status { context.status }
}

// MARK: "Example": traffic light

// Completed: the document only names it.
private enum TrafficLight {
    enum State: Equatable {
        case red
        case yellow
        case green
    }

    enum Event {
        case next
    }

    static func reduce(_ state: State, _ event: Event) -> State {
        switch state {
        case .red: .yellow
        case .yellow: .green
        case .green: .red
        }
    }
}

@Suite(.timeLimit(.minutes(5)))
struct CombineFeedbackDocumentTests {
    @Test @MainActor func `pressing plus increments the count`() {
        let viewModel = Counter.ViewModel()
        let log = Log<Int>()
        // "We can start a state machine by observing var state: AnyPublisher<S, Never>."
        let watching = viewModel.state.sink { log.add($0.count) }
        let plus = Button(
            label: "+",
            action: {
                viewModel.send(event: .increment)
            })
        let minus = Button(label: "-", action: { viewModel.send(event: .decrement) })
        plus.action()
        plus.action()
        minus.action()
        #expect(log.entries == [0, 1, 2, 1])
        #expect(viewModel.state.count == 1)
        watching.cancel()
    }

    @Test @MainActor func `async twin: the states are a sequence`() async {
        let viewModel = Counter.ViewModel()
        let states = viewModel.states()
        viewModel.send(event: .increment)
        viewModel.send(event: .increment)
        viewModel.send(event: .decrement)
        await viewModel.stop()
        var counts: [Int] = []
        for await state in states { counts.append(state.count) }
        #expect(counts == [0, 1, 2, 1])
    }

    @Test(arguments: Form.allCases) @MainActor
    func `the end of the list loads the next page, and an error is shown and can be left behind`(form: Form)
        async throws
    {
        let server = try MovieServer()
        let viewModel = MoviesViewModel(server, form)
        let (views, screen) = AsyncStream.makeStream(of: MoviesView.self)
        let widget = Widget(viewModel: viewModel) { context in
            MoviesView(context: context)
        }
        let rendering = widget.render { screen.yield($0) }
        viewModel.send(event: .fetchNext)
        var pages = 0
        var errors: [Int] = []
        for await view in views {
            switch view.context.status {
            case .loading: continue
            case .failed(let error):
                errors.append((error as? HTTPError)?.status ?? 0)
                view.context.send(event: .fetchNext)
            case .idle:
                #expect(view.body.map(\.movie.id) == Array(0..<pages * 2).map { $0 + 1 })
                guard pages < MovieServer.pageCount else { break }
                if pages == 1 { server.fail(1) }
                view.body.first?.onAppear()  // It is not the end of the list: nothing happens.
                view.body.last?.onAppear()
                pages += 1
                continue
            }
            if pages == MovieServer.pageCount, view.body.count == 2 * pages { break }
        }
        #expect(errors == [503])
        #expect(server.pages == ["1", "2", "2", "3"])
        rendering.cancel()
        await viewModel.stop()
    }

    @Test @MainActor func `a property of the state is changed by key path`() async {
        struct State: Equatable {
            var email = ""
            var password = ""
        }
        let viewModel = ViewModel<State, Never>(
            initial: State(), feedbacks: [], executor: .sendersThread, reduce: { (_: inout State, _: Never) in })
        viewModel.start()
        viewModel.mutate(keyPath: \.email, "example@example.com")
        #expect(viewModel.state == State(email: "example@example.com", password: ""))
    }

    @Test(arguments: Form.allCases) @MainActor
    func `a form is filled in by bindings and sent by a button`(form: Form) async throws {
        let server = try SignIn.server()
        let viewModel = SignInViewModel(server, form)
        let (views, screen) = AsyncStream.makeStream(of: SignInView.self)
        let widget = Widget(viewModel: viewModel) { context in
            SignInView(context: context)
        }
        let rendering = widget.render { screen.yield($0) }
        var texts: [String] = []
        for await view in views {
            texts.append(view.text)
            let form = view.body
            switch (view.status, texts.count) {
            case (.editing, 1): form.email.wrappedValue = "jane@example.com"
            case (.editing, 2): form.password.wrappedValue = "wrong"
            case (.editing, _): form.button.action()
            case (.submitting, _): break
            case (.failed, _) where form.password.wrappedValue == "wrong":
                form.password.wrappedValue = "secret"
                form.button.action()
            case (.failed, _): break
            case (.signedIn, _): screen.finish()
            }
        }
        #expect(
            texts == [
                "  editing", "jane@example.com  editing", "jane@example.com ***** editing",
                "jane@example.com ***** submitting", "jane@example.com ***** failed(\"HTTP status 401\")",
                "jane@example.com ****** failed(\"HTTP status 401\")", "jane@example.com ****** submitting",
                "jane@example.com ****** signedIn(\"jane\")",
            ])
        rendering.cancel()
        await viewModel.stop()
        server.stop()
    }

    @Test @MainActor func `a traffic light goes on with time`() {
        // Completed: time is a mediator that ticks.
        let ticks = PassthroughMediator<Void>()
        let viewModel = ViewModel<TrafficLight.State, TrafficLight.Event>(
            initial: .red,
            feedbacks: [
                Feedback(effects: { _ -> AnyPublisher<TrafficLight.Event, Never> in
                    ticks.publisher.first().map { _ in .next }.eraseToAnyPublisher()
                })
            ], executor: .sendersThread,
            reduce: { (state: TrafficLight.State, event: TrafficLight.Event) in TrafficLight.reduce(state, event) })
        let log = Log<TrafficLight.State>()
        let watching = viewModel.publisher.sink { log.add($0) }
        for _ in 0..<4 { ticks.send(()) }
        #expect(log.entries == [.red, .yellow, .green, .red, .yellow])
        #expect(ticks.snapshot.subscribers == 1, "the effect of the state before is gone")
        watching.cancel()
        viewModel.cancel()
    }

    @Test @MainActor func `async twin: a traffic light goes on with time`() async {
        let clock = ManualClock()
        let durations: [TrafficLight.State: Duration] = [
            .red: .seconds(30), .yellow: .seconds(3), .green: .seconds(20),
        ]
        let viewModel = ViewModel<TrafficLight.State, TrafficLight.Event>(
            initial: .red,
            feedbacks: [
                Feedback(effects: { state async -> TrafficLight.Event? in
                    guard (try? await clock.sleep(for: durations[state] ?? .zero)) != nil else { return nil }
                    return .next
                })
            ], clock: clock,
            reduce: { (state: TrafficLight.State, event: TrafficLight.Event) in TrafficLight.reduce(state, event) })
        var seen: [TrafficLight.State] = []
        for await state in viewModel.states() {
            seen.append(state)
            if seen.count == 5 { break }
            await clock.sleepers(atLeast: 1)
            let before = clock.now
            clock.advance(by: durations[state] ?? .zero)
            #expect(before.duration(to: clock.now) == durations[state])
        }
        #expect(seen == [.red, .yellow, .green, .red, .yellow])
        viewModel.cancel()
    }
}
