public import CommonExpression
public import Logging
public import MediatorConfiguration
import Synchronization

/// A kind of side effect that configured systems may use.
///
/// What it is called and which parameters and outcomes it has is its schema, against which configurations are checked,
/// so that ``run(_:in:)`` gets only arguments of the right types.
public protocol EffectImplementation: Sendable {
    /// Its name, parameters and outcomes.
    var schema: EffectSchema { get }

    /// Runs once, reports its outcomes through the context, and returns when nothing of it is left.
    ///
    /// Cancellation of the task asks it to end; it must return soon, having ended whatever it started. One whose schema
    /// says that it lasts is cancelled too when the system begins to stop.
    /// - Parameter arguments: by parameter name; optional ones may be missing.
    func run(_ arguments: [String: Value], in context: EffectContext) async

    /// Ends what is kept from one run to the next, such as connections, and returns when it has ended. It is called when
    /// nothing runs any more, perhaps more than once, and something may run again later.
    func shutDown() async
}

extension EffectImplementation {
    /// Nothing is kept.
    public func shutDown() async {}
}

/// A side effect that is done in no time and has no outcomes, such as to write a line to the log.
///
/// The host has it act on the system's turn, as soon as a state asks for it, in order with what the state emits and
/// publishes. So it is done even if the state is left at once.
public protocol ImmediateEffect: EffectImplementation {
    /// Acts, without waiting for anything.
    ///
    /// - Parameter arguments: by parameter name; optional ones may be missing.
    func act(_ arguments: [String: Value], in context: EffectContext)
}

extension ImmediateEffect {
    /// Acts.
    public func run(_ arguments: [String: Value], in context: EffectContext) async { act(arguments, in: context) }
}

/// What a side effect may use while it runs.
public struct EffectContext: Sendable {
    /// The system it runs for.
    public let system: String
    /// The feedback that started it.
    public let feedback: String
    /// The clock to wait by.
    public let clock: any Clock<Duration>
    /// Where to say what an administrator should know; it carries the system and the feedback.
    public let logger: Logger
    /// Whether an argument holds a secret, such as a credential: then nothing that may repeat it belongs into the log.
    public let isConfidential: Bool
    /// What the side effect remembers from one run for this feedback to the next.
    public let memory: EffectMemory
    private let outcome: @Sendable (String, Value) -> Bool
    private let fault: @Sendable (String) -> Void

    package init(
        system: String, feedback: String, clock: any Clock<Duration>, logger: Logger,
        memory: EffectMemory = EffectMemory(), isConfidential: Bool = false,
        outcome: @escaping @Sendable (String, Value) -> Bool, fault: @escaping @Sendable (String) -> Void
    ) {
        self.system = system
        self.feedback = feedback
        self.clock = clock
        self.logger = logger
        self.memory = memory
        self.isConfidential = isConfidential
        self.outcome = outcome
        self.fault = fault
    }

    /// Reports an outcome, which becomes an event as the configuration says.
    ///
    /// - Parameters:
    ///   - name: an outcome of the schema.
    ///   - result: a structure of the outcome's result type.
    /// - Returns: whether the configuration says what becomes of it; if not, the side effect may want to log it.
    @discardableResult
    public func report(_ name: String, _ result: Value) -> Bool {
        outcome(name, result)
    }

    /// Says that the side effect could not do its work at all: it is logged, counted, and the system is degraded.
    public func fail(_ message: String) {
        fault(message)
    }
}

/// What a side effect remembers from one of its runs to the next, for one feedback of one system, as long as that system
/// runs: one value.
public final class EffectMemory: Sendable {
    private let storage = Mutex<(any Sendable)?>(nil)

    /// An empty memory.
    public init() {}

    /// The value, if there is one of this type.
    public func value<Kept: Sendable>(_ type: Kept.Type) -> Kept? {
        storage.withLock { $0 as? Kept }
    }

    /// Keeps a value, instead of the one before.
    public func keep(_ value: some Sendable) {
        storage.withLock { $0 = value }
    }
}

/// The kinds of side effects that a host knows, by name.
public struct EffectCatalogue: Sendable {
    private let byName: [String: any EffectImplementation]

    /// A catalogue; of two kinds with one name the last counts.
    public init(_ effects: [any EffectImplementation]) {
        byName = Dictionary(effects.map { ($0.schema.name, $0) }) { _, last in last }
    }

    /// These and others, which take the place of those of the same names.
    public func with(_ others: [any EffectImplementation]) -> EffectCatalogue {
        EffectCatalogue(Array(byName.values) + others)
    }

    /// What would keep configurations from using some more side effects beside these, a sentence each without a full stop.
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

    /// The schemas, against which configurations are checked, sorted by name. `emit` and `publish` are always among them:
    /// the host does these itself.
    public var schemas: [EffectSchema] {
        (byName.values.map(\.schema) + [.emit, .publish]).sorted { $0.name < $1.name }
    }

    /// Ends what the side effects keep from one run to the next.
    public func shutDown() async {
        for effect in byName.values { await effect.shutDown() }
    }

    /// The one of a name, if there is one.
    public func implementation(named name: String) -> (any EffectImplementation)? { byName[name] }

    subscript(name: String) -> (any EffectImplementation)? { byName[name] }
}
