public import CommonExpression
public import Logging
public import MediatorConfiguration
import Synchronization

/// A kind of side effect that configured systems may use.
///
/// The schema states its name, parameters and outcomes. The host checks configurations against the schema, so
/// ``run(_:in:)`` gets only arguments of the right types.
public protocol EffectImplementation: Sendable {
    /// The name, parameters and outcomes of the side effect.
    var schema: EffectSchema { get }

    /// Runs the side effect once, reports its outcomes through the context, and returns when all its work has ended.
    ///
    /// Cancellation of the task asks the side effect to end. It must then end all work that it started, and return soon. The
    /// host also cancels a lasting side effect when the system begins to stop.
    ///
    /// - Parameters:
    ///   - arguments: The arguments by parameter name. Optional ones may be missing.
    ///   - context: The environment of the run.
    func run(_ arguments: [String: Value], in context: EffectContext) async

    /// Ends the resources that the side effect keeps between runs, such as connections, and returns when they have ended.
    ///
    /// It is called when no run is active, possibly more than once. Further runs may follow.
    func shutDown() async
}

extension EffectImplementation {
    /// Does nothing, for a side effect that keeps no resources between runs.
    public func shutDown() async {}
}

/// A side effect that finishes at once and has no outcomes, such as a line in the log.
///
/// The host carries it out in the activation of the system, as soon as a state asks for it. It keeps its order among the
/// events and publications of the state. So it takes place even if the system leaves the state at once.
public protocol ImmediateEffect: EffectImplementation {
    /// Carries out the side effect, without waiting for anything.
    ///
    /// - Parameters:
    ///   - arguments: The arguments by parameter name. Optional ones may be missing.
    ///   - context: The environment of the side effect.
    func act(_ arguments: [String: Value], in context: EffectContext)
}

extension ImmediateEffect {
    /// Calls ``act(_:in:)``.
    public func run(_ arguments: [String: Value], in context: EffectContext) async { act(arguments, in: context) }
}

/// The environment of a running side effect.
public struct EffectContext: Sendable {
    /// The name of the system that the side effect runs for.
    public let system: String
    /// The name of the feedback that started the side effect.
    public let feedback: String
    /// The clock for delays.
    public let clock: any Clock<Duration>
    /// The logger for messages to the administrator. Its metadata names the system and the feedback.
    public let logger: Logger
    /// A Boolean value that indicates whether an argument holds a secret, such as a credential. If it does, the side effect
    /// must log nothing that may repeat the secret.
    public let isConfidential: Bool
    /// The memory that the side effect keeps between its runs for this feedback.
    public let memory: EffectMemory
    private let outcome: @Sendable (String, Value) -> Bool
    private let fault: @Sendable (String) -> Void
    private let obstacle: @Sendable (String) -> Void
    private let recovery: @Sendable () -> Void
    private let warning: @Sendable (String, Logger.Metadata) -> Void

    /// A context with the given parts.
    package init(
        system: String, feedback: String, clock: any Clock<Duration>, logger: Logger,
        memory: EffectMemory = EffectMemory(), isConfidential: Bool = false,
        outcome: @escaping @Sendable (String, Value) -> Bool, fault: @escaping @Sendable (String) -> Void,
        obstacle: (@Sendable (String) -> Void)? = nil, works: @escaping @Sendable () -> Void = {},
        warn: (@Sendable (String, Logger.Metadata) -> Void)? = nil
    ) {
        self.system = system
        self.feedback = feedback
        self.clock = clock
        self.logger = logger
        self.memory = memory
        self.isConfidential = isConfidential
        self.outcome = outcome
        self.fault = fault
        self.obstacle = obstacle ?? fault
        recovery = works
        warning = warn ?? { logger.warning("\($0)", metadata: $1) }
    }

    /// Reports an outcome. The rules of the configuration turn it into an event.
    ///
    /// - Parameters:
    ///   - name: The name of an outcome in the schema.
    ///   - result: A structure of the outcome's result type.
    /// - Returns: A Boolean value. `false` means that the configuration has no rule for the outcome, so the side effect may
    ///   want to log it.
    @discardableResult
    public func report(_ name: String, _ result: Value) -> Bool {
        outcome(name, result)
    }

    /// Reports that the side effect could not do its work at all. The host logs and counts the fault.
    ///
    /// The system is degraded until a later run has another result, or until it leaves the states that ask for the side
    /// effect. A lasting side effect ends that with ``works()``, or with any outcome.
    ///
    /// - Parameter message: A description of the fault.
    public func fail(_ message: String) {
        fault(message)
    }

    /// Reports that a lasting side effect cannot observe, as ``fail(_:)`` does. Only ``works()`` ends that, because its
    /// outcomes do not show that it observes everything.
    package func failUntilWorks(_ message: String) {
        obstacle(message)
    }

    /// Logs a warning. If the same one repeats, most of them are withheld, and their number is logged.
    package func warn(_ message: String, metadata: Logger.Metadata) {
        warning(message, metadata)
    }

    /// Reports that a lasting side effect can do its work, possibly again after ``fail(_:)``. It costs little, so it may be
    /// called at each observation. For other side effects it does nothing.
    public func works() {
        recovery()
    }
}

/// A value that a side effect keeps between its runs, for one feedback of one system.
///
/// The memory lasts until the system restarts or stops, or a reload changes the feedback.
public final class EffectMemory: Sendable {
    private let storage = Mutex<(any Sendable)?>(nil)

    /// An empty memory.
    public init() {}

    /// Returns the value if it has the given type, or else `nil`.
    public func value<Kept: Sendable>(_ type: Kept.Type) -> Kept? {
        storage.withLock { $0 as? Kept }
    }

    /// Keeps a value in place of the previous one.
    public func keep(_ value: some Sendable) {
        storage.withLock { $0 = value }
    }
}

/// The kinds of side effects that a host knows, by name.
public struct EffectCatalogue: Sendable {
    private let byName: [String: any EffectImplementation]

    /// A catalogue of the given kinds. Of several kinds with the same name, it holds the last.
    public init(_ effects: [any EffectImplementation]) {
        byName = Dictionary(effects.map { ($0.schema.name, $0) }) { _, last in last }
    }

    /// Returns a catalogue with further kinds, which replace those of the same names.
    public func with(_ others: [any EffectImplementation]) -> EffectCatalogue {
        EffectCatalogue(Array(byName.values) + others)
    }

    /// Returns the flaws that keep configurations from using further side effects together with those of the catalogue. Each
    /// flaw is a sentence without a full stop.
    public func flaws(ofMore others: [any EffectImplementation]) -> [String] {
        var names = Set(schemas.map(\.name))
        var flaws: [String] = []
        if others.count > KindFile.mostEffects {
            flaws.append("there are more than \(KindFile.mostEffects) side effects")
        }
        for schema in others.map(\.schema) {
            flaws += schema.flaws.map { "the side effect '\(schema.name)': \($0)" }
            if schema.emitsDirectly { flaws.append("the side effect '\(schema.name)': only 'emit' is an event itself") }
            if !names.insert(schema.name).inserted {
                flaws.append(
                    byName[schema.name] != nil || [EffectSchema.emit, .publish].contains { $0.name == schema.name }
                        ? "every daemon has a side effect '\(schema.name)'"
                        : "two side effects have the name '\(schema.name)'")
            }
        }
        return flaws + EffectSchema.clashes(of: others.map(\.schema), with: schemas)
    }

    /// The schemas for the check of configurations, sorted by name. They always include `emit` and `publish`, which the host
    /// carries out itself.
    public var schemas: [EffectSchema] {
        (byName.values.map(\.schema) + [.emit, .publish]).sorted { $0.name < $1.name }
    }

    /// Ends the resources that the side effects keep between runs.
    public func shutDown() async {
        for effect in byName.values { await effect.shutDown() }
    }

    /// Returns the implementation of a name, or `nil` for an unknown name.
    public func implementation(named name: String) -> (any EffectImplementation)? { byName[name] }

    subscript(name: String) -> (any EffectImplementation)? { byName[name] }
}
