import ArgumentParser
import MediatorControl

/// `mediatorctl list`
struct ListVerb: ControlVerb {
    enum Kind: String, ExpressibleByArgument, CaseIterable {
        case systems, buses, links
    }

    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List systems, buses and links.",
        discussion: """
            EXAMPLES
              mediatorctl list
              mediatorctl list buses
              mediatorctl list links --json | jq -r '.links[].description'

            \(CommandStatus.help(.ofControl))
            """
    )

    @Argument(help: "The kind of parts to list (default: all).")
    var kind: Kind?

    @OptionGroup var options: CommandOptions

    func perform(in session: Session) async throws -> CommandStatus {
        let client = session.client
        // All calls are sent at once, so the daemon works while the client reads.
        async let systems = kind == nil || kind == .systems ? client.listSystems() : nil
        async let buses = kind == nil || kind == .buses ? client.listBuses() : nil
        async let links = kind == nil || kind == .links ? client.listLinks() : nil
        async let changes = kind == nil || kind == .links ? client.listChanges() : nil
        try session.show(
            ListReport(
                systems: try await systems, buses: try await buses, links: try await links, changes: try await changes))
        return .success
    }
}
