import Glibc
import MediatorControl
import Synchronization
import Varlink

/// The place of the daemon.
enum Place: Sendable {
    /// At a socket of this machine.
    case socket(String)
    /// On another machine, at a socket there if one is named.
    case machine(String, socket: String?)

    /// The environment variable that names a machine.
    static let hostVariable = "MEDIATORD_HOST"
    /// The environment variable with the program to run instead of `ssh`.
    static let sshVariable = "MEDIATORCTL_SSH"

    /// The processes of ssh that were begun.
    private static let processes = Mutex<[pid_t]>([])

    /// Ends the processes of ssh that were begun: what they were for is over.
    static func endProcesses() {
        let begun = processes.withLock { processes in
            defer { processes = [] }
            return processes
        }
        // The process that adopts orphans reaps them.
        for process in begun { kill(process, SIGTERM) }
    }

    /// The exit code of the ssh that was begun last, if it has ended or ends at once.
    static func lastExitCode() -> Int32? {
        guard let process = processes.withLock({ $0.last }) else { return nil }
        // Its end of the connection is closed, so it is about to end.
        for _ in 0..<50 {
            var status: Int32 = 0
            let ended = waitpid(process, &status, WNOHANG)
            if ended == process {
                processes.withLock { $0.removeAll { $0 == process } }
                return status & 0x7F == 0 ? (status >> 8) & 0xFF : nil
            }
            guard ended == 0 else { return nil }
            // It waits half a second at most for a program that is about to write its error.
            usleep(10_000)
        }
        return nil
    }

    /// The place that the options name, else the environment.
    init(_ options: CommandOptions, _ environment: CommandEnvironment) {
        let named = environment.variable(Self.hostVariable).flatMap { $0.isEmpty ? nil : $0 }
        // A socket that is named and no machine: it is here.
        if let host = options.host ?? (options.socket == nil ? named : nil), !host.isEmpty {
            self = .machine(host, socket: options.socket)
        } else {
            self = .socket(options.socket ?? environment.socket())
        }
    }

    /// The path of the socket, for messages.
    var socket: String {
        switch self {
        case .socket(let path): path
        case .machine(_, let path): path ?? ""
        }
    }

    /// Whether it is on this machine.
    var isNear: Bool {
        switch self {
        case .socket: true
        case .machine: false
        }
    }

    /// Connects.
    func connect(
        _ configuration: ClientConfiguration, _ environment: CommandEnvironment
    ) async throws -> ControlClient {
        switch self {
        case .socket(let path):
            return try await ControlClient.connect(toPath: path, configuration: configuration)
        case .machine(let host, let socket):
            let descriptor = try Self.launch(host, socket: socket, environment)
            return ControlClient(try await VarlinkClient.connect(adopting: descriptor, configuration: configuration))
        }
    }

    /// Whether ssh, and the shells that its configuration may start with the name (`ProxyCommand`, `Match exec`), take it for a
    /// name and nothing else.
    private static func isMachineName(_ host: String) -> Bool {
        let allowed = host.unicodeScalars.allSatisfy { letter in
            letter.properties.isAlphabetic || letter.properties.numericType != nil
                || "._-+@:%/[]".unicodeScalars.contains(letter)
        }
        // A part that begins with '-' would be an option of what gets it.
        let parts = host.split(whereSeparator: { "@/".contains($0) })
        return allowed && !parts.isEmpty && !parts.contains { $0.hasPrefix("-") }
    }

    /// Runs ssh with a socket as its standard input and output; what it prints is seen on standard error.
    ///
    /// - Returns: the other end of the socket.
    private static func launch(
        _ host: String, socket: String?, _ environment: CommandEnvironment
    ) throws(CommandError) -> Int32 {
        guard isMachineName(host) else {
            throw CommandError(
                .usage, "'\(host)' is no name of a machine, as for ssh: [USER@]NAME or ssh://[USER@]NAME[:PORT]",
                advice: "Give other machines a name in ~/.ssh/config.")
        }
        let program = environment.variable(sshVariable).flatMap { $0.isEmpty ? nil : $0 } ?? "ssh"
        // Nothing is forwarded, no terminal is taken, and what the other side runs is a shell's command line.
        let remote = "mediatorctl bridge" + (socket.map { " --socket \(ShellWord.quoted($0))" } ?? "")
        let arguments = [program, "-T", "-x", "-o", "ClearAllForwardings=yes", "--", host, remote]

        var ends: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
            throw CommandError(.refused, "no socket for ssh: \(String(cString: strerror(errno)))")
        }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO)
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO)
        // This process blocks signals and ignores broken pipes; ssh must begin as from a shell.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        sigaddset(&signals, SIGPIPE)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
        var process = pid_t()
        var vector = arguments.map { strdup($0) }
        defer { for pointer in vector { free(pointer) } }
        vector.append(nil)
        let code = posix_spawnp(&process, program, &actions, &attributes, vector, environ)
        close(ends[1])
        guard code == 0 else {
            close(ends[0])
            throw CommandError(
                .noConnection, "'\(program)' cannot be run: \(String(cString: strerror(code)))",
                advice: code == ENOENT
                    ? "--host needs ssh: install openssh-client, or name another program in \(sshVariable)." : nil)
        }
        processes.withLock { processes in
            // Reaps the ones that have ended, for a client that connects again and again.
            processes.removeAll { waitpid($0, nil, WNOHANG) != 0 }
            processes.append(process)
        }
        return ends[0]
    }
}
