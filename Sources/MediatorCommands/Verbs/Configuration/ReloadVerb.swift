import ArgumentParser
import MediatorControl

/// `mediatorctl reload`
struct ReloadVerb: ControlVerb {
    static let configuration = CommandConfiguration(
        commandName: "reload",
        abstract: "Apply the configuration on disk.",
        discussion: """
            The daemon reads and checks its configuration. If it is valid, the parts that differ are exchanged, and \
            the rest goes on: see mediatorctl plan. If not, nothing changes. SIGHUP does the same. Changes of links \
            that are in no file (attach, detach, set) stay in force, unless --drop-transient forgets them. reload \
            gives up if the daemon shows no sign of life within --timeout; beyond that it waits two minutes for old \
            side effects to end and for new systems to become ready.

            EXAMPLES
              mediatorctl reload
              mediatorctl plan && mediatorctl reload --json
              mediatorctl reload --drop-transient

            \(CommandStatus.help(.ofControl + [.appliedLate], [.success: "applied, or there was nothing to do", .refused: "rejected, and nothing changed; what is wrong was printed"]))
            """
    )

    @Flag(help: "Forget the changes of links that are in no file.")
    var dropTransient = false

    @Flag(help: "List parts that do not change, too.")
    var all = false

    @OptionGroup var options: CommandOptions

    /// The time that old side effects and new systems have, in seconds.
    static let patience = 120.0

    var patience: Double { Self.patience }

    func perform(in session: Session) async throws -> CommandStatus {
        let reply = try await session.tellingStops {
            try await session.act { try await $0.reload(dropTransient: dropTransient, all: all) }
        }
        try session.show(ReloadReport(reply: reply))
        guard reply.applied else { return .refused }
        return reply.late.isEmpty ? .success : .appliedLate
    }
}
