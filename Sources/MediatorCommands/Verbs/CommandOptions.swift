import ArgumentParser
import MediatorControl
import Varlink

/// The options every verb has.
struct CommandOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("The control socket (default: $MEDIATORD_SOCKET, else the usual place).", valueName: "path"),
        completion: .file())
    var socket: String?

    @Option(
        help: ArgumentHelp(
            "The machine on which mediatord runs, reached by ssh (default: $MEDIATORD_HOST, else this one).",
            valueName: "user@machine"))
    var host: String?

    @Flag(help: "Print JSON, one object on a line, instead of text for people.")
    var json = false

    @OptionGroup var display: DisplayOptions

    @Option(
        help: ArgumentHelp(
            "How long to wait for an answer (default: 10); reload, attach, detach and set: for a sign of life, then two "
                + "minutes more.", valueName: "seconds"))
    var timeout: Double?

    func validate() throws {
        guard timeout.map({ $0 > 0 && $0 <= 86_400 }) ?? true else {
            throw ValidationError("--timeout wants a number of seconds above 0 and up to 86400.")
        }
    }
}

/// How text for people looks.
struct DisplayOptions: ParsableArguments {
    @Option(help: ArgumentHelp("When to use colours: auto, always or never (default: auto).", valueName: "when"))
    var color: ColorChoice?
}

extension ColorChoice: ExpressibleByArgument {}

/// A verb: parsed by ArgumentParser, performed in a session.
protocol ControlVerb: ParsableCommand {
    var options: CommandOptions { get }
    /// How many seconds beyond `--timeout` the daemon may take for what the verb asks, once it has shown within
    /// `--timeout` that it answers.
    var patience: Double { get }

    func perform(in session: Session) async throws -> CommandStatus

    /// Called when the daemon cannot be reached, before that is said.
    func performWithoutDaemon(in environment: CommandEnvironment) throws
}

extension LocalVerb {
    var isLocal: Bool { true }
}

extension ControlVerb {
    var patience: Double { 0 }

    func performWithoutDaemon(in environment: CommandEnvironment) throws {}
}

/// A verb that needs no daemon.
protocol LocalVerb: ParsableCommand {
    /// Whether it prints JSON, and so what is wrong, too.
    var isJSON: Bool { get }
    /// Whether it needs none as it is asked for.
    var isLocal: Bool { get }

    func perform(in environment: CommandEnvironment) throws -> CommandStatus
}
