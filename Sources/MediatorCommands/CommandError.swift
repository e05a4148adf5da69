import MediatorControl
package import StrictJSON
import Varlink

/// A failure, as the user sees it.
package struct CommandError: Error, Equatable {
    /// The exit code.
    package let status: CommandStatus
    /// The problem, in one line.
    package let message: String
    /// The advice.
    package let advice: String?
    /// The code of the failure, for programs.
    package let code: String
    /// Further members for programs.
    let details: JSONObject

    /// - Parameter code: what kind of failure it is; nil: what the status says.
    init(
        _ status: CommandStatus, _ message: String, advice: String? = nil, code: String? = nil,
        details: JSONObject = [:]
    ) {
        self.status = status
        self.message = message
        self.advice = advice
        self.code = code ?? status.word
        self.details = details
    }

    /// The text on standard error with JSON: one object on a line, whose members are documented.
    package var json: JSONValue {
        var error = details
        error["code"] = .string(code)
        error["message"] = .string(message)
        if let advice { error["hint"] = .string(advice) }
        return .object(["error": .object(error)])
    }

    /// The text on standard error.
    func text(isJSON: Bool) -> String { isJSON ? "\(json)\n" : text }

    /// An answer could not be written.
    package static func notWritten(_ reason: String) -> CommandError {
        CommandError(.notWritten, "standard output cannot be written: \(reason)")
    }

    /// The text on standard error.
    package var text: String {
        let lines = ["mediatorctl: \(message)"] + (advice.map { [$0] } ?? [])
        return lines.map { PlainText.cleaned($0) + "\n" }.joined()
    }
}

extension CommandError {
    private static let otherSocket =
        "If your mediatord listens elsewhere, name its socket with --socket or \(ControlSocket.environmentVariable): "
        + "it logs the path when it is ready."

    /// The failure any error of a call amounts to.
    ///
    /// - Parameter environment: that of who asked.
    init(_ error: any Error, place: Place, _ environment: CommandEnvironment) {
        if let unanswered = error as? Unanswered {
            let error = CommandError(unanswered.error, place: place, environment)
            self.init(
                error.status, "\(error.message); what was asked for may have been done", advice: error.advice,
                code: error.code, details: error.details)
            return
        }
        if let unseen = error as? SentUnseen {
            let error = CommandError(unseen.error, place: place, environment)
            self.init(
                error.status, "it was sent, but its effect cannot be seen: \(error.message)", advice: error.advice,
                code: error.code, details: error.details)
            return
        }
        if case .machine(let host, _) = place, let error = error as? VarlinkError, !(error.code == .invalidPath) {
            self.init(error, host: host)
            return
        }
        let (socket, manager) = (place.socket, place.manager(environment))
        // The user of the other machine is not known here.
        let who = if case .machine(let host, _) = place { "your user on '\(host)'" } else { environment.who }
        let isInside = if case .machine = place { false } else { environment.outerUserID != nil }
        switch error {
        case let error as CommandError: self = error
        case let error as ControlError: self.init(error, manager)
        case let error as MissingRight: self.init(error, who, isInside: isInside)
        case ServiceError.permissionDenied:
            self.init(
                .permissionDenied, "\(who) may not do this", advice: Self.advice(for: .read, isInside: isInside))
        case let error as any ErrorReplyConvertible:
            self.init(
                .refused,
                "mediatord answered with \(error.errorReply)",
                advice: "Are mediatorctl and mediatord of the same version? See `mediatorctl --version` and `status`."
            )
        case let error as VarlinkError: self.init(error, socket: socket, who: who, isInside: isInside, manager)
        default: self.init(.refused, "unexpected failure: \(error)")
        }
    }

    private init(_ error: MissingRight, _ who: String, isInside: Bool) {
        let what =
            switch error.right {
            case .read: "may not read what mediatord does"
            case .inject: "may not inject anything" + (error.target.map { " into '\($0)'" } ?? "")
            case .administer: "may not administer mediatord"
            }
        self.init(
            .permissionDenied, "\(who) \(what)", advice: Self.advice(for: error.right, isInside: isInside),
            details: ["right": .string(error.right.rawValue)])
    }

    /// The way to get a right.
    ///
    /// - Parameter isInside: whether who lacks it is in a user namespace, so that to be root there is of no use.
    static func advice(for right: Right, isInside: Bool = false) -> String {
        let others = right == .read ? "the group mediatord, and " : ""
        let root = isInside ? "Root outside of the namespace" : "Root"
        let way = isInside ? "run mediatorctl outside of the namespace" : "try `sudo mediatorctl …`"
        return
            "\(root), mediatord's own user, \(others)whoever `access: \(right.rawValue):` in its configuration names, have "
            + "that right: \(way), or ask for it."
    }

    private init(_ error: ControlError, _ manager: Manager) {
        let code = error.word
        switch error {
        case .watchEnded, .stopping: self.init(.noConnection, error.description, code: code)
        case .notAccepted(_, .stopping, _):
            self.init(.noConnection, error.description, advice: "See \(manager.status).", code: code)
        case .linkExists(let name):
            self.init(
                .refused, error.description,
                advice:
                    "Change it with `mediatorctl set \(name) …`, or take it away with `mediatorctl detach \(name)`.",
                code: code
            )
        case .linkOfInstances(_, let link):
            self.init(.refused, error.description, advice: "All of them are changed at once, as '\(link)'.", code: code)
        case .linkDetached(let name):
            self.init(.refused, error.description, advice: "`mediatorctl attach \(name)` brings it back.", code: code)
        case .cannotPersist(_, _, .some(let winner), _):
            self.init(
                .refused, error.description,
                advice: "Change the link in '\(winner)' and `mediatorctl reload`, or leave out --persist.", code: code,
                details: ["winner": .string(winner)])
        case .cannotPersist(_, _, nil, let isDenied):
            self.init(
                .refused, error.description,
                advice: (isDenied
                    ? "Let mediatord's user write there (its owner or an ACL, and under systemd an empty ReadOnlyPaths= and "
                        + "ReadWritePaths=); or "
                    : "You can also ")
                    + "leave out --persist, and write yourself what --persist --dry-run shows.", code: code)
        case .internalError:
            self.init(.refused, error.description, advice: "See \(manager.journal).", code: code)
        default: self.init(.refused, error.description, code: code)
        }
    }

    /// The failure of a connection over ssh, which has written its reason to standard error.
    private init(_ error: VarlinkError, host: String) {
        switch error.code {
        case .connectionClosed where Place.lastExitCode() == CommandStatus.permissionDenied.rawValue:
            self.init(
                .permissionDenied, "your user on '\(host)' has no right to use the control socket there",
                advice: Self.advice(for: .read))
        case .timedOut:
            self.init(
                .noConnection, "mediatord on '\(host)' does not answer in time",
                advice: "Wait longer with --timeout; does `ssh \(host) mediatorctl status` work?")
        case .unexpectedValue, .protocolViolation, .messageTooLarge:
            self.init(
                .noConnection, "what answers on '\(host)' is no mediatord: \(error)",
                advice: "Nothing may be printed there at a login without a terminal; try `ssh \(host) true`.")
        default:
            self.init(
                .noConnection, "no connection to mediatord on '\(host)'",
                advice: "The output above has the reason. The other machine needs mediatorctl, too: try "
                    + "`ssh \(host) mediatorctl status`.")
        }
    }

    private init(
        _ error: VarlinkError, socket: String, who: String, isInside: Bool, _ manager: Manager
    ) {
        switch error.code {
        case .noSocket:
            self.init(
                .noConnection, "no connection to mediatord: there is no socket '\(socket)'",
                advice: "Is mediatord running? See \(manager.status). " + Self.otherSocket)
        case .notRunning:
            self.init(
                .noConnection, "no connection to mediatord: nobody listens on '\(socket)' any longer",
                advice: "It was stopped or killed, or has crashed: see \(manager.journal), and start it again, "
                    + "\(manager.start). " + Self.otherSocket)
        case .notASocket:
            self.init(
                .noConnection, "no connection to mediatord: '\(socket)' is no socket", advice: Self.otherSocket)
        case .accessDenied:
            self.init(
                .permissionDenied,
                "no connection to mediatord: \(who) has no right to use '\(socket)'",
                advice: Self.advice(for: .read, isInside: isInside) + " " + Self.otherSocket
            )
        case .timedOut:
            self.init(
                .noConnection,
                "mediatord at '\(socket)' does not answer in time",
                advice: "Wait longer with --timeout, or see \(manager.status)."
            )
        case .connectionClosed:
            self.init(
                .noConnection,
                "mediatord closed the connection",
                advice: "See \(manager.statusAndJournal)."
            )
        case .invalidPath: self.init(.usage, error.description)
        case .unexpectedValue, .protocolViolation, .messageTooLarge:
            self.init(
                .refused,
                "mediatord and mediatorctl do not understand each other: \(error)",
                advice: "Are they of the same version? See `mediatorctl --version`."
            )
        default: self.init(.noConnection, "no connection to mediatord: \(error)")
        }
    }
}

extension ControlError {
    /// The code of the failure, for programs: the name of the error in the interface, in lower-case words.
    fileprivate var word: String {
        let name = errorReply.name.split(separator: ".").last.map(String.init) ?? ""
        return name.enumerated().map { index, letter in
            letter.isUppercase ? (index == 0 ? "" : "-") + letter.lowercased() : String(letter)
        }.joined()
    }
}

/// Nobody reads the output any longer; the program ends without a message.
package struct OutputClosed: Error {
    /// The end of output.
    package init() {}
}
