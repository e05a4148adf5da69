public import StrictJSON

/// An error in a reply: a qualified name and parameters.
///
/// A handler throws an error reply, or an ``ErrorReplyConvertible``, to answer with it. A client throws the error reply
/// with which the service answered.
public struct ErrorReply: Error, Sendable, Hashable, CustomStringConvertible {
    /// The qualified name: `org.example.Interface.ErrorName`.
    public let name: String
    /// The parameters that the interface declares for it.
    public let parameters: JSONObject

    /// Creates an error with that qualified name.
    public init(_ name: String, parameters: JSONObject = [:]) {
        self.name = name
        self.parameters = parameters
    }

    /// The name and the parameters, if any.
    public var description: String {
        parameters.isEmpty ? name : "\(name) \(JSONValue.object(parameters))"
    }
}

/// An error that converts to an error reply.
public protocol ErrorReplyConvertible: Error {
    /// The reply for this error.
    var errorReply: ErrorReply { get }
}

extension ErrorReply: ErrorReplyConvertible {
    /// The error itself.
    public var errorReply: ErrorReply { self }
}

/// The errors of `org.varlink.service`, which every service may answer with.
public enum ServiceError: Error, Sendable, Hashable {
    /// The service does not have the interface.
    case interfaceNotFound(interface: String)
    /// The interface does not have the method.
    case methodNotFound(method: String)
    /// The interface declares the method, but the service does not offer it.
    case methodNotImplemented(method: String)
    /// A parameter is missing, unknown or of the wrong type. The value is its path, such as `filter.names[2]`.
    case invalidParameter(parameter: String)
    /// The peer may not call the method.
    case permissionDenied
    /// The method answers more than once and needs a call with `more`.
    case expectedMore
}

extension ServiceError: ErrorReplyConvertible {
    /// The error as a reply.
    public var errorReply: ErrorReply {
        switch self {
        case .interfaceNotFound(let interface): Self.reply("InterfaceNotFound", ["interface": .string(interface)])
        case .methodNotFound(let method): Self.reply("MethodNotFound", ["method": .string(method)])
        case .methodNotImplemented(let method): Self.reply("MethodNotImplemented", ["method": .string(method)])
        case .invalidParameter(let parameter): Self.reply("InvalidParameter", ["parameter": .string(parameter)])
        case .permissionDenied: Self.reply("PermissionDenied", [:])
        case .expectedMore: Self.reply("ExpectedMore", [:])
        }
    }

    private static func reply(_ name: String, _ parameters: JSONObject) -> ErrorReply {
        ErrorReply("\(ServiceInterface.name).\(name)", parameters: parameters)
    }

    /// Converts a reply; nil if it is not one of these errors. A missing parameter is read as an empty one.
    public init?(_ reply: ErrorReply) {
        let prefix = "\(ServiceInterface.name)."
        guard reply.name.hasPrefix(prefix) else { return nil }
        func text(_ name: String) -> String { reply.parameters[name]?.stringValue ?? "" }
        switch reply.name.dropFirst(prefix.count) {
        case "InterfaceNotFound": self = .interfaceNotFound(interface: text("interface"))
        case "MethodNotFound": self = .methodNotFound(method: text("method"))
        case "MethodNotImplemented": self = .methodNotImplemented(method: text("method"))
        case "InvalidParameter": self = .invalidParameter(parameter: text("parameter"))
        case "PermissionDenied": self = .permissionDenied
        case "ExpectedMore": self = .expectedMore
        default: return nil
        }
    }
}
