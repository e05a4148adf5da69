import FoundationEssentials
import Glibc
import MediatorControl

// The places that a daemon takes from its environment.
extension DaemonCommand {
    /// The path of the control socket if the command line has none: from the environment, else in systemd's
    /// `RuntimeDirectory=` (systemd.exec(5)), else the usual place of this user.
    static var usualSocket: String {
        let environment = ProcessInfo.processInfo.environment
        guard environment[ControlSocket.environmentVariable] == nil,
            let directory = environment["RUNTIME_DIRECTORY"]?.split(separator: ":").first
        else { return ControlSocket.defaultPath }
        return "\(directory)/\(ControlSocket.fileName)"
    }

    /// The environment as another terminal has it, where nobody has chosen another socket.
    private static func withoutOverride(_ name: String) -> String? {
        name == ControlSocket.environmentVariable ? nil : ProcessInfo.processInfo.environment[name]
    }

    /// The command line of the client that reaches this daemon: the client beside it, if that is not in the search
    /// path.
    static func client(for socket: String) -> String {
        let name = "mediatorctl"
        let folder = CommandLine.arguments[0].split(separator: "/", omittingEmptySubsequences: false).dropLast()
        let beside = (folder.map(String.init) + [name]).joined(separator: "/")
        let program = !folder.isEmpty && access(beside, X_OK) == 0 ? beside : name
        // A client looks at the usual place, and at the system's.
        let usual = [ControlSocket.path(environment: withoutOverride, userID: geteuid()), ControlSocket.systemPath]
        return usual.contains(socket) ? program : "\(program) --socket \(socket)"
    }
}
