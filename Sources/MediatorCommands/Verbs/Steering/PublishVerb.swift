import ArgumentParser
import MediatorControl
import StrictJSON
import Varlink

/// `mediatorctl publish`
struct PublishVerb: ControlVerb {
    static let configuration = CommandConfiguration(
        commandName: "publish",
        abstract: "Publish a value on a bus.",
        discussion: """
            The value is read by the type of the bus, as the values of emit are. A bus with fields takes key=value \
            for each of them, or one JSON object.

            With --wait it returns when each named system has entered one of its named states, because of this value \
            or not; after --timeout it gives up. It watches from before the value is published, so that nothing is \
            missed.

            EXAMPLES
              mediatorctl publish uplink.status offline
              mediatorctl publish alarms text="disk full" severity=3
              mediatorctl publish alarms '{"text": "disk full", "severity": 3}'
              mediatorctl publish temperature -- -5
              mediatorctl publish uplink.status offline --wait backup=Paused

            \(CommandStatus.help(.ofControl + [.notReached]))
            """
    )

    @Argument(help: "The name of the bus.")
    var bus: String

    @Argument(help: ArgumentHelp("The value, or the value of each field as key=value.", valueName: "value"))
    var value: [String]

    @Option(
        parsing: .singleValue,
        help: ArgumentHelp(
            "Return when a system has entered a state; may be repeated.", valueName: "system=state"))
    var wait: [String] = []

    @OptionGroup var options: CommandOptions

    func validate() throws {
        for text in wait where StateWait.pair(text) == nil {
            throw ValidationError("--wait wants SYSTEM=STATE, not '\(text)'.")
        }
    }

    func perform(in session: Session) async throws -> CommandStatus {
        var target = Target(bus)
        guard target.kind == nil || target.kind == .bus else {
            throw CommandError(.usage, "a value can only be published on a bus")
        }
        target.kind = .bus
        guard case .bus(let description) = try await target.find(in: session.client, among: [.bus]) else {
            throw CommandError(.usage, "a value can only be published on a bus")
        }
        let parameters = PublishParameters(
            bus: target.name,
            value: try Self.value(value, of: description, session.typedValue)
        )
        guard !wait.isEmpty else {
            _ = try await session.act { try await $0.publish(parameters.value, on: parameters.bus) }
            try session.show(PublishedReport(value: parameters))
            return .success
        }
        let reached = try await StateWait(wait, in: session).wait(in: session) {
            try await $0.publish(parameters.value, on: parameters.bus)
        }
        try session.show(PublishedReport(value: parameters, reached: reached.values.sorted { $0.name < $1.name }))
        return .success
    }

    static func value(_ arguments: [String], of bus: BusDescription, _ typedValue: TypedValue) throws -> JSONValue {
        let name = bus.summary.name
        guard bus.fields.isEmpty else {
            return .object(
                try typedValue.fields(arguments, of: bus.fields, owner: "the value of bus '\(name)'", name: name))
        }
        guard arguments.count == 1 else {
            throw CommandError(
                .usage,
                "the bus '\(name)' takes one value of type \(bus.summary.valueType), not \(arguments.count)",
                advice: "Put text with spaces in quotes."
            )
        }
        return try typedValue.value(arguments[0], type: bus.summary.valueType, name: name)
    }
}
