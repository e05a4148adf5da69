import CommonExpression
import FeedbackKitTesting
import Logging
import MediatorConfiguration
import MediatorHost
import Testing
import TestSupport

/// A side effect that goes on until it is cancelled, and then, if it is stubborn, for a minute more.
final class SupervisedWorks: EffectImplementation, Sendable {
    let began = AwaitedValue<[String]>([])
    let ended = AwaitedValue<[String]>([])

    let schema = EffectSchema(
        name: "work",
        parameters: [.init(name: "name", type: .string, required: true), .init(name: "stubborn", type: .bool)],
        shortForm: "name")

    func run(_ arguments: [String: Value], in context: EffectContext) async {
        guard case .string(let name)? = arguments["name"] else { return }
        let isStubborn = arguments["stubborn"] == .bool(true)
        began.change { $0.append(name) }
        let (endless, end) = AsyncStream<Void>.makeStream()
        await withTaskCancellationHandler {
            for await _ in endless {}
        } onCancel: {
            end.finish()
        }
        if isStubborn { await Task.detached { try? await context.clock.sleep(for: .seconds(60)) }.value }
        ended.change { $0.append(name) }
    }
}

extension `Supervision` {
    struct Fixture {
        let clock = ManualClock()
        let works = SupervisedWorks()
        let began: ManualClock.Instant
        let catalogue: EffectCatalogue
        let host: Host

        init(
            _ text: String, logger: Logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        ) throws {
            catalogue = EffectCatalogue([works])
            let clock = clock
            let began = clock.now
            self.began = began
            let time = HostTime.settling(clock) {
                let (seconds, attoseconds) = began.duration(to: clock.now).components
                let nanoseconds = Int32(attoseconds / 1_000_000_000)
                guard let now = Timestamp(seconds: 1_700_000_000 + seconds, nanoseconds: nanoseconds) else {
                    preconditionFailure()
                }
                return now
            }
            host = try Host(graph: Self.graph(text, catalogue), effects: catalogue, time: time, logger: logger)
        }

        static func graph(_ text: String, _ catalogue: EffectCatalogue) throws -> Graph {
            let file = ConfigurationFile(path: "a.yaml", text: text)
            let result = ConfigurationCompiler.compile(files: [file], effects: catalogue.schemas)
            return try #require(result.graph, "\(result.diagnostics.map { $0.rendered() })")
        }

        func start() -> Fixture {
            host.start()
            return self
        }

        func status(_ name: String = "fragile") throws -> SystemStatus { try host.systemStatus(name) }

        func divide(_ name: String = "fragile", by number: Int64) throws {
            try host.emit("Divide", to: name, fields: [.int(number)])
        }

        /// Returns when something holds.
        func until(_ name: String = "fragile", _ holds: (SystemStatus) -> Bool) async throws {
            try await suspend(while: try !holds(status(name)))
        }

        /// Breaks a system, and returns when it is known.
        func breakIt(_ name: String = "fragile") async throws {
            let faults = try status(name).faults
            try divide(name, by: 0)
            try await until(name) { $0.faults > faults }
        }

        /// Lets a time pass when every wait has begun.
        func pass(_ duration: Duration) async {
            await host.settled()
            #expect(clock.nextDeadline != nil)
            clock.advance(by: duration)
        }

        /// The list in the state of a system.
        func seen(_ name: String = "fragile") throws -> [Int64] {
            guard case .structure(let data) = try status(name).state.data, case .list(let values)? = data.fields.first
            else { return [] }
            return values.compactMap { if case .int(let value) = $0 { value } else { nil } }
        }

        /// The quotient in the state of a system.
        func quotient(_ name: String = "fragile") throws -> Value? {
            guard case .structure(let data) = try status(name).state.data else { return nil }
            return data.fields.first
        }
    }

    /// A system that divides, and fails when it divides by zero.
    static func system(_ keys: String, name: String = "fragile", more: String = "") -> String {
        """
        system: \(name)
        states: { Ready: { quotient: int } }
        events: { Divide: { by: int } }
        fromOutside: Divide
        initialState: { Ready: { quotient: 100 } }
        \(keys)
        transitions:
          Ready:
            Divide: { to: Ready, set: { quotient: "${state.quotient / event.by}" } }
        \(more)
        """
    }
}
