import ArgumentParser

/// `mediatorctl show`
struct ShowVerb: ControlVerb {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show everything about a system, a bus or a link.",
        discussion: """
            EXAMPLES
              mediatorctl show uplink
              mediatorctl show bus:uplink.status
              mediatorctl show uplink --json | jq '.system.transitions'

            \(CommandStatus.help(.ofControl))
            """
    )

    @Argument(help: "The name; system:NAME, bus:NAME or link:NAME if several parts have it.")
    var name: String

    @OptionGroup var options: CommandOptions

    func perform(in session: Session) async throws -> CommandStatus {
        try session.show(try await Target(name).find(in: session.client, among: Target.Kind.allCases))
        return .success
    }
}
