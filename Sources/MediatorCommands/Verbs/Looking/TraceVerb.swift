import ArgumentParser
import MediatorControl

/// `mediatorctl trace`
struct TraceVerb: ControlVerb {
    static let configuration = CommandConfiguration(
        commandName: "trace",
        abstract: "Show the last steps of a system.",
        discussion: """
            Shows the events that it took, with the values in the conditions of its transitions, the new states, \
            events that it did not handle or dropped, its faults, and the outcomes of its side effects; the oldest \
            first. Steps are always recorded: the last 32, and 32 from before that were no mere repetitions; between \
            them it says how many are left out. With --follow it goes on with new steps until ^C; with --json each \
            step is then a line.

            EXAMPLES
              mediatorctl trace backup
              mediatorctl trace backup --changes --limit 10
              mediatorctl trace backup --follow
              mediatorctl trace backup --json | jq '.steps[] | select(.kind == "fault")'

            \(CommandStatus.help(.ofControl))
            """
    )

    @Argument(help: "The name of the system.")
    var system: String

    @Option(help: ArgumentHelp("Show the last N steps only.", valueName: "number"))
    var limit: Int?

    @Flag(help: "Show only steps that changed the state.")
    var changes = false

    @Flag(help: "Follow the system from now on.")
    var follow = false

    @OptionGroup var options: CommandOptions

    func validate() throws {
        if let limit, limit < 1 { throw ValidationError("--limit wants a number above 0.") }
    }

    func perform(in session: Session) async throws -> CommandStatus {
        let system = try await Target(system).system(in: session.client, "only of a system there is a trace")
        let name = system.summary.name
        let steps = try await session.client.trace(name, limit: follow || changes ? nil : limit)
        let report = TraceReport(
            reply: TraceReply(steps: steps), changesOnly: changes, limit: limit ?? Int.max)
        guard follow else {
            try session.show(report)
            return .success
        }
        session.environment.endQuietlyWhenInterrupted()
        try Self.show(report, session)
        var seen = Set(steps)
        var last = steps.compactMap(\.number).max()
        while true {
            try await session.environment.clock.sleep(for: Self.interval)
            let present = try await session.client.trace(name)
            let new = present.filter { !seen.contains($0) }
            try Self.show(
                TraceReport(reply: TraceReply(steps: new), lastNumber: last, changesOnly: changes), session)
            seen = Set(present)
            last = present.compactMap(\.number).max()
        }
    }

    /// The interval between two looks for new steps.
    private static let interval = Duration.milliseconds(250)

    private static func show(_ report: TraceReport, _ session: Session) throws {
        switch session.renderer.form {
        case .json: for step in report.steps { try session.show(StepReport(step: step)) }
        case .text: if !report.steps.isEmpty { try session.show(report) }
        }
    }

    /// One step, for programs.
    private struct StepReport: Report {
        let step: TraceStep

        func encode(to encoder: any Encoder) throws { try step.encode(to: encoder) }

        func text(_ style: TextStyle) -> String { "" }
    }
}
