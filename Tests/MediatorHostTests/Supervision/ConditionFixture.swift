import CommonExpression
import FeedbackKitTesting
import Logging
import MediatorConfiguration
import MediatorHost
import Synchronization
import Testing

/// The chosen behaviour of side effects by name, and the record of their actions.
final class Acts: Sendable {
    enum Act: Sendable, Hashable {
        case succeeds
        case fails
        /// It is ended by a signal, because its own time limit has passed.
        case isLate
        /// It cannot do its work at all.
        case cannot
        /// It goes on until it is cancelled.
        case hangs
        /// It does not even end then, for a minute.
        case resists
        /// It ends without a word.
        case isSilent
    }

    /// An action of a side effect.
    enum Deed: Sendable, Hashable {
        case began
        case ended(isCancelled: Bool)
        case did(Act)
    }

    private let acts = Mutex<[String: Act]>([:])
    private let deeds = Mutex<[(name: String, deed: Deed)]>([])

    subscript(name: String) -> Act {
        get { acts.withLock { $0[name] ?? .succeeds } }
        set { acts.withLock { $0[name] = newValue } }
    }

    func note(_ name: String, _ deed: Deed) { deeds.withLock { $0.append((name, deed)) } }

    /// Returns the actions since the last call.
    func takeDeeds() -> [(name: String, deed: Deed)] {
        deeds.withLock { deeds in
            defer { deeds = [] }
            return deeds
        }
    }
}

/// A side effect with a behaviour that the test chooses.
private struct ActEffect: EffectImplementation {
    let acts: Acts
    let schema = EffectSchema(
        name: "act",
        parameters: [
            .init(name: "name", type: .string, required: true), .init(name: "timeout", type: .duration),
        ],
        shortForm: "name",
        outcomes: ["onSuccess", "onFailure", "onPart"].map {
            .init(
                name: $0,
                result: StructureType(
                    name: "result",
                    fields: [
                        .init(name: "exitCode", type: .int), .init(name: "signal", type: .string),
                        .init(name: "error", type: .string),
                    ]))
        }
    ).withThresholds()

    func run(_ arguments: [String: Value], in context: EffectContext) async {
        let name = arguments["name"]?.text ?? ""
        let act = acts[name]
        acts.note(name, .began)
        defer { acts.note(name, .ended(isCancelled: Task.isCancelled)) }
        if act != .hangs, act != .resists { acts.note(name, .did(act)) }
        switch act {
        case .isSilent: return
        case .cannot: context.fail("no wire")
        case .hangs: try? await context.clock.sleep(for: .seconds(1_000_000))
        case .resists: await Task.detached { try? await context.clock.sleep(for: .seconds(60)) }.value
        case .succeeds, .fails, .isLate:
            let fields: [Value] =
                act == .isLate
                ? [.int(-1), .string("SIGTERM"), .string("the time limit passed; its error output: printed")]
                : [.int(act == .fails ? 3 : 0), .string(""), .string("printed")]
            let structure = Structure(type: schema.outcomes[0].result, fields: fields)
            context.report("onPart", .structure(structure))
            context.report(act == .succeeds ? "onSuccess" : "onFailure", .structure(structure))
        }
    }
}

/// A side effect that observes: it looks each second how it fares.
private struct SeeEffect: EffectImplementation {
    let acts: Acts
    let schema = EffectSchema(
        name: "see", parameters: [.init(name: "name", type: .string, required: true)], shortForm: "name",
        outcomes: [.init(name: "onSeen", result: StructureType(name: "result", fields: []))], isLasting: true)

    func run(_ arguments: [String: Value], in context: EffectContext) async {
        var last: Acts.Act?
        while !Task.isCancelled {
            let name = arguments["name"]?.text ?? ""
            let act = acts[name]
            acts.note(name, .did(act))
            switch act {
            case .cannot where last != act: context.fail("nothing to see")
            case .cannot, .hangs, .resists: break
            case .succeeds: context.works()
            case .fails, .isLate:
                context.report("onSeen", .structure(Structure(type: schema.outcomes[0].result, fields: [])))
            case .isSilent: return
            }
            last = act
            try? await context.clock.sleep(for: .seconds(1))
        }
    }
}

/// A host with side effects of a chosen behaviour, and with a manual clock.
final class ConditionFixture: HostedFixture, Sendable {
    let clock = ManualClock()
    let acts = Acts()
    let host: Host
    private let catalogue: EffectCatalogue

    init(_ text: String) throws {
        catalogue = EffectCatalogue([ActEffect(acts: acts), SeeEffect(acts: acts)])
        host = try Host(
            graph: Self.graph(text, catalogue), effects: catalogue, time: .manual(clock),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    private static func graph(_ text: String, _ catalogue: EffectCatalogue) throws -> Graph {
        let result = ConfigurationCompiler.compile(
            files: [ConfigurationFile(path: "a.yaml", text: text)], effects: catalogue.schemas)
        return try #require(result.graph, "\(result.diagnostics.map { $0.rendered() })")
    }

    func start() async {
        host.start()
        await settle()
    }

    /// Replaces the configuration.
    func apply(_ text: String) async throws {
        _ = try await host.apply(Self.graph(text, catalogue))
        await settle()
    }

    /// Lets seconds pass, one by one. The host looks after each of them, as a daemon does.
    func pass(_ seconds: Int = 1) async {
        for _ in 0..<seconds {
            clock.advance(by: .seconds(1))
            await settle()
            _ = host.lookAtLoops(deadline: .seconds(1_000))
        }
    }

    func emit(_ event: String, _ fields: Value...) async throws {
        try host.emit(event, to: "s", fields: fields)
        await settle()
    }

    /// The reason for which the system is degraded, or its health if it has none.
    func reason() throws -> String {
        let status = try host.systemStatus("s")
        return status.health == .degraded ? status.healthReason ?? "" : "\(status.health)"
    }
}
