import CommonExpression
import FeedbackKit
public import MediatorConfiguration

/// A kind of systems that is written in Swift, of which configurations make instances.
///
/// What it is called, and which parameters, states and events it has, is its ``kind``, against which configurations are
/// checked, so that ``makeBehaviour(of:)`` gets only parameters of the right types. ``TypedKind`` makes one of Swift
/// types.
public protocol SystemImplementation: Sendable {
    /// Its name, parameters, states and events.
    var kind: SystemKind { get }

    /// What an instance does. Nothing is started.
    ///
    /// - Throws: why there cannot be one with these parameters.
    func makeBehaviour(of instance: KindInstance) throws -> SystemBehaviour
}

/// The kinds of systems that a host knows, by name.
public struct SystemCatalogue: Sendable {
    private let byName: [String: any SystemImplementation]

    /// A catalogue; of two kinds with one name the last counts.
    public init(_ kinds: [any SystemImplementation] = []) {
        byName = Dictionary(kinds.map { ($0.kind.name, $0) }) { _, last in last }
    }

    /// The kinds, against which configurations are checked, sorted by name.
    public var kinds: [SystemKind] { byName.values.map(\.kind).sorted { $0.name < $1.name } }

    subscript(name: String) -> (any SystemImplementation)? { byName[name] }
}

/// What is inside a system: how it begins, what events do to its state, and the feedbacks it has of its own. The host
/// adds to it what every system has: its mailbox, health, links, and the feedbacks of the configuration.
public struct SystemBehaviour: Sendable {
    /// Changes a state on an event, at a time; what fails is told.
    typealias Reduce =
        @Sendable (inout SystemState, SystemEvent, _ now: () -> Timestamp, _ report: (Fault) -> Void) -> Reduction

    /// A feedback of its own, as it is shown.
    struct Outline: Sendable {
        var name: String
        /// The state that it looks at, or `any`.
        var onState: String
        var strategy: Strategy
    }

    /// The state in which it begins.
    let initial: Snapshot
    let reduce: Reduce
    /// Its own feedbacks. What their side effects throw is told.
    let makeFeedbacks: @Sendable (@escaping @Sendable (Fault) -> Void) -> [Feedback<SystemState, SystemEvent>]
    /// Where it turns.
    let executor: any LoopExecutor
    /// Its own feedbacks, for showing them.
    let outlines: [Outline]
    /// What these have emitted.
    let emitted: EmittedEvents
    /// The transitions that are known, for showing them, each by the names of its states and its event.
    let transitions: [(from: String, event: String, to: String)]
    /// What stands behind a state that was not made by it; `nil` if it cannot be in that state.
    let adopt: @Sendable (SystemState) -> SystemState?

    /// A state without its history.
    struct Snapshot: Sendable {
        var index: Int
        var data: Value
        /// What it was made of.
        var original: (any AnyObject & Sendable)?
    }
}

extension SystemBehaviour {
    /// What the rules of a configured system say.
    static func configured(_ definition: SystemDefinition, now: Timestamp) throws(EvaluationError) -> SystemBehaviour {
        let machine = RuleMachine(definition: definition)
        return SystemBehaviour(
            initial: Snapshot(
                index: definition.initialState.state, data: .structure(try definition.initialData(now: now))),
            reduce: { state, event, now, report in machine.reduce(&state, event, now: now, report: report) },
            makeFeedbacks: { _ in [] }, executor: HostPool(), outlines: [], emitted: EmittedEvents(),
            transitions: [], adopt: { $0 })
    }
}
