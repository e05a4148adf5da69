import FeedbackKit
import FeedbackKitTesting
import Synchronization
import Testing

// snippet: event
struct Cold: State { let degrees: Double }
struct Warm: State { let degrees: Double }
struct Measured: Event { let degrees: Double }

func makeRoom() -> System {
    System {
        InitialState { Cold(degrees: 10) }
        Transitions {
            From(Cold.self) { cold in
                On(Measured.self, transitionTo: AnyState.self) { measured in
                    if abs(measured.degrees - cold.degrees) < 0.5 { return nil }
                    return measured.degrees < 19 ? Cold(degrees: measured.degrees) : makeWarm(measured)
                }
            }
            From(Warm.self) {
                On(Measured.self, transitionTo: Warm.self) { measured in Warm(degrees: measured.degrees) }
            }
        }
    }
}

func makeWarm(_ measured: Measured) -> any State { Warm(degrees: measured.degrees) }
// end

// snippet: update
struct Unlit: State {}
struct Firing: State { var degrees = 20.0 }
struct Kindled: Event {}
struct Probed: Event { let degrees: Double }
struct TimeIsUp: Event {}

func makeKiln(clock: any Clock<Duration>) -> System {
    System(clock: clock) {
        InitialState { Unlit() }
        Feedbacks {
            Feedback(on: Firing.self, strategy: .cancelOnNewState) { _ -> Effect<any Event> in
                .after(.seconds(10), TimeIsUp())
            }
        }
        Transitions {
            From(Unlit.self) { On(Kindled.self, transitionTo: Firing()) }
            From(Firing.self) {
                UpdateInPlace(on: Probed.self) { probed in Firing(degrees: probed.degrees) }
                On(TimeIsUp.self, transitionTo: Unlit())
            }
        }
    }
}
// end

// snippet: search
struct Typing: State, Equatable { let text: String }
struct Found: State, Equatable { let titles: [String] }
struct Failed: State, Equatable { let reason: String }
struct Typed: Event { let text: String }
struct Answered: Event { let titles: [String] }
struct Gave: Event { let reason: String }

func makeSearch(clock: any Clock<Duration>, ask: @escaping @Sendable (String) async throws -> [String]) -> System {
    System(clock: clock) {
        InitialState { Typing(text: "") }
        Feedbacks {
            Feedback(on: Typing.self, strategy: .cancelOnNewState) { typing -> Effect<any Event> in
                guard !typing.text.isEmpty else { return .nothing }
                return .attempt(retry: .exponential(first: .seconds(1), limit: 2)) { send in
                    send(Answered(titles: try await ask(typing.text)))
                } recover: {
                    Gave(reason: "\($0)")
                }
                .timeout(after: .seconds(5), Gave(reason: "no answer"))
                .debounce(id: "search", for: .milliseconds(300))
            }
        }
        Transitions {
            From(AnyState.self) { _ in
                On(Typed.self, transitionTo: Typing.self) { typed in Typing(text: typed.text) }
            }
            From(Typing.self) {
                On(Answered.self, transitionTo: Found.self) { answered in Found(titles: answered.titles) }
                On(Gave.self, transitionTo: Failed.self) { gave in Failed(reason: gave.reason) }
            }
        }
    }
}
// end

// snippet: request
/// The identifier of the request to which the work of a task belongs.
enum Request {
    @TaskLocal static var id: String?
}

/// Sends an event on behalf of a request. Once `Request.$id.travelWithEvents()` has been called, everything that the event
/// leads to sees the identifier.
func measure(_ degrees: Double, of request: String, in room: System) {
    Request.$id.withValue(request) { room.send(Measured(degrees: degrees)) }
}
// end

// snippet: from-within
func makeOneShot(_ work: @escaping @Sendable () async -> Void) -> System {
    System {
        InitialState { Cold(degrees: 0) }
        Feedbacks {
            Feedback(on: Cold.self, strategy: .continueOnNewState) { (_: Cold, send: Send<any Event>) async in
                await work()
                send.beginStop()
            }
        }
        Transitions {}
    }
}
// end

@Suite(.timeLimit(.minutes(5))) struct `The recipes` {
    @Test func `use the data of events, and values on buses`() {
        // snippet: buses
        let degrees = CurrentValueMediator<Double>(12)
        let warnings = PassthroughMediator<String>()
        let room = makeRoom()
            .attach(to: degrees) { Measured(degrees: $0) }
            .attach(to: warnings, onSystemStateType: Warm.self) { warm in "warm at \(warm.degrees)" }
        // end
        let said = Mutex<[String]>([])
        let subscription = warnings.subscribe { warning in said.withLock { $0.append(warning) } }
        room.execute(on: .sendersThread)
        room.start()
        #expect((room.state as? Cold)?.degrees == 12)
        let transitions = room.snapshot.counters.transitions
        degrees.send(12.3)
        #expect(room.snapshot.counters.transitions == transitions)
        #expect(room.snapshot.counters.unhandled == 1)
        degrees.send(21)
        #expect((room.state as? Warm)?.degrees == 21)
        #expect(said.withLock { $0 } == ["warm at 21.0"])
        subscription.cancel()
        room.cancel()
    }

    private struct Unreachable: Error {}

    @Test func `change data and keep side effects`() async {
        let clock = ManualClock()
        let kiln = makeKiln(clock: clock)
        kiln.start()
        kiln.send(Kindled())
        await clock.nextDeadline(in: .seconds(10))
        let deadline = clock.nextDeadline
        clock.advance(by: .seconds(6))
        kiln.send(Probed(degrees: 900))
        _ = await kiln.stream.first { ($0 as? Firing)?.degrees == 900 }
        #expect(clock.nextDeadline == deadline)
        clock.advance(by: .seconds(4))
        _ = await kiln.stream.first { $0 is Unlit }
        await kiln.stop()
    }

    @Test func `search when nothing is typed any more, in time, and again`() {
        let simulation = Simulation(seed: 1)
        let asked = Mutex<[String]>([])
        let search = makeSearch(clock: simulation.clock) { text in
            let count = asked.withLock { asked in
                asked.append(text)
                return asked.count
            }
            if count == 1 { throw Unreachable() }
            if text == "slow" { try await simulation.clock.sleep(for: .seconds(60)) }
            return [text.uppercased()]
        }
        search.execute(on: simulation)
        search.start()
        for text in ["f", "fi", "fig"] {
            search.send(Typed(text: text))
            simulation.run(for: .milliseconds(100))
        }
        simulation.run(for: .seconds(2))
        #expect(search.state as? Found == Found(titles: ["FIG"]))
        #expect(asked.withLock { $0 } == ["fig", "fig"])
        search.send(Typed(text: "slow"))
        simulation.run(for: .seconds(6))
        #expect(search.state as? Failed == Failed(reason: "no answer"))
        search.cancel()
        simulation.runToEnd()
    }

    @Test func `follow a request`() async {
        await #expect(processExitsWith: .success) {
            Request.$id.travelWithEvents()
            let seen = Mutex<[String?]>([])
            let warnings = PassthroughMediator<String>()
            let room = makeRoom().attach(to: warnings, onSystemStateType: Warm.self) { warm in "\(warm.degrees)" }
            let subscription = warnings.subscribe { _ in seen.withLock { $0.append(Request.id) } }
            room.start()
            measure(21, of: "7f3a", in: room)
            await room.stop()
            precondition(seen.withLock { $0 } == ["7f3a"])
            subscription.cancel()
        }
    }

    @Test func `stop a system from within`() async throws {
        let works = Mutex(0)
        let system = makeOneShot { works.withLock { $0 += 1 } }
        try await system.run()
        #expect(works.withLock { $0 } == 1)
        await system.stopped()
    }
}
