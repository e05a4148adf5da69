import FeedbackKit
import Testing

private struct Idle: State, Equatable {}
private struct Busy: State, Equatable { let job: Int }
private struct Start: Event { let job: Int }
private struct Finish: Event {}

/// Every overload of `attach(to:)`, in each of its directions.
@Suite struct `Attaching` {
    private func worker() -> System {
        System {
            InitialState { Idle() }
            Transitions {
                From(Idle.self) { On(Start.self, transitionTo: Busy.self) { Busy(job: $0.job) } }
                From(Busy.self) { On(Finish.self, transitionTo: Idle()) }
            }
        }.execute(on: .sendersThread)
    }

    @Test func `mediator to system by closure`() {
        let mediator = PassthroughMediator<Int>()
        let system = worker().attach(to: mediator) { $0 > 5 ? Start(job: $0) : nil }
        system.start()
        mediator.send(3)
        #expect(system.state is Idle)
        mediator.send(6)
        #expect(system.state as? Busy == Busy(job: 6))
    }

    @Test func `mediator to system by value`() {
        let mediator = CurrentValueMediator("go")
        let system = worker()
            .attach(to: mediator, onMediatorValue: "go", emitSystemEvent: Start(job: 1))
            .attach(to: mediator, onMediatorValue: "end") { _ in Finish() }
        system.start()
        #expect(system.state as? Busy == Busy(job: 1))
        mediator.send("end")
        #expect(system.state is Idle)
        mediator.send("nothing")
        #expect(system.state is Idle)
        #expect(system.snapshot.counters.events == 2)
    }

    @Test func `system to mediator, every form, each state in the order of the links`() {
        let mediator = PassthroughMediator<String>()
        let seen = Record<String>()
        let subscription = mediator.subscribe { seen.add($0) }
        let system = worker()
            .attach(to: mediator) { $0 is Idle ? "closure" : nil }
            .attach(to: mediator, onSystemStateType: Idle.self, emitMediatorValue: "type, value")
            .attach(to: mediator, onSystemStateType: Busy.self) { "type, closure \($0.job)" }
            .attach(to: mediator, onSystemState: Busy(job: 2), emitMediatorValue: "state, value")
            .attach(to: mediator, onSystemState: Busy(job: 2)) { "state, closure \($0.job)" }
            .attach(to: mediator, onSystemState: Busy.self) { "documented \($0.job)" }
        system.start()
        system.send(Start(job: 1))
        system.send(Finish())
        system.send(Start(job: 2))
        #expect(
            seen.values == [
                "closure", "type, value",
                "type, closure 1", "documented 1",
                "closure", "type, value",
                "type, closure 2", "state, value", "state, closure 2", "documented 2",
            ])
        withExtendedLifetime(subscription) {}
    }

    @Test func `system to system holds or drops events before the start, as chosen`() {
        let source = worker()
        let holding = worker()
        let dropping = worker()
        source.attach(to: holding, onSystemStateType: Busy.self) { Start(job: $0.job * 10) }
        source.attach(to: dropping, onSystemStateType: Busy.self, beforeStart: .drop, emitAttachedSystemEvent: Finish())
        source.start()
        source.send(Start(job: 4))
        holding.start()
        dropping.start()
        #expect(holding.state as? Busy == Busy(job: 40))
        #expect(dropping.state is Idle)
        #expect(dropping.snapshot.counters.refused == 1)
        #expect(dropping.snapshot.counters.events == 0)
    }

    @Test func `attached systems keep neither each other nor the mediator's subscribers alive`() {
        let mediator = PassthroughMediator<Int>()
        let source = worker()
        var target: System? = worker().attach(to: mediator) { Start(job: $0) }
        source.attach(to: target!, onSystemStateType: Busy.self) { Start(job: $0.job) }
        weak let watched = target
        target?.start()
        source.start()
        #expect(mediator.snapshot.subscribers == 1)
        target = nil
        #expect(watched == nil)
        #expect(mediator.snapshot.subscribers == 0)
        source.send(Start(job: 1))
        #expect(source.state is Busy)
    }

    @Test func `a link added to a system that runs sees the current state first`() {
        let mediator = PassthroughMediator<Int>()
        let seen = Record<Int>()
        let subscription = mediator.subscribe { seen.add($0) }
        let system = worker()
        system.start()
        system.send(Start(job: 3))
        system.attach(to: mediator, onSystemStateType: Busy.self) { $0.job }
        system.send(Finish())
        system.send(Start(job: 5))
        #expect(seen.values == [3, 5])
        withExtendedLifetime(subscription) {}
    }

    @Test func `two systems that feed each other through mediators settle`() {
        let there = PassthroughMediator<Int>()
        let back = PassthroughMediator<Int>()
        let ping = worker().attach(to: back) { $0 < 500 ? Finish() : nil }
        let pong = worker().attach(to: there) { Start(job: $0) }
        ping.attach(to: there, onSystemStateType: Busy.self) { $0.job }
        pong.attach(to: back, onSystemStateType: Busy.self) { $0.job }
        ping.start()
        pong.start()
        ping.send(Start(job: 1))
        #expect(ping.state is Idle)
        #expect(pong.state as? Busy == Busy(job: 1))
    }
}
