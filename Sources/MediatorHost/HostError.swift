public import MediatorConfiguration

/// Why a host could not be built: the data of a system's first state cannot be computed, or its kind makes no system of
/// its parameters.
public struct InitialStateError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The system.
    public let system: String
    /// The kind that did not make it; nil: it is a configured one.
    public let kind: String?
    /// Where it is written.
    public let source: SourceLocation
    /// What went wrong.
    public let message: String
    /// The other systems of which that is true, by name.
    public internal(set) var others: [InitialStateError] = []

    init(system: String, kind: String?, source: SourceLocation, message: String) {
        self.system = system
        self.kind = kind
        self.source = source
        self.message = message
    }

    /// What is wrong with each system, by name.
    public var all: [InitialStateError] {
        var first = self
        first.others = []
        return [first] + others
    }

    /// What is wrong with the first, in a sentence without a full stop.
    public var description: String {
        guard let kind else { return "the initial state of '\(system)' cannot be computed: \(message)" }
        return "the kind '\(kind)' cannot make the system '\(system)': \(message)"
    }
}

/// Why a host did not do what it was asked.
public enum HostError: Error, Sendable, Hashable, CustomStringConvertible {
    /// There is no system of this name.
    case noSuchSystem(String, nearest: String?)
    /// There is no bus of this name.
    case noSuchBus(String, nearest: String?)
    /// There is no link of this name.
    case noSuchLink(String, nearest: String?)
    /// The system has no event of this name.
    case noSuchEvent(system: String, event: String, nearest: String?)
    /// A value does not have the type it must have.
    case wrongType(path: String, expected: String, found: String)
    /// A value is of its type, but not one that its kind allows.
    case notAllowed(path: String, expected: String, found: String, nearest: String?)
    /// The system, or the bus, takes nothing now, or not this, or what was asked for cannot be done with it.
    case notAccepted(system: String, obstacle: Obstacle, reason: String)

    /// The bus takes no values, since the host is being stopped.
    case busStopped(String)

    /// What stands in the way.
    public enum Obstacle: String, Sendable, Hashable, CaseIterable {
        /// Its mailbox is full.
        case full
        /// It is not started.
        case notStarted
        /// It is being restarted.
        case restarting
        /// It has ended on account of a fault.
        case ended
        /// It, or the host, is being stopped.
        case stopping
        /// The data is more than one state, event or value may hold, or than there is room for.
        case tooLarge
    }

    /// What is wrong, and what might be right.
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

    /// The reason of a refusal by a host that is being stopped.
    package static let stopping = "the daemon is being stopped"

    private static func hint(_ nearest: String?) -> String {
        nearest.map { "; did you mean \($0)?" } ?? ""
    }
}
