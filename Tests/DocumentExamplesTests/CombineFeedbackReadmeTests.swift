import FeedbackKit
import FeedbackKitOpenCombine
import Foundation
import FoundationNetworking
import OpenCombine
import Testing

// The examples of the README of CombineFeedback. The README contains no code: it names the shape of a feedback, and
// shows a counter and a list of movies with the interface as a feedback. The code here completes these examples.

private enum Counter {
    enum Event {
        case increment
        case decrement
    }

    static func reduce(_ state: Int, _ event: Event) -> Int {
        switch event {
        case .increment: state + 1
        case .decrement: state - 1
        }
    }

    /// The content of the screen and the user's actions.
    struct Screen {
        let text: String
        let plus: @Sendable () -> Void
        let minus: @Sendable () -> Void
    }
}

private enum Movies {
    struct State {
        var page = 0
        var movies: [Movie] = []
        var isLoading = true
        var error: String?
    }

    enum Event {
        case didLoad(Results<Movie>)
        case didFail(String)
        case fetchNext
    }

    static func reduce(_ state: inout State, _ event: Event) {
        switch event {
        case .didLoad(let batch):
            state.page = batch.page
            state.movies += batch.results
            state.isLoading = false
        case .didFail(let message):
            state.error = message
            state.isLoading = false
        case .fetchNext:
            state.error = nil
            state.isLoading = true
        }
    }

    /// The content of the screen and the user's actions.
    struct Screen {
        let lines: [String]
        let scrollToEnd: @Sendable () -> Void
    }

    // "… having a signature of `(AnyPublisher<State, Never>) -> AnyPublisher<Event, Never>` allows us to observe
    // `State` changes and perform some side effects based on its changes e.g if a system is in `loading` state we can
    // start fetching data from network."
    static func load(_ server: MovieServer) -> @Sendable (OrderedPublisher<State>) -> AnyPublisher<Event, Never> {
        { states in
            states
                .filter(\.isLoading)
                .flatMap { state in
                    URLSession.shared.fetchMovies(server, page: state.page + 1)
                        .map { Event.didLoad($0) }
                        .replaceError(replace: { Event.didFail($0.localizedDescription) })
                }
                .eraseToAnyPublisher()
        }
    }

    static func feedback(_ server: MovieServer, _ form: Form) -> Feedback<State, Event> {
        switch form {
        case .publisher:
            .custom(perform: load(server))
        case .async:
            .custom { states, send in
                for await (state, _) in states where state.isLoading {
                    do {
                        send(.didLoad(try await URLSession.shared.movies(server, page: state.page + 1)))
                    } catch {
                        send(.didFail(error.localizedDescription))
                    }
                }
            }
        }
    }
}

@Suite(.timeLimit(.minutes(5)))
struct CombineFeedbackReadmeTests {
    // "UI can be treated as a Feedback loop: When the state changes we want to react to it and render new information
    // to the user. User may interact with our system by pressing buttons and views emitting Event into it."
    @Test(arguments: Form.allCases) func `the interface of a counter is a feedback`(form: Form) async {
        let (screens, screen) = AsyncStream.makeStream(of: Counter.Screen.self)
        let interface: Feedback<Int, Counter.Event> =
            switch form {
            case .publisher:
                // The interface as a function from states to events: the user's actions come through a subject.
                .custom { states in
                    let presses = PassthroughMediator<Counter.Event>()
                    return
                        states
                        .handleEvents(receiveOutput: { count in
                            screen.yield(
                                Counter.Screen(
                                    text: "\(count)", plus: { presses.send(.increment) },
                                    minus: { presses.send(.decrement) }))
                        })
                        .filter { _ in false }
                        .map { _ in Counter.Event.increment }
                        .merged(with: presses.publisher)
                }
            case .async:
                .rendering(into: { screen.yield($0) }) { count, send in
                    Counter.Screen(
                        text: "\(count)", plus: { send(.increment) }, minus: { send(.decrement) })
                }
            }
        let loop = system(
            initial: 0, reduce: { (state: Int, event: Counter.Event) in Counter.reduce(state, event) },
            feedbacks: [interface]
        ).makeLoop()
        loop.start()
        var texts: [String] = []
        for await screen in screens {
            texts.append(screen.text)
            await loop.settled()
            switch texts.count {
            case 1...3: screen.plus()
            case 4: screen.minus()
            default: break
            }
            if texts.count == 5 { break }
        }
        #expect(texts == ["0", "1", "2", "3", "2"])
        await loop.stop()
    }

    @Test(arguments: Form.allCases) func `the interface of a list of movies is a feedback`(form: Form) async throws {
        let server = try MovieServer()
        let (screens, screen) = AsyncStream.makeStream(of: Movies.Screen.self)
        let loop = system(
            initial: Movies.State(),
            reduce: { (state: inout Movies.State, event: Movies.Event) in Movies.reduce(&state, event) },
            feedbacks: [
                Movies.feedback(server, form),
                .rendering(into: { screen.yield($0) }) { state, send in
                    Movies.Screen(
                        lines: state.movies.map(\.title) + (state.isLoading ? ["…"] : [])
                            + (state.error.map { [$0] } ?? []),
                        scrollToEnd: { send(.fetchNext) })
                },
            ]
        ).makeLoop()
        loop.start()
        var seen: [[String]] = []
        for await screen in screens {
            seen.append(screen.lines)
            if seen.count == 4 { server.fail(1) }
            switch screen.lines.last {
            case "…": continue
            case "Movie 6": break
            default: screen.scrollToEnd()
            }
            if screen.lines.last == "Movie 6" { break }
        }
        func lines(_ count: Int, _ more: String...) -> [String] { (0..<count).map { "Movie \($0 + 1)" } + more }
        let expected = [
            lines(0, "…"), lines(2), lines(2, "…"), lines(4), lines(4, "…"), lines(4, "HTTP status 503"),
            lines(4, "…"), lines(6),
        ]
        #expect(seen == expected)
        #expect(server.pages == ["1", "2", "3", "3"])
        await loop.stop()
    }
}

extension Publisher where Failure == Never {
    /// Adds an operator that OpenCombine lacks, as far as these tests need it.
    fileprivate func merged(with other: some Publisher<Output, Never>) -> AnyPublisher<Output, Never> {
        [eraseToAnyPublisher(), other.eraseToAnyPublisher()].publisher.flatMap { $0 }.eraseToAnyPublisher()
    }
}
