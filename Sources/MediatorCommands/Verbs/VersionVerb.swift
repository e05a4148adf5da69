import ArgumentParser
import MediatorControl

/// `mediatorctl version`
struct VersionVerb: LocalVerb, ControlVerb {
    static let configuration = CommandConfiguration(
        commandName: "version",
        abstract: "Show the versions of mediatorctl and of the daemon.",
        discussion: """
            EXAMPLES
              mediatorctl version
              mediatorctl version --client
              mediatorctl version --json | jq -r .daemon.version

            \(CommandStatus.help(.ofControl))
            """
    )

    @Flag(help: "Show the version of mediatorctl only, without a daemon.")
    var client = false

    @OptionGroup var options: CommandOptions

    var isLocal: Bool { client }

    var isJSON: Bool { options.json }

    func perform(in environment: CommandEnvironment) throws -> CommandStatus {
        try show(VersionReport(), environment)
        return .success
    }

    func perform(in session: Session) async throws -> CommandStatus {
        let status: StatusReply
        do {
            status = try await session.client.status()
        } catch let error as MissingRight {
            // The version of this program is no secret.
            try show(VersionReport(), session.environment)
            throw error
        }
        try show(
            VersionReport(
                daemon: VersionReport.Daemon(version: status.version, pid: status.pid, started: status.started)),
            session.environment)
        return .success
    }

    func performWithoutDaemon(in environment: CommandEnvironment) throws {
        try show(VersionReport(), environment)
    }

    private func show(_ report: VersionReport, _ environment: CommandEnvironment) throws {
        let renderer = Renderer(form: options.json ? .json : .text(TextStyle(environment)))
        try environment.write(try renderer.render(report))
    }
}

/// The answer of `version`.
private struct VersionReport: Report {
    struct Daemon: Encodable {
        let version: String
        let pid: Int
        let started: String
    }

    var client = Mediatorctl.version
    var daemon: Daemon?

    func text(_ style: TextStyle) -> String {
        var lines = "mediatorctl \(client)\n"
        if let daemon {
            let version = PlainText.cleaned(daemon.version)
            lines += "mediatord   \(version), process \(daemon.pid), started \(style.moment(daemon.started))\n"
            if daemon.version != client {
                lines += style.colored("they are of different versions, and may not understand each other\n", .yellow)
            }
        }
        return lines
    }
}
