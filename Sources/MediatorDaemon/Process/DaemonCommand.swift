public import ArgumentParser
import CommonExpression
import Dispatch
import FoundationEssentials
import Glibc
import Logging
import MediatorConfiguration
import MediatorControl
public import MediatorHost
import Metrics
import SideEffects
import Synchronization
import Systemd
import Varlink

/// `mediatord`: the command line of the daemon.
public struct DaemonCommand: AsyncParsableCommand {
    /// The text of `--help`.
    public static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: program, abstract: "Run the small state machines of this host.",
            usage: "\(program) [<options>]", discussion: discussion,
            version: "mediatord \(Version.current)")
    }

    /// The name of the program: a daemon of one's own has the name of its file.
    private static var program: String {
        let file = CommandLine.arguments.first?.split(separator: "/").last.map(String.init)
        return launch.isOwn ? file ?? "mediatord" : "mediatord"
    }

    private static var discussion: String {
        """
        Reads every *.yaml and *.yml file of the configuration directories with their drop-ins (*.yaml.d), checks \
        them all, and runs the systems, buses and links they describe, until SIGTERM or SIGINT. A \
        configuration with an error starts nothing. SIGHUP reads it again, as mediatorctl reload does.

        Look inside with mediatorctl.

        EXAMPLES
          \(program)
          \(program) --config Config --log-level debug
          \(program) --validate

        EXIT CODES
          0  stopped, as asked; with --validate: the configuration is valid
          1  the configuration is not valid; each error was printed
          2  the command line is not understood
          3  stopped, but something had to be left behind
          4  the control socket or the store is in use: perhaps another daemon runs
          5  a part of the daemon failed, which is a mistake of the program
          6  a system asked for it on account of its faults, or the store's disk fails
          7  the system cannot create the threads that the daemon needs

        ENVIRONMENT
          \(ControlSocket.environmentVariable)  the control socket, unless --socket names another
          \(StorePlace.variable)  the directory of the store, unless --store names another
          RUNTIME_DIRECTORY  the folder of the control socket otherwise, from systemd
          TZ  the time zone of calendar times, unless they name one
          FDSTORE  the number of descriptors that systemd keeps for the next start
        """
    }

    @Option(
        name: .long,
        help: ArgumentHelp(
            "A directory with the configuration, instead of \(ConfigurationLayers.system); may be repeated: files of "
                + "an earlier one override those of a later one.", valueName: "dir"), completion: .directory)
    var config: [String] = []

    @Option(
        name: .long,
        help: ArgumentHelp(
            "The control socket; else $\(ControlSocket.environmentVariable), else in systemd's runtime directory, else "
                + "the usual place.", valueName: "path"))
    var socket: String?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "The directory for states that survive the process (persist); else $\(StorePlace.variable), else one below "
                + "~/.local/state/mediatord.", valueName: "dir"), completion: .directory)
    var store: String?

    @Option(name: .long, help: "What to log: trace, debug, info, notice, warning, error or critical.")
    var logLevel: LogLevel = .info

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Serve /metrics (for Prometheus), /healthz and /readyz over HTTP at this address; port 0 takes any free one.",
            valueName: "address:port"))
    var metrics: String?

    @Flag(name: .long, help: "Treat warnings about the configuration as errors, at the start and at every change.")
    var denyWarnings = false

    @Option(
        name: .long,
        help: ArgumentHelp(
            "The time that systems have to become ready, such as 2m; a plain number is seconds.", valueName: "time"))
    var readyLimit = "30s"

    @Option(
        name: .long,
        help: ArgumentHelp(
            "The time that side effects have to finish when the daemon stops, such as 2m; a plain number is seconds.",
            valueName: "time"))
    var stopLimit = "10s"

    @Flag(
        name: .customLong("validate"),
        help: "Check the configuration as the start does, print every diagnostic, and start nothing: exit 0 or 1.")
    var isCheckOnly = false

    @Flag(
        name: .long,
        help: """
            Print the kinds of systems and side effects of its own that this daemon knows as JSON, for mediatorctl validate \
            --kinds, and exit.
            """)
    var printKinds = false

    /// The arguments of the program.
    private struct Launch: Sendable {
        var kinds: [DaemonKind] = []
        var effects: [any EffectImplementation] = []
        var recorded: RecordedMetrics?
        /// The sockets and files that the service manager has passed to the process.
        var inheritance = Result<Inheritance, VarlinkError>.success(Inheritance())

        /// Whether it is a daemon of one's own.
        var isOwn: Bool { !kinds.isEmpty || !effects.isEmpty }
    }

    /// The time that the service manager has to read the last messages.
    private static let farewell = Duration.seconds(5)

    /// The arguments of the program.
    @TaskLocal private static var launch = Launch()

    /// The command, for ArgumentParser.
    public init() {}

    /// Reads how long something may take.
    private static func limit(_ text: String, _ option: String) throws -> Duration {
        guard let limit = TimeSpan(option: text)?.swiftDuration, (.zero ... .seconds(86_400)).contains(limit) else {
            throw ValidationError("\(option) wants a time from 0s to 24h, such as 30s or 2m, not '\(text)'.")
        }
        return limit
    }

    /// Refuses limits that make no sense.
    public func validate() throws {
        _ = try Self.limit(readyLimit, "--ready-limit")
        _ = try Self.limit(stopLimit, "--stop-limit")
        if let metrics, MetricsAddress(metrics) == nil {
            throw ValidationError(
                "--metrics wants an address by its number and a port, such as 127.0.0.1:9464 or [::1]:9464, not '\(metrics)'."
            )
        }
        guard !isCheckOnly || !printKinds else {
            throw ValidationError("--validate and --print-kinds exclude each other.")
        }
    }

    /// Runs the daemon and exits with its status.
    public func run() async throws {
        let catalogue: SystemCatalogue
        do throws(KindError) {
            catalogue = try SystemCatalogue.of(Self.launch.kinds)
        } catch {
            throw Self.failure(error.flaws)
        }
        let flaws = EffectCatalogue.builtin.flaws(ofMore: Self.launch.effects)
        guard flaws.isEmpty else {
            throw Self.failure(flaws.map { "\($0)" })
        }
        if printKinds {
            guard StandardOutput.write(try KindFile(catalogue.kinds, effects: Self.launch.effects.map(\.schema)).json())
            else { throw Self.notWritten() }
            return
        }
        let levels = LogLevelSwitch(logLevel.level)
        let logger = Logger(label: "mediatord") { _ in
            StandardErrorLogHandler(
                levels: levels, detailsKey: JournalDetails.key, lossID: MessageID.linesLost.rawValue)
        }
        let inheritance: Inheritance
        do throws(VarlinkError) {
            inheritance = try Self.launch.inheritance.get()
        } catch {
            let reason = "what the service manager has passed cannot be used"
            logger.critical("\(reason)", metadata: ["reason": "\(error)"])
            throw Self.end("\(reason): \(error)", Daemon.number(of: error), .noControlSocket)
        }
        let path = inheritance.activatedPath ?? socket ?? Self.usualSocket
        let layers = config.isEmpty ? ConfigurationLayers.system : ConfigurationLayers(config)
        var daemon = Daemon(configuration: layers, socket: path, logger: logger) { diagnostic in
            Self.report(diagnostic)
        }
        // A path that is given may be mistyped.
        daemon.makesSocketDirectory = socket == nil
        daemon.storePlace = StorePlace(
            named: store, of: layers, environment: { name in ProcessInfo.processInfo.environment[name] })
        daemon.logLevels = levels
        daemon.kinds = catalogue
        daemon.effects = daemon.effects.with(Self.launch.effects)
        daemon.recorded = Self.launch.recorded
        daemon.deniesWarnings = denyWarnings
        if isCheckOnly {
            let isWritten = Mutex(true)
            daemon.report = { diagnostic in
                let isWhole = StandardOutput.write(Self.text(of: diagnostic, for: .suited(to: STDOUT_FILENO)))
                if !isWhole { isWritten.withLock { $0 = false } }
            }
            let (summary, isValid) = daemon.check()
            guard StandardOutput.write(summary + "\n"), isWritten.withLock({ $0 }) else { throw Self.notWritten() }
            throw ExitCode((isValid ? ExitStatus.stopped : .invalidConfiguration).rawValue)
        }
        let named = socket ?? ProcessInfo.processInfo.environment[ControlSocket.environmentVariable]
        if let named, let activated = inheritance.activatedPath, !Self.isSameFile(named, activated) {
            logger.warning(
                "the socket that is named is not used: systemd listens at another for this daemon",
                metadata: ["socket": "\(activated)", "named": "\(named)"])
        }
        daemon.inheritance = inheritance
        daemon.readyLimit = try Self.limit(readyLimit, "--ready-limit")
        daemon.stopLimit = try Self.limit(stopLimit, "--stop-limit")
        daemon.metrics = metrics
        daemon.client = Self.client(for: path)
        let status = await daemon.run()
        Self.bidFarewell(daemon.notifier, logger)
        throw ExitCode(status.rawValue)
    }

    /// Reports a problem of the program itself to people and to the service manager, before there is a daemon.
    private static func failure(_ lines: [String]) -> ExitCode {
        for line in lines { LineWriter.standardError.write("\(program): \(line)\n") }
        return end(lines.first ?? "it cannot be run", nil, .failed)
    }

    /// Tells the service manager why nothing starts.
    private static func end(_ reason: String, _ number: Int32?, _ status: ExitStatus) -> ExitCode {
        let notifier = Notifier()
        notifier.notifyEnd(reason, number, status)
        _ = notifier.barrier(timeout: farewell)
        return ExitCode(status.rawValue)
    }

    /// Waits until the service manager has read the last messages: who ends at once after one may be gone before that,
    /// and then nobody knows whose it was.
    private static func bidFarewell(_ notifier: Notifier, _ logger: Logger) {
        guard case .failed(let number) = notifier.barrier(timeout: farewell) else { return }
        logger.debug(
            "the service manager has not taken in everything",
            metadata: ["reason": "\(String(cString: strerror(number)))"])
    }

    /// Returns whether two paths lead to the same file; of missing files, whether the paths are the same.
    private static func isSameFile(_ one: String, _ other: String) -> Bool {
        var (first, second) = (stat(), stat())
        guard stat(one, &first) == 0, stat(other, &second) == 0 else { return one == other }
        return (first.st_dev, first.st_ino) == (second.st_dev, second.st_ino)
    }

    /// Says that an answer could not be written whole.
    private static func notWritten() -> ExitCode {
        LineWriter.standardError.write("\(program): standard output: \(String(cString: strerror(errno)))\n")
        return ExitCode(ExitStatus.failed.rawValue)
    }

    /// Reports the problems of the configuration. The journal gets them as one entry, in order with the entries of the
    /// log.
    private static func report(_ diagnostic: Diagnostic) {
        let format = LogFormat.suited(to: STDERR_FILENO)
        if format == .journal {
            var metadata: Logger.Metadata = [
                JournalRecord.idKey: "\(MessageID.diagnostic.rawValue)", "code": "\(diagnostic.code.rawValue)",
            ]
            if let location = diagnostic.location {
                metadata["config-file"] = "\(location.file)"
                metadata["config-line"] = "\(location.line)"
                metadata["config-column"] = "\(location.column)"
            }
            let entry = JournalRecord(
                message: diagnostic.rendered(), level: diagnostic.severity == .error ? .error : .warning,
                metadata: metadata)
            guard JournalSocket.shared.send(entry.fields) == .refused else { return }
        }
        LineWriter.standardError.write(text(of: diagnostic, for: format))
    }

    /// A diagnostic as standard error's reader wants it.
    private static func text(of diagnostic: Diagnostic, for format: LogFormat) -> String {
        switch format {
        case .terminal(let colour, _): return diagnostic.rendered(colour: colour) + "\n"
        case .file: return diagnostic.rendered() + "\n"
        case .journal:
            // The journal takes the priority of each line from its beginning.
            let priority = diagnostic.severity == .error ? "<3>" : "<4>"
            return diagnostic.rendered().split(separator: "\n").map { "\(priority)\($0)\n" }.joined()
        }
    }

    /// The whole program: parses the command line, runs, and exits.
    ///
    /// It is not asynchronous, because what the runtime opens for asynchronous code would take the numbers of standard
    /// descriptors that are closed.
    ///
    /// - Parameters:
    ///   - kinds: the kinds of systems written in Swift of which configurations may make instances. One that a
    ///     configuration cannot use ends the program with 5, and says why.
    ///   - effects: side effects of the program's own, beside those of every daemon. One that a configuration cannot use, or
    ///     of a name that there is already, ends the program with 5, and says why.
    ///   - exposesRecordedMetrics: whether the daemon serves the metrics that the process records through
    ///     swift-metrics. For that it bootstraps `MetricsSystem`, which a process may do once. A program that
    ///     bootstraps it itself passes `false`.
    public static func launch(
        kinds: [DaemonKind] = [], effects: [any EffectImplementation] = [], exposesRecordedMetrics: Bool = true
    ) -> Never {
        occupyStandardDescriptors()
        // Swift reads the command line there. Without it the line would seem to be empty.
        guard access(CommandLineFile.path, R_OK) == 0 else {
            LineWriter.standardError.write("\(program): \(CommandLineFile.problem)\n")
            Glibc.exit(ExitStatus.usage.rawValue)
        }
        var launched = Launch(kinds: kinds, effects: effects)
        // While there is one thread: it changes the environment.
        launched.inheritance = Result { () throws(VarlinkError) in try Inheritance.take() }
        // Without rights Dispatch cannot give its threads other priorities, which nobody needs, and would say so in the journal.
        setenv("LIBDISPATCH_LOG", "NO", 0)
        if exposesRecordedMetrics {
            let recorded = RecordedMetrics()
            MetricsSystem.bootstrap(recorded)
            launched.recorded = recorded
        }
        guard TaskThreads.start() else {
            LineWriter.standardError.write("\(program): \(DaemonThreads.refusal)\n")
            Glibc.exit(end(DaemonThreads.refusal, EAGAIN, .noThreads).rawValue)
        }
        let launch = launched
        Task(priority: .management) { await $launch.withValue(launch) { () async -> Void in await start() } }
        dispatchMain()
    }

    /// Opens standard input, output and error where they are closed. Otherwise another file could get their numbers,
    /// and log lines would go into it.
    private static func occupyStandardDescriptors() {
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
            // The lowest free number is taken, and all lower ones are in use.
            _ = open("/dev/null", O_RDWR)
        }
    }

    /// Parses the command line, runs, and exits: with 2 where the command line is not understood.
    private static func start() async -> Never {
        do {
            var command = try parseAsRoot()
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
            Glibc.exit(ExitStatus.stopped.rawValue)
        } catch {
            let code = exitCode(for: error)
            let isUsage = code == .validationFailure
            let text = fullMessage(for: error)
            if !text.isEmpty {
                LineWriter(descriptor: code == .success ? STDOUT_FILENO : STDERR_FILENO).write(text + "\n")
            }
            guard isUsage else { Glibc.exit(code.rawValue) }
            Glibc.exit(end("the command line is not understood: \(message(for: error))", EINVAL, .usage).rawValue)
        }
    }
}
