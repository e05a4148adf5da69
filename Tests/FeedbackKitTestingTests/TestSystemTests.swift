import FeedbackKit
import FeedbackKitTesting
import Testing

private struct Volume: State, Equatable {
    var value: Int
}
private struct Muted: State, Equatable {}
private struct Increase: Event {}
private struct Decrease: Event {}
private struct Mute: Event, Equatable {
    var reason: String
}

private func makeSystem(_ simulation: Simulation, _ mediator: PassthroughMediator<Int>? = nil) -> System {
    let system = System(clock: simulation.clock) {
        InitialState { Volume(value: 10) }
        Feedbacks {
            Feedback(name: "calm", on: Volume.self, strategy: .cancelOnNewState) { volume -> (any Event)? in
                guard volume.value > 10 else { return nil }
                try? await simulation.clock.sleep(for: .seconds(5))
                return Decrease()
            }
        }
        Transitions {
            From(Volume.self) { volume in
                On(Increase.self, transitionTo: Volume(value: volume.value + 1))
                On(Decrease.self, transitionTo: Volume(value: volume.value - 1))
                On(Mute.self, transitionTo: Muted())
            }
        }
    }
    if let mediator { system.attach(to: mediator) { $0 == 0 ? Mute(reason: "zero") : nil } }
    return system
}

/// A ring of systems and mediators, with a side effect that takes time in each.
private func ring(seed: UInt64) -> SimulationTrace {
    let simulation = Simulation(seed: seed)
    let mediators = (0..<3).map { _ in PassthroughMediator<Int>() }
    let systems = (0..<3).map { index in
        makeSystem(simulation)
            .attach(to: mediators[index]) { $0 < 8 ? Increase() : nil }
            .attach(to: mediators[(index + 1) % 3], onSystemStateType: Volume.self) { (volume: Volume) in
                simulation.note("system \(index) at \(volume.value)")
                return volume.value - 10
            }
            .execute(on: simulation)
    }
    for system in systems { system.start() }
    simulation.runUntilIdle()
    mediators[0].send(1)
    simulation.run(for: .seconds(60))
    for system in systems { system.cancel() }
    simulation.runToEnd()
    return simulation.trace
}

@Suite struct `A test system` {
    @Test func `can be one of many on a simulation, which reproduces their run from its seed`() {
        let traces = (0..<10).map { ring(seed: $0) }
        #expect(traces == (0..<10).map { ring(seed: $0) })
        #expect(Set(traces.map(\.digest)).count == 10)
        #expect(traces.allSatisfy { $0.lines.contains("note system 2 at 11") })
    }

    @Test func `is silent when everything is asserted`() {
        let mediator = PassthroughMediator<Int>()
        let test = TestSystem { makeSystem($0, mediator) }
        test.start(expecting: Volume(value: 10))
        test.send(Increase(), newStateIs: Volume(value: 11))
        test.advance(by: .seconds(5))
        test.receive(Decrease.self, newStateIs: Volume(value: 10))
        mediator.send(1)
        mediator.send(0)
        test.receive(Mute(reason: "zero"), newStateIs: Muted())
        test.sendUnhandled(Increase())
        mediator.send(0)
        test.receiveUnhandled(Mute.self)
        #expect(test.state is Muted)
        test.finish()
    }

    @Test func `names batches that were not asserted or differ`() {
        let messages = failures {
            let test = TestSystem { makeSystem($0) }
            test.start(expecting: Muted())
            test.send(Increase(), newStateIs: Volume(value: 12))
            test.advance(by: .seconds(5))
            test.send(Mute(reason: "night"), newStateIs: Volume(value: 0))
            test.receive(Decrease.self, newStateIs: Volume(value: 0))
            test.send(Increase(), newStateIs: Volume(value: 1))
            test.finish()
        }
        #expect(
            messages == [
                "the initial state is another (- expected, + actual):\n- Muted()\n+ Volume(value: 10)",
                "Increase() leads to another state (- expected, + actual):\n"
                    + "  Volume(\n-     value: 12\n+     value: 11\n  )",
                "before send(Mute(reason: \"night\")): received and not asserted: 1 event: Decrease(); "
                    + "assert each with receive",
                "Mute(reason: \"night\") leads to another state (- expected, + actual):\n- Volume(value: 0)\n+ Muted()",
                "expected to receive an event of type Decrease, but no event arrived; no side effect runs; "
                    + "the time is 5.0 seconds; no task sleeps on the clock",
                "Increase() is not handled in Muted(); expected the new state Volume(value: 1)",
            ])
    }

    @Test func `names another event than the expected one`() {
        let mediator = PassthroughMediator<Int>()
        let messages = failures {
            let test = TestSystem { makeSystem($0, mediator) }
            test.start()
            mediator.send(0)
            test.receive(Mute(reason: "one"), newStateIs: Muted())
            mediator.send(0)
            test.receive(Increase(), newStateIs: Muted())
            mediator.send(0)
            test.receiveUnhandled(Mute(reason: "zero"))
            test.finish()
        }
        #expect(
            messages == [
                "expected to receive Mute(reason: \"one\"), got Mute(reason: \"zero\") (- expected, + actual):\n"
                    + "  Mute(\n-     reason: \"one\"\n+     reason: \"zero\"\n  )",
                "expected to receive Increase(), got Mute(reason: \"zero\")",
            ])
    }

    @Test func `names a side effect that still runs, but not a mediator that is attached`() {
        let mediator = PassthroughMediator<Int>()
        let messages = failures {
            let test = TestSystem { makeSystem($0, mediator) }
            test.start()
            test.send(Increase(), newStateIs: Volume(value: 11))
            test.finish()
        }
        #expect(
            messages == [
                "side effects still run at finish(): running: 1 side effect of calm; the time is 0.0 seconds; "
                    + "the next deadline is 5.0 seconds; let them end, or end them with stop()"
            ])
    }

    @Test func `waits in real time for events from outside the simulation`() async {
        let mediator = PassthroughMediator<Int>()
        let test = TestSystem { makeSystem($0, mediator) }
        test.start()
        let away = Task.detached { mediator.send(0) }
        await test.receive(where: { $0 is Mute }, within: .seconds(60), newStateIs: Muted())
        await away.value
        let again = Task.detached { mediator.send(0) }
        await test.waitForEvent(within: .seconds(60))
        test.receiveUnhandled(Mute(reason: "zero"))
        await again.value
        test.finish()
    }

    @Test func `reports that it was released without an end`() {
        let messages = failures {
            let test = TestSystem { makeSystem($0) }
            test.start()
        }
        #expect(
            messages == [
                "a TestSystem was released without finish() or stop(), so its remaining events were not checked"
            ])
    }

    @Test func `drives one of two attached systems, the other on the same simulation`() {
        let simulation = Simulation(seed: 4)
        let other = makeSystem(simulation).execute(on: simulation)
        let system = makeSystem(simulation).attach(
            to: other, onSystemStateType: Muted.self, emitAttachedSystemEvent: Mute(reason: "follows"))
        let test = TestSystem(system, in: simulation)
        other.start()
        test.start()
        test.send(Mute(reason: "first"), newStateIs: Muted())
        #expect(other.state is Muted)
        other.cancel()
        test.finish()
    }
}
