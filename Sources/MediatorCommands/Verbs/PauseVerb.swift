import ArgumentParser
import MediatorControl

/// `mediatorctl pause`
struct PauseVerb: ControlVerb {
    static let configuration = CommandConfiguration(
        commandName: "pause",
        abstract: "Have a system take no events for a while.",
        discussion: """
            What comes for it waits in its mailbox, beyond whose limit its policy holds as ever. It begins no side effect, \
            and its schedules do not tick; side effects that run go on. It is degraded meanwhile, until `resume`, or until \
            it is restarted or a reload replaces it. When the daemon stops, what waits is dropped.

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
        abstract: "Let a system go on that was paused.",
        discussion: """
            It takes the events that have waited, in their order. Of ticks that were missed meanwhile its schedules make up \
            what `missed` says. A system that is not paused stays as it is.

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
