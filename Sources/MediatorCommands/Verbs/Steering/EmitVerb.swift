import ArgumentParser
import MediatorControl

/// `mediatorctl emit`
struct EmitVerb: ControlVerb {
    static let configuration = CommandConfiguration(
        commandName: "emit",
        abstract: "Send an event to a system.",
        discussion: """
            The values are read by the types that the system declares: bool, int, double, string, timestamp (RFC \
            3339 or now), duration (1h30m, 500ms); lists and maps as JSON. One JSON object can give all fields.

            With --wait it returns when the system has entered the state, or one of several, because of this event \
            or another; after --timeout it gives up. It watches from before the event is sent, so that nothing is \
            missed. An event for a paused system waits until `resume`, and the output says so.

            EXAMPLES
              mediatorctl emit backup Pause
              mediatorctl emit uplink ProbeFailed reason="no route to host"
              mediatorctl emit uplink ProbeFailed '{"reason": "no route to host"}'
              mediatorctl emit speaker SetTarget decibels=-12.5 within=500ms
              mediatorctl emit backup Start --wait Done --wait Failed --timeout 3600

            \(CommandStatus.help(.ofControl + [.notReached]))
            """
    )

    @Argument(help: "The name of the system.")
    var system: String

    @Argument(help: "The name of the event.")
    var event: String

    @Argument(help: ArgumentHelp("The value of each field of the event, or one JSON object.", valueName: "key=value"))
    var fields: [String] = []

    @Option(
        parsing: .singleValue,
        help: ArgumentHelp(
            "Return when the system has entered this state; one of them, if repeated.", valueName: "state"))
    var wait: [String] = []

    @OptionGroup var options: CommandOptions

    func perform(in session: Session) async throws -> CommandStatus {
        let description = try await Target(system).system(in: session.client, "an event can only be sent to a system")
        let type = try description.event(event)
        let name = description.summary.name
        let data = try session.typedValue.fields(fields, of: type.fields, owner: "the event '\(event)'", name: event)
        let parameters = EmitParameters(system: name, event: event, data: data.isEmpty ? nil : data)
        guard !wait.isEmpty else {
            _ = try await session.act { try await $0.emit(event, to: name, data: parameters.data) }
            try session.show(EmittedReport(event: parameters, paused: description.summary.paused))
            return .success
        }
        try StateWait.check(wait, of: description)
        let words = (["mediatorctl", "why-not", name, event] + fields).map(ShellWord.quoted).joined(separator: " ")
        let advice = "`\(words)` shows what prevents it"
        let reached = try await StateWait(wanted: [name: Set(wait)], advice: advice).wait(in: session) {
            try await $0.emit(event, to: name, data: parameters.data)
        }
        try session.show(EmittedReport(event: parameters, reached: reached.values.sorted { $0.name < $1.name }))
        return .success
    }
}
