import FeedbackKit
import FeedbackKitTesting
import TestSupport
import Testing

/// The worked examples of the documents: counter, traffic light, sign-in form, infinite list.
@Suite struct TypedExampleTests {
    // MARK: Counter

    @Test func `counter`() async {
        enum Event: Sendable { case increment, decrement }
        let (plus, minus) = (AsyncStream.makeStream(of: Void.self), AsyncStream.makeStream(of: Void.self))
        let plusButton = plus.stream
        let minusButton = minus.stream
        let whenPlus = Feedback<Int, Event>(whenBecomesTrue: { _ in true }) { _ in
            plusButton.map { _ in Event.increment }
        }
        let whenMinus = Feedback<Int, Event>(whenBecomesTrue: { _ in true }) { _ in
            minusButton.map { _ in Event.decrement }
        }
        var label: [String] = []
        for await count in system(
            initial: 0,
            reduce: { (count, event) -> Int in
                switch event {
                case .increment:
                    return count + 1
                case .decrement:
                    return count - 1
                }
            }, feedbacks: [whenPlus, whenMinus])
        {
            label.append(String(count))
            switch label.count {
            case 1, 2: plus.continuation.yield()
            case 3: minus.continuation.yield()
            default: break
            }
            if label.count == 4 { break }
        }
        #expect(label == ["0", "1", "2", "1"])
    }

    // MARK: Traffic light

    @Test func `traffic light`() async {
        enum Light: Sendable, Equatable { case red, yellow, green }
        enum Event: Sendable { case next }
        let clock = ManualClock()
        func wait(in light: Light, for seconds: Int) -> Feedback<Light, Event> {
            Feedback(name: "\(light)", whenBecomesTrue: { $0 == light }) { _ in .after(.seconds(seconds), .next) }
        }
        let loop = system(
            initial: Light.red,
            reduce: { (light: inout Light, _: Event) in
                switch light {
                case .red: light = .green
                case .green: light = .yellow
                case .yellow: light = .red
                }
            },
            feedbacks: [wait(in: .red, for: 30), wait(in: .yellow, for: 3), wait(in: .green, for: 20)],
            clock: clock
        ).makeLoop()
        var states = loop.states().makeAsyncIterator()
        loop.start()
        #expect(await states.next() == .red)
        for (seconds, light) in [(30, Light.green), (20, .yellow), (3, .red), (30, .green)] {
            await clock.nextDeadline(in: .seconds(seconds))
            clock.advance(by: .seconds(seconds))
            #expect(await states.next() == light)
        }
        await loop.stop()
    }

    // MARK: Sign-in

    enum SignIn {
        struct State: Sendable, Equatable {
            var userName = ""
            var password = ""
            var isAvailable: Bool?
            var status = Status.editing
            var canSubmit: Bool { isAvailable == true && !password.isEmpty }
        }
        enum Status: Sendable, Equatable { case editing, submitting, signedIn }
        enum Event: Sendable, Equatable {
            case checked(String, Bool)
            case submit
            case signedIn
        }
        struct Service: Sendable {
            var isAvailable: @Sendable (String) async -> Bool
            var signIn: @Sendable (String, String) async -> Void
        }

        static func reduce(_ state: inout State, _ event: Event) {
            switch event {
            case .checked(let name, let isAvailable):
                if name == state.userName { state.isAvailable = isAvailable }
            case .submit:
                if state.canSubmit { state.status = .submitting }
            case .signedIn:
                state.status = .signedIn
            }
        }

        static func whenNameChanges(_ service: Service) -> Feedback<State, Event> {
            Feedback(skippingRepeated: { $0.userName.isEmpty ? nil : $0.userName }) { name in
                Effect.task { .checked(name, await service.isAvailable(name)) }
                    .debounce(id: "user name", for: .milliseconds(300))
            }
        }

        static func whenSubmitting(_ service: Service) -> Feedback<State, Event> {
            Feedback(predicate: { $0.status == .submitting }) { state in
                await service.signIn(state.userName, state.password)
                return .signedIn
            }
        }
    }

    @MainActor
    final class SignInViewModel: ViewModel<SignIn.State, SignIn.Event> {
        init(_ service: SignIn.Service, clock: any Clock<Duration>) {
            super.init(
                initial: SignIn.State(),
                feedbacks: [SignIn.whenNameChanges(service), SignIn.whenSubmitting(service)],
                clock: clock, reduce: SignIn.reduce)
        }
    }

    @Test func `sign-in form with a user name that is checked when the typing rests`() async {
        let clock = ManualClock()
        let asked = Record<String>()
        let service = SignIn.Service(
            isAvailable: { name in
                asked.add(name)
                return name == "anna"
            },
            signIn: { name, password in asked.add("\(name):\(password)") })
        let viewModel = await SignInViewModel(service, clock: clock)
        var states = viewModel.states().makeAsyncIterator()
        for name in ["a", "an", "ann", "anna"] {
            viewModel.mutate(keyPath: \.userName, name)
        }
        viewModel.mutate(keyPath: \.password, "secret")
        while let state = await states.next(), state.password.isEmpty {}
        // The keystrokes before the last were cancelled during their delay.
        await clock.nextDeadline(in: .milliseconds(300))
        clock.advance(by: .milliseconds(300))
        while let state = await states.next(), state.isAvailable == nil {}
        #expect(asked.values == ["anna"])
        viewModel.send(event: .submit)
        while let state = await states.next(), state.status != .signedIn {}
        #expect(asked.values == ["anna", "anna:secret"])
        await viewModel.stop()
    }

    // MARK: Infinite list

    struct Results: Sendable, Equatable {
        var page = 0
        var totalPages = 3
        var results: [String] = []
    }

    struct NetworkError: Error, Sendable, Equatable { let page: Int }

    struct Batches: Sendable, Equatable {
        var batch = Results()
        var movies: [String] = []
    }

    enum Movies: Sendable, Equatable {
        case initial
        case paging(context: Batches)
        case loadedPage(context: Batches)
        case refreshing(context: Batches)
        case error(error: NetworkError, context: Batches)
        case retry(context: Batches)

        var context: Batches {
            switch self {
            case .initial: Batches()
            case .paging(let context), .loadedPage(let context), .refreshing(let context), .error(_, let context),
                .retry(let context):
                context
            }
        }
        var paging: Bool { if case .paging = self { true } else { false } }
        var nextPage: Int? {
            switch self {
            case .paging(let context): context.batch.page + 1
            case .refreshing: 1
            default: nil
            }
        }
        var retryPage: Int? { if case .retry(let context) = self { context.batch.page + 1 } else { nil } }
        var lastError: NetworkError? { if case .error(let error, _) = self { error } else { nil } }

        static func reduce(state: Movies, event: Event) -> Movies {
            switch event {
            case .startLoadingNextPage:
                return .paging(context: state.context)
            case .refresh:
                return .refreshing(context: Batches())
            case .response(let batch):
                var copy = state.context
                copy.batch = batch
                copy.movies += batch.results
                return .loadedPage(context: copy)
            case .failed(let error):
                return .error(error: error, context: state.context)
            case .retry:
                return .retry(context: state.context)
            }
        }

        enum Event: Sendable, Equatable {
            case startLoadingNextPage
            case refresh
            case response(Results)
            case failed(NetworkError)
            case retry
        }

        typealias Network = @Sendable (Int) async throws(NetworkError) -> Results

        static func loadNext(for nearBottom: PassthroughMediator<Void>) -> Feedback<Movies, Event> {
            Feedback(predicate: { !$0.paging }) { _ in
                // A new stream each time, because a stream whose reader was cancelled cannot be read again.
                nearBottom.values().map { Event.startLoadingNextPage }
            }
        }

        static func load(_ page: Int, _ network: Network) async -> Event {
            do throws(NetworkError) { return .response(try await network(page)) } catch { return .failed(error) }
        }

        static func paging(_ network: @escaping Network) -> Feedback<Movies, Event> {
            Feedback(skippingRepeated: { $0.nextPage }) { page in await load(page, network) }
        }

        static func retry(for signal: PassthroughMediator<Void>) -> Feedback<Movies, Event> {
            Feedback(skippingRepeated: { $0.lastError }) { _ in signal.values().map { Event.retry } }
        }

        static func retryPaging(_ network: @escaping Network) -> Feedback<Movies, Event> {
            Feedback(skippingRepeated: { $0.retryPage }) { page in await load(page, network) }
        }
    }

    @Test func `infinite list with paging, an error, a retry and a refresh`() async {
        let failures = Record<Int>()
        let network: Movies.Network = { page throws(NetworkError) in
            if page == 2, failures.values.isEmpty {
                failures.add(page)
                throw NetworkError(page: page)
            }
            return Results(page: page, results: ["movie \(page).1", "movie \(page).2"])
        }
        let (nearBottom, retry) = (PassthroughMediator<Void>(), PassthroughMediator<Void>())
        let loop = system(
            initial: Movies.initial, reduce: Movies.reduce,
            feedbacks: [
                Movies.paging, Movies.retryPaging, { _ in Movies.loadNext(for: nearBottom) },
                { _ in Movies.retry(for: retry) },
            ], dependency: network
        ).makeLoop()
        var states = loop.states().makeAsyncIterator()
        loop.start()
        /// Returns the next state, once all feedbacks have seen it.
        func next() async -> String {
            let state = await states.next()
            await settled(loop)
            switch state {
            case .initial: return "initial"
            case .paging(let context): return "paging \(context.batch.page + 1)"
            case .loadedPage(let context): return "loaded \(context.movies.count)"
            case .error(let error, _): return "error on \(error.page)"
            case .retry: return "retry"
            case .refreshing: return "refreshing"
            case nil: return "over"
            }
        }
        #expect(await next() == "initial")
        nearBottom.send(())
        #expect(await [next(), next()] == ["paging 1", "loaded 2"])
        nearBottom.send(())
        #expect(await [next(), next()] == ["paging 2", "error on 2"])
        retry.send(())
        #expect(await [next(), next()] == ["retry", "loaded 4"])
        nearBottom.send(())
        #expect(await [next(), next()] == ["paging 3", "loaded 6"])
        loop.send(.refresh)
        #expect(await [next(), next()] == ["refreshing", "loaded 2"])
        await loop.stop(within: .zero)
        #expect(await next() == "over")
    }

    @Test func `nearing the bottom asks for one page however often it is told while one is loading`() async {
        let nearBottom = PassthroughMediator<Void>()
        let (started, goOn) = (Gate(), Gate())
        let pages = Record<Int>()
        let network: Movies.Network = { page throws(NetworkError) in
            pages.add(page)
            started.open()
            await goOn.opened()
            return Results(page: page, results: ["movie \(page)"])
        }
        let loop = system(
            initial: Movies.initial, reduce: Movies.reduce,
            feedbacks: [Movies.paging(network), Movies.loadNext(for: nearBottom)]
        ).makeLoop()
        let states = loop.states()
        loop.start()
        await settled(loop)
        nearBottom.send(())
        await started.opened()
        nearBottom.send(())
        #expect(loop.state.paging)
        #expect(loop.snapshot.feedbacks.map(\.running).first == 1)
        goOn.open()
        for await state in states where state.context.movies == ["movie 1"] { break }
        #expect(pages.values == [1])
        loop.cancel()
        await loop.stopped()
    }
}
