import CommonExpression
import FeedbackKitTesting
import Logging
import MediatorConfiguration
import MediatorHost
import Testing

/// Fails on request, after a while.
private struct ProbeEffect: EffectImplementation {
    var schema: EffectSchema {
        EffectSchema(
            name: "look", parameters: [.init(name: "for", type: .duration, required: true)], shortForm: "for",
            outcomes: [
                .init(
                    name: "onLost", result: StructureType(name: "result", fields: [.init(name: "why", type: .string)]))
            ])
    }

    func run(_ arguments: [String: Value], in context: EffectContext) async {
        guard case .duration(let span)? = arguments["for"],
            (try? await context.clock.sleep(for: span.swiftDuration)) != nil
        else { return }
        context.report(
            "onLost", .structure(Structure(type: schema.outcomes[0].result, fields: [.string("no answer")])))
    }
}

/// A host with a clock that is moved by hand.
final class CauseFixture: HostedFixture, Sendable {
    let clock = ManualClock()
    let host: Host
    private let effects = EffectCatalogue([ProbeEffect()])

    init(_ text: String, logger: Logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }) throws {
        host = try Host(
            graph: try graph(text, effects: effects.schemas), effects: effects, time: .manual(clock), logger: logger)
    }

    func apply(_ text: String) async throws {
        _ = try await host.apply(try graph(text, effects: effects.schemas), stopLimit: .seconds(60))
    }

    /// Advances the clock when every wait has begun, and returns when all consequences have come about.
    func pass(_ time: Duration) async {
        await settle()
        #expect(clock.nextDeadline != nil)
        clock.advance(by: time)
        await settle()
    }

    /// The story in words.
    func why(_ system: String) throws -> [String] { try host.why(system).hops.map(\.text) }

    /// Waits until a system is in a state.
    func reach(_ state: String, in system: String) async throws {
        for await change in try host.watchSystem(system)
        where change.subject.definition.states[change.subject.index].name == state { return }
    }
}
