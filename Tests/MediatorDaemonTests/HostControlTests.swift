import CommonExpression
import FeedbackKitTesting
import Foundation
import MediatorControl
import MediatorDaemon
import MediatorHost
import StrictJSON
import Testing
import Varlink

/// Every method of the control interface, called by clients with different rights.
@Suite(.timeLimit(.minutes(5))) struct `The control interface of a host` {
    private static let text = """
        access:
          read: { users: [reader] }
          inject: [{ users: [injector], systems: lamp, buses: light }]
        ---
        system: lamp
        states: { Off: {}, On: { level: int } }
        events: { Switch: { level: int }, Out: {} }
        fromOutside: any
        initialState: Off
        transitions: { any: { Switch: { to: On, set: { level: "${event.level}" } }, Out: Off } }
        ---
        system: fragile
        states: { Ready: { quotient: int } }
        events: { Divide: { by: int } }
        fromOutside: any
        initialState: { Ready: { quotient: 100 } }
        supervision: stop
        transitions: { Ready: { Divide: { to: Ready, set: { quotient: "${state.quotient / event.by}" } } } }
        ---
        buses:
          light: { kind: currentValue, value: int, initial: 0, fromOutside: both }
          told: { kind: passthrough, value: string, fromOutside: both }
        links: { shine: { attach: lamp, to: light, onState: On, emitValue: "${state.level}" } }

        """

    private let fixture: ServedFixture
    private let client: ControlClient

    init() async throws {
        fixture = try await ServedFixture(["lamp.yaml": Self.text])
        client = try await fixture.client()
    }

    // MARK: Budgets

    @Test func `each call of a user counts, also if it is refused, and administrators do not wait`() async throws {
        let reader = try await fixture.client("reader")
        let data: JSONObject = ["text": .string(String(repeating: "x", count: 1_000_000))]
        for _ in 0..<10 {
            await #expect(throws: MissingRight(.inject, target: "lamp")) {
                try await reader.emit("Switch", to: "lamp", data: data)
            }
        }
        // All 10 million steps of a second are used up.
        let refused = Task { try await reader.emit("Switch", to: "lamp") }
        let connecting = Task { [fixture] in try await fixture.client("reader").status() }
        await fixture.clock.nextDeadline(in: .milliseconds(20))
        #expect(try await client.status().health == .healthy)
        #expect(try await fixture.client("injector").status().health == .healthy)
        fixture.clock.advance(by: .seconds(2))
        await #expect(throws: MissingRight(.inject, target: "lamp")) { try await refused.value }
        #expect(try await connecting.value.health == .healthy)
        await fixture.end()
    }

    // MARK: Looking

    @Test func `status, lists and descriptions agree`() async throws {
        let status = try await client.status()
        #expect(status.health == .healthy && status.generation == 1 && status.buses == 2 && status.links == 1)
        #expect(status.configuration == [fixture.directory.path] && status.rights == Right.allCases)
        #expect(status.systems.map(\.name) == ["fragile", "lamp"])
        #expect(try await client.listSystems() == status.systems)
        for system in status.systems {
            #expect(try await client.describeSystem(system.name).summary.name == system.name)
        }
        for bus in try await client.listBuses() {
            #expect(try await client.describeBus(bus.name).summary.name == bus.name)
        }
        #expect(try await client.describeBus("light").links == ["shine"])
        let links = try await client.listLinks()
        #expect(links.map(\.name) == ["shine"])
        #expect(try await client.describeLink("shine").summary == links[0])
        #expect(try await client.listWaits().waits.isEmpty)
        #expect(try await client.listWaits(of: "lamp").leftOut == 0)
        await #expect(throws: (any Error).self) { _ = try await client.listWaits(of: "nobody") }
        #expect(try await client.metrics().contains("mediatord_"))
        #expect(try await client.readConfiguration().map(\.text) == [Self.text])
        await fixture.end()
    }

    @Test func `why, why not and the trace tell of what was done`() async throws {
        try await client.emit("Switch", to: "lamp", data: ["level": 3])
        await fixture.settle()
        #expect(try await client.why("lamp").hops.first?.state == "On")
        let trace = try await client.trace("lamp")
        #expect(trace.count == 2 && trace.last?.entered?.name == "On")
        #expect(try await client.trace("lamp", limit: 1).count == 1)
        #expect(try await client.whyNot("Out", of: "lamp").state.name == "On")
        await fixture.end()
    }

    // MARK: Steering

    @Test func `emit and publish reach what they are for`() async throws {
        try await client.emit("Switch", to: "lamp", data: ["level": 3])
        await fixture.settle()
        #expect(try await client.describeBus("light").summary.value == 3)
        let reply = try await client.publish(8, on: "light")
        #expect(reply.time == "2023-11-14T22:13:20Z")
        #expect(try await client.describeBus("light").summary.value == 8)
        try await client.publish("hello", on: "told")
        #expect(fixture.log.value.contains("info: event emitted by a client"))
        #expect(fixture.log.value.count { $0 == "info: value published by a client" } == 2)
        await fixture.end()
    }

    @Test func `a system that is paused takes what was emitted when it goes on`() async throws {
        #expect(try await client.pause("lamp"))
        #expect(try await !client.pause("lamp"))
        #expect(try await client.status().health == .degraded)
        try await client.emit("Switch", to: "lamp", data: ["level": 3])
        await fixture.settle()
        #expect(try await client.describeSystem("lamp").summary.state.name == "Off")
        try await client.publish(1, on: "light")
        #expect(try await client.resume("lamp"))
        await fixture.settle()
        #expect(try await client.describeSystem("lamp").summary.state == .init(name: "On", data: ["level": 3]))
        #expect(try await !client.resume("lamp"))
        await fixture.end()
    }

    @Test func `a system that has ended takes nothing until it is restarted`() async throws {
        let watcher = try await fixture.client()
        let watch = try await watcher.watchSystem("fragile")
        try await client.emit("Divide", to: "fragile", data: ["by": 0])
        // Its watch ends with it.
        await #expect(throws: ControlError.self) { for try await _ in watch {} }
        await #expect(throws: ControlError.self) {
            try await client.emit("Divide", to: "fragile", data: ["by": 2])
        }
        do {
            try await client.reset("fragile")
        } catch let error as ControlError {
            guard case .notAccepted("fragile", .ended, _) = error else { throw error }
        }
        try await client.restart("fragile")
        try await client.emit("Divide", to: "fragile", data: ["by": 2])
        await fixture.settle()
        #expect(try await client.describeSystem("fragile").summary.state.data == ["quotient": 50])
        try await client.reset("fragile")
        await fixture.settle()
        #expect(try await client.describeSystem("fragile").summary.state.data == ["quotient": 100])
        await fixture.end()
    }

    /// A call that is refused.
    struct Refused: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let error: ControlError
        let call: @Sendable (ControlClient) async throws -> Void

        init(
            _ description: String, _ error: ControlError,
            _ call: @escaping @Sendable (ControlClient) async throws -> Void
        ) {
            (testDescription, self.error, self.call) = (description, error, call)
        }
    }

    private static let noSystem = ControlError.noSuchSystem(name: "lmp", nearest: "lamp")
    private static let noBus = ControlError.noSuchBus(name: "lights", nearest: "light")

    @Test(arguments: [
        Refused("describe a system", noSystem) { _ = try await $0.describeSystem("lmp") },
        Refused("describe a bus", noBus) { _ = try await $0.describeBus("lights") },
        Refused("describe a link", .noSuchLink(name: "shin", nearest: "shine")) {
            _ = try await $0.describeLink("shin")
        },
        Refused("emit to none", noSystem) { try await $0.emit("Out", to: "lmp") },
        Refused("emit none", .noSuchEvent(system: "lamp", event: "Outt", nearest: "Out")) {
            try await $0.emit("Outt", to: "lamp")
        },
        Refused("publish on none", noBus) { try await $0.publish(1, on: "lights") },
        Refused("restart", noSystem) { try await $0.restart("lmp") },
        Refused("reset", noSystem) { try await $0.reset("lmp") },
        Refused("pause", noSystem) { _ = try await $0.pause("lmp") },
        Refused("resume", noSystem) { _ = try await $0.resume("lmp") },
        Refused("why", noSystem) { _ = try await $0.why("lmp") },
        Refused("why not", noSystem) { _ = try await $0.whyNot("Out", of: "lmp") },
        Refused("why not none", .noSuchEvent(system: "lamp", event: "Outt", nearest: "Out")) {
            _ = try await $0.whyNot("Outt", of: "lamp")
        },
        Refused("trace", noSystem) { _ = try await $0.trace("lmp") },
        Refused("watch a system", noSystem) { for try await _ in try await $0.watchSystem("lmp") {} },
        Refused("watch a bus", noBus) { for try await _ in try await $0.watchBus("lights") {} },
        Refused(
            "a negative limit",
            .invalidValue(path: "limit", expected: "int", message: "limit must not be negative")
        ) { _ = try await $0.trace("lamp", limit: -1) },
    ])
    func `what is not there is told, with what is near`(refused: Refused) async throws {
        await #expect(throws: refused.error) { try await refused.call(client) }
        #expect(try await client.status().health == .healthy)
        await fixture.end()
    }

    /// The place of a wrong value, and the expected type.
    @Test(arguments: [
        ("lamp", "Switch", ["level": "high"] as JSONObject, "Switch.level", "int"),
        ("lamp", "Switch", [:], "Switch.level", "int"),
        ("lamp", "Switch", ["level": 1, "more": 2], "Switch.more", ""),
    ])
    func `data that does not fit is refused, and nothing is sent`(
        system: String, event: String, data: JSONObject, path: String, expected: String
    ) async throws {
        let error = await #expect(throws: ControlError.self) {
            try await client.emit(event, to: system, data: data)
        }
        guard case .invalidValue(path, let type, _)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(expected.isEmpty || type == expected)
        await fixture.settle()
        #expect(try await client.describeSystem("lamp").summary.state.name == "Off")
        await fixture.end()
    }

    @Test func `a value of another type is not published`() async throws {
        let error = await #expect(throws: ControlError.self) { try await client.publish("high", on: "light") }
        guard case .invalidValue("light", "int", _)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(try await client.describeBus("light").summary.value == 0)
        await fixture.end()
    }

    @Test func `what is logged is not changed where that is another's matter`() async throws {
        let error = await #expect(throws: ControlError.self) { try await client.setLogLevel(.debug) }
        guard case .notAccepted("log", .other, _)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        await #expect(throws: ServiceError.invalidParameter(parameter: "directory")) {
            _ = try await client.plan(directory: "/tmp\0x")
        }
        await fixture.end()
    }

    // MARK: Rights

    @Test func `each does what he may, and no more`() async throws {
        let (reader, injector) = (try await fixture.client("reader"), try await fixture.client("injector"))
        #expect(try await reader.status().rights == [.read])
        #expect(try await reader.describeSystem("lamp").summary.name == "lamp")
        await #expect(throws: MissingRight(.inject, target: "lamp")) { try await reader.emit("Out", to: "lamp") }
        await #expect(throws: MissingRight(.inject, target: "light")) { try await reader.publish(1, on: "light") }
        await #expect(throws: MissingRight(.administer)) { _ = try await reader.reload() }

        let status = try await injector.status()
        #expect(status.rights == [.read, .inject])
        #expect(status.injectInto == InjectionTargets(systems: ["lamp"], buses: ["light"]))
        try await injector.emit("Switch", to: "lamp", data: ["level": 2])
        try await injector.publish(9, on: "light")
        await #expect(throws: MissingRight(.inject, target: "fragile")) {
            try await injector.emit("Divide", to: "fragile", data: ["by": 1])
        }
        await #expect(throws: MissingRight(.inject, target: "told")) { try await injector.publish("a", on: "told") }
        await #expect(throws: MissingRight(.administer)) { try await injector.restart("lamp") }
        await #expect(throws: MissingRight(.administer)) {
            _ = try await injector.detach(DetachParameters(link: "shine"))
        }
        // A client without any right cannot connect.
        let stranger = try await fixture.client("stranger")
        await #expect(throws: MissingRight(.read)) { _ = try await stranger.status() }
        #expect(try await client.listLinks().count == 1)
        await fixture.end()
    }

    @Test func `a right that is taken away ends a watch`() async throws {
        let reader = try await fixture.client("reader")
        var watch = try await reader.watchSystem("lamp").makeAsyncIterator()
        #expect(try await watch.next()?.state.name == "Off")
        try fixture.write(Self.text.replacing("users: [reader]", with: "users: [nobody]"), to: "lamp.yaml")
        #expect(try await client.reload().applied)
        try await client.emit("Switch", to: "lamp", data: ["level": 1])
        await #expect(throws: MissingRight.self) { _ = try await watch.next() }
        await fixture.end()
    }

    // MARK: Watching

    @Test func `a client that does not read holds up nobody, and is told what it missed`() async throws {
        let watcher = try await fixture.client()
        var watch = try await watcher.watchSystem("lamp").makeAsyncIterator()
        #expect(try await watch.next()?.state.name == "Off")
        // More bytes than the way and the watch hold together.
        let count = 5_000
        for round in 0..<20 {
            for number in 1...(count / 20) {
                try fixture.daemon.host.emit(
                    "Switch", to: "lamp", fields: [.int(Int64(round * count / 20 + number))])
            }
            await fixture.settle()
        }
        var (seen, dropped, last) = (0, 0, 0)
        while last < count {
            let reply = try #require(try await watch.next())
            seen += 1
            dropped += reply.dropped
            last = reply.state.data["level"]?.intValue.map(Int.init) ?? 0
        }
        #expect(seen + dropped == count && dropped > 0)
        await fixture.end()
    }

    @Test func `a watch of a bus and of many parts brings what comes`() async throws {
        let (one, many) = (try await fixture.client(), try await fixture.client())
        var bus = try await one.watchBus("light").makeAsyncIterator()
        #expect(try await bus.next()?.value == 0)
        var all = try await many.watch(WatchParameters(patterns: ["lamp", "light"], announce: true)).makeAsyncIterator()
        var topics: [WatchTopic] = []
        while topics.last != .watching { topics.append(try #require(try await all.next()).topic) }
        try await client.emit("Switch", to: "lamp", data: ["level": 4])
        let value = try #require(try await bus.next())
        #expect(value.value == 4 && !value.replayed)
        var told: [String] = []
        while told.count < 4 {
            let reply = try #require(try await all.next())
            told.append("\(reply.topic) \(reply.name ?? "") \(reply.replayed)")
        }
        #expect(told.contains("state lamp false") && told.contains("value light false"), "\(told)")
        await fixture.end()
    }
}
