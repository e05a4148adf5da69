import FeedbackKit
import FeedbackKitTesting
import Testing

// snippet: lamp
struct Off: State, Equatable {}
struct Lit: State, Equatable {
    var brightness: Int
}
struct Pressed: Event, Equatable {}
struct TimedOut: Event, Equatable {}

func makeLamp(clock: any Clock<Duration>) -> System {
    System(clock: clock) {
        InitialState { Off() }
        Feedbacks {
            Feedback(name: "timer", on: Lit.self, strategy: .cancelOnNewState) { _ -> (any Event)? in
                try? await clock.sleep(for: .seconds(60))
                return TimedOut()
            }
        }
        Transitions {
            From(Off.self) { _ in On(Pressed.self, transitionTo: Lit(brightness: 1)) }
            From(Lit.self) { lit in
                On(Pressed.self, transitionTo: Lit(brightness: lit.brightness + 1))
                On(TimedOut.self, transitionTo: Off())
            }
        }
    }
}
// end

// snippet: stopwatch
struct Stopwatch: Sendable, Equatable {
    var isRunning = false
    var seconds = 0
}

enum Button: Sendable, Equatable {
    case start, stop, tick
}

let ticking = Feedback<Stopwatch, Button>(name: "ticking") { stopwatch, _ in
    stopwatch.isRunning ? .after(.seconds(1), .tick) : .nothing
}

func press(_ stopwatch: inout Stopwatch, _ button: Button) -> Reduction {
    switch button {
    case .start where stopwatch.isRunning: return .unhandled
    case .start: stopwatch.isRunning = true
    case .stop: stopwatch.isRunning = false
    case .tick: stopwatch.seconds += 1
    }
    return .handled
}
// end

// snippet: basket
struct Basket: Equatable, Sendable {
    var fruit: [String] = []
}
enum Change: Equatable, Sendable {
    case add(String)
}
enum Order: Sendable {
    case fetch(String)
}

let filling = Reducer<Basket, Change, SimulationClock> { (basket: inout Basket, change, _) in
    switch change {
    case .add(let name): basket.fruit.append(name)
    }
}
let fetching = Thunk<Basket, Change, Order, SimulationClock> { _, order, clock, send async in
    switch order {
    case .fetch(let name):
        try? await clock.sleep(for: .seconds(1))
        send(.sync(.add(name)))
    }
}
// end

@Suite(.timeLimit(.minutes(5))) struct `The page about testing` {
    // snippet: transitions
    @Test func `a lamp gets brighter`() {
        let transitions = makeLamp(clock: ContinuousClock()).transitions
        transitions.assertThat(from: Off(), on: Pressed(), newStateIs: Lit(brightness: 1))
        transitions.assertThat(from: Lit(brightness: 1), on: Pressed(), newStateIs: Lit(brightness: 2))
        transitions.assertThatStateIsUnchanged(from: Off(), on: TimedOut())
    }
    // end

    // snippet: system
    @Test func `a lamp goes out a minute after it was last touched`() {
        let test = TestSystem { simulation in makeLamp(clock: simulation.clock) }
        test.start(expecting: Off())
        test.send(Pressed(), newStateIs: Lit(brightness: 1))
        test.advance(by: .seconds(59))
        test.send(Pressed(), newStateIs: Lit(brightness: 2))
        test.advance(by: .seconds(59))
        test.advance(by: .seconds(1))
        test.receive(TimedOut(), newStateIs: Off())
        test.sendUnhandled(TimedOut())
        test.finish()
    }
    // end

    // snippet: store
    @Test func `a stopwatch counts seconds`() {
        let store = TestStore(initial: Stopwatch(), feedbacks: [ticking], reduce: press)
        store.start()
        store.send(.start) { $0.isRunning = true }
        store.sendUnhandled(.start)
        store.advance(by: .seconds(2))
        store.receive(.tick) { $0.seconds = 1 }
        store.receive(.tick) { $0.seconds = 2 }
        store.send(.stop) { $0.isRunning = false }
        store.finish()
    }
    // end

    // snippet: attached
    @Test func `a lamp reports to a counter`() {
        let simulation = Simulation()
        let lamp = makeLamp(clock: simulation.clock).execute(on: simulation)
        let counter = System {
            InitialState { Counting(value: 0) }
            Transitions {
                From(Counting.self) { counting in
                    On(Counted.self, transitionTo: Counting(value: counting.value + 1))
                }
            }
        }
        lamp.attach(to: counter, onSystemStateType: Lit.self, emitAttachedSystemEvent: Counted())

        let test = TestSystem(counter, in: simulation)
        test.start(expecting: Counting(value: 0))
        lamp.start()
        lamp.send(Pressed())
        test.simulation.runUntilIdle()
        test.receive(Counted.self, newStateIs: Counting(value: 1))
        lamp.cancel()
        test.finish()
    }
    // end

    @Test func `a seed gives the same run again`() {
        // snippet: seed
        func trace(seed: UInt64) -> SimulationTrace {
            let simulation = Simulation(seed: seed)
            let loop = Loop(
                initial: Stopwatch(), feedbacks: [ticking], executor: simulation, clock: simulation.clock,
                reduce: press)
            loop.start()
            loop.send(.start)
            simulation.run(for: .seconds(3))
            simulation.note("\(loop.state.seconds) seconds")
            loop.cancel()
            simulation.runToEnd()
            return simulation.trace
        }
        let (first, second) = (trace(seed: 7), trace(seed: 7))
        // first == second, and first.lines has "loop 1 takes start in Stopwatch" and "note 3 seconds"
        // end
        #expect(first == second)
        #expect(first.lines.contains("note 3 seconds"))
        #expect(first.lines.contains("loop 1 takes start in Stopwatch"))
    }

    // snippet: store
    @Test func `a basket is filled from afar`() {
        let test = TestBaseStore<Basket, Order, Change> { simulation in
            BaseStore(
                state: Basket(), reducer: filling, thunk: fetching, environment: simulation.clock,
                publishOn: simulation,
                clock: simulation.clock)
        }
        test.dispatch(sync: .add("pear")) { $0.fruit = ["pear"] }
        test.dispatch(async: .fetch("apple"))
        test.advance(by: .seconds(1))
        test.receive(.add("apple")) { $0.fruit = ["pear", "apple"] }
        test.finish()
    }
    // end

    // snippet: explore
    @Test func `no order of two senders loses a press`() {
        Simulation.explore(seeds: 0..<100) { simulation in
            let lamp = makeLamp(clock: simulation.clock).execute(on: simulation)
            lamp.start()
            for _ in 0..<2 {
                Task(executorPreference: simulation) { lamp.send(Pressed()) }
            }
            simulation.runUntilIdle()
            #expect(lamp.state as? Lit == Lit(brightness: 2))
            lamp.cancel()
            simulation.runToEnd()
        }
    }
    // end

    // snippet: clock
    @Test func `a clock that is moved by hand`() async {
        let clock = ManualClock()
        let lamp = makeLamp(clock: clock)
        lamp.start()
        let states = lamp.stream
        lamp.send(Pressed())
        await clock.nextDeadline(in: .seconds(60))
        clock.advance(by: .seconds(60))
        var seen: [String] = []
        for await state in states {
            seen.append("\(state)")
            if seen.count > 1, state is Off { break }
        }
        #expect(seen.suffix(2) == ["Lit(brightness: 1)", "Off()"])
        lamp.cancel()
    }
    // end
}
