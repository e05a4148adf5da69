import StrictJSON
public import Varlink

/// The errors of the control interface.
public enum ControlError: Error, Sendable, Hashable {
    /// There is no system of this name; the nearest is the most similar one.
    case noSuchSystem(name: String, nearest: String?)
    /// There is no bus of this name.
    case noSuchBus(name: String, nearest: String?)
    /// There is no link of this name.
    case noSuchLink(name: String, nearest: String?)
    /// There is another link of this name already.
    case linkExists(name: String)
    /// The link is written, but was detached.
    case linkDetached(name: String)
    /// The link exists once for each instance of a template; all of them are changed by the name in `link`.
    case linkOfInstances(name: String, link: String)
    /// A change cannot be written into a file, and was not made.
    ///
    /// A winner is a file that would say otherwise nevertheless. It is denied if the daemon's user must not write there.
    case cannotPersist(path: String, reason: String, winner: String? = nil, isDenied: Bool = false)
    /// The system does not understand this event.
    case noSuchEvent(system: String, event: String, nearest: String?)
    /// A value is not of the declared type. The message names the value and the expected type.
    case invalidValue(path: String, expected: String, message: String)
    /// The message is well formed, but the daemon could not accept it.
    case notAccepted(name: String, obstacle: Obstacle, reason: String)
    /// There will be no more replies to a watch.
    case watchEnded(name: String, reason: String)
    /// The daemon is stopping, and did not finish the call.
    case stopping
    /// The reply would be longer than the limit, in bytes; most of it is the part.
    case replyTooLarge(limit: Int, part: String)
    /// The daemon is at fault.
    case internalError(message: String)
}

/// The reason why a message is not accepted.
public enum Obstacle: String, Codable, Sendable, Hashable, CaseIterable {
    /// The system's mailbox is full.
    case full
    /// The system is not started.
    case notStarted
    /// The system is being restarted.
    case restarting
    /// The system has ended on account of a fault.
    case ended
    /// The system, or the daemon, is being stopped.
    case stopping
    /// The data exceeds the limit of one state, event or value, or the room that is left.
    case tooLarge
    /// Anything else.
    case other
}

extension ControlError: ErrorReplyConvertible {
    /// The error as it travels.
    public var errorReply: ErrorReply {
        switch self {
        case .noSuchSystem(let name, let nearest): Self.reply("NoSuchSystem", ["name": name, "nearest": nearest])
        case .noSuchBus(let name, let nearest): Self.reply("NoSuchBus", ["name": name, "nearest": nearest])
        case .noSuchLink(let name, let nearest): Self.reply("NoSuchLink", ["name": name, "nearest": nearest])
        case .linkExists(let name): Self.reply("LinkExists", ["name": name])
        case .linkDetached(let name): Self.reply("LinkDetached", ["name": name])
        case .linkOfInstances(let name, let link): Self.reply("LinkOfInstances", ["name": name, "link": link])
        case .cannotPersist(let path, let reason, let winner, let isDenied):
            Self.reply(
                "CannotPersist", ["path": path, "reason": reason, "winner": winner], flags: isDenied ? ["denied"] : [])
        case .noSuchEvent(let system, let event, let nearest):
            Self.reply("NoSuchEvent", ["system": system, "event": event, "nearest": nearest])
        case .invalidValue(let path, let expected, let message):
            Self.reply("InvalidValue", ["path": path, "expected": expected, "message": message])
        case .notAccepted(let name, let obstacle, let reason):
            Self.reply("NotAccepted", ["name": name, "obstacle": obstacle.rawValue, "reason": reason])
        case .watchEnded(let name, let reason): Self.reply("WatchEnded", ["name": name, "reason": reason])
        case .stopping: Self.reply("Stopping", [:])
        case .replyTooLarge(let limit, let part):
            ErrorReply(
                ControlInterface.qualified("ReplyTooLarge"),
                parameters: ["limit": .int(Int64(limit)), "part": .string(part)])
        case .internalError(let message): Self.reply("InternalError", ["message": message])
        }
    }

    private static func reply(_ name: String, _ parameters: [String: String?], flags: [String] = []) -> ErrorReply {
        var values = parameters.compactMapValues { $0.map(JSONValue.string) }
        for flag in flags { values[flag] = .bool(true) }
        return ErrorReply(ControlInterface.qualified(name), parameters: values)
    }

    /// The error a reply means, or nil when it is none of this interface.
    public init?(_ reply: ErrorReply) {
        let prefix = ControlInterface.qualified("")
        guard reply.name.hasPrefix(prefix) else { return nil }
        func text(_ name: String) -> String { reply.parameters[name]?.stringValue ?? "" }
        let nearest = reply.parameters["nearest"]?.stringValue
        switch reply.name.dropFirst(prefix.count) {
        case "NoSuchSystem": self = .noSuchSystem(name: text("name"), nearest: nearest)
        case "NoSuchBus": self = .noSuchBus(name: text("name"), nearest: nearest)
        case "NoSuchLink": self = .noSuchLink(name: text("name"), nearest: nearest)
        case "LinkExists": self = .linkExists(name: text("name"))
        case "LinkDetached": self = .linkDetached(name: text("name"))
        case "LinkOfInstances": self = .linkOfInstances(name: text("name"), link: text("link"))
        case "CannotPersist":
            self = .cannotPersist(
                path: text("path"), reason: text("reason"), winner: reply.parameters["winner"]?.stringValue,
                isDenied: reply.parameters["denied"] == .bool(true))
        case "NoSuchEvent": self = .noSuchEvent(system: text("system"), event: text("event"), nearest: nearest)
        case "InvalidValue":
            self = .invalidValue(path: text("path"), expected: text("expected"), message: text("message"))
        case "NotAccepted":
            self = .notAccepted(
                name: text("name"), obstacle: Obstacle(rawValue: text("obstacle")) ?? .other, reason: text("reason"))
        case "WatchEnded": self = .watchEnded(name: text("name"), reason: text("reason"))
        case "Stopping": self = .stopping
        case "ReplyTooLarge":
            self = .replyTooLarge(
                limit: Int(clamping: reply.parameters["limit"]?.intValue ?? 0), part: text("part"))
        case "InternalError": self = .internalError(message: text("message"))
        default: return nil
        }
    }
}

extension ControlError: CustomStringConvertible {
    /// The error in a line for people.
    public var description: String {
        switch self {
        case .noSuchSystem(let name, let nearest): "there is no system '\(name)'" + Self.hint(nearest)
        case .noSuchBus(let name, let nearest): "there is no bus '\(name)'" + Self.hint(nearest)
        case .noSuchLink(let name, let nearest): "there is no link '\(name)'" + Self.hint(nearest)
        case .linkExists(let name): "there is another link '\(name)' already"
        case .linkDetached(let name): "the link '\(name)' was detached"
        case .linkOfInstances(let name, let link):
            "'\(name)' is one of the links that '\(link)' makes, one for each instance"
        case .cannotPersist(let path, let reason, _, _):
            "'\(path)' cannot be written, so nothing has changed: \(reason)"
        case .noSuchEvent(let system, let event, let nearest):
            "the system '\(system)' has no event '\(event)'" + Self.hint(nearest)
        case .invalidValue(_, _, let message): message
        case .notAccepted(let name, _, let reason): "'\(name)' did not accept it: \(reason)"
        // Of a watch of many things nothing is named.
        case .watchEnded(let name, let reason):
            "\(name.isEmpty ? "what was watched" : "'\(name)'") can no longer be watched: \(reason)"
        case .stopping: "not carried through: the daemon is stopping"
        case .replyTooLarge(let limit, let part):
            "the answer would be longer than \(limit) bytes, which is the limit"
                + (part.isEmpty ? "" : "; most of it is \(part)")
        case .internalError(let message): "the daemon failed: \(message)"
        }
    }

    private static func hint(_ nearest: String?) -> String {
        nearest.map { "; did you mean '\($0)'?" } ?? ""
    }
}
