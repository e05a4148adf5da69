import CommonExpression
import FeedbackKit
public import MediatorConfiguration

/// A kind of systems that is written in Swift. Configurations make instances of it.
///
/// Its ``kind`` has its name, parameters, states and events. Configurations are checked against the kind, so
/// ``makeBehaviour(of:)`` gets only parameters of the right types. ``TypedKind`` makes such a kind from Swift types.
public protocol SystemImplementation: Sendable {
    /// The name, parameters, states and events of the kind.
    var kind: SystemKind { get }

    /// Returns the behaviour of an instance, and starts nothing.
    ///
    /// - Throws: The reason why these parameters give no instance.
    func makeBehaviour(of instance: KindInstance) throws -> SystemBehaviour
}

/// The kinds of systems that a host knows, by name.
public struct SystemCatalogue: Sendable {
    private let byName: [String: any SystemImplementation]

    /// Creates a catalogue. If two kinds have the same name, the last one counts.
    public init(_ kinds: [any SystemImplementation] = []) {
        byName = Dictionary(kinds.map { ($0.kind.name, $0) }) { _, last in last }
    }

    /// The kinds that configurations are checked against, sorted by name.
    public var kinds: [SystemKind] { byName.values.map(\.kind).sorted { $0.name < $1.name } }

    subscript(name: String) -> (any SystemImplementation)? { byName[name] }
}

/// The inside of a system: its first state, its reaction to events, and the feedbacks of its Swift code. The host
/// adds the common parts of all systems: the mailbox, the health, the links, and the feedbacks of the configuration.
public struct SystemBehaviour: Sendable {
    /// A function that changes a state on an event at a time, and reports failures.
    typealias Reduce =
        @Sendable (inout SystemState, SystemEvent, _ now: () -> Timestamp, _ report: (Fault) -> Void) -> Reduction

    /// A description of a feedback of its Swift code.
    struct Outline: Sendable {
        var name: String
        /// The state that the feedback reacts to, or `any`.
        var onState: String
        var strategy: Strategy
    }

    /// The first state.
    let initial: Snapshot
    let reduce: Reduce
    /// The function that makes the feedbacks of its Swift code. It reports the errors of their side effects to its
    /// argument.
    let makeFeedbacks: @Sendable (@escaping @Sendable (Fault) -> Void) -> [Feedback<SystemState, SystemEvent>]
    /// The executor of its loop.
    var executor: any LoopExecutor
    /// The descriptions of the feedbacks of its Swift code.
    let outlines: [Outline]
    /// The events that these feedbacks have emitted.
    let emitted: EmittedEvents
    /// The known transitions for display, each by the names of its states and its event.
    let transitions: [(from: String, event: String, to: String)]
    /// The function that adds the Swift value to a state from elsewhere. It returns `nil` if the system cannot be in
    /// that state.
    let adopt: @Sendable (SystemState) -> SystemState?

    /// A state without its history.
    struct Snapshot: Sendable {
        var index: Int
        var data: Value
        /// The Swift value that the state was made from.
        var original: (any AnyObject & Sendable)?
    }
}

extension SystemBehaviour {
    /// Returns the behaviour of a configured system, from its rules.
    static func configured(_ definition: SystemDefinition, _ time: HostTime) throws(EvaluationError) -> SystemBehaviour
    {
        SystemBehaviour(
            initial: Snapshot(
                index: definition.initialState.state, data: .structure(try definition.initialData(now: time.now()))),
            reduce: { state, event, now, report in
                RuleMachine.reduce(&state, event, now: now, report: report)
            },
            makeFeedbacks: { _ in [] }, executor: time.executor ?? .configuredSystems, outlines: [],
            emitted: EmittedEvents(),
            transitions: [], adopt: { $0 })
    }
}
