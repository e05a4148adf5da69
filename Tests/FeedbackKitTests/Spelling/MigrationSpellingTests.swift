import FeedbackKit
import Synchronization
import Testing

/// Spellings of the originals that are easy to lose.
@Suite struct `Spellings of the originals` {
    struct Volume: FeedbackKit.State, Equatable { var value = 10 }
    struct Louder: Event {}

    @SystemBuilder private var system: System {
        InitialState { Volume() }
        Feedbacks { Feedback(on: Volume.self, strategy: .continueOnNewState, perform: Self.raise) }
        Transitions {
            From(Volume.self) { volume in On(Louder.self, transitionTo: Volume(value: volume.value + 1)) }
        }
    }

    private static func raise(_ volume: Volume) -> (any Event)? { volume.value < 12 ? Louder() : nil }

    @Test func `a system in a property, and a side effect as an argument`() {
        let system = system.execute(on: .sendersThread)
        system.start()
        #expect(system.state as? Volume == Volume(value: 12))
    }

    @Test func `transitions as a reducer, and a strategy under its name there`() {
        let strategy: Feedback<any FeedbackKit.State, any Event>.Strategy = .cancelOnNewState
        if case .cancelOnNewState = strategy {} else { Issue.record("another strategy") }
        let reduce = system.transitions.reducer
        #expect(reduce(Volume(), Louder()) as? Volume == Volume(value: 11))
        struct Unknown: Event {}
        #expect(reduce(Volume(), Unknown()) as? Volume == Volume())
    }

    @Test func `reducers one after the other, and bindings to a store`() {
        let store = BaseStore<Int, Never, Int>(
            state: 1, reducer: Reducer(Reducer { $0 += $1 }, Reducer { state, _ in state *= 2 }),
            publishOn: .sendersThread)
        store.dispatch(sync: 2)
        #expect(store.state == 6)
        let text = store.binding(state: { "\($0)" }, action: { Int($0) ?? 0 })
        #expect(text.wrappedValue == "6")
        text.wrappedValue = "1"
        #expect(store.state == 14)
        store.binding(action: { $0 - 14 }).wrappedValue = 15
        #expect(store.state == 30)
    }

    @Test func `an input and its observer`() {
        let input = Feedback<Int, Int>.input
        let loop = Loop<Int, Int>(initial: 0, feedbacks: [input.feedback], executor: .sendersThread) { state, event in
            state += event
            return .handled
        }
        loop.start()
        input.observer(3)
        #expect(loop.state == 3)
    }

    @Test func `run throws a fault, and an observer receives it`() async {
        struct Broken: Error {}
        let seen = Record<String>()
        let system = System {
            InitialState { Volume() }
            Feedbacks {
                Feedback(name: "probe", on: Volume.self, strategy: .continueOnNewState) { _ in
                    .attempt { _ in throw Broken() }
                }
            }
            Transitions {}
        }.observe(with: FaultObserver { seen.add($0.feedback) })
        await #expect(throws: LoopFault.self) { try await system.run() }
        #expect(seen.values == ["probe"])
    }

    @Test func `a run that is cancelled throws nothing`() async throws {
        let system = system
        let running = Task { try await system.run() }
        running.cancel()
        try await running.value
    }
}
