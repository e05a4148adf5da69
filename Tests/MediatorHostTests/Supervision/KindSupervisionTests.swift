import CommonExpression
import FeedbackKit
import FeedbackKitTesting
import MediatorConfiguration
import MediatorHost
import Synchronization
import Testing
import TestSupport

/// A number that is particular about how it is written and read.
private struct Number: Codable, Sendable {
    /// A value that cannot be encoded.
    static let unwritable = 13
    /// A value that cannot be decoded.
    static let unreadable = -1

    let value: Int

    init(_ value: Int) { self.value = value }

    init(from decoder: any Decoder) throws {
        value = try decoder.singleValueContainer().decode(Int.self)
        if value == Self.unreadable { throw Refusal(description: "nobody reads \(value)") }
    }

    func encode(to encoder: any Encoder) throws {
        if value == Self.unwritable { throw Refusal(description: "nobody writes \(value)") }
        var container = encoder.singleValueContainer()
        try container.encode(value)
    }
}

private enum Fragile: Codable, CaseIterable {
    case counting(value: Number)

    static let allCases: [Fragile] = [.counting(value: Number(0))]
}

private enum Poke: Codable, CaseIterable {
    /// Counts.
    case set(Number)
    /// A side effect throws.
    case fail
    /// A side effect throws later, behind a pause, a throttle and a retry.
    case failLater
    /// A feedback emits an event that cannot be encoded.
    case emitUnwritable

    static let allCases: [Poke] = [.set(Number(0)), .fail, .failLater, .emitUnwritable]
}

/// The ways in which a kind throws.
private enum Throw: String, CaseIterable, CustomTestStringConvertible {
    case effect, laterEffect, state, emitted, received

    var testDescription: String { rawValue }

    /// The event that has it throw.
    var event: (name: String, fields: [Value]) {
        switch self {
        case .effect: ("fail", [])
        case .laterEffect: ("failLater", [])
        case .state: ("set", [.int(Int64(Number.unwritable))])
        case .emitted: ("emitUnwritable", [])
        case .received: ("set", [.int(Int64(Number.unreadable))])
        }
    }

    /// The text of the fault.
    var message: String {
        switch self {
        case .effect, .laterEffect: "the wire is cut"
        case .state, .emitted: "nobody writes 13"
        case .received: "nobody reads -1"
        }
    }
}

@Suite(.timeLimit(.minutes(20))) struct `Systems written in Swift that throw` {
    private struct None: Codable {}
    /// Whether none can be made, and how often one was.
    private let refuses = Gate()
    private let mediator = PassthroughMediator<Int>()

    /// A switch that can be handed on.
    private final class Gate: Sendable {
        private let isClosed = Mutex(false)
        let count = Mutex(0)
        var closed: Bool {
            get { isClosed.withLock { $0 } }
            set { isClosed.withLock { $0 = newValue } }
        }
    }

    private func fixture(_ supervision: String) throws -> KindFixture {
        let (refuses, mediator) = (refuses, mediator)
        let kind = try TypedKind<Fragile, Poke, None>.loop(
            "fragile", description: nil, parameters: None.self, defaults: nil
        ) { _ in
            refuses.count.withLock { $0 += 1 }
            if refuses.closed { throw Refusal(description: "there is no more of it") }
            return Loop(
                initial: Fragile.counting(value: Number(0)),
                feedbacks: [
                    Feedback(name: "work", cancellation: .never) { (_, event: Poke?) -> Effect<Poke> in
                        switch event {
                        case .fail?: .attempt { _ in throw Refusal(description: "the wire is cut") }
                        case .failLater?:
                            .attempt(retry: .constant(.seconds(1), limit: 2)) { _ in
                                throw Refusal(description: "the wire is cut")
                            }
                        case .emitUnwritable?: .just(.set(Number(Number.unwritable)))
                        default: .nothing
                        }
                    },
                    .source(name: "mediator") { send in
                        mediator.subscribe { send(.set(Number($0))) }
                    },
                ],
                reduce: { state, event in
                    if case .set(let number) = event { state = .counting(value: number) }
                    return .handled
                })
        }
        return try KindFixture("system: fragile\nkind: fragile\nsupervision: \(supervision)\n", also: [kind])
    }

    private func status(_ fixture: KindFixture) throws -> SystemStatus { try fixture.host.systemStatus("fragile") }

    /// Has it throw, and returns when that is known.
    private func have(_ fixture: KindFixture, _ way: Throw) async throws {
        let before = try status(fixture).faults
        try fixture.host.emit(way.event.name, to: "fragile", fields: way.event.fields)
        if way == .laterEffect {
            // The pauses before its two retries.
            for _ in 0..<2 {
                await fixture.clock.nextDeadline(in: .seconds(1))
                fixture.clock.advance(by: .seconds(1))
            }
        }
        try await suspend(while: status(fixture).faults == before)
        let fault = try #require(try status(fixture).lastFault)
        #expect(fault.message.contains(way.message), "\(fault)")
        #expect(fault.place.contains("kind fragile"), "\(fault)")
    }

    private func begin(_ supervision: String) async throws -> KindFixture {
        let fixture = try fixture(supervision)
        fixture.host.start()
        try fixture.host.emit("set", to: "fragile", fields: [.int(7)])
        await fixture.settle()
        #expect(try fixture.state("fragile") == "counting 7")
        return fixture
    }

    @Test(arguments: Throw.allCases)
    fileprivate func `go on where nothing else is said`(_ way: Throw) async throws {
        let fixture = try await begin("continue")
        try await have(fixture, way)
        await fixture.settle()
        #expect(try fixture.state("fragile") == "counting 7")
        let status = try status(fixture)
        #expect(status.health == .degraded)
        #expect((status.faults, status.restarts, status.resets) == (1, 0, 0))
        await fixture.host.stop(within: .seconds(1))
    }

    @Test(arguments: Throw.allCases)
    fileprivate func `are restarted, made anew, with nothing of before`(_ way: Throw) async throws {
        let fixture = try await begin("{ onFault: restart, delay: 10s }")
        let before = refuses.count.withLock { $0 }
        try await have(fixture, way)
        #expect(try status(fixture).health == .failed)
        await fixture.clock.nextDeadline(in: .seconds(10))
        fixture.clock.advance(by: .seconds(10))
        try await suspend(while: status(fixture).restarts == 0)
        await fixture.settle()
        #expect(try fixture.state("fragile") == "counting 0")
        #expect(refuses.count.withLock { $0 } == before + 1)
        // A mediator attached in Swift reaches it once, and not its predecessor.
        let events = try status(fixture).loop.counters.events
        mediator.send(5)
        await fixture.settle()
        #expect(try fixture.state("fragile") == "counting 5")
        #expect(try status(fixture).loop.counters.events == events + 1)
        #expect(try status(fixture).faults == 1)
        await fixture.host.stop(within: .seconds(1))
    }

    @Test(arguments: Throw.allCases)
    fileprivate func `end where that is said`(_ way: Throw) async throws {
        let fixture = try await begin("stop")
        try await have(fixture, way)
        try await suspend(while: status(fixture).loop.phase != .stopped)
        #expect(try status(fixture).health == .failed)
        #expect(throws: HostError.self) { try fixture.host.emit("fail", to: "fragile", fields: []) }
        // By hand it begins again.
        try await fixture.host.restart("fragile")
        #expect(try fixture.state("fragile") == "counting 0")
        await fixture.host.stop(within: .seconds(1))
    }

    @Test(arguments: Throw.allCases)
    fileprivate func `are reset, and stay the same loop`(_ way: Throw) async throws {
        let fixture = try await begin("reset")
        let before = refuses.count.withLock { $0 }
        try await have(fixture, way)
        try await suspend(while: fixture.state("fragile") != "counting 0")
        let status = try status(fixture)
        #expect((status.resets, status.restarts) == (1, 0))
        #expect(refuses.count.withLock { $0 } == before)
        // Its Swift state was reset, too.
        try fixture.host.emit("set", to: "fragile", fields: [.int(8)])
        await fixture.settle()
        #expect(try fixture.state("fragile") == "counting 8")
        await fixture.host.stop(within: .seconds(1))
    }

    @Test(arguments: Throw.allCases)
    fileprivate func `ask for the end of the daemon`(_ way: Throw) async throws {
        let fixture = try await begin("escalate")
        try await have(fixture, way)
        var escalations = fixture.host.escalations.makeAsyncIterator()
        let escalation = try #require(await escalations.next())
        #expect(escalation.system == "fragile")
        #expect(escalation.reason.contains(way.message))
        await fixture.host.stop(within: .seconds(1))
    }

    @Test func `are tried again when they cannot be made, up to the limit`() async throws {
        let fixture = try await begin("{ onFault: restart, delay: 1s, limit: 3 per 10m, beyond: stop }")
        refuses.closed = true
        try fixture.host.emit("fail", to: "fragile", fields: [])
        for attempt in 2...4 {
            while try status(fixture).faults < attempt {
                try await suspend(while: fixture.clock.nextDeadline == nil && status(fixture).faults < attempt)
                if let due = fixture.clock.nextDeadline {
                    fixture.clock.advance(by: fixture.clock.now.duration(to: due))
                }
                await fixture.settle()
            }
            let fault = try #require(try status(fixture).lastFault)
            #expect(fault.message.contains("there is no more of it"), "\(fault)")
        }
        #expect(try status(fixture).health == .failed)
        #expect(try status(fixture).healthReason?.hasPrefix("ended for good, after 3 restarts") == true)
        refuses.closed = false
        try await fixture.host.restart("fragile")
        #expect(try fixture.state("fragile") == "counting 0")
        await fixture.host.stop(within: .seconds(1))
    }

    @Test func `are counted without a step back, however often they begin anew`() async throws {
        let fixture = try await begin("{ onFault: restart, delay: 0s, limit: 1000 per 1s }")
        let host = fixture.host
        let isOver = Mutex(false)
        let reader = Task {
            var last: [Metric.Label: [String: Double]] = [:]
            var looks = 0
            while !isOver.withLock({ $0 }) {
                for metric in host.snapshot.metrics where metric.kind != .gauge {
                    for sample in metric.samples {
                        guard let about = sample.labels.first else { continue }
                        let key = metric.name + sample.suffix + sample.labels.map(\.value).joined(separator: " ")
                        let before = last[about, default: [:]].updateValue(sample.value, forKey: key) ?? 0
                        #expect(sample.value >= before, "\(key)")
                    }
                }
                looks += 1
                await Task.yield()
            }
            return looks
        }
        for number in 1...100 {
            try? host.emit("fail", to: "fragile", fields: [])
            while try status(fixture).restarts < number {
                // An event during the restart counts too, wherever it ends up.
                try? host.emit("set", to: "fragile", fields: [.int(1)])
                await Task.yield()
            }
        }
        // A reload that leaves it as it is changes nothing of that.
        let applied = try await fixture.apply(
            "system: fragile\nkind: fragile\nsupervision: { onFault: restart, delay: 0s, limit: 1000 per 1s }\n---\n"
                + "system: new\nstates: { Here: {} }\nevents: {}\ninitialState: Here\n")
        #expect(applied.late.isEmpty)
        #expect(try status(fixture).restarts == 100)
        isOver.withLock { $0 = true }
        #expect(await reader.value > 0)
        await host.stop(within: .seconds(1))
    }
}
