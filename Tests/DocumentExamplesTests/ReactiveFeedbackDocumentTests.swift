import FeedbackKit
import FeedbackKitOpenCombine
import Foundation
import FoundationNetworking
import OpenCombine
import Testing

// The examples of the documentation of ReactiveFeedback. ReactiveSwift's `Signal` is an `OrderedPublisher`, its
// `SignalProducer` an `AnyPublisher`, and `NoError` is `Never`. `Results` and `Movie` are in Support/Movies.swift. The
// document's text lacks closing braces; they are restored here.

private struct Context: Equatable {
    var batch: Results<Movie>
    var movies: [Movie]

    static var empty: Context {
        return Context(batch: Results.empty(), movies: [])
    }
}

private enum State {
    case initial
    case paging(context: Context)
    case loadedPage(context: Context)
    case refreshing(context: Context)
    case refreshed(context: Context)
    case error(error: NSError, context: Context)
    case retry(context: Context)

    // Completed: the properties that the document's feedbacks use.
    var context: Context {
        switch self {
        case .initial: .empty
        case .paging(let context), .loadedPage(let context), .refreshing(let context), .refreshed(let context),
            .error(_, let context), .retry(let context):
            context
        }
    }

    var paging: Bool { if case .paging = self { true } else { false } }

    var nextPage: Int? {
        switch self {
        case .initial, .refreshing: 1
        case .paging(let context): context.batch.page + 1
        default: nil
        }
    }

    var lastError: NSError? { if case .error(let error, _) = self { error } else { nil } }

    var retryPage: Int? { if case .retry(let context) = self { context.batch.page + 1 } else { nil } }

    /// The case and the number of movies.
    var summary: String {
        let name: String
        switch self {
        case .initial: name = "initial"
        case .paging: name = "paging"
        case .loadedPage: name = "loadedPage"
        case .refreshing: name = "refreshing"
        case .refreshed: name = "refreshed"
        case .error: name = "error"
        case .retry: name = "retry"
        }
        return "\(name) \(context.movies.count)"
    }
}

private enum Event {
    case startLoadingNextPage
    case response(Results<Movie>)
    case failed(NSError)
    case retry
    // Completed: the transitions to the document's refreshing states.
    case refresh
}

private enum Movies {
    static func reduce(state: State, event: Event) -> State {
        switch event {
        case .startLoadingNextPage:
            return .paging(context: state.context)
        case .response(let batch):
            var copy = state.context
            copy.batch = batch
            copy.movies += batch.results
            // Completed: refreshing.
            if case .refreshing = state { return .refreshed(context: copy) }
            return .loadedPage(context: copy)
        case .failed(let error):
            return .error(error: error, context: state.context)
        case .retry:
            return .retry(context: state.context)
        case .refresh:
            return .refreshing(context: .empty)
        }
    }

    // MARK: Publishers. Changed: the server is a parameter; network errors become `NSError`.

    static func loadNextFeedback(for nearBottomSignal: OrderedPublisher<Void>) -> Feedback<State, Event> {
        return Feedback(predicate: { !$0.paging }) { _ in
            return
                nearBottomSignal
                .map { Event.startLoadingNextPage }
        }
    }

    static func pagingFeedback(_ server: MovieServer) -> Feedback<State, Event> {
        return Feedback<State, Event>(skippingRepeated: { $0.nextPage }) { (nextPage) -> AnyPublisher<Event, Never> in
            return URLSession.shared.fetchMovies(server, page: nextPage)
                .map(Event.response)
                .catch { (error) -> Just<Event> in
                    return Just(Event.failed(error as NSError))
                }
                .eraseToAnyPublisher()
        }
    }

    static func retryFeedback(for retrySignal: OrderedPublisher<Void>) -> Feedback<State, Event> {
        return Feedback<State, Event>(skippingRepeated: { $0.lastError }) { _ -> AnyPublisher<Event, Never> in
            return retrySignal.map { Event.retry }.eraseToAnyPublisher()
        }
    }

    static func retryPagingFeedback(_ server: MovieServer) -> Feedback<State, Event> {
        return Feedback<State, Event>(skippingRepeated: { $0.retryPage }) { (nextPage) -> AnyPublisher<Event, Never> in
            return URLSession.shared.fetchMovies(server, page: nextPage)
                .map(Event.response)
                .catch { (error) -> Just<Event> in
                    return Just(Event.failed(error as NSError))
                }
                .eraseToAnyPublisher()
        }
    }

    // MARK: Async twins

    static func loadNextFeedback(on nearBottom: PassthroughMediator<Void>) -> Feedback<State, Event> {
        Feedback(predicate: { !$0.paging }) { _ in
            nearBottom.values().map { Event.startLoadingNextPage }
        }
    }

    static func pagingAsync(_ server: MovieServer) -> Feedback<State, Event> {
        Feedback<State, Event>(skippingRepeated: { $0.nextPage }) { nextPage async -> Event? in
            await response(server, nextPage)
        }
    }

    static func retryFeedback(on retry: PassthroughMediator<Void>) -> Feedback<State, Event> {
        Feedback<State, Event>(skippingRepeated: { $0.lastError }) { _ in
            retry.values().map { Event.retry }
        }
    }

    static func retryPagingAsync(_ server: MovieServer) -> Feedback<State, Event> {
        Feedback<State, Event>(skippingRepeated: { $0.retryPage }) { nextPage async -> Event? in
            await response(server, nextPage)
        }
    }

    private static func response(_ server: MovieServer, _ page: Int) async -> Event {
        do {
            return .response(try await URLSession.shared.movies(server, page: page))
        } catch {
            return .failed(error as NSError)
        }
    }
}

// MARK: Counter

private enum CounterEvent {
    case increment
    case decrement
}

/// A stand-in for UIKit's `UIButton` with ReactiveCocoa's `reactive`.
private struct PushButton: Sendable {
    let presses = PassthroughMediator<Void>()
    var reactive: OrderedPublisher<Void> { presses.publisher }
    func press() { presses.send(()) }
}

/// A stand-in for UIKit's `UILabel` with ReactiveCocoa's `reactive.text`.
private final class Label: Sendable {
    struct Reactive: Sendable {
        let text: Log<String>
    }
    let reactive = Reactive(text: Log())
    var text: String? { reactive.text.entries.last }
}

infix operator <~
/// A stand-in for ReactiveSwift's operator: the target follows the producer.
private func <~ (target: Log<String>, producer: some Publisher<String, Never>) -> AnyCancellable {
    producer.sink { target.add($0) }
}

@Suite(.timeLimit(.minutes(5)))
struct ReactiveFeedbackDocumentTests {
    @Test(arguments: Form.allCases)
    func `movies are paged, an error is retried, and the list is refreshed`(form: Form) async throws {
        let server = try MovieServer()
        let nearBottom = PassthroughMediator<Void>()
        let retry = PassthroughMediator<Void>()
        let feedbacks =
            switch form {
            case .publisher:
                [
                    Movies.loadNextFeedback(for: nearBottom.publisher), Movies.pagingFeedback(server),
                    Movies.retryFeedback(for: retry.publisher), Movies.retryPagingFeedback(server),
                ]
            case .async:
                [
                    Movies.loadNextFeedback(on: nearBottom), Movies.pagingAsync(server),
                    Movies.retryFeedback(on: retry), Movies.retryPagingAsync(server),
                ]
            }
        let loop = system(
            initial: State.initial,
            reduce: { (state: State, event: Event) in Movies.reduce(state: state, event: event) },
            feedbacks: feedbacks
        ).makeLoop()
        let states = loop.states()
        loop.start()
        var seen: [String] = []
        for await state in states {
            seen.append(state.summary)
            // The user acts after all feedbacks have seen the state.
            await loop.settled()
            switch state {
            case .loadedPage(let context) where context.movies.count == 2:
                server.fail(1)
                nearBottom.send(())
            case .error(let error, _):
                #expect(error.localizedDescription.isEmpty == false)
                retry.send(())
            case .loadedPage(let context):
                #expect(context.movies.map(\.id) == [1, 2, 3, 4])
                loop.send(.refresh)
            default: break
            }
            if case .refreshed = state { break }
        }
        #expect(
            seen == [
                "initial 0", "loadedPage 2", "paging 2", "error 2", "retry 2", "loadedPage 4", "refreshing 0",
                "refreshed 2",
            ])
        #expect(server.pages == ["1", "2", "2", "1"])
        // Its effects would wait for the user for ever.
        loop.cancel()
        await loop.stopped()
    }

    // public struct Feedback<State, Event> {
    //     public let events: (Scheduler, Signal<State, NoError>) -> Signal<Event, NoError>
    @Test(arguments: Form.allCases) func `at its root a feedback maps a stream of states to a stream of events`(
        form: Form
    ) async {
        let events: @Sendable (OrderedPublisher<Int>) -> AnyPublisher<CounterEvent, Never> = { states in
            states.filter { $0 < 3 }.map { _ in CounterEvent.increment }.eraseToAnyPublisher()
        }
        let feedback: Feedback<Int, CounterEvent> =
            switch form {
            case .publisher: .custom(perform: events)
            case .async:
                .custom { states, send in
                    for await (state, _) in states where state < 3 { send(.increment) }
                }
            }
        let loop = system(
            initial: 0, reduce: { (count: Int, _: CounterEvent) in count + 1 }, feedbacks: [feedback]
        ).makeLoop()
        let states = await loop.states { $0 == 3 }
        #expect(states == [0, 1, 2, 3])
        await loop.stop()
    }

    @Test func `a counter follows its buttons`() {
        let plusButton = PushButton()
        let minusButton = PushButton()
        let label = Label()

        let increment = Feedback<Int, CounterEvent> { _ in
            return plusButton.reactive
                .map { _ in CounterEvent.increment }
        }

        let decrement = Feedback<Int, CounterEvent> { _ in
            return minusButton.reactive
                .map { _ in CounterEvent.decrement }
        }

        // Changed: `SignalProducer<Int, NoError>.system(…)` is `system(…).publisher`. The executor is explicit, so that
        // a press has had its effect when it returns.
        let system = system(
            initial: 0,
            reduce: { (count, event) -> Int in
                switch event {
                case .increment:
                    return count + 1
                case .decrement:
                    return count - 1
                }
            },
            feedbacks: [increment, decrement],
            executor: .sendersThread
        ).publisher

        let binding = label.reactive.text <~ system.map(String.init)
        #expect(label.text == "0")
        plusButton.press()
        plusButton.press()
        #expect(label.text == "2")
        minusButton.press()
        #expect(label.text == "1")
        binding.cancel()
        plusButton.press()
        #expect(label.text == "1", "the system has ended with its subscription")
        #expect(plusButton.presses.snapshot.subscribers == 0)
    }

    @Test func `async twin: a counter follows its buttons`() async {
        let plusButton = PushButton()
        let minusButton = PushButton()
        let increment = Feedback<Int, CounterEvent> { _ in
            plusButton.presses.values().map { _ in CounterEvent.increment }
        }
        let decrement = Feedback<Int, CounterEvent> { _ in
            minusButton.presses.values().map { _ in CounterEvent.decrement }
        }
        let loop = system(
            initial: 0,
            reduce: { (count, event) -> Int in
                switch event {
                case .increment: count + 1
                case .decrement: count - 1
                }
            },
            feedbacks: [increment, decrement]
        ).makeLoop()
        let states = loop.states()
        loop.start()
        var texts: [String] = []
        for await count in states {
            texts.append(String(count))
            await loop.settled()
            switch texts.count {
            case 1, 2: plusButton.press()
            case 3: minusButton.press()
            default: loop.cancel()
            }
        }
        #expect(texts == ["0", "1", "2", "1"])
    }
}
