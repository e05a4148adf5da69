import ArgumentParser
import MediatorControl

/// `mediatorctl why-not`
struct WhyNotVerb: ControlVerb {
    static let configuration = CommandConfiguration(
        commandName: "why-not",
        abstract: "Explain the obstacles of an event.",
        discussion: """
            Nothing is sent. Shows the transitions of the system's state on this event, with the values in their \
            conditions, and whether their `set` can be computed. Also shows the links and feedbacks that could send \
            the event, and their obstacles. Give the fields of the event that matter; conditions on other fields \
            stay open.

            The event `always` stands for the rules of `always`: shows what they wait for, the time at which a rule \
            with `for` applies, and the links that set the inputs in their conditions.

            EXAMPLES
              mediatorctl why-not backup Start
              mediatorctl why-not backup always
              mediatorctl why-not uplink ProbeFailed reason="no route to host"
              mediatorctl why-not backup Start --json | jq -r '.senders[].reasons[]'

            \(CommandStatus.help(.ofControl))
            """
    )

    @Argument(help: "The name of the system.")
    var system: String

    @Argument(help: "The name of the event, or `always`.")
    var event: String

    @Argument(help: ArgumentHelp("The value of each field of the event, or one JSON object.", valueName: "key=value"))
    var fields: [String] = []

    @OptionGroup var options: CommandOptions

    func perform(in session: Session) async throws -> CommandStatus {
        let system = try await Target(system).system(in: session.client, "an event can only be sent to a system")
        let name = system.summary.name
        if event == "always", fields.isEmpty, system.kind == nil {
            let reply = try await session.client.whyNot(event, of: name)
            try session.show(WhyNotReport(system: name, event: event, reply: reply))
            return .success
        }
        let type = try system.event(event)
        let isGiven = !fields.isEmpty || type.fields.isEmpty
        let data =
            isGiven
            ? try session.typedValue.fields(
                fields, of: type.fields, owner: "the event '\(event)'", name: event, isWhole: false) : nil
        let reply = try await session.client.whyNot(event, of: name, data: data)
        try session.show(WhyNotReport(system: name, event: event, reply: reply))
        return .success
    }
}

extension SystemDescription {
    /// The event of a name.
    func event(_ name: String) throws(CommandError) -> EventType {
        if let type = events.first(where: { $0.name == name }) { return type }
        let names = events.map(\.name)
        throw CommandError(
            .refused,
            "the system '\(summary.name)' has no event '\(name)'\(Nearest.hint(name, among: names))",
            advice: names.isEmpty ? "It has no events." : "It has: \(names.joined(separator: ", ")).",
            code: "no-such-event"
        )
    }
}
