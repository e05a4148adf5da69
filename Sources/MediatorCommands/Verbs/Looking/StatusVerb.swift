import ArgumentParser
import MediatorControl

/// `mediatorctl status`
struct StatusVerb: ControlVerb {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show the health of the daemon and its systems.",
        discussion: """
            Ends with 0 when everything is healthy or stopped on purpose, with 5 when something is starting, degraded \
            or failed, or the daemon is about to stop.

            EXAMPLES
              mediatorctl status
              mediatorctl status --json | jq '.systems[] | select(.health != "healthy")'

            \(CommandStatus.help(.ofControl + [.unhealthy]))
            """
    )

    @OptionGroup var options: CommandOptions

    func perform(in session: Session) async throws -> CommandStatus {
        let report = StatusReport(reply: try await session.client.status())
        try session.show(report)
        return report.isUnhealthy ? .unhealthy : .success
    }
}
