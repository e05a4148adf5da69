import ArgumentParser
import MediatorControl

/// `mediatorctl why`
struct WhyVerb: ControlVerb {
    static let configuration = CommandConfiguration(
        commandName: "why",
        abstract: "Explain why a system is in its state.",
        discussion: """
            Goes back from the state to the event that led to it, to the link or side effect that sent that event, \
            to the value of the bus and its publisher, and so on. The chain ends outside: with a client, the clock, \
            or the start. It is always recorded. Of a chain with more than 63 states the end is not kept, and the \
            output says so.

            EXAMPLES
              mediatorctl why backup
              mediatorctl why backup --limit 3
              mediatorctl why backup --json | jq '.hops[] | select(.kind == "state")'

            \(CommandStatus.help(.ofControl))
            """
    )

    @Argument(help: "The name of the system.")
    var system: String

    @Option(help: "Explain the latest N states only; this holds with --json, too.")
    var limit: Int?

    @OptionGroup var options: CommandOptions

    func validate() throws {
        if let limit, limit < 1 { throw ValidationError("--limit wants a number above 0.") }
    }

    func perform(in session: Session) async throws -> CommandStatus {
        let system = try await Target(system).system(in: session.client, "only a system has a state to explain")
        try session.show(WhyReport(reply: try await session.client.why(system.summary.name), limit: limit))
        return .success
    }
}

extension Target {
    /// Asks the daemon for the system that has the name.
    ///
    /// - Parameter refusal: the message if the name is that of something else.
    func system(in client: ControlClient, _ refusal: String) async throws -> SystemDescription {
        var target = self
        guard target.kind == nil || target.kind == .system else { throw CommandError(.usage, refusal) }
        target.kind = .system
        guard case .system(let description) = try await target.find(in: client, among: [.system]) else {
            throw CommandError(.usage, refusal)
        }
        return description
    }
}
