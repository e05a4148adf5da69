public import Varlink

/// What a caller of the control interface may do. Each right includes those before it.
public enum Right: String, Codable, Sendable, Hashable, CaseIterable {
    /// To look.
    case read
    /// To put in events and values.
    case inject
    /// Everything.
    case administer
}

/// The systems and buses into which somebody may inject who may not do so everywhere.
public struct InjectionTargets: Codable, Sendable, Hashable {
    /// Patterns of the systems' names; `*` stands for any characters.
    public var systems: [String]
    /// Patterns of the buses' names.
    public var buses: [String]

    /// Systems and buses.
    public init(systems: [String], buses: [String]) {
        self.systems = systems
        self.buses = buses
    }
}

extension ControlInterface {
    /// The right that each method needs. A method that is not here may be called by nobody.
    ///
    /// The text of the configuration may hold what not everybody is to see, and findings quote it: so what shows it
    /// (`Plan`, `ReadConfiguration`, and everything that compiles) is for those who may change it.
    public static let rights: [String: Right] = [
        "Status": .read,
        "ListSystems": .read,
        "DescribeSystem": .read,
        "ListBuses": .read,
        "DescribeBus": .read,
        "ListLinks": .read,
        "DescribeLink": .read,
        "WatchSystem": .read,
        "WatchBus": .read,
        "Watch": .read,
        "ListChanges": .read,
        "ReadMetrics": .read,
        "DescribeKinds": .read,
        "Why": .read,
        "WhyNot": .read,
        "Trace": .read,
        "Emit": .inject,
        "Publish": .inject,
        "RestartSystem": .administer,
        "ResetSystem": .administer,
        "PauseSystem": .administer,
        "ResumeSystem": .administer,
        "ReadLogLevel": .read,
        "SetLogLevel": .administer,
        "Plan": .administer,
        "Reload": .administer,
        "AttachLink": .administer,
        "DetachLink": .administer,
        "SetLink": .administer,
        "ReadConfiguration": .administer,
    ]

    /// The right that a method of that qualified name needs; nil: there is no such method here.
    public static func right(for method: String) -> Right? {
        let prefix = qualified("")
        guard method.hasPrefix(prefix) else { return nil }
        return rights[String(method.dropFirst(prefix.count))]
    }
}

/// That a caller has not the right to do something. It travels as `org.varlink.service.PermissionDenied`, which says no more
/// than that; a client knows what it asked for.
public struct MissingRight: Error, Sendable, Hashable, ErrorReplyConvertible, CustomStringConvertible {
    /// What is missing.
    public let right: Right
    /// The system or bus that was to be injected into; nil: none in particular.
    public let target: String?

    /// A right that is missing.
    public init(_ right: Right, target: String? = nil) {
        self.right = right
        self.target = target
    }

    /// The error as it travels.
    public var errorReply: ErrorReply { ServiceError.permissionDenied.errorReply }

    /// The error in a line for people.
    public var description: String {
        switch right {
        case .read: "the right to read is missing"
        case .inject: "the right to inject\(target.map { " into '\($0)'" } ?? "") is missing"
        case .administer: "the right to administer is missing"
        }
    }
}
