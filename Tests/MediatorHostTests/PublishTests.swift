import CommonExpression
import FeedbackKitTesting
import Logging
import MediatorConfiguration
import MediatorHost
import Testing

/// A host whose clock is moved by hand.
private struct Fixture: HostedFixture {
    let clock = ManualClock()
    let host: Host

    init(_ text: String) throws {
        let time = HostTime.manual(clock)
        host = try Host(
            graph: try graph(text), effects: EffectCatalogue([]), time: time,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        host.start()
    }

    /// Advances the clock when every wait has begun, and returns when all consequences have come about.
    func pass(_ duration: Duration) async {
        await settle()
        #expect(clock.nextDeadline != nil)
        clock.advance(by: duration)
        await settle()
    }

    func emit(_ event: String, _ n: Int64? = nil) async throws {
        try host.emit(event, to: "meter", fields: n.map { [.int($0)] } ?? [])
        await settle()
    }

    var value: String { get throws { try host.busStatus("level").value?.text ?? "none" } }
    var published: UInt64 { get throws { try host.linkStatus("meter/tell").fired } }
}

private func meter(
    _ feedback: String, value: String = "\"${state.n}\"", kind: String = "currentValue", type: String = "int",
    initial: String = "-1"
) -> String {
    """
    system: meter
    states: { Idle: {}, Counting: { n: int } }
    events: { Count: { n: int }, Rest: {} }
    fromOutside: any
    initialState: Idle
    feedbacks:
      tell: { onState: Counting\(feedback), publish: { to: level, value: \(value) } }
    transitions:
      any:
        Count: { to: Counting, set: { n: "${event.n}" } }
        Rest: Idle
    ---
    buses: { level: { kind: \(kind), value: \(type), initial: \(initial), fromOutside: read } }

    """
}

/// Feedbacks that put values on buses.
@Suite(.timeLimit(.minutes(20))) struct `What feedbacks publish` {
    @Test func `is on the bus as soon as its state is entered, and not before`() async throws {
        let fixture = try Fixture(meter(""))
        await fixture.settle()
        #expect(try fixture.value == "-1")
        #expect(try fixture.published == 0)
        try await fixture.emit("Count", 4)
        #expect(try fixture.value == "4")
        try await fixture.emit("Rest")
        try await fixture.emit("Count", 4)
        #expect(try fixture.published == 2)
        #expect(try fixture.host.busStatus("level").writers == ["meter/tell"])
        await fixture.host.stop(within: .zero)
    }

    @Test func `comes again and again by schedule, as long as the state lasts`() async throws {
        let fixture = try Fixture(meter(", every: 10s", value: "\"${state.n + int(now) - 1700000000}\""))
        try await fixture.emit("Count", 1)
        #expect(try fixture.value == "1")
        await fixture.pass(.seconds(10))
        #expect(try fixture.value == "11")
        await fixture.pass(.seconds(10))
        #expect(try fixture.published == 3)
        try await fixture.emit("Rest")
        fixture.clock.advance(by: .seconds(100))
        await fixture.settle()
        #expect(try fixture.published == 3)
        await fixture.host.stop(within: .zero)
    }

    @Test(arguments: ["", ", strategy: continueOnNewState"])
    func `is withdrawn with its state while it waits`(strategy: String) async throws {
        let fixture = try Fixture(meter("\(strategy), after: 10s"))
        try await fixture.emit("Count", 1)
        #expect(fixture.clock.nextDeadline == .init(offset: .seconds(10)))
        try await fixture.emit("Rest")
        fixture.clock.advance(by: .seconds(10))
        await fixture.settle()
        #expect(try fixture.value == "-1")
        await fixture.host.stop(within: .zero)
    }

    @Test func `that cannot be computed is a fault of the feedback`() async throws {
        let fixture = try Fixture(meter("", value: "\"${10 / state.n}\""))
        try await fixture.emit("Count", 0)
        let status = try fixture.host.systemStatus("meter")
        #expect(status.lastFault?.place.hasPrefix("feedback tell, ") == true, "\(String(describing: status.lastFault))")
        #expect(try fixture.value == "-1")
        try await fixture.emit("Count", 5)
        #expect(try fixture.value == "2")
        await fixture.host.stop(within: .zero)
    }

    @Test func `goes to the bus that there is, in its type, while the system goes on`() async throws {
        let fixture = try Fixture(meter("", value: "7"))
        try await fixture.emit("Count", 1)
        #expect(try fixture.value == "7")
        let plan = try await fixture.host.apply(
            try graph(meter("", value: "7", type: "double", initial: "0.5")), stopLimit: .seconds(60)
        ).plan
        #expect(plan.systems.map(\.action) == [.keep])
        #expect(plan.links.map(\.name) == ["meter/tell"])
        await fixture.settle()
        // A new bus gets no state that was entered before.
        #expect(try fixture.host.busStatus("level").value == .double(0.5))
        try await fixture.emit("Count", 2)
        #expect(try fixture.host.busStatus("level").value == .double(7))
        await fixture.host.stop(within: .zero)
    }

    @Test func `is held back by the breaker of its loop`() async throws {
        let text =
            meter("", kind: "currentValue").replacing(", fromOutside: read", with: "")
                + """
                links:
                  back:
                    attach: meter
                    to: level
                    when: value >= 0
                    emitEvent: { Count: { n: "${value + 1}" } }
                    loop: { limit: 5 per 1s }

                """
        let fixture = try Fixture(text)
        try await fixture.emit("Count", 1)
        await fixture.settle()
        #expect(try fixture.published == 6)
        #expect(try fixture.host.linkStatus("back").isOpen)
        await fixture.host.stop(within: .zero)
    }

    @Test func `of the instances of a template comes from each, with its parameters`() async throws {
        let text = """
            system: uplink@
            parameters: { name: string }
            states: { Up: {} }
            initialState: Up
            feedbacks:
              tell: { onState: Up, publish: { to: status, value: "${parameters.name} of ${instance}" } }
              own: { onState: Up, publish: { to: own@*, value: "${instance}" } }
            ---
            instances: { uplink@eth0: { name: cable }, uplink@wlan0: { name: radio } }
            buses:
              status: { kind: passthrough, value: string, fromOutside: read }
              own@*: { for: uplink@*, kind: currentValue, value: string, initial: none, fromOutside: read }

            """
        let fixture = try Fixture(text)
        await fixture.settle()
        let host = fixture.host
        #expect(try host.busStatus("status").writers == ["uplink/tell@eth0", "uplink/tell@wlan0"])
        #expect(try host.linkStatus("uplink/tell@wlan0").fired == 1)
        #expect(try host.busStatus("own@eth0").value == .string("eth0"))
        await host.stop(within: .zero)
    }
}
