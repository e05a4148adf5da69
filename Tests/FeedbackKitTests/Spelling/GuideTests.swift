import FeedbackKit
import FeedbackKitTesting
import Synchronization
import Testing

// The code of the tutorial and of the guides, exactly as they show it.

struct Resting: State, Equatable {
    var temperature: Int
}

struct Heating: State, Equatable {
    var temperature: Int
}

struct TooCold: Event {}
struct OneDegreeMore: Event {}
struct WarmEnough: Event {}

func thermostat(target: Int, clock: any Clock<Duration> = ContinuousClock()) -> System {
    System(clock: clock) {
        InitialState { Resting(temperature: 18) }
        Feedbacks {
            Feedback(name: "radiator", on: Heating.self, strategy: .cancelOnNewState) { heating, send in
                guard (try? await send.clock.sleep(for: .seconds(60))) != nil else { return }
                send(heating.temperature + 1 < target ? OneDegreeMore() : WarmEnough())
            }
        }
        Transitions {
            From(Resting.self) { resting in
                On(TooCold.self, transitionTo: Heating(temperature: resting.temperature))
            }
            From(Heating.self) { heating in
                On(OneDegreeMore.self, transitionTo: Heating(temperature: heating.temperature + 1))
                On(WarmEnough.self, transitionTo: Resting(temperature: heating.temperature + 1))
            }
        }
    }
}

struct Quiet: State, Equatable {}
struct Burning: State, Equatable {}
struct HeatWanted: Event {}
struct HeatEnough: Event {}

func boiler() -> System {
    System {
        InitialState { Quiet() }
        Transitions {
            From(Quiet.self) { On(HeatWanted.self, transitionTo: Burning()) }
            From(Burning.self) { On(HeatEnough.self, transitionTo: Quiet()) }
        }
    }
}

@Suite(.timeLimit(.minutes(20))) struct `The tutorial` {
    @Test func `heats until it is warm`() {
        let test = TestSystem { simulation in thermostat(target: 20, clock: simulation.clock) }
        test.start(expecting: Resting(temperature: 18))
        test.send(TooCold(), newStateIs: Heating(temperature: 18))
        test.advance(by: .seconds(60))
        test.receive(OneDegreeMore.self, newStateIs: Heating(temperature: 19))
        test.advance(by: .seconds(60))
        test.receive(WarmEnough.self, newStateIs: Resting(temperature: 20))
        test.finish()
    }

    @Test func `a thermostat and a boiler, attached through a mediator`() async {
        let wantsHeat = CurrentValueMediator(false)
        let thermostat = thermostat(target: 20)
            .attach(to: wantsHeat, onSystemStateType: Heating.self, emitMediatorValue: true)
            .attach(to: wantsHeat, onSystemStateType: Resting.self, emitMediatorValue: false)
        let boiler = boiler()
            .attach(to: wantsHeat, onMediatorValue: true, emitSystemEvent: HeatWanted())
            .attach(to: wantsHeat, onMediatorValue: false, emitSystemEvent: HeatEnough())

        boiler.start()
        thermostat.start()
        thermostat.send(TooCold())
        for await state in boiler.stream where state is Burning { break }
        thermostat.send(WarmEnough())
        for await state in boiler.stream where state is Quiet { break }

        await thermostat.stop()
        await boiler.stop()
    }
}

@Suite(.timeLimit(.minutes(20))) struct `The guides` {
    @Test func `a typed loop`() async {
        let loop = Loop<Int, Int>(
            initial: 0,
            feedbacks: [
                Feedback(
                    name: "doubling", cancellation: .never,
                    answer: { state, _ in state < 100 && state > 0 ? state : nil })
            ],
            executor: .sendersThread
        ) { state, event in
            state += event
            return .handled
        }
        loop.start()
        loop.send(1)
        #expect(loop.state == 128)
        await loop.stop()
    }

    @Test func `a sequence of states`() async {
        enum Light: Sendable, Equatable { case red, green }
        enum Tick: Sendable { case next }

        let states = system(
            initial: Light.red,
            reduce: { (light: inout Light, _: Tick) in light = light == .red ? .green : .red },
            feedbacks: [
                Feedback.effects { (light: Light) in
                    light == .red ? Effect.after(.milliseconds(1), Tick.next) : .nothing
                }
            ])
        var seen: [Light] = []
        for await light in states {
            seen.append(light)
            if light == .green { break }
        }
        #expect(seen == [.red, .green])
    }

    @Test func `a failing effect is tried again`() async {
        struct Unreachable: Error {}
        final class Tries: Sendable {
            private let count = Atomic(0)
            func next() -> Int { count.add(1, ordering: .relaxed).newValue }
        }

        let tries = Tries()
        let loop = Loop<String, String>(
            initial: "offline",
            feedbacks: [
                Feedback(name: "connect", cancellation: .never) { (state: String, _: String?) in
                    guard state == "offline" else { return .nothing }
                    return Effect.attempt(
                        retry: .exponential(first: .milliseconds(1), limit: 3),
                        { send in
                            guard tries.next() == 3 else { throw Unreachable() }
                            send("online")
                        },
                        recover: { "failed: \($0)" }
                    ).id("connection")
                }
            ]
        ) { state, event in
            state = event
            return .handled
        }
        loop.start()
        for await state in loop.states() where state == "online" { break }
        await loop.stop()
    }

    @Test func `a store`() async {
        enum Action: Sendable { case add(Int), reset }
        enum Later: Sendable { case load }

        let store = BaseStore<Int, Later, Action>(
            state: 0,
            reducer: Reducer<Int, Action> { state, action in
                switch action {
                case .add(let amount): state += amount
                case .reset: state = 0
                }
            },
            thunk: Thunk { _, _, _ async -> [EitherAction<Later, Action>] in [.sync(.reset), .sync(.add(40))] })
        await store.dispatch(async: .load).ended()
        await store.dispatch(sync: .add(1), .add(1)).ended()
        #expect(store.state == 42)
        await store.stop()
    }
}
