import ArgumentParser
import MediatorControl

/// `mediatorctl pause`
struct PauseVerb: ControlVerb {
    static let configuration = CommandConfiguration(
        commandName: "pause",
        abstract: "Pause a system: it takes no events until it is resumed.",
        discussion: """
            Its events wait in its mailbox, whose limit and policy hold. It begins no side effect, and its schedules \
            do not tick; running side effects go on. It is degraded until `resume`, or until it is restarted or a \
            reload replaces it. When the daemon stops, the waiting events are dropped.

            EXAMPLES
              mediatorctl pause uplink
              mediatorctl pause uplink --json

            \(CommandStatus.help(.ofControl))
            """
    )

    @Argument(help: "The name of the system.")
    var system: String

    @OptionGroup var options: CommandOptions

    func perform(in session: Session) async throws -> CommandStatus {
        try await treat(system, in: session, word: "paused") { try await $0.pause($1) }
    }
}

/// `mediatorctl resume`
struct ResumeVerb: ControlVerb {
    static let configuration = CommandConfiguration(
        commandName: "resume",
        abstract: "Resume a system that is paused.",
        discussion: """
            It takes the events that have waited, in their order. Its schedules make up for missed ticks as `missed` \
            says. A system that is not paused does not change.

            EXAMPLES
              mediatorctl resume uplink
              mediatorctl resume uplink --json

            \(CommandStatus.help(.ofControl))
            """
    )

    @Argument(help: "The name of the system.")
    var system: String

    @OptionGroup var options: CommandOptions

    func perform(in session: Session) async throws -> CommandStatus {
        try await treat(system, in: session, word: "resumed") { try await $0.resume($1) }
    }
}
