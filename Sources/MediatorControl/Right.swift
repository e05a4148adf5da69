public import Varlink

/// The right of a caller of the control interface. Each right includes those before it.
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
    /// The text of a configuration may hold secrets, and diagnostics quote it. So only callers who may change the
    /// configuration can call methods that show it (`Plan`, `ReadConfiguration`, and every method that compiles).
    public static let rights: [String: Right] = [
        "Status": .read,
        "ListSystems": .read,
        "DescribeSystem": .read,
        "ListBuses": .read,
        "DescribeBus": .read,
        "ListLinks": .read,
        "ListWaits": .read,
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
        "DescribeStore": .read,
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
        "CheckStore": .administer,
        "ExportStore": .administer,
        "ForgetStored": .administer,
    ]

    /// The right that a method with that qualified name needs; nil if this interface has no such method.
    public static func right(for method: String) -> Right? {
        let prefix = qualified("")
        guard method.hasPrefix(prefix) else { return nil }
        return rights[String(method.dropFirst(prefix.count))]
    }
}

/// The caller lacks a right. The error travels as `org.varlink.service.PermissionDenied`, without details, since a
/// client knows which method it called.
public struct MissingRight: Error, Sendable, Hashable, ErrorReplyConvertible, CustomStringConvertible {
    /// The missing right.
    public let right: Right
    /// The system or bus into which the caller wanted to inject; nil for none in particular.
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
