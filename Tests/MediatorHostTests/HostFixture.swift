import CommonExpression
import FeedbackKit
import FeedbackKitTesting
import Logging
import MediatorConfiguration
import MediatorHost
import Synchronization
import Testing

/// An effect of the test's own: it waits for the clock, then says so.
private struct WaitEffect: EffectImplementation {
    let began: @Sendable (String) -> Void
    var schema: EffectSchema {
        EffectSchema(
            name: "wait",
            parameters: [.init(name: "name", type: .string, required: true), .init(name: "for", type: .duration)],
            shortForm: "name",
            outcomes: [
                .init(
                    name: "onDone", result: StructureType(name: "result", fields: [.init(name: "name", type: .string)]))
            ])
    }

    func run(_ arguments: [String: Value], in context: EffectContext) async {
        guard let name = arguments["name"]?.text else { return }
        began(name)
        if case .duration(let span)? = arguments["for"] {
            guard (try? await context.clock.sleep(for: span.swiftDuration)) != nil else { return }
        }
        context.report("onDone", .structure(Structure(type: schema.outcomes[0].result, fields: [.string(name)])))
    }
}

/// An effect that does not heed cancellation until the clock has advanced by a minute.
private struct StubbornEffect: EffectImplementation {
    let began: @Sendable (String) -> Void
    var schema: EffectSchema {
        EffectSchema(
            name: "stubborn", parameters: [.init(name: "name", type: .string, required: true)], shortForm: "name")
    }

    func run(_ arguments: [String: Value], in context: EffectContext) async {
        began(arguments["name"]?.text ?? "")
        await Task.detached { try? await context.clock.sleep(for: .seconds(60)) }.value
    }
}

/// A host with a clock that is moved by hand.
final class HostFixture: HostedFixture, Sendable {
    let clock = ManualClock()
    let host: Host
    let began = AwaitedValue<[String]>([])
    private let catalogue: EffectCatalogue

    init(
        _ text: String, logger: Logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    ) throws {
        let began = Mutex<@Sendable (String) -> Void>({ _ in })
        let note: @Sendable (String) -> Void = { name in began.withLock { $0 }(name) }
        let catalogue = EffectCatalogue([WaitEffect(began: note), StubbornEffect(began: note)])
        self.catalogue = catalogue
        let graph = try Self.graph(text, catalogue)
        host = try Host(graph: graph, effects: catalogue, time: .manual(clock), logger: logger)
        began.withLock { $0 = { [weak self] name in self?.began.change { $0.append(name) } } }
    }

    private static func graph(_ text: String, _ catalogue: EffectCatalogue) throws -> Graph {
        let result = ConfigurationCompiler.compile(
            files: [ConfigurationFile(path: "test.yaml", text: text)], effects: catalogue.schemas)
        for diagnostic in result.diagnostics where diagnostic.severity == .error {
            Issue.record("\(diagnostic.rendered())")
        }
        return try #require(result.graph)
    }

    /// Returns another configuration for the host.
    func graph(_ text: String) throws -> Graph { try Self.graph(text, catalogue) }
}

let counterSystem = """
    system: counter
    states: { Count: { value: int, note: string }, Done: { value: int } }
    events: { Add: { by: int }, Divide: { by: int }, Same: {}, Unknown: {} }
    initialState: { Count: { value: 1, note: "since ${now}" } }
    transitions:
      Count:
        Add:
          - { when: state.value + event.by > 100, to: Done, set: { value: "${state.value + event.by}" } }
          - { when: event.by > 0, to: Count, set: { value: "${state.value + event.by}" } }
        Divide: { to: Count, set: { value: "${state.value / event.by}" } }
        Same: stay
      any:
        Add: { to: Done, set: { value: -1 } }

    """
