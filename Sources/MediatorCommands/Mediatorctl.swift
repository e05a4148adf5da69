import ArgumentParser
import Glibc
import MediatorControl
import Varlink

/// The command line of mediatorctl.
public enum Mediatorctl {
    /// The version `--version` tells.
    public static let version = "0.1.0"

    /// Ends the process with a message if its command line cannot be read. It would seem to be empty, and so a call for help.
    public static func checkCommandLine() {
        guard access(CommandLineFile.path, R_OK) != 0 else { return }
        CommandEnvironment.process().writeError("mediatorctl: \(CommandLineFile.problem)\n")
        exit(CommandStatus.usage.rawValue)
    }

    /// Runs the command line of this process, and returns the exit code.
    public static func main() async -> Int32 {
        let environment = CommandEnvironment.process()
        // Bytes that are not UTF-8 would be replaced, and then sent, shown and searched for as if they had been typed.
        if let place = notText(CommandLine.unsafeArgv, Int(CommandLine.argc)) {
            let error = CommandError(.usage, "the argument \(place) of the command line is not UTF-8")
            environment.writeError(error.text(isJSON: wantsJSON(CommandLine.arguments)))
            return error.status.rawValue
        }
        return await run(Array(CommandLine.arguments.dropFirst()), in: environment).rawValue
    }

    /// The first argument that is not UTF-8, counted from 1; nil: all are.
    private static func notText(
        _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>, _ count: Int
    ) -> Int? {
        (1..<max(1, count)).first { index in arguments[index].map { String(validatingCString: $0) == nil } ?? false }
    }

    /// Runs a command line without the name of the program.
    public static func run(_ arguments: [String], in surroundings: CommandEnvironment) async -> CommandStatus {
        if arguments.first == "complete" { return await Completion.run(Array(arguments.dropFirst()), in: surroundings) }
        var environment = surroundings
        environment.color = chosenColor(arguments) ?? environment.color
        do {
            var command = try RootCommand.parseAsRoot(optionsBehindVerb(arguments))
            if let verb = command as? any LocalVerb, verb.isLocal { return run(verb, environment) }
            guard let verb = command as? any ControlVerb else {
                // Everything else is a request for help, which is thrown.
                try command.run()
                return .success
            }
            return await run(verb, environment)
        } catch {
            let message = RootCommand.fullMessage(for: error, columns: environment.columns)
            let unknown = unknownVerb(arguments)
            // Help on a verb that does not exist is the help on all verbs.
            if unknown == nil, RootCommand.exitCode(for: error).isSuccess {
                return run(environment, isJSON: false) {
                    // The text of swift-argument-parser, which ends with a line break only sometimes.
                    try environment.write(message.hasSuffix("\n") ? message : message + "\n")
                    return .success
                }
            }
            let advice = DashedValue(in: optionsBehindVerb(arguments))?.advice
            guard !wantsJSON(arguments) else {
                let error =
                    unknown
                    ?? CommandError(
                        .usage, RootCommand.message(for: error), advice: advice ?? "See `\(help(for: arguments))`.")
                environment.writeError(error.text(isJSON: true))
                return .usage
            }
            var lines = message.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
            if let advice { lines.insert(PlainText.cleaned(advice), at: 1) }
            environment.writeError(unknown.map(\.text) ?? lines.map { $0 + "\n" }.joined())
            return .usage
        }
    }

    /// The options that every verb has may stand before the verb too: `mediatorctl --socket PATH status`.
    private static func optionsBehindVerb(_ arguments: [String]) -> [String] {
        var leading: [String] = []
        var rest = arguments[...]
        while let argument = rest.first, argument.hasPrefix("--") {
            let name = argument.prefix { $0 != "=" }
            guard ["--socket", "--host", "--timeout", "--color", "--json"].contains(name) else { break }
            leading.append(rest.removeFirst())
            if name != "--json", !argument.contains("="), let value = rest.popFirst() { leading.append(value) }
        }
        guard !leading.isEmpty, let verb = rest.popFirst() else { return arguments }
        // Help takes none, and is coloured by what the whole line says.
        return verb == "help" ? [verb] + rest : [verb] + leading + rest
    }

    /// The choice of colours on a command line, for any output because of it.
    private static func chosenColor(_ arguments: [String]) -> ColorChoice? {
        let options = arguments.prefix { $0 != "--" }
        for (index, option) in options.enumerated() {
            if option.hasPrefix("--color=") { return ColorChoice(rawValue: String(option.dropFirst(8))) }
            if option == "--color", index + 1 < options.count { return ColorChoice(rawValue: options[index + 1]) }
        }
        return nil
    }

    /// Whether a command line that cannot be read asks for JSON.
    private static func wantsJSON(_ arguments: [String]) -> Bool {
        let options = arguments.prefix { $0 != "--" }
        return options.contains("--json") || options.contains("--format=json")
            || zip(options, options.dropFirst()).contains { $0 == "--format" && $1 == "json" }
    }

    private static var verbs: [String] {
        RootCommand.configuration.subcommands.compactMap { $0.configuration.commandName }
    }

    /// The verbs that `--help` lists. Others are for programs.
    private static var shownVerbs: [String] {
        RootCommand.configuration.subcommands.filter { $0.configuration.shouldDisplay }.compactMap {
            $0.configuration.commandName
        }
    }

    /// The command line whose help is that of another one: that of its verb, or of all.
    private static func help(for arguments: [String]) -> String {
        guard let verb = optionsBehindVerb(arguments).first, verbs.contains(verb) else { return "mediatorctl --help" }
        return "mediatorctl \(verb) --help"
    }

    /// The message for a verb that does not exist, also if help with it is wanted; nil if it exists.
    private static func unknownVerb(_ arguments: [String]) -> CommandError? {
        let verbs = verbs
        var words = optionsBehindVerb(arguments)[...]
        if words.first == "help" { words = words.dropFirst().drop { $0.hasPrefix("-") } }
        guard let verb = words.first, !verb.hasPrefix("-"), verb != "help", !verbs.contains(verb) else { return nil }
        return CommandError(
            .usage, "there is no verb '\(verb)'\(ForeignVerb.hint(verb) ?? Nearest.hint(verb, among: shownVerbs))",
            advice: "Verbs: \(shownVerbs.joined(separator: ", ")). See `mediatorctl --help`.")
    }

    private static func run(_ verb: any LocalVerb, _ environment: CommandEnvironment) -> CommandStatus {
        run(environment, isJSON: verb.isJSON) { try verb.perform(in: environment) }
    }

    private static func run(
        _ environment: CommandEnvironment, isJSON: Bool, _ body: () throws -> CommandStatus
    ) -> CommandStatus {
        do {
            return try body()
        } catch is OutputClosed {
            return .success
        } catch {
            let error = error as? CommandError ?? CommandError(.refused, "\(error)")
            environment.writeError(error.text(isJSON: isJSON))
            return error.status
        }
    }

    private static func run(_ verb: any ControlVerb, _ environment: CommandEnvironment) async -> CommandStatus {
        let place = Place(verb.options, environment)
        defer { Place.endProcesses() }
        let repetition = Repetition(within: verb.options.answerLimit ?? environment.answerLimit)
        do {
            var first: (any Error)?
            while true {
                do {
                    return try await perform(verb, repetition.watching(environment), place, repetition)
                } catch {
                    // No other daemon has come: what the one that was there said last is what to tell.
                    if let first, let error = error as? VarlinkError, error.isOfAbsence { throw first }
                    // Over ssh it would be another login, perhaps with another question for a password.
                    guard place.isNear, let pause = repetition.pause(after: error) else {
                        throw repetition.exhaustion(error) ?? error
                    }
                    first = first ?? error
                    try await environment.clock.sleep(for: pause)
                }
            }
        } catch is OutputClosed {
            return .success
        } catch {
            let error = CommandError(error, place: place, environment)
            // Some have a form of output of their own.
            environment.writeError(error.text(isJSON: (verb as? any LocalVerb)?.isJSON ?? verb.options.json))
            return error.status
        }
    }

    /// Performs a verb over connections of its own.
    private static func perform(
        _ verb: any ControlVerb, _ environment: CommandEnvironment, _ place: Place, _ repetition: Repetition
    ) async throws -> CommandStatus {
        let session: Session
        do {
            session = try await Session.open(
                verb.options, environment, place, patience: verb.patience, repetition)
        } catch {
            try verb.performWithoutDaemon(in: environment)
            throw error
        }
        do {
            let status = try await verb.perform(in: session)
            await session.client.close()
            return status
        } catch {
            await session.client.close()
            throw error
        }
    }
}

/// `mediatorctl`
struct RootCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mediatorctl",
        abstract: "Inspect and steer a running mediatord, and check its configuration.",
        discussion: """
            EXAMPLES
              mediatorctl status
              mediatorctl show uplink
              mediatorctl tap uplink
              mediatorctl why backup
              mediatorctl why-not backup Start
              mediatorctl emit backup Pause
              mediatorctl publish uplink.status offline
              mediatorctl validate /etc/mediatord
              mediatorctl plan
              mediatorctl reload
              mediatorctl attach ring - < ring.yaml
              mediatorctl detach ring

            EXIT STATUS
            \(CommandStatus.table)

            ENVIRONMENT
              \(ControlSocket.environmentVariable)  the control socket, unless --socket names another
              \(Place.hostVariable)    the machine to reach by ssh, unless --host names another
              \(Place.sshVariable)   the command to run instead of ssh
              NO_COLOR          no colours unless it is empty, or --color always
            """,
        version: "mediatorctl \(Mediatorctl.version)",
        subcommands: [
            StatusVerb.self, ListVerb.self, ShowVerb.self, GraphVerb.self, TapVerb.self, TopVerb.self, WhyVerb.self,
            WhyNotVerb.self, TraceVerb.self, EmitVerb.self, PublishVerb.self,
            RestartVerb.self, ResetVerb.self, PauseVerb.self, ResumeVerb.self, LogLevelVerb.self, MetricsVerb.self,
            StoreVerb.self,
            EvalVerb.self, CalendarVerb.self, ValidateVerb.self,
            PlanVerb.self,
            ReloadVerb.self,
            AttachVerb.self, DetachVerb.self, SetVerb.self, CatConfigVerb.self, SchemaVerb.self,
            CompletionVerb.self, VersionVerb.self, BridgeVerb.self,
        ]
    )
}
