public import CommonExpression
public import Logging
public import MediatorConfiguration

/// A kind of side effect that configured systems may use.
///
/// What it is called and which parameters and outcomes it has is its schema, against which configurations are checked,
/// so that ``run(_:in:)`` gets only arguments of the right types.
public protocol EffectImplementation: Sendable {
    /// Its name, parameters and outcomes.
    var schema: EffectSchema { get }

    /// Runs once, reports its outcomes through the context, and returns when nothing of it is left.
    ///
    /// Cancellation of the task asks it to end; it must return soon, having ended whatever it started.
    /// - Parameter arguments: by parameter name; optional ones may be missing.
    func run(_ arguments: [String: Value], in context: EffectContext) async
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
    private let outcome: @Sendable (String, Value) -> Bool
    private let fault: @Sendable (String) -> Void

    package init(
        system: String, feedback: String, clock: any Clock<Duration>, logger: Logger,
        outcome: @escaping @Sendable (String, Value) -> Bool, fault: @escaping @Sendable (String) -> Void
    ) {
        self.system = system
        self.feedback = feedback
        self.clock = clock
        self.logger = logger
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

/// The kinds of side effects that a host knows, by name.
public struct EffectCatalogue: Sendable {
    private let byName: [String: any EffectImplementation]

    /// A catalogue; of two kinds with one name the last counts.
    public init(_ effects: [any EffectImplementation]) {
        byName = Dictionary(effects.map { ($0.schema.name, $0) }) { _, last in last }
    }

    /// The schemas, against which configurations are checked, sorted by name. `emit` is always among them: the host
    /// does it itself.
    public var schemas: [EffectSchema] {
        (byName.values.map(\.schema) + [.emit]).sorted { $0.name < $1.name }
    }

    subscript(name: String) -> (any EffectImplementation)? { byName[name] }
}
