import FeedbackKit
import FeedbackKitTesting
import Testing

/// Updates of a state in place.
@Suite struct `An update in place` {
    private enum Sent: Sendable, Equatable { case enter(Int), update(Int), stay, other }

    private let log = Record<String>()

    private func reduce(_ state: inout Int, _ event: Sent) -> Reduction {
        switch event {
        case .enter(let number):
            state = number
            return .handled
        case .update(let number):
            state = number
            return .updated
        case .stay:
            state = -1
            return .stay
        case .other:
            state = -2
            return .unhandled
        }
    }

    /// An observer that writes each step down.
    private struct Steps: LoopObserver {
        let log: Record<String>

        func loopDidTransition(from old: Int, to new: Int, on event: Sent) { log.add("\(old) → \(new)") }
        func loopDidUpdate(from old: Int, to new: Int, on event: Sent) { log.add("\(old) ↻ \(new)") }
        func loopDidCancelEffect(_ run: RunID, of feedback: String) { log.add("\(feedback) ends") }
    }

    private func loop(_ feedbacks: [Feedback<Int, Sent>], isObserved: Bool = false) -> Loop<Int, Sent> {
        let loop = Loop(initial: 0, feedbacks: feedbacks, executor: .sendersThread, reduce: reduce)
        if isObserved { loop.setObserver(Steps(log: log)) }
        loop.start()
        return loop
    }

    /// A feedback with an effect that lasts until it is cancelled.
    private func lasting(_ rule: CancellationRule<Int>) -> Feedback<Int, Sent> {
        Feedback(name: "lasting", cancellation: rule) { [log] state, _ in
            .subscribe { _, _ in
                log.add("begins in \(state)")
                return Subscription { log.add("cancelled") }
            }
        }
    }

    @Test(arguments: [true, false])
    func `goes on with side effects, and calls no feedback`(isObserved: Bool) {
        let loop = loop([lasting(.onNewState), lasting(.boundToState)], isObserved: isObserved)
        let shown = log.values.count
        loop.send(.update(1))
        loop.send(.update(2))
        #expect(log.values.dropFirst(shown) == (isObserved ? ["0 ↻ 1", "1 ↻ 2"] : []))
        #expect(loop.state == 2)
        #expect(loop.snapshot.feedbacks.map(\.running) == [1, 1])
        loop.cancel()
    }

    @Test func `is counted apart from transitions`() {
        let loop = loop([])
        for event in [Sent.update(1), .enter(2), .update(3), .update(3), .stay, .other] { loop.send(event) }
        let counters = loop.counters
        #expect(counters.events == 6)
        #expect(counters.transitions == 1)
        #expect(counters.updates == 3)
        #expect(counters.unhandled == 1)
        #expect((counters + counters).updates == 6)
        #expect(loop.state == 3)
        loop.cancel()
    }

    @Test func `is the state that a later transition leaves and that a later stay keeps`() {
        let loop = loop([lasting(.onNewState)], isObserved: true)
        let shown = log.values.count
        for event in [Sent.update(5), .stay, .enter(6)] { loop.send(event) }
        #expect(log.values.dropFirst(shown) == ["0 ↻ 5", "5 → 6", "lasting ends", "cancelled", "begins in 6"])
        loop.cancel()
    }

    @Test func `is seen by watchers, and by feedbacks that ask for it`() {
        let sink = Feedback<Int, Sent>.sink { [log] state, event in
            log.add("sink \(state) \(event.map { "\($0)" } ?? "first")")
        }
        let loop = loop([sink.seeingUpdates(), .sink { [log] state, _ in log.add("other \(state)") }])
        let watch = loop.watch({ [log] in log.add("watcher \($0)") }, finish: {})
        let shown = log.values.count
        loop.send(.update(1))
        loop.send(.enter(2))
        #expect(
            log.values.dropFirst(shown) == [
                "watcher 1", "sink 1 update(1)", "watcher 2", "sink 2 enter(2)", "other 2",
            ])
        watch.cancel()
        loop.cancel()
    }

    @Test func `reaches feedbacks that ask for it through groups, pullbacks, memories and exchanges`() {
        typealias Whole = Feedback<Int, Sent>
        let sink = Whole.sink { [log] state, _ in log.add("\(state)") }.seeingUpdates()
        let pulled: Whole = sink.pullback(state: { $0 * 10 }, embed: { $0 }, extract: { $0 })
        let memory = Whole(
            memory: { [log] in
                { state, _ in
                    log.add("memory \(state)")
                    return .nothing
                }
            }
        ).seeingUpdates()
        let loop = loop([Whole.combine(sink, pulled), Whole.combine(memory).seeingUpdates()])
        let shown = log.values.count
        loop.send(.update(4))
        #expect(log.values.dropFirst(shown) == ["4", "40", "memory 4"])
        loop.cancel()
    }

    @Test func `does not withdraw events of the state's effects`() {
        let senders = Record<Send<Sent>>()
        let feedback = Feedback<Int, Sent>(cancellation: .boundToState) { _, event in
            guard event == .enter(1) else { return .nothing }
            return .subscribe { send, _ in
                senders.add(send)
                return Subscription {}
            }
        }
        let loop = loop([feedback])
        loop.send(.enter(1))
        loop.send(.update(2))
        senders.values.first?(.update(3))
        #expect(loop.state == 3)
        loop.send(.enter(4))
        senders.values.first?(.update(5))
        #expect(loop.state == 4)
        loop.cancel()
    }

    @Test func `is named by the trace of a simulation`() async throws {
        let simulation = Simulation(seed: 1)
        let loop = Loop(
            initial: 0, feedbacks: [], executor: simulation, clock: simulation.clock, reduce: reduce)
        loop.start()
        loop.send(.update(1))
        simulation.runToEnd()
        #expect(simulation.trace.lines.contains { $0.hasSuffix("updates Int") }, "\(simulation.trace.lines)")
        loop.cancel()
        simulation.runToEnd()
    }
}

/// Updates in the rules of a system.
@Suite struct `An update in the rules of a system` {
    private struct Idle: State {}
    private struct Filling: State, Equatable { var since = 0, used = 0 }
    private struct Start: Event {}
    private struct Measured: Event { let used: Int }
    private struct Touched: Event {}

    private func rules(isOff: @escaping @Sendable () -> Bool = { false }) -> Transitions {
        Transitions {
            From(Idle.self) { On(Start.self, transitionTo: Filling(since: 7)) }
            From(Filling.self) { state in
                UpdateInPlace(on: Measured.self) { event in
                    event.used < 0 ? nil : Filling(since: state.since, used: event.used)
                }.disable(isOff)
                UpdateInPlace(on: Touched.self, Filling(since: state.since, used: state.used + 1))
                On(Start.self, transitionTo: Filling(since: state.since + 1))
            }
        }
    }

    @Test func `changes the state and goes on with its side effect`() {
        let log = Record<String>()
        let rules = rules()
        let system = System {
            InitialState { Idle() }
            Feedbacks {
                Feedback(on: Filling.self, strategy: .cancelOnNewState) { (state: Filling) -> Effect<any Event> in
                    .subscribe { _, _ in
                        log.add("begins with \(state.used)")
                        return Subscription { log.add("ends") }
                    }
                }
            }
            rules
        }.execute(on: .sendersThread)
        system.start()
        for event in [Start(), Measured(used: 3), Touched(), Measured(used: -1)] as [any Event] { system.send(event) }
        #expect(system.state as? Filling == Filling(since: 7, used: 4))
        #expect(log.values == ["begins with 0"])
        #expect(system.snapshot.counters.unhandled == 1)
        system.send(Start())
        #expect(system.state as? Filling == Filling(since: 8, used: 0))
        #expect(log.values == ["begins with 0", "ends", "begins with 0"])
        system.cancel()
    }

    @Test func `is a rule like others in diagrams, reducers and modifiers`() {
        let off = Counter()
        let rules = rules(isOff: { off.value > 0 })
        let shown = rules.descriptions.map(\.description).filter { $0.contains("Measured") }
        #expect(shown.count == 1 && shown[0].hasSuffix("--> in place"))
        #expect(rules.next(from: Filling(), on: Measured(used: 2)) as? Filling == Filling(used: 2))
        #expect(rules.reducer(Filling(), Touched()) as? Filling == Filling(used: 1))
        off.add(1)
        #expect(rules.next(from: Filling(), on: Measured(used: 2)) == nil)
    }

    // Sendable: it stores nothing. A class that is not final cannot be checked.
    private class Base: State, @unchecked Sendable {}
    // Sendable: it stores nothing, either.
    private final class Special: Base, @unchecked Sendable {}

    @Test func `of a class enters an object of another class`() {
        let log = Record<String>()
        let system = System {
            InitialState { Special() }
            Feedbacks {
                Feedback(on: Special.self, strategy: .cancelOnNewState) { (_: Special) -> Effect<any Event> in
                    .subscribe { _, _ in Subscription { log.add("ends") } }
                }
            }
            Transitions { From(Base.self) { UpdateInPlace(on: Touched.self, Base()) } }
        }.execute(on: .sendersThread)
        system.start()
        system.send(Touched())
        #expect(type(of: system.state) == Base.self && log.values == ["ends"])
        #expect(system.snapshot.counters.transitions == 1 && system.snapshot.counters.updates == 0)
        system.cancel()
    }

    @Test func `is refused if it makes another state`() async throws {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = Transitions { From(Idle.self) { UpdateInPlace(on: Touched.self, Filling()) } }
        }
        let message = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
        #expect(message.contains("an update stays in its state, so write On(…, transitionTo: …)"), "\(message)")
    }

    @Test func `is refused as a second rule for its event`() async throws {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = Transitions {
                From(Filling.self) {
                    UpdateInPlace(on: Touched.self, Filling())
                    On(Touched.self, transitionTo: Idle())
                }
            }
        }
        let message = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
        #expect(message.contains("two transitions from"), "\(message)")
    }
}
