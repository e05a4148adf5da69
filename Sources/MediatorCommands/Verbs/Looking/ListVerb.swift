import ArgumentParser
import MediatorControl

/// `mediatorctl list`
struct ListVerb: ControlVerb {
    enum Kind: String, ExpressibleByArgument, CaseIterable {
        case systems, buses, links
    }

    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List systems, buses and links, or all pending waits.",
        discussion: """
            EXAMPLES
              mediatorctl list
              mediatorctl list buses
              mediatorctl list links --json | jq -r '.links[].description'
              mediatorctl list --waits
              mediatorctl list --waits --json | jq -r '.waits[0].due'

            \(CommandStatus.help(.ofControl))
            """
    )

    @Argument(help: "The kind of parts to list (default: all).")
    var kind: Kind?

    @Flag(help: "List the pending waits of all systems instead, the first to end first.")
    var waits = false

    @OptionGroup var options: CommandOptions

    func validate() throws {
        if waits, kind != nil { throw ValidationError("--waits lists the waits of all systems; leave the kind out.") }
    }

    func perform(in session: Session) async throws -> CommandStatus {
        let client = session.client
        if waits {
            try session.show(WaitsReport(reply: try await client.listWaits()))
            return .success
        }
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
