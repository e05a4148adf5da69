import FeedbackKit
import FeedbackKitTesting
import TestSupport
import Testing

/// The spellings of the documents compile without additional annotations, with each form of side effect.
@Suite struct TypedSpellingTests {
    enum Status: Sendable, Equatable { case idle, loading, failed(String) }

    struct Movies: Sendable, Equatable {
        var page = 0
        var paging = false
        var nextPage: Int?
        var lastError: String?
        var status = Status.idle
    }

    enum Event: Sendable, Equatable {
        case startLoadingNextPage
        case response(Int)
        case failed(String)
        case retry
    }

    /// A stand-in for a publisher of another library.
    struct Publisher<Output: Sendable>: SideEffectConvertible {
        let output: [Output]
        func asEffect() -> Effect<Output> { .just(output) }
    }

    static func fetch(_ page: Int) async -> Event { .response(page) }

    static func stream(_ events: Event...) -> AsyncStream<Event> {
        AsyncStream { continuation in
            for event in events { continuation.yield(event) }
            continuation.finish()
        }
    }

    /// Returns the emissions of a feedback for an initial state, in a loop whose reducer only collects.
    static func events<S: Sendable>(
        of feedback: Feedback<S, Event>, in state: S, sending: [Event] = [], atLeast count: Int = 1
    ) async -> [Event] {
        let seen = Record<Event>()
        let enough = Gate()
        let loop = Loop<S, Event>(initial: state, feedbacks: [feedback], executor: .sendersThread) { _, event in
            seen.add(event)
            if seen.values.count >= count { enough.open() }
            return .stay
        }
        loop.start()
        await enough.opened()
        loop.cancel()
        await loop.stopped()
        return seen.values
    }

    private static func whenLoading() -> Feedback<Movies, Event> {
        return Feedback(effects: { state -> Publisher<Event> in
            guard case .loading = state.status else {
                return Publisher(output: [])
            }
            return Publisher(output: [.response(state.page + 1)])
        })
    }

    static func loadNextFeedback(for nearBottom: AsyncStream<Void>) -> Feedback<Movies, Event> {
        return Feedback(predicate: { !$0.paging }) { _ in
            return
                nearBottom
                .map { Event.startLoadingNextPage }
        }
    }

    static func pagingFeedback() -> Feedback<Movies, Event> {
        return Feedback<Movies, Event>(skippingRepeated: { $0.nextPage }) { (nextPage) -> Publisher<Event> in
            return Publisher(output: [.response(nextPage)])
        }
    }

    static func retryFeedback(for retry: AsyncStream<Void>) -> Feedback<Movies, Event> {
        return Feedback<Movies, Event>(skippingRepeated: { $0.lastError }) { _ in
            return retry.map { Event.retry }
        }
    }

    static var tick: AsyncStream<Void> {
        AsyncStream { continuation in
            continuation.yield()
            continuation.finish()
        }
    }

    @Test func `the feedbacks of the documents do what they say`() async {
        #expect(await Self.events(of: Self.whenLoading(), in: Movies(status: .loading)) == [.response(1)])
        #expect(await Self.events(of: Self.loadNextFeedback(for: Self.tick), in: Movies()) == [.startLoadingNextPage])
        #expect(await Self.events(of: Self.pagingFeedback(), in: Movies(nextPage: 3)) == [.response(3)])
        #expect(await Self.events(of: Self.retryFeedback(for: Self.tick), in: Movies(lastError: "e")) == [.retry])
    }

    @Test func `the counter of the document is a trailing closure`() async {
        let presses = Self.tick
        let increment = Feedback<Int, Event> { _ in
            return presses.map { _ in Event.retry }
        }
        #expect(await Self.events(of: increment, in: 0) == [.retry])
    }

    @Test(
        arguments: [
            Feedback<Movies, Event>(effects: { state in .just(.response(state.page)) }),
            Feedback<Movies, Event>(effects: { state in
                guard state.page == 7 else { return .nothing }
                let page = state.page
                return .run { send in send(.response(page)) }
            }),
            Feedback<Movies, Event>(effects: { state in state.page == 7 ? .response(7) : nil }),
            Feedback<Movies, Event>(effects: { state in await fetch(state.page) }),
            Feedback<Movies, Event>(effects: { state in
                guard state.page == 7 else { return nil }
                return await fetch(state.page)
            }),
            Feedback<Movies, Event>(effects: { state in stream(.response(state.page)) }),
            Feedback<Movies, Event>(effects: { state in Publisher(output: [Event.response(state.page)]) }),
            Feedback<Movies, Event> { state in await fetch(state.page) },
            Feedback<Movies, Event>(lensing: { $0.page }) { page in .response(page) },
            Feedback<Movies, Event>(lensing: { $0.page }) { page in await fetch(page) },
            Feedback<Movies, Event>(skippingRepeated: \.page) { page in await fetch(page) },
            Feedback<Movies, Event>(skippingRepeated: { $0.page }, effects: { .just(.response($0)) }),
            Feedback<Movies, Event>(compacting: { $0.map(\.page).removeDuplicates() }) { page in await fetch(page) },
            Feedback<Movies, Event>(whenBecomesTrue: { !$0.paging }) { state in await fetch(state.page) },
            Feedback<Movies, Event>(firstValueAfterNil: { Optional($0.page) }) { page in .response(page) },
            Feedback<Movies, Event>.lensing(state: { $0.page }, effects: { stream(.response($0)) }),
            Feedback<Movies, Event>.skippingRepeated(state: { $0.page }) { Publisher(output: [Event.response($0)]) },
            Feedback<Movies, Event>.predicate(predicate: { !$0.paging }) { _ in .response(7) },
            Feedback<Movies, Event>.whenBecomesTrue({ !$0.paging }) { _ in .just(.response(7)) },
            Feedback<Movies, Event>.firstValueAfterNil({ Optional($0.page) }) { await fetch($0) },
            Feedback<Movies, Event>.middleware { state in .response(state.page) },
            Feedback<Movies, Event>.compacting(state: { $0.map(\.page) }) { .response($0) },
            Feedback<Movies, Event>.react(request: { $0.page }) { page in await fetch(page) },
            Feedback<Movies, Event>.react(requests: { Set([$0.page]) }) { page in await fetch(page) },
            Feedback<Movies, Event>.react(requests: { ["a": $0.page] }) { page, pages in .response(page) },
            Feedback<Movies, Event>.react(requests: { ["a": $0.page] }) { _, pages in pages.map { Event.response($0) }
            },
            Feedback<Movies, Event>.custom { states, send in
                for await (state, _) in states { send(.response(state.page)) }
            },
        ])
    func `each form of side effect compiles in each position and emits`(_ feedback: Feedback<Movies, Event>) async {
        #expect(await Self.events(of: feedback, in: Movies(page: 7)) == [.response(7)])
    }

    @Test func `a feedback is made with a leading dot where its type is known`() {
        let feedbacks: [Feedback<Movies, Event>] = [
            .skippingRepeated(name: "paging", state: { $0.nextPage }) { page in await Self.fetch(page) },
            .lensing(event: { if case .response(let page) = $0 { page } else { nil } }) { _ in .retry },
            .eventMiddleware { (state: Movies, event: Event) in event == .retry ? .response(state.page) : nil },
            .compacting(events: { $0.filter { $0 == .retry } }) { _ in nil },
        ]
        #expect(feedbacks.map(\.name) == ["paging", "lensing event", "eventMiddleware", "compacting events"])
    }
}
