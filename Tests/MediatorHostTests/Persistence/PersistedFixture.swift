import CommonExpression
import FeedbackKitTesting
import Logging
import MediatorConfiguration
import MediatorHost
import Synchronization

/// A side effect that is noted at once.
struct NotedEffect: ImmediateEffect {
    let notes = Notes()
    let schema = EffectSchema(
        name: "note", parameters: [.init(name: "text", type: .string, required: true)], shortForm: "text")

    final class Notes: Sendable {
        private let texts = Mutex<[String]>([])

        var all: [String] { texts.withLock { $0 } }
        func add(_ text: String) { texts.withLock { $0.append(text) } }
    }

    func act(_ arguments: [String: Value], in context: EffectContext) { notes.add(arguments["text"]?.text ?? "") }
}

/// A host with a journal, and a clock that is moved by hand.
final class PersistedFixture: HostedFixture, Sendable {
    let clock: ManualClock
    let journal: ListedJournal
    let host: Host
    private let effect = NotedEffect()

    /// - Parameters:
    ///   - systems: The persisted systems.
    ///   - buses: The persisted buses.
    ///   - continues: A Boolean value that indicates whether the host begins from the rows of the journal.
    convenience init(
        _ text: String, persisting systems: Set<String> = ["counter"], _ buses: Set<String> = [],
        journal: ListedJournal = ListedJournal(isManual: true), continues: Bool = false,
        kinds: [any SystemImplementation] = [],
        logger: Logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    ) throws {
        try self.init(
            Self.graph(text, SystemCatalogue(kinds).kinds).persisting(systems, buses), journal: journal,
            continues: continues, kinds: kinds, logger: logger)
    }

    init(
        _ graph: Graph, journal: ListedJournal, continues: Bool, clock: ManualClock = ManualClock(),
        kinds: [any SystemImplementation] = [],
        logger: Logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    ) throws {
        self.clock = clock
        self.journal = journal
        let restored = continues ? journal.restored : (HostState(), SavedParts())
        host = try Host(
            graph: graph, effects: EffectCatalogue([effect]), kinds: SystemCatalogue(kinds), continuing: restored.0,
            details: restored.1,
            journal: journal, time: .manual(clock), logger: logger)
        host.start()
    }

    /// The texts of the side effects so far.
    var notes: [String] { effect.notes.all }

    /// Returns another configuration for the host.
    func graph(_ text: String, persisting systems: Set<String> = ["counter"], _ buses: Set<String> = []) throws -> Graph
    {
        try Self.graph(text).persisting(systems, buses)
    }

    static func graph(_ text: String, _ kinds: [SystemKind] = []) throws -> Graph {
        try KindFixture.graph(text, kinds, effects: [NotedEffect().schema])
    }

    func add(_ number: Int64, to system: String = "counter") throws {
        try host.emit("Add", to: system, fields: [.int(number)])
    }

    /// The value of a bus, as text.
    func value(of bus: String) throws -> String { try host.busStatus(bus).value?.description ?? "none" }

    /// A system that appends digits to a number, with a side effect and a link that act on each number.
    static let counter = """
        system: counter
        states: { Count: { n: int } }
        events: { Add: { by: int }, Touch: {}, Unknown: {} }
        fromOutside: any
        unhandled: fault
        supervision: { onFault: continue }
        mailbox: { limit: 3, overflow: dropNewest }
        initialState: { Count: { n: 0 } }
        feedbacks: { note: { onState: Count, note: "${string(state.n)}" } }
        transitions:
          Count:
            Add: { to: Count, set: { n: "${state.n * 10 + event.by}" } }
            Touch: { set: { n: "${state.n}" } }
        ---
        buses:
          seen: { kind: currentValue, value: int, initial: -1, fromOutside: read }
          divisor: { kind: passthrough, value: int, fromOutside: write }
        links:
          tell: { attach: counter, to: seen, onState: Count, emitValue: "${state.n}" }
          divide: { attach: counter, to: divisor, when: "true", emitEvent: { Add: { by: "${10 / value}" } } }
        """
}

extension Graph {
    /// Returns the same graph with these persisted systems and buses.
    func persisting(_ names: Set<String>, _ busNames: Set<String> = []) -> Graph {
        var graph = self
        graph.systems = systems.map { system in
            names.contains(system.name)
                ? system.replacing(description: system.description, source: system.source, persistence: .state) : system
        }
        for index in buses.indices { graph.buses[index].isPersisted = busNames.contains(buses[index].name) }
        return graph
    }
}
