import CommonExpression
import FeedbackKitTesting
import Logging
import MediatorConfiguration
import MediatorHost
import Testing

/// Reports an outcome that its schema does not have, or fails with its argument, as it is asked.
private struct BreachEffect: EffectImplementation {
    let act: @Sendable (_ arguments: [String: Value], _ context: EffectContext) -> Void

    static let result = StructureType(name: "result", fields: [.init(name: "count", type: .int)])

    let schema = EffectSchema(
        name: "breach", parameters: [.init(name: "key", type: .list(.string), acceptsSecrets: true)],
        outcomes: [.init(name: "onDone", result: result)])

    func run(_ arguments: [String: Value], in context: EffectContext) async { act(arguments, context) }
}

@Suite(.timeLimit(.minutes(20))) struct `What is asked of a side effect` {
    /// The faults of a system that uses it, once it has run; and the state that it has then.
    private func run(
        key: String = "[]", _ act: @escaping @Sendable (_ arguments: [String: Value], _ context: EffectContext) -> Void
    ) async throws -> (fault: String?, state: String) {
        let catalogue = EffectCatalogue([BreachEffect(act: act)])
        let text = """
            system: s
            states: { Begun: {}, Over: { count: int } }
            events: { Done: { count: int } }
            fromOutside: Done
            initialState: Begun
            feedbacks:
              f: { onState: Begun, breach: { key: \(key) }, onDone: { Done: { count: "${result.count}" } } }
            transitions: { Begun: { Done: { to: Over, set: { count: "${event.count}" } } } }
            """
        let compiled = ConfigurationCompiler.compile(
            files: [ConfigurationFile(path: "a.yaml", text: text)], effects: catalogue.schemas)
        let graph = try #require(compiled.graph, "\(compiled.diagnostics.map { $0.rendered() })")
        let now = try #require(Timestamp(seconds: 1_700_000_000, nanoseconds: 0))
        let host = try Host(
            graph: graph, effects: catalogue, time: HostTime.settling(ManualClock()) { now },
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        host.start()
        while true {
            let status = try host.systemStatus("s")
            let name = graph.systems[0].states[status.state.index].name
            if let fault = status.lastFault { return ("\(fault.place): \(fault.message)", name) }
            if name == "Over" { return (nil, name) }
            await Task.yield()
        }
    }

    @Test func `an outcome that it does not have is a fault`() async throws {
        let (fault, state) = try await run { $1.report("onNever", .null) }
        #expect(fault == "feedback f, a.yaml:7:3: 'breach' has reported the outcome 'onNever', which it does not have")
        #expect(state == "Begun")
    }

    @Test(arguments: [
        Value.null, .int(1), .structure(Structure(type: BreachEffect.result, fields: [.string("1")])),
        .structure(Structure(type: StructureType(name: "result", fields: []), fields: [])),
    ])
    func `a result of another type is a fault`(result: Value) async throws {
        let (fault, state) = try await run { $1.report("onDone", result) }
        #expect(
            fault?.contains("'breach' has reported the outcome 'onDone' with a result that is not of its type") == true)
        #expect(state == "Begun")
    }

    @Test func `what is as it was declared becomes an event`() async throws {
        let (fault, state) = try await run {
            $1.report("onDone", .structure(Structure(type: BreachEffect.result, fields: [.int(1)])))
        }
        #expect(fault == nil)
        #expect(state == "Over")
    }

    @Test func `a secret that it tells is not shown`() async throws {
        let (fault, _) = try await run(
            key: "[plain and simple, !credential { name: key, default: correct horse battery }]"
        ) {
            arguments, context in
            context.fail("cannot use \(arguments["key"] ?? .null) at all")
        }
        let text = try #require(fault)
        #expect(text.contains("cannot use") && text.contains("at all"))
        #expect(!text.contains("horse") && text.contains("(not shown)") && text.contains("plain and simple"))
    }
}
