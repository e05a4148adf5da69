import ArgumentParser
import MediatorControl

/// `mediatorctl emit`
struct EmitVerb: ControlVerb {
    static let configuration = CommandConfiguration(
        commandName: "emit",
        abstract: "Send an event to a system.",
        discussion: """
            The values are read by the types the system declares: bool, int, double, string, timestamp (RFC 3339 or \
            now), duration (1h30m, 500ms); lists and maps as JSON. All fields can also be given as one JSON object.

            EXAMPLES
              mediatorctl emit backup Pause
              mediatorctl emit uplink ProbeFailed reason="no route to host"
              mediatorctl emit uplink ProbeFailed '{"reason": "no route to host"}'
              mediatorctl emit speaker SetTarget decibels=-12.5 within=500ms

            \(CommandStatus.help(.ofControl))
            """
    )

    @Argument(help: "The name of the system.")
    var system: String

    @Argument(help: "The name of the event.")
    var event: String

    @Argument(help: ArgumentHelp("The value of each field of the event, or one JSON object.", valueName: "key=value"))
    var fields: [String] = []

    @OptionGroup var options: CommandOptions

    func perform(in session: Session) async throws -> CommandStatus {
        var target = Target(system)
        guard target.kind == nil || target.kind == .system else {
            throw CommandError(.usage, "an event can only be sent to a system")
        }
        target.kind = .system
        guard case .system(let description) = try await target.find(in: session.client, among: [.system]) else {
            throw CommandError(.usage, "an event can only be sent to a system")
        }
        guard let type = description.events.first(where: { $0.name == event }) else {
            let names = description.events.map(\.name)
            throw CommandError(
                .refused,
                "the system '\(target.name)' has no event '\(event)'\(Nearest.hint(event, among: names))",
                advice: names.isEmpty ? "It has no events." : "It has: \(names.joined(separator: ", ")).",
                code: "no-such-event"
            )
        }
        let data = try session.typedValue.fields(fields, of: type.fields, owner: "the event '\(event)'", name: event)
        try await session.client.emit(event, to: target.name, data: data.isEmpty ? nil : data)
        try session.show(
            EmittedReport(event: EmitParameters(system: target.name, event: event, data: data.isEmpty ? nil : data))
        )
        return .success
    }
}
