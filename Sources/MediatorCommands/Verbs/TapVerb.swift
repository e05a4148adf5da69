import ArgumentParser
import MediatorControl
import Varlink

/// `mediatorctl tap`
struct TapVerb: ControlVerb {
    static let configuration = CommandConfiguration(
        commandName: "tap",
        abstract: "Follow the states of a system or the values of a bus.",
        discussion: """
            Shows the present state or value first, then every change, until ^C.

            EXAMPLES
              mediatorctl tap uplink
              mediatorctl tap bus:alarms --count 1
              mediatorctl tap uplink --json | jq -r .state.name

            \(CommandStatus.help(.ofControl))
            """
    )

    @Argument(help: "The name of a system or a bus; system:NAME or bus:NAME where it stands for both.")
    var name: String

    @Option(help: ArgumentHelp("End after this many lines.", valueName: "number"))
    var count: Int?

    @OptionGroup var options: CommandOptions

    func validate() throws {
        if let count, count < 1 { throw ValidationError("--count wants a number above 0.") }
    }

    func perform(in session: Session) async throws -> CommandStatus {
        session.environment.endQuietlyWhenInterrupted()
        switch try await Target(name).find(in: session.client, among: [.system, .bus]) {
        case .system(let system):
            let changes = try await session.client.watchSystem(system.summary.name)
            try await follow(changes, session) { StateChangeReport(reply: $0) }
        case .bus(let bus):
            let values = try await session.client.watchBus(bus.summary.name)
            try await follow(values, session) { BusValueReport(reply: $0) }
        case .link: throw CommandError(.usage, "a link cannot be tapped")
        }
        return .success
    }

    private func follow<Reply: Sendable>(
        _ replies: ControlWatch<Reply>,
        _ session: Session,
        report: (Reply) -> some Report
    ) async throws {
        var rest = count ?? .max
        do {
            for try await reply in replies {
                try session.showNow(report(reply))
                rest -= 1
                if rest == 0 { return }
            }
        } catch let error as VarlinkError where error.code == .connectionClosed {
            throw CommandError(
                .noConnection,
                "mediatord went away",
                advice: "See `systemctl status mediatord`; when it runs again, start this tap again."
            )
        }
    }
}
