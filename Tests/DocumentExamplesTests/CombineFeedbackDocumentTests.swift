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
            await clock.nextDeadline(in: durations[state] ?? .zero)
            let before = clock.now
            clock.advance(by: durations[state] ?? .zero)
            #expect(before.duration(to: clock.now) == durations[state])
        }
        #expect(seen == [.red, .yellow, .green, .red, .yellow])
        viewModel.cancel()
    }
}
