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

    /// The time to wait for an answer, in seconds; nil for the usual time.
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

/// The look of text for people.
struct DisplayOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Use colours: auto, always or never (default: auto).", valueName: "when"))
    var color: ColorChoice?
}

extension ColorChoice: ExpressibleByArgument {}

/// A verb: parsed by ArgumentParser, performed in a session.
protocol ControlVerb: ParsableCommand {
    var options: CommandOptions { get }
    /// The time beyond `--timeout` that the daemon has for the work of the verb, in seconds. Within `--timeout` it has
    /// to show that it answers.
    var patience: Double { get }

    func perform(in session: Session) async throws -> CommandStatus

    /// Called when the daemon cannot be reached, before the message.
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
    /// Whether it prints JSON, errors included.
    var isJSON: Bool { get }
    /// Whether it needs none as it is asked for.
    var isLocal: Bool { get }

    func perform(in environment: CommandEnvironment) throws -> CommandStatus
}
