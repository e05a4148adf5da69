import ArgumentParser
import CommonExpression
import MediatorConfiguration
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
            "How long to wait for an answer, such as 500ms or 2m; a plain number is seconds (default: 10s). reload, "
                + "attach, detach and set: for a sign of life, then two minutes more.", valueName: "time"))
    private var timeout: String?

    /// How long to wait for an answer, in seconds; nil: as long as is usual.
    var answerLimit: Double? {
        timeout.flatMap { TimeSpan(option: $0) }.map { Double($0.seconds) + Double($0.nanoseconds) / 1e9 }
    }

    func validate() throws {
        guard let timeout else { return }
        guard let limit = answerLimit, limit > 0, limit <= 86_400 else {
            throw ValidationError(
                "--timeout wants a time above 0 and up to 24h, such as 500ms, 3s or 2m, not '\(timeout)'.")
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
