import CommonExpression
import FeedbackKit
import FeedbackKitTesting
import Logging
import MediatorConfiguration
import MediatorHost
import Synchronization
import Testing

/// A side effect that waits for the clock, then says so; it counts how many of it run.
struct ApplyWorkEffect: EffectImplementation {
    let running = Counter()
    var schema: EffectSchema {
        EffectSchema(
            name: "work", parameters: [.init(name: "for", type: .duration, required: true)], shortForm: "for",
            outcomes: [.init(name: "onDone", result: StructureType(name: "result", fields: []))])
    }

    final class Counter: Sendable {
        let now = Atomic(0)
        let most = Mutex(0)
        /// The number of runs so far.
        let begun = Atomic(0)
    }

    func run(_ arguments: [String: Value], in context: EffectContext) async {
        running.begun.add(1, ordering: .relaxed)
        let number = running.now.add(1, ordering: .relaxed).newValue
        running.most.withLock { $0 = max($0, number) }
        if case .duration(let span)? = arguments["for"] { try? await context.clock.sleep(for: span.swiftDuration) }
        running.now.subtract(1, ordering: .relaxed)
        context.report("onDone", .structure(Structure(type: schema.outcomes[0].result, fields: [])))
    }
}

/// A host whose configuration changes, with a clock that is moved by hand.
final class ApplyFixture: HostedFixture, Sendable {
    let clock = ManualClock()
    let host: Host
    let effect = ApplyWorkEffect()

    init(_ text: String) throws {
        let time = HostTime.manual(clock)
        let catalogue = EffectCatalogue([effect])
        host = try Host(
            graph: try graph(text, effects: catalogue.schemas), effects: catalogue, time: time,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    func apply(_ text: String) async throws -> Applied {
        try await host.apply(try graph(text, effects: EffectCatalogue([effect]).schemas), stopLimit: .seconds(60))
    }

    var digest: String { host.digest }

    /// The number of runs so far.
    var begun: Int { effect.running.begun.load(ordering: .relaxed) }
    /// The number of active runs.
    var atWork: Int { effect.running.now.load(ordering: .relaxed) }
}

extension Host {
    /// Everything that can be seen of it.
    var digest: String {
        let systems = systemStatuses.map {
            "\($0.definition.name) \($0.definition.fingerprint) \($0.definition.source) \($0.health) \($0.state) "
                + "\($0.loop.counters) \($0.faults) \($0.links)"
        }
        let buses = busStatuses.map {
            "\($0.definition.fingerprint) \($0.value as Any) \($0.since as Any) \($0.mediator)"
        }
        let links = linkStatuses.map { "\($0.definition.fingerprint) \($0.fired) \($0.lastFired as Any)" }
        return (systems + buses + links + ["\(generation) \(statusText)"]).joined(separator: "\n")
    }
}

func countingSystem(_ name: String, _ more: String = "", fields: String = "") -> String {
    """
    system: \(name)
    states: { Count: { n: int\(fields.isEmpty ? "" : ", \(fields): int") }, Done: {} }
    events: { Add: { by: int }, End: {} }
    fromOutside: any
    initialState: { Count: { n: 0\(fields.isEmpty ? "" : ", \(fields): 0") } }
    transitions:
      Count:
        Add: { to: Count, set: { n: "${state.n + event.by}" } }
        End: Done
    \(more)
    ---

    """
}
