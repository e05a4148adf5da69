import FeedbackKit
import FeedbackKitTesting
import Synchronization
import Testing
import TestSupport

@Suite struct InterfaceUISystemTests {
    struct Count: State, Equatable { var value = 0 }
    struct Add: Event, Equatable { var amount = 1 }
    struct Noise: Event {}

    enum Tens: ViewState {
        case undefined
        case tens(Int)
        var number: Int { if case .tens(let number) = self { number } else { -1 } }
    }

    @SystemBuilder static func parts() -> SystemParts {
        InitialState { Count() }
        Feedbacks {}
        Transitions {
            From(Count.self) { state in
                On(Add.self, transitionTo: Count.self) { event in Count(value: state.value + event.amount) }
            }
        }
    }

    static let tens: @Sendable (any State) -> Tens = { state in
        .tens(((state as? Count)?.value ?? -10) / 10)
    }

    static func raw(_ state: RawState) -> Int { (state.state as? Count)?.value ?? -1 }

    @Test func `a raw system publishes the states as they are`() async {
        let ui = UISystem {
            InitialState { Count() }
            Feedbacks {}
            Transitions {
                From(Count.self) { state in
                    On(Add.self, transitionTo: Count(value: state.value + 1))
                }
            }
        }
        #expect(Self.raw(ui.state) == 0)
        ui.emit(Add())
        ui.start()
        for await state in ui.states() where Self.raw(state) == 1 { break }
        #expect(Self.raw(ui.state) == 1)
        await ui.stop()
    }

    @MainActor
    @Test(arguments: [false, true])
    func `a raw system publishes the state it begins with once`(isRunning: Bool) async {
        let system = System(Self.parts).execute(on: .sendersThread)
        if isRunning {
            system.start()
            system.send(Add(amount: 7))
        }
        let ui = system.uiSystem()
        let seen = Record<Int>()
        let watching = ui.subscribe { seen.add(Self.raw($0)) }
        await suspend(while: seen.values.isEmpty)
        ui.start()
        for _ in 0..<200 { await Task.yield() }
        ui.emit(Add())
        await suspend(while: seen.values.count < 2)
        #expect(seen.values == (isRunning ? [7, 8] : [0, 1]))
        // A state equal to the one before is still a new state.
        ui.emit(Add(amount: 0))
        await suspend(while: seen.values.count < 3)
        #expect(seen.values.last == (isRunning ? 8 : 1))
        watching.cancel()
        ui.cancel()
    }

    @Test func `what ended a system is known to what shows it`() async {
        struct Broken: Error {}
        let ui = System {
            InitialState { Count() }
            Feedbacks {
                Feedback(name: "work", on: Count.self, strategy: .continueOnNewState) {
                    (_: Count) -> Effect<any Event> in
                    Effect.attempt { _ in throw Broken() }
                }
            }
            Transitions {}
        }.uiSystem()
        #expect(ui.fault == nil)
        await #expect(throws: LoopFault.self) { try await ui.run() }
        #expect(ui.fault?.feedback == "work")
        #expect(ui.fault?.error is Broken)
    }

    @Test func `view states begin undefined and leave repeats out`() async {
        let ui = UISystem(viewStateFactory: Self.tens, Self.parts).execute(on: .sendersThread)
        #expect(ui.state == .undefined)
        var states = ui.states().makeAsyncIterator()
        #expect(await states.next() == .undefined)
        ui.start()
        #expect(await states.next() == .tens(0))
        for _ in 0..<9 { ui.emit(Add()) }
        ui.emit(Add())
        #expect(await states.next() == .tens(1))
        ui.emit(Add(amount: 3))
        ui.emit(Add(amount: 10))
        #expect(await states.next() == .tens(2))
        await ui.stop()
        #expect(await states.next() == nil)
        #expect(ui.state == .tens(2))
    }

    @Test func `states are published on the main actor in the order of the loop and the last one always`() async {
        let ui = System(Self.parts).uiSystem()
        let seen = Record<Int>()
        let done = Gate()
        let watching = ui.subscribe { state in
            MainActor.assertIsolated()
            seen.add(Self.raw(state))
            if Self.raw(state) == 10_000 { done.open() }
        }
        ui.start()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 { group.addTask { for _ in 0..<2_500 { ui.emit(Add()) } } }
        }
        await done.opened()
        #expect(seen.values == seen.values.sorted())
        #expect(Set(seen.values).count == seen.values.count)
        watching.cancel()
        await ui.stop()
    }

    @MainActor
    @Test func `a busy main actor is shown only the latest state`() async {
        let ui = System(Self.parts).execute(on: .sendersThread).uiSystem(viewStateFactory: { state in
            .tens((state as? Count)?.value ?? 0) as Tens
        })
        let seen = Record<Int>()
        let done = Gate()
        let watching = ui.subscribe { state in
            seen.add(state.number)
            if state.number == 1_000 { done.open() }
        }
        ui.start()
        // The main actor is busy until this function waits.
        for _ in 0..<1_000 { ui.emit(Add()) }
        #expect(ui.state == .undefined)
        await done.opened()
        #expect(seen.values == [1_000] || seen.values == [-1, 1_000])
        watching.cancel()
        ui.cancel()
    }

    @Test func `a system that has run already is shown from its current state on`() async {
        let system = System(Self.parts).execute(on: .sendersThread)
        system.start()
        system.send(Add(amount: 42))
        let ui = system.uiSystem(viewStateFactory: Self.tens)
        for await state in ui.states() where state == .tens(4) { break }
        system.cancel()
        for await _ in ui.states() {}
        #expect(ui.state == .tens(4))
    }

    @Test func `the examples of the document`() async {
        struct LoadingState: State {}
        struct LoadedState: State { let data: String }
        struct RefreshEvent: Event {}
        struct DataIsLoaded: Event { let data: String }
        enum FeatureViewState: ViewState {
            case undefined
            case displayLoading
            case displayData(data: String)
        }
        let stateToViewState: @Sendable (any State) -> FeatureViewState = { state in
            switch state {
            case is LoadingState: return .displayLoading
            case let loadedState as LoadedState: return .displayData(data: loadedState.data)
            default: return .undefined
            }
        }
        let system = UISystem(viewStateFactory: stateToViewState) {
            InitialState {
                LoadingState()
            }
            Feedbacks {
                Feedback(on: LoadingState.self, strategy: .cancelOnNewState) { _ async in DataIsLoaded(data: "it") }
            }
            Transitions {
                From(LoadingState.self) { _ in
                    On(DataIsLoaded.self, transitionTo: LoadedState.self) { event in LoadedState(data: event.data) }
                }
                From(LoadedState.self) { _ in
                    On(RefreshEvent.self, transitionTo: LoadingState())
                }
            }
        }
        system.start()
        for await state in system.states() where state == .displayData(data: "it") { break }
        #expect(system.state == .displayData(data: "it"))
        #expect(system.emit(RefreshEvent()) == .accepted)
        await system.stop()

        let traditional = System {
            InitialState {
                LoadingState()
            }
            Feedbacks {}
            Transitions {}
        }
        let uiSystem = traditional.uiSystem(viewStateFactory: stateToViewState)
        uiSystem.start()
        for await state in uiSystem.states() where state == .displayLoading { break }
        uiSystem.cancel()
    }

    @Test func `bindings read what was published and write events`() async {
        let ui = UISystem(viewStateFactory: Self.tens, Self.parts).execute(on: .sendersThread)
        let both = ui.binding(get: { $0.number }, emit: { Add(amount: $0) })
        let constant = ui.binding(get: { $0.number }, emit: Add(amount: 7))
        let byPath = ui.binding(keyPath: \.number, emit: { Add(amount: $0 * 10) })
        let pathConstant = ui.binding(keyPath: \.number, emit: Add(amount: 3))
        let readOnly = [ui.binding(keyPath: \.number), ui.binding(get: { $0.number })]
        ui.start()
        both.wrappedValue = 20
        constant.wrappedValue = 0
        byPath.wrappedValue = 3
        pathConstant.wrappedValue = 0
        for binding in readOnly { binding.wrappedValue = 1_000 }
        #expect((ui.system.state as? Count)?.value == 60)
        for await state in ui.states() where state == .tens(6) { break }
        for binding in [both, constant, byPath, pathConstant] + readOnly { #expect(binding.wrappedValue == 6) }
        await ui.stop()
    }

    @Test func `it is attached to mediators and systems in every form a system is`() async {
        let mediator = PassthroughMediator<Int>()
        let values = Record<Int>()
        let listening = mediator.subscribe { values.add($0) }
        let ui = UISystem(Self.parts).execute(on: .sendersThread)
            .attach(to: mediator, emitSystemEvent: { $0 == 100 ? Add(amount: 1) : nil })
            .attach(to: mediator, onMediatorValue: 101, emitSystemEvent: Add(amount: 1))
            .attach(to: mediator, onMediatorValue: 102, emitSystemEvent: { _ in Add(amount: 1) })
            .attach(to: mediator, emitMediatorValue: { ($0 as? Count)?.value == 1 ? 1 : nil })
            .attach(to: mediator, onSystemStateType: Count.self, emitMediatorValue: 2)
            .attach(to: mediator, onSystemStateType: Count.self, emitMediatorValue: { 10 + $0.value })
            .attach(to: mediator, onSystemState: Count(value: 2), emitMediatorValue: 3)
            .attach(to: mediator, onSystemState: Count(value: 2), emitMediatorValue: { 20 + $0.value })
            .attach(to: mediator, onSystemState: Count.self, emitMediatorValue: { 30 + $0.value })
        let plain = System(Self.parts).execute(on: .sendersThread)
        let other = System(Self.parts).execute(on: .sendersThread).uiSystem()
        ui.attach(to: plain, onSystemStateType: Count.self, emitAttachedSystemEvent: { _ in Add(amount: 1) })
            .attach(to: plain, onSystemStateType: Count.self, emitAttachedSystemEvent: Add(amount: 100))
            .attach(to: other, onSystemStateType: Count.self, emitAttachedSystemEvent: { Add(amount: $0.value) })
            .attach(to: other, onSystemStateType: Count.self, emitAttachedSystemEvent: Add(amount: 100))
        plain.attach(to: other, onSystemStateType: Count.self, emitAttachedSystemEvent: { _ in Add(amount: 1_000) })
            .attach(
                to: other, onSystemStateType: Count.self, beforeStart: .drop,
                emitAttachedSystemEvent: Add(amount: 1_000_000))
        plain.start()
        other.start()
        ui.start()
        for value in [100, 101, 102] { mediator.send(value) }
        #expect((ui.system.state as? Count)?.value == 3)
        #expect(
            values.values.filter { $0 < 100 } == [
                2, 10, 30, 1, 2, 11, 31, 2, 12, 3, 22, 32, 2, 13, 33,
            ])
        #expect((plain.state as? Count)?.value == 404)
        // The four states of `ui` (0 to 3), and those of `plain`: the first, before `other` ran, and eight more.
        #expect((other.system.state as? Count)?.value == 406 + 9 * 1_000 + 8 * 1_000_000)
        listening.cancel()
        for system in [ui, other] { system.cancel() }
        plain.cancel()
    }

    @Test func `it keeps its system and is kept by nobody`() {
        weak var ui: UISystem<Tens>?
        weak var system: System?
        var binding: Binding<Int>?
        do {
            let object = UISystem(viewStateFactory: Self.tens, Self.parts).execute(on: .sendersThread)
            (ui, system) = (object, object.system)
            binding = object.binding(get: { $0.number }, emit: { Add(amount: $0) })
            object.start()
            object.emit(Add())
            #expect(system != nil)
        }
        #expect(ui == nil)
        #expect(system == nil)
        binding?.wrappedValue = 3
        #expect(binding != nil)
    }
}
