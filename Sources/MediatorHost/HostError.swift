public import MediatorConfiguration

/// The error of a host that could not be built. The data of a system's first state cannot be computed, or the kind of the
/// system makes no system from its parameters.
public struct InitialStateError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The name of the system.
    public let system: String
    /// The kind that could not make the system, or `nil` for a system that the configuration describes.
    public let kind: String?
    /// The place in the configuration where the system is written.
    public let source: SourceLocation
    /// The description of the failure.
    public let message: String
    /// The errors of the other systems, by name. If a reload fails, changed systems precede new ones.
    public internal(set) var others: [InitialStateError] = []

    init(system: String, kind: String?, source: SourceLocation, message: String) {
        self.system = system
        self.kind = kind
        self.source = source
        self.message = message
    }

    /// The errors of all systems, one for each, in the same order.
    public var all: [InitialStateError] {
        var first = self
        first.others = []
        return [first] + others
    }

    /// The description of the first error, as a sentence without a full stop.
    public var description: String {
        guard let kind else { return "the initial state of '\(system)' cannot be computed: \(message)" }
        return "the kind '\(kind)' cannot make the system '\(system)': \(message)"
    }
}

/// The refusal of a request by a host.
public enum HostError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The configuration has no system of this name. `nearest` is the most similar name, if any.
    case noSuchSystem(String, nearest: String?)
    /// The configuration has no bus of this name.
    case noSuchBus(String, nearest: String?)
    /// The configuration has no link of this name.
    case noSuchLink(String, nearest: String?)
    /// The system has no event of this name.
    case noSuchEvent(system: String, event: String, nearest: String?)
    /// A value has the wrong type, or an event has the wrong number of fields.
    case wrongType(path: String, expected: String, found: String)
    /// A value has the right type, but the kind of the system does not allow it.
    case notAllowed(path: String, expected: String, found: String, nearest: String?)
    /// The system or the bus cannot accept the event, the value or the operation now. `system` is the name of either.
    case notAccepted(system: String, obstacle: Obstacle, reason: String)

    /// The bus accepts no values, because the host is stopping.
    case busStopped(String)

    /// The obstacle to a request.
    public enum Obstacle: String, Sendable, Hashable, CaseIterable {
        /// The mailbox is full.
        case full
        /// The system has not started.
        case notStarted
        /// The system is being restarted.
        case restarting
        /// The system has ended because of a fault.
        case ended
        /// The system or the host is stopping.
        case stopping
        /// The data exceeds the limit of one state, event or value, or the room that is left.
        case tooLarge
    }

    /// The description of the error, with the nearest valid name if one is similar.
    public var description: String {
        switch self {
        case .noSuchSystem(let name, let nearest): "no system \(name)" + Self.hint(nearest)
        case .noSuchBus(let name, let nearest): "no bus \(name)" + Self.hint(nearest)
        case .noSuchLink(let name, let nearest): "no link \(name)" + Self.hint(nearest)
        case .noSuchEvent(let system, let event, let nearest):
            "system \(system) has no event \(event)" + Self.hint(nearest)
        case .wrongType(let path, let expected, let found): "\(path) must be \(expected), not \(found)"
        case .notAllowed(let path, let expected, let found, let nearest):
            "\(path) must be \(expected), not \(found)" + Self.hint(nearest)
        case .busStopped(let name): "bus \(name) did not accept the value: \(Self.stopping)"
        case .notAccepted(let system, _, let reason): "'\(system)' did not accept it: \(reason)"
        }
    }

    /// The reason for a refusal by a stopping host.
    package static let stopping = "the daemon is being stopped"

    private static func hint(_ nearest: String?) -> String {
        nearest.map { "; did you mean \($0)?" } ?? ""
    }
}
