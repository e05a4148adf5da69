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
            repetitions. With --follow it goes on with what comes, until ^C; with --json each step is a line then.

            EXAMPLES
              mediatorctl trace backup
              mediatorctl trace backup --limit 10
              mediatorctl trace backup --follow
              mediatorctl trace backup --json | jq '.steps[] | select(.kind == "fault")'

            \(CommandStatus.help(.ofControl))
            """
    )

    @Argument(help: "The name of the system.")
    var system: String

    @Option(help: ArgumentHelp("Show no more steps than so many, the last ones.", valueName: "number"))
    var limit: Int?

    @Flag(help: "Go on with what the system does from now on.")
    var follow = false

    @OptionGroup var options: CommandOptions

    func validate() throws {
        if let limit, limit < 1 { throw ValidationError("--limit wants a number above 0.") }
    }

    func perform(in session: Session) async throws -> CommandStatus {
        let system = try await Target(system).system(in: session.client, "only of a system there is a trace")
        let name = system.summary.name
        let steps = try await session.client.trace(name, limit: follow ? nil : limit)
        guard follow else {
            try session.show(TraceReport(reply: TraceReply(steps: steps)))
            return .success
        }
        session.environment.endQuietlyWhenInterrupted()
        try Self.show(Array(steps.suffix(limit ?? steps.count)), session)
        var seen = Set(steps)
        while true {
            try await session.environment.clock.sleep(for: Self.interval)
            let present = try await session.client.trace(name)
            try Self.show(present.filter { !seen.contains($0) }, session)
            seen = Set(present)
        }
    }

    /// The interval between two looks for new steps.
    private static let interval = Duration.milliseconds(250)

    private static func show(_ steps: [TraceStep], _ session: Session) throws {
        switch session.renderer.form {
        case .json: for step in steps { try session.show(StepReport(step: step)) }
        case .text: if !steps.isEmpty { try session.show(TraceReport(reply: TraceReply(steps: steps))) }
        }
    }

    /// One step, for programs.
    private struct StepReport: Report {
        let step: TraceStep

        func encode(to encoder: any Encoder) throws { try step.encode(to: encoder) }

        func text(_ style: TextStyle) -> String { "" }
    }
}
