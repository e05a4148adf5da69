import CommonExpression
import FeedbackKit
import FeedbackKitTesting
import Logging
import MediatorConfiguration
import MediatorHost
import Synchronization
import Testing

private let speaker = """
    system: kitchen
    kind: speaker
    with: { target: 13 }

    """

@Suite struct `Systems written in Swift` {
    @Test func `are made by configuration, and do what they would do alone`() async throws {
        let fixture = try KindFixture(speaker)
        fixture.host.start()
        let seen = try await fixture.states(of: "kitchen", until: "VolumeState 13")
        #expect(seen.first.map { $0 == "VolumeState 10" || $0.hasPrefix("VolumeState 1") } == true)
        await fixture.settle()
        let status = try fixture.host.systemStatus("kitchen")
        #expect(status.loop.counters.transitions == 3)
        #expect(status.health == .healthy)
        #expect(status.faults == 0)
        await fixture.host.stop(within: .seconds(1))
    }

    @Test func `are shown with their states, events, transitions and feedbacks`() throws {
        let definition = try KindFixture(speaker).host.systemStatus("kitchen").definition
        #expect(definition.kind?.kind == "speaker")
        #expect(definition.states.map(\.name) == ["VolumeState", "MutedState"])
        #expect(definition.states[0].type.fields.map { "\($0.name): \($0.type)" } == ["value: int"])
        #expect(definition.events[3].type.fields.map { "\($0.type)" } == ["int", "optional(string)"])
        #expect(definition.states[definition.initialState.state].name == "VolumeState")
        let transitions = definition.transitions.map { "\($0.from) \($0.event) \($0.to)" }
        #expect(transitions.contains("VolumeState MuteEvent MutedState"))
        #expect(definition.feedbacks.map(\.name) == ["on VolumeState", "on VolumeState (2)", "on MutedState"])
        #expect(definition.feedbacks.map(\.selector.text) == ["VolumeState", "VolumeState", "MutedState"])
    }

    @Test func `say why not as far as Swift tells: by their transitions, and by who has sent an event`() async throws {
        let fixture = try KindFixture(speaker)
        let before = try fixture.host.whyNot("kitchen", event: "IncreaseEvent")
        #expect(before.senders.isEmpty)
        #expect(before.unknownSenders == ["on VolumeState", "on VolumeState (2)", "on MutedState"])
        fixture.host.start()
        _ = try await fixture.states(of: "kitchen", until: "VolumeState 13")
        await fixture.settle()
        // The feedback that `why` names.
        let sender = try #require(fixture.host.why("kitchen").hops.first { $0.kind == .feedback }?.feedback)
        let answer = try fixture.host.whyNot("kitchen", event: "IncreaseEvent")
        #expect(answer.senders.map(\.name) == [sender] && answer.senders.map(\.isLink) == [false])
        #expect(answer.senders[0].waits == "it has sent IncreaseEvent since the system began")
        #expect(
            answer.unknownSenders == ["on VolumeState", "on VolumeState (2)", "on MutedState"].filter { $0 != sender })
        // `show` shows the effect of the event.
        #expect(!answer.isOpaque)
        let shown = try fixture.host.systemStatus("kitchen").definition.transitions
        #expect(
            answer.transitions.map { [$0.from, $0.event, $0.to] }
                == shown.filter { $0.event == "IncreaseEvent" }.map { [$0.from, $0.event, $0.to] })
        #expect(answer.transitions.map(\.holds) == [nil])
        // In another state there is one.
        let muted = try fixture.host.whyNot("kitchen", event: "DecreaseEvent")
        #expect(muted.unknownSenders.count == 3 && muted.senders.isEmpty)
        await fixture.host.stop(within: .seconds(1))
    }

    @Test func `take events by hand, with optional fields and words`() async throws {
        let fixture = try KindFixture(speaker)
        fixture.host.start()
        _ = try await fixture.states(of: "kitchen", until: "VolumeState 13")
        try fixture.host.emit("SetEvent", to: "kitchen", fields: [.int(11), .optional(.string("knob"))])
        _ = try await fixture.states(of: "kitchen", until: "VolumeState 13")
        try fixture.host.emit("SetEvent", to: "kitchen", fields: [.int(13), .optional(nil)])
        await fixture.settle()
        #expect(try fixture.host.systemStatus("kitchen").faults == 0)
        // A word that Swift does not know is refused.
        let error = #expect(throws: HostError.self) {
            try fixture.host.emit("SetEvent", to: "kitchen", fields: [.int(50), .optional(.string("knbo"))])
        }
        #expect(
            error?.description
                == "SetEvent.source must be 'knob' or 'remote', not 'knbo'; did you mean knob?")
        await fixture.settle()
        #expect(try fixture.state("kitchen") == "VolumeState 13")
        #expect(try fixture.host.systemStatus("kitchen").faults == 0)
        await fixture.host.stop(within: .seconds(1))
    }

    @Test func `refuse what is out of range by hand, and have a fault where it is computed`() async throws {
        let fixture = try KindFixture(
            """
            system: a
            kind: server
            ---
            system: teller
            states: { Idle: {}, Told: { port: uint } }
            events: { Tell: { port: uint } }
            fromOutside: any
            initialState: Idle
            transitions: { any: { Tell: { to: Told, set: { port: "${event.port}" } } } }
            ---
            buses: { ports: { kind: passthrough, value: uint, fromOutside: both } }
            links:
              hear: { attach: a, to: ports, emitEvent: { MoveEvent: { places: [{ port: "${value}", speeds: [fast] }] } } }
              told:
                attach: teller
                toSystem: a
                onState: Told
                emitEvent: { MoveEvent: { places: [{ port: 1, speeds: [] }, { port: "${state.port}", speeds: [] }] } }

            """)
        fixture.host.start()
        func place(_ port: UInt64, _ speed: String) throws -> Value {
            let event = try fixture.host.event("MoveEvent", of: "a")
            guard case .list(.structure(let type)) = event.type.fields[0].type else { throw Refusal(description: "") }
            return .list([.structure(Structure(type: type, fields: [.list([.string(speed)]), .uint(port)].reversed()))])
        }
        for (value, message) in [
            (try place(65_536, "fast"), "MoveEvent.places[0].port must be between 0 and 65535, not 65536"),
            (
                try place(1, "fats"),
                "MoveEvent.places[0].speeds[0] must be 'fast' or 'slow', not 'fats'; did you mean fast?"
            ),
        ] {
            let error = #expect(throws: HostError.self) {
                try fixture.host.emit("MoveEvent", to: "a", fields: [value])
            }
            #expect(error?.description == message)
            // An event that cannot exist has no obstacles.
            let explained = #expect(throws: HostError.self) {
                try fixture.host.whyNot("a", event: "MoveEvent", fields: [value])
            }
            #expect(explained == error)
        }
        let answer = try fixture.host.whyNot("a", event: "MoveEvent", fields: [nil])
        #expect(!answer.isOpaque && answer.transitions.map(\.event) == ["MoveEvent"])
        try fixture.host.publish(.uint(70_000), on: "ports")
        await fixture.settle()
        let status = try fixture.host.systemStatus("a")
        #expect(status.lastFault?.message == "'places[0].port' is between 0 and 65535, not 70000")
        #expect(status.lastFault?.place.hasPrefix("link hear, test.yaml:") == true)
        try fixture.host.emit("Tell", to: "teller", fields: [.uint(.max)])
        await fixture.settle()
        let teller = try fixture.host.systemStatus("teller")
        #expect(teller.lastFault?.message == "'places[1].port' is between 0 and 65535, not 18446744073709551615")
        #expect(try fixture.host.linkStatus("hear").fired == 0)
        #expect(try fixture.host.linkStatus("told").fired == 0)
        #expect(try fixture.state("a") == "ServingState 80u")
        try fixture.host.publish(.uint(65_535), on: "ports")
        await fixture.settle()
        #expect(try fixture.state("a") == "ServingState 65535u")
        await fixture.host.stop(within: .seconds(1))
    }

    @Test(arguments: [
        // The author's description, in several ways; the description by decoding; numbers; a fault while it runs.
        ("bad-s3cret\"x", "80", "the field 'tokens[0]': the token \"(not shown)\" is none, ((not shown))"),
        ("old-s3cret", "80", "the server knows no (not shown)"), ("good", "7", "the port (not shown) is taken"),
    ])
    func `show nobody what came from elsewhere when they refuse it`(token: String, port: String, message: String) {
        let values = ExternalValues(environment: { ["PORT": port, "TOKEN": token][$0] })
        let error = #expect(throws: InitialStateError.self) {
            try KindFixture(
                "system: a\nkind: server\nwith: { port: !env PORT, tokens: [!env TOKEN] }\n", values: values)
        }
        #expect(error?.message.hasSuffix(message) == true, "\(error?.message ?? "")")
    }

    @Test func `show nobody what came from elsewhere when they fail`() async throws {
        let values = ExternalValues(environment: { ["TOKEN": "tk-s3cret"][$0] })
        let fixture = try KindFixture(
            "system: a\nkind: server\nwith: { port: 99, tokens: [!env TOKEN] }\n", values: values)
        fixture.host.start()
        await fixture.settle()
        #expect(try fixture.host.systemStatus("a").lastFault?.message == "(not shown) is no longer valid")
        await fixture.host.stop(within: .seconds(1))
    }

    @Test func `are linked with configured systems and buses, both ways`() async throws {
        let fixture = try KindFixture(
            speaker + """
                ---
                system: lamp
                states: { Dark: {}, Lit: { level: int } }
                events: { Level: { value: int } }
                initialState: Dark
                transitions: { any: { Level: { to: Lit, set: { level: "${event.value}" } } } }
                ---
                buses:
                  volume: { kind: currentValue, value: int, initial: 0 }
                  knob: { kind: passthrough, value: int }
                links:
                  tell: { attach: kitchen, to: volume, onState: VolumeState, emitValue: "${state.value}" }
                  show: { attach: kitchen, toSystem: lamp, onState: { VolumeState: { value: 13 } }, emitEvent: { Level: { value: "${state.value}" } } }
                  turn: { attach: kitchen, to: knob, when: value > 10, emitEvent: { SetEvent: { value: "${value}" } } }

                """)
        fixture.host.start()
        _ = try await fixture.states(of: "lamp", until: "Lit 13")
        try fixture.host.publish(.int(12), on: "knob")
        try fixture.host.publish(.int(2), on: "knob")
        await fixture.settle()
        #expect(try fixture.host.linkStatus("turn").fired == 1)
        #expect(try fixture.host.linkStatus("show").fired == 2)
        #expect(try fixture.host.busStatus("volume").value == .int(13))
        await fixture.host.stop(within: .seconds(1))
    }

    @Test func `obey what a configuration says of readiness and of events that are not handled`() async throws {
        let fixture = try KindFixture(speaker + "ready: MutedState\nunhandled: fault\n")
        fixture.host.start()
        _ = try await fixture.states(of: "kitchen", until: "VolumeState 13")
        #expect(try fixture.host.systemStatus("kitchen").health == .starting)
        try fixture.host.emit("MuteEvent", to: "kitchen", fields: [])
        _ = try await fixture.states(of: "kitchen", until: "MutedState")
        try fixture.host.emit("IncreaseEvent", to: "kitchen", fields: [])
        await fixture.settle()
        let status = try fixture.host.systemStatus("kitchen")
        #expect(status.health == .failed)
        #expect(status.lastFault?.message == "the event 'IncreaseEvent' is not handled")
        #expect(status.loop.counters.unhandled == 1)
        await fixture.host.stop(within: .seconds(1))
    }

    @Test func `have feedbacks of the configuration besides their own`() async throws {
        let fixture = try KindFixture(
            speaker + """
                feedbacks:
                  mute: { onState: VolumeState, when: state.value == 13, after: 5s, emit: MuteEvent }

                """)
        fixture.host.start()
        _ = try await fixture.states(of: "kitchen", until: "VolumeState 13")
        await fixture.clock.nextDeadline(in: .seconds(5))
        fixture.clock.advance(by: .seconds(5))
        _ = try await fixture.states(of: "kitchen", until: "MutedState")
        await fixture.host.stop(within: .seconds(1))
    }

    @Test func `have a fault where they emit or become what they were not declared with`() async throws {
        let fixture = try KindFixture(speaker)
        fixture.host.start()
        _ = try await fixture.states(of: "kitchen", until: "VolumeState 13")
        try fixture.host.emit("BreakEvent", to: "kitchen", fields: [])
        await fixture.settle()
        #expect(try fixture.state("kitchen") == "VolumeState 13")
        let fault = try #require(try fixture.host.systemStatus("kitchen").lastFault)
        #expect(fault.message == "the state 'BrokenState' is none of those that the kind was declared with")
        #expect(fault.place == "transition from VolumeState, kind speaker")
        try fixture.host.emit("MuteEvent", to: "kitchen", fields: [])
        await fixture.settle()
        let status = try fixture.host.systemStatus("kitchen")
        #expect(status.lastFault?.message == "the event 'SecretEvent' is none of those that the kind was declared with")
        #expect(status.faults == 2)
        #expect(try fixture.state("kitchen") == "MutedState")
        await fixture.host.stop(within: .seconds(1))
    }

    @Test func `turn by the host's clock, and go on when a side effect throws`() async throws {
        let fixture = try KindFixture("system: count\nkind: counter\nwith: { period: 10s }\n")
        fixture.host.start()
        #expect(try fixture.state("count") == "stopped")
        try fixture.host.emit("start", to: "count", fields: [.int(5)])
        _ = try await fixture.states(of: "count", until: "counting 5 optional.of(\"above\")")
        await fixture.clock.nextDeadline(in: .seconds(10))
        fixture.clock.advance(by: .seconds(10))
        _ = try await fixture.states(of: "count", until: "counting 6 optional.of(\"above\")")
        try fixture.host.emit("fail", to: "count", fields: [])
        _ = try await fixture.states(of: "count", until: "stopped")
        for await _ in fixture.host.healthChanges where try fixture.host.systemStatus("count").faults > 0 { break }
        let status = try fixture.host.systemStatus("count")
        #expect(status.lastFault?.place == "feedback fail, kind counter")
        #expect(status.lastFault?.message == "the wire is cut")
        #expect(status.health == .degraded)
        #expect(status.loop.phase == .running)
        try fixture.host.emit("start", to: "count", fields: [.int(0)])
        _ = try await fixture.states(of: "count", until: "counting 0 optional.none()")
        await fixture.host.stop(within: .seconds(1))
    }

    @Test func `carry their state over when what they are given changes, and begin anew when it no longer fits`()
        async throws
    {
        let fixture = try KindFixture(speaker)
        fixture.host.start()
        _ = try await fixture.states(of: "kitchen", until: "VolumeState 13")
        let kept = try await fixture.apply(speaker + "description: the same\n")
        #expect(kept.plan.systems.map(\.action) == [.keep])
        let migrated = try await fixture.apply("system: kitchen\nkind: speaker\nwith: { target: 15, volume: 1 }\n")
        #expect(migrated.plan.systems.map(\.action) == [.migrate])
        let seen = try await fixture.states(of: "kitchen", until: "VolumeState 15")
        #expect(!seen.contains("VolumeState 1"))
        let other = try await fixture.apply("system: kitchen\nkind: counter\nwith: { period: 1s }\n")
        #expect(other.plan.systems.map(\.action) == [.restart])
        #expect(try fixture.state("kitchen") == "stopped")
        await fixture.host.stop(within: .seconds(1))
    }

    @Test func `take over the state of a configured system of the same name and fields`() async throws {
        let fixture = try KindFixture(
            "system: kitchen\nstates: { VolumeState: { value: int } }\ninitialState: { VolumeState: { value: 42 } }\n")
        fixture.host.start()
        let applied = try await fixture.apply("system: kitchen\nkind: speaker\nwith: { target: 40 }\n")
        #expect(applied.plan.systems.map(\.action) == [.migrate])
        let seen = try await fixture.states(of: "kitchen", until: "VolumeState 40")
        #expect(seen.count <= 3)
        await fixture.host.stop(within: .seconds(1))
    }

    @Test func `keep what they are attached to in Swift, and where they run`() async throws {
        let mediator = PassthroughMediator<Int>()
        let volumes = CurrentValueMediator(0)
        let kind = try TypedKind<any State, any Event, SpeakerParameters>.system(
            "attached", description: nil, parameters: SpeakerParameters.self, defaults: SpeakerParameters(),
            states: [VolumeState.self], events: [SetEvent.self]
        ) { parameters in
            System {
                InitialState { VolumeState(value: parameters.volume) }
                Transitions {
                    From(VolumeState.self) { _ in
                        On(SetEvent.self, transitionTo: VolumeState.self) { event in VolumeState(value: event.value) }
                    }
                }
            }
            .attach(to: mediator) { (value: Int) in SetEvent(value: value, source: nil) }
            .attach(to: volumes, onSystemStateType: VolumeState.self) { $0.value }
            .execute(on: .task(globalConcurrentExecutor))
        }
        let fixture = try KindFixture("system: kitchen\nkind: attached\n", also: [kind])
        fixture.host.start()
        await fixture.settle()
        mediator.send(3)
        #expect(try await fixture.states(of: "kitchen", until: "VolumeState 3").last == "VolumeState 3")
        await fixture.settle()
        #expect(volumes.value == 3)
        await fixture.host.stop(within: .seconds(1))
        mediator.send(4)
        #expect(volumes.value == 3)
    }

    @Test func `are refused where they have been started already`() throws {
        let kind = try TypedKind<any State, any Event, SpeakerParameters>.system(
            "begun", description: nil, parameters: SpeakerParameters.self, defaults: SpeakerParameters(),
            states: [VolumeState.self], events: []
        ) { _ in
            let system = System {
                InitialState { VolumeState(value: 1) }
                Transitions {}
            }
            system.start()
            return system
        }
        let error = #expect(throws: InitialStateError.self) {
            try KindFixture("system: kitchen\nkind: begun\n", also: [kind])
        }
        #expect(error?.message == "the system has been started already")
    }

    @Test func `change nothing where the kind refuses its parameters`() async throws {
        let fixture = try KindFixture(speaker)
        fixture.host.start()
        await #expect(throws: ApplyError.self) {
            try await fixture.apply("system: kitchen\nkind: speaker\nwith: { target: 101 }\n")
        }
        #expect(fixture.host.generation == 1)
        // A plan says so in the same words.
        let graph = try KindFixture.graph(
            "system: kitchen\nkind: speaker\nwith: { target: 101 }\n", fixture.kinds.kinds)
        let expected = await #expect(throws: ApplyError.self) { try await fixture.host.apply(graph) }
        #expect(fixture.host.rejection(of: graph) == expected)
        #expect(expected?.description.contains("a target above 100 would hurt") == true)
        #expect(fixture.host.rejection(of: fixture.host.graph) == nil)
        let several = await #expect(throws: ApplyError.self) {
            try await fixture.apply(
                "system: a\nkind: speaker\nwith: { target: 101 }\n---\nsystem: b\nkind: speaker\nwith: { target: 102 }\n"
            )
        }
        #expect(several?.description.hasSuffix("a target above 100 would hurt (test.yaml:1:9), and 1 more") == true)
        let error = #expect(throws: InitialStateError.self) {
            try KindFixture("system: kitchen\nkind: speaker\nwith: { target: 101 }\n")
        }
        #expect(
            error?.description
                == "the kind 'speaker' cannot make the system 'kitchen': a target above 100 would hurt")
        await fixture.host.stop(within: .seconds(1))
    }
}
