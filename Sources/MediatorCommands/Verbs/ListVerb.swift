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

    @Argument(help: "What to list; everything when left out.")
    var kind: Kind?

    @OptionGroup var options: CommandOptions

    func perform(in session: Session) async throws -> CommandStatus {
        var report = ListReport()
        if kind == nil || kind == .systems { report.systems = try await session.client.listSystems() }
        if kind == nil || kind == .buses { report.buses = try await session.client.listBuses() }
        if kind == nil || kind == .links {
            report.links = try await session.client.listLinks()
            report.changes = try await session.client.listChanges()
        }
        try session.show(report)
        return .success
    }
}
