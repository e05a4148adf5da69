import FeedbackKit
import FeedbackKitTesting
import Testing

/// The form of the document: the user's input, and one event.
struct InterfaceForm: Sendable, Equatable {
    var email = ""
    var password = ""
    var log: [String] = []
    var address = Address()
    struct Address: Sendable, Equatable { var city = "" }
}

enum InterfaceFormEvent: Sendable, Equatable {
    case signIn
    case note(String)

    static func reduce(_ form: inout InterfaceForm, _ event: InterfaceFormEvent) {
        switch event {
        case .signIn: form.log.append("\(form.email)/\(form.password)")
        case .note(let text): form.log.append(text)
        }
    }
}

final class InterfaceFormViewModel: ViewModel<InterfaceForm, InterfaceFormEvent> {
    init(_ feedbacks: Feedback<InterfaceForm, InterfaceFormEvent>...) {
        super.init(
            initial: InterfaceForm(), feedbacks: feedbacks, executor: .sendersThread, reduce: InterfaceFormEvent.reduce)
    }
}

@MainActor @Suite struct InterfaceViewModelTests {
    @Test func `mutations and events are taken in the order in which they were sent`() {
        let viewModel = InterfaceFormViewModel()
        viewModel.mutate(keyPath: \.email, "example@example.com")
        viewModel.send(event: .signIn)
        viewModel.mutate(keyPath: \.email, "later")
        #expect(viewModel.state == InterfaceForm())
        viewModel.start()
        #expect(viewModel.state.email == "later")
        #expect(viewModel.state.log == ["example@example.com/"])
    }

    @Test func `observing the states starts the machine and shows the initial one`() async {
        let viewModel = InterfaceFormViewModel()
        var states = viewModel.states().makeAsyncIterator()
        viewModel.mutate(keyPath: \.email, "a")
        #expect(await states.next()?.email == "")
        #expect(await states.next()?.email == "a")
        await viewModel.stop()
        #expect(await states.next() == nil)
        #expect(viewModel.send(event: .signIn) == .dropped(.stopped))
    }

    @Test func `to a feedback a mutation is a new state and no event`() {
        let seen = Record<String>()
        let viewModel = InterfaceFormViewModel(
            Feedback(skippingRepeated: { $0.email }) { email in email == "a" ? .note("saw a") : nil },
            .eventMiddleware { (_: InterfaceForm, event: InterfaceFormEvent) -> InterfaceFormEvent? in
                seen.add("\(event)")
                return nil
            })
        viewModel.start()
        viewModel.mutate(keyPath: \.email, "a")
        #expect(viewModel.state.log == ["saw a"])
        #expect(seen.values == ["note(\"saw a\")"])
    }

    @Test func `the view model and its parts have the fault of the machine`() async {
        struct Broken: Error {}
        let viewModel = InterfaceFormViewModel(
            Feedback(name: "work") { (_: InterfaceForm, _: InterfaceFormEvent?) -> Effect<InterfaceFormEvent> in
                Effect.attempt { _ in throw Broken() }
            })
        let part = viewModel.scope(state: \.address, event: { (text: String) in .note(text) })
        #expect(viewModel.fault == nil)
        viewModel.start()
        for await _ in viewModel.states() {}
        #expect(viewModel.fault?.feedback == "work")
        #expect(part.fault?.error is Broken)
    }

    @Test func `every form of reducer will do`() {
        let returning = ViewModel<Int, Int>(
            initial: 1, feedbacks: [], executor: .sendersThread, reduce: { (a: Int, b: Int) -> Int in a + b })
        let reducer = ViewModel<Int, Int>(
            initial: 1, feedbacks: [], executor: .sendersThread, reduce: Reducer<Int, Int>.returning { $0 + $1 })
        for viewModel in [returning, reducer] {
            viewModel.start()
            viewModel.send(event: 2)
            #expect(viewModel.state == 3)
        }
    }

    @Test func `a scope shows the part when it changes and sends into the whole`() {
        let viewModel = InterfaceFormViewModel()
        let address = viewModel.scope(state: \.address, event: { (text: String) in .note(text) })
        let seen = Record<String>()
        let watching = address.watch { seen.add($0.city) }
        viewModel.mutate(keyPath: \.email, "a")
        address.mutate(keyPath: \.city, "Riga")
        address.send(event: "moved")
        viewModel.mutate(keyPath: \.address.city, "Turku")
        #expect(seen.values == ["", "Riga", "Turku"])
        #expect(viewModel.state.log == ["moved"])
        #expect(address.state.city == "Turku")
        watching.cancel()
        address.cancel()
        #expect(viewModel.mutate(keyPath: \.email, "b") == .dropped(.stopped))
    }

    @Test func `a view model that is released is gone with its machine and effects`() {
        let probe = TypedProbe<InterfaceFormEvent>()
        weak var released: InterfaceFormViewModel?
        var watching: Subscription?
        var screen: Subscription?
        let shown = Record<String>()
        do {
            let viewModel = InterfaceFormViewModel(Feedback(effects: { _ in probe.effect("it") }))
            released = viewModel
            watching = viewModel.watch { _ in }
            screen = Widget(viewModel: viewModel) { $0.email }.render { shown.add($0) }
        }
        #expect(released == nil)
        #expect(probe.log == ["start it", "cancel it"])
        #expect(shown.values == [""])
        watching?.cancel()
        screen?.cancel()
    }
}

@MainActor @Suite struct InterfaceContextTests {
    @Test func `a context has the properties of its state and the ways back`() throws {
        let viewModel = InterfaceFormViewModel()
        let contexts = Record<Context<InterfaceForm, InterfaceFormEvent>>()
        let screen = Widget(viewModel: viewModel) { context in context }.render { contexts.add($0) }
        let context = try #require(contexts.values.first)
        #expect(context.email == "")
        let email = context.binding(for: \.email)
        email.wrappedValue = "anna"
        #expect(email.wrappedValue == "anna")
        #expect(context.email == "")
        let city = context.binding(for: \.address).city
        city.wrappedValue = "Riga"
        #expect(viewModel.state.address.city == "Riga")
        let noting = context.binding(for: \.log, event: { .note($0.last ?? "") })
        noting.wrappedValue = ["x", "y"]
        #expect(noting.wrappedValue == ["y"])
        let signIn = context.action(for: .signIn)
        signIn()
        context.mutate(keyPath: \.password, "p")
        context.send(event: .signIn)
        #expect(viewModel.state.log == ["y", "anna/", "anna/p"])
        #expect(contexts.values.map(\.email) == ["", "anna", "anna", "anna", "anna", "anna", "anna"])
        screen.cancel()
        viewModel.mutate(keyPath: \.email, "unseen")
        #expect(contexts.values.count == 7)
    }

    @Test func `a binding reads and writes its property`() {
        let kept = Record<String>()
        @Binding(get: { kept.values.last ?? "" }, set: { kept.add($0) }) var text: String
        text = "a"
        text += "b"
        #expect(text == "ab")
        #expect($text.wrappedValue == "ab")
        let constant = Binding.constant(3)
        constant.wrappedValue = 4
        #expect(constant.wrappedValue == 3)
    }
}

@MainActor @Suite struct InterfaceWidgetTests {
    @Test func `a widget renders a terminal interface each time the state changes`() {
        let screen = Record<String>()
        let viewModel = InterfaceFormViewModel()
        let widget = Widget(viewModel: viewModel) { context in
            """
            email:    \(context.email)
            password: \(String(repeating: "*", count: context.password.count))
            """
        }
        let rendering = widget.render { screen.add($0) }
        viewModel.mutate(keyPath: \.email, "a@b.c")
        viewModel.mutate(keyPath: \.password, "abc")
        #expect(screen.values.count == 3)
        #expect(screen.values.last == "email:    a@b.c\npassword: ***")
        rendering.cancel()
    }

    @Test func `an interface is a feedback like any other`() {
        let screen = Record<String>()
        let keys = Record<@Sendable () -> Void>()
        let interface = Feedback<Int, Int>.rendering(into: { screen.add($0) }) { count, send in
            keys.add { send(1) }
            if count == 2 { send(10) }
            return "count: \(count)"
        }
        let loop = system(
            initial: 0, reduce: { (count: inout Int, step: Int) in count += step }, feedbacks: [interface],
            executor: .sendersThread
        ).makeLoop()
        loop.start()
        keys.values[0]()
        keys.values[1]()
        #expect(screen.values == ["count: 0", "count: 1", "count: 2", "count: 12"])
        loop.cancel()
        #expect(loop.phase == .stopped)
    }

    @Test func `one interface value serves two loops and a graceful stop ends it`() async {
        typealias FormUpdate = Update<InterfaceForm, InterfaceFormEvent>
        let contexts = Record<Context<InterfaceForm, InterfaceFormEvent>>()
        let interface = Feedback<InterfaceForm, FormUpdate>.rendering(into: { contexts.add($0) }) { $0 }
        let loops = (0..<2).map { _ in
            Loop<InterfaceForm, FormUpdate>(
                initial: InterfaceForm(), feedbacks: [interface], executor: .sendersThread
            ) { form, update in
                switch update {
                case .event(let event): InterfaceFormEvent.reduce(&form, event)
                case .mutation(let mutation): mutation.apply(to: &form)
                }
                return .handled
            }
        }
        for loop in loops { loop.start() }
        let email = contexts.values[1].binding(for: \.email)
        email.wrappedValue = "second"
        contexts.values[0].send(event: .note("first"))
        #expect(email.wrappedValue == "second")
        #expect(loops.map(\.state.email) == ["", "second"])
        #expect(loops.map(\.state.log) == [["first"], []])
        for loop in loops { await loop.stop(within: .seconds(3600)) }
        #expect(email.wrappedValue == "second")
        email.wrappedValue = "dropped"
        #expect(loops[1].state.email == "second")
    }
}
