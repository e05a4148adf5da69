import ArgumentParser
import MediatorControl

/// `mediatorctl log-level`
struct LogLevelVerb: ControlVerb {
    static let configuration = CommandConfiguration(
        commandName: "log-level",
        abstract: "Show or set the log level of mediatord.",
        discussion: """
            Without a level, shows the present one. A level holds until the daemon ends; `default` is the level of \
            its start.

            EXAMPLES
              mediatorctl log-level
              mediatorctl log-level debug
              mediatorctl log-level default

            \(CommandStatus.help(.ofControl))
            """
    )

    /// The word for the level that was given at the start.
    private static let given = "default"

    @Argument(help: "trace, debug, info, notice, warning, error or critical; or default.")
    var level: String?

    @OptionGroup var options: CommandOptions

    func validate() throws {
        guard let level, level != Self.given, LogLevel(rawValue: level) == nil else { return }
        let words = LogLevel.allCases.map(\.rawValue) + [Self.given]
        let hint = Nearest.hint(level, among: words)
        throw ValidationError(
            "There is no level '\(level)'\(hint)\(hint.isEmpty ? "." : "") Levels: \(words.joined(separator: ", ")).")
    }

    func perform(in session: Session) async throws -> CommandStatus {
        let reply =
            if let level {
                try await session.act { try await $0.setLogLevel(LogLevel(rawValue: level)) }
            } else {
                try await session.client.logLevel()
            }
        try session.show(LogLevelReport(reply: reply))
        return .success
    }
}
