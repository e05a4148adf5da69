import MediatorControl

/// The manager that started the daemon, with advice on the state, the log and the start of the daemon.
enum Manager: Sendable {
    /// systemd started the unit. It may be the service manager of a user.
    case systemd(unit: String, isOfUser: Bool)
    /// Somebody started the daemon by hand, as far as its socket tells.
    case hand

    /// The source of the state of the daemon, as the end of `See …`.
    var status: String {
        switch self {
        case .systemd(let unit, let isOfUser): "`systemctl \(Self.scope(isOfUser))status \(unit)`"
        case .hand: Self.output
        }
    }

    /// The source of the end of the daemon's log, as the end of `See …`.
    var journal: String {
        switch self {
        case .systemd(let unit, let isOfUser): "`journalctl \(Self.scope(isOfUser))-u \(unit) -e`"
        case .hand: Self.output
        }
    }

    /// The sources of both, as the end of `See …`.
    var statusAndJournal: String {
        switch self {
        case .systemd: "\(status) and \(journal)"
        case .hand: Self.output
        }
    }

    /// The way to start the daemon, as the end of `start it again, …`.
    var start: String {
        switch self {
        case .systemd(let unit, let isOfUser): "as with `systemctl \(Self.scope(isOfUser))start \(unit)`"
        case .hand: "with the command that started it before"
        }
    }

    private static let output = "the output of `mediatord`, where it was started"

    private static func scope(_ isOfUser: Bool) -> String { isOfUser ? "--user " : "" }
}

extension Place {
    /// The directories in which systemd makes the directories of units (`RuntimeDirectory=`).
    private static let runtimeDirectories = ["/run", "/var/run"]
    /// The directory with the runtime directory of each user who is logged in.
    private static let userDirectories = "/run/user"

    /// Returns the manager that probably started the daemon. The place of its socket decides:
    ///
    /// - the service manager of a user, if the socket is in the runtime directory of a user who is logged in,
    /// - the service manager of the system, if it is in another runtime directory, or at the usual place,
    /// - otherwise a user by hand.
    func manager(_ environment: CommandEnvironment) -> Manager {
        let runtime = environment.variable("XDG_RUNTIME_DIR") ?? ""
        func isBelow(_ directories: [String]) -> Bool {
            directories.contains { $0.hasPrefix("/") && socket.hasPrefix("\($0)/") }
        }
        // On another machine the socket is the usual one unless a path is given.
        guard !socket.isEmpty, socket != ControlSocket.systemPath else {
            return .systemd(unit: "mediatord", isOfUser: false)
        }
        if isBelow([Self.userDirectories, runtime]) { return .systemd(unit: "mediatord", isOfUser: true) }
        guard isBelow(Self.runtimeDirectories) else { return .hand }
        // Of several daemons each has a directory by its unit's name.
        let directory = socket.split(separator: "/").dropLast().last.map(String.init) ?? ""
        return .systemd(unit: directory.hasPrefix("mediatord@") ? directory : "mediatord", isOfUser: false)
    }
}
