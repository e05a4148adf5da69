import ArgumentParser
import MediatorControl

/// `mediatorctl trace`
struct TraceVerb: ControlVerb {
    static let configuration = CommandConfiguration(
        commandName: "trace",
        abstract: "Show what a system did of late.",
        discussion: """
            The events that it took, with the conditions of its transitions and what they read, the new states, what it \
            did not handle or dropped, its faults, and what its side effects came to; the oldest first. Nothing needs to \
            be switched on for it beforehand. The last 32 steps are kept, and 32 from before that were no mere \
            repetitions.

            EXAMPLES
              mediatorctl trace backup
              mediatorctl trace backup --limit 10
              mediatorctl trace backup --json | jq '.steps[] | select(.kind == "fault")'

            \(CommandStatus.help(.ofControl))
            """
    )

    @Argument(help: "The name of the system.")
    var system: String

    @Option(help: ArgumentHelp("Show no more steps than so many, the last ones.", valueName: "number"))
    var limit: Int?

    @OptionGroup var options: CommandOptions

    func validate() throws {
        if let limit, limit < 1 { throw ValidationError("--limit wants a number above 0.") }
    }

    func perform(in session: Session) async throws -> CommandStatus {
        let system = try await Target(system).system(in: session.client, "only of a system there is a trace")
        let steps = try await session.client.trace(system.summary.name, limit: limit)
        try session.show(TraceReport(reply: TraceReply(steps: steps)))
        return .success
    }
}
