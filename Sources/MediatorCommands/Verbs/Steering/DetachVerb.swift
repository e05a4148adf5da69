import ArgumentParser
import MediatorControl

/// `mediatorctl detach`
struct DetachVerb: ControlVerb {
    static let configuration = CommandConfiguration(
        commandName: "detach",
        abstract: "Remove a link while the daemon runs.",
        discussion: """
            The whole configuration is checked without the link, as at a reload, and nothing else changes. A link in \
            a file comes back when the daemon is restarted, by 'mediatorctl attach NAME', or by 'mediatorctl reload \
            --drop-transient'. With --persist a file records that it is removed, until 'mediatorctl attach NAME \
            --persist' takes that back.

            EXAMPLES
              mediatorctl detach tell-full --dry-run
              mediatorctl detach tell-full
              mediatorctl detach tell-full --persist

            \(CommandStatus.help(.ofControl + [.appliedLate], [.success: ChangeOptions.applied, .refused: ChangeOptions.rejected]))
            """
    )

    @Argument(help: "The name of the link.")
    var name: String

    @OptionGroup var change: ChangeOptions

    @OptionGroup var options: CommandOptions

    var patience: Double { ReloadVerb.patience }

    func perform(in session: Session) async throws -> CommandStatus {
        let link = try linkName(name)
        let parameters = DetachParameters(link: link, persist: change.persist, dryRun: change.dryRun, all: change.all)
        let reply = try await change.make(in: session) { try await $0.detach(parameters) }
        return try finish(
            ChangeReport(
                reply: reply, link: link, done: "detached", isDryRun: change.dryRun), in: session
        )
    }
}
