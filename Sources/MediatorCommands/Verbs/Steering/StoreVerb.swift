import ArgumentParser
import MediatorControl
import StrictJSON
import Varlink

/// `mediatorctl store`
struct StoreVerb: ControlVerb {
    enum Action: String, ExpressibleByArgument, CaseIterable {
        case check, export, forget
    }

    static let configuration = CommandConfiguration(
        commandName: "store",
        abstract: "Look into the store of the states that persist.",
        discussion: """
            Without an action, shows the store: its size, its commits, the changes that wait, and the damage that \
            was found at the start. A table has the systems and buses, with the times at which their states came to \
            the disk. `check` verifies the file; commits wait for that. `export` prints each stored state as a JSON \
            object on a line. `forget` removes the state of a system that has ended, or of a part that does not \
            persist in the active configuration.

            EXAMPLES
              mediatorctl store
              mediatorctl store --json | jq '.store.parts | map(.persistence.stored)'
              mediatorctl store check
              mediatorctl store export > states.jsonl
              mediatorctl store forget bus:line.best

            \(CommandStatus.help(.ofControl, [
                .refused: "rejected, nothing has changed; for check and export: the store is damaged",
            ]))
            """
    )

    @Argument(help: "check, export or forget; the store is shown without it.")
    var action: Action?

    @Argument(
        help: ArgumentHelp(
            "The system or bus to forget; system:NAME or bus:NAME if both have it.", valueName: "part"))
    var part: String?

    @OptionGroup var options: CommandOptions

    /// The time for reading a large store from a slow disk. Only administrators can have it read.
    var patience: Double { action == nil ? 0 : 120 }

    func validate() throws {
        guard (action == .forget) == (part != nil) else {
            throw ValidationError(
                action == .forget ? "Name the system or bus to forget." : "Only `forget` takes a system or bus.")
        }
    }

    func perform(in session: Session) async throws -> CommandStatus {
        switch action {
        case nil:
            try session.show(StoreReport(store: try await session.client.describeStore()))
            return .success
        case .check:
            let reply = try await session.client.checkStore()
            try session.show(StoreCheckReport(reply: reply))
            return reply.damage.isEmpty ? .success : .refused
        case .export: return try await export(in: session)
        case .forget:
            let (kind, name) = try await target(in: session)
            try await session.act { try await $0.forgetStored(kind, name) }
            try session.show(ForgottenReport(part: kind, name: name))
            return .success
        }
    }

    func performWithoutDaemon(in environment: CommandEnvironment) throws {
        guard action == .check, !options.json else { return }
        environment.writeError(
            "mediatorctl: only a running mediatord checks its store. It does so at each start, and logs the damage.\n")
    }

    private func export(in session: Session) async throws -> CommandStatus {
        var isSound = true
        for try await state in try await session.client.exportStore() where state.part != nil || state.damage != nil {
            if state.damage != nil { isSound = false }
            try session.environment.write("\(try JSONValue(encoding: state))\n")
        }
        return isSound ? .success : .refused
    }

    /// The part to forget. The store knows parts that the configuration does not have any more.
    private func target(in session: Session) async throws -> (PartKind, String) {
        let target = Target(part ?? "")
        switch target.kind {
        case .system: return (.system, target.name)
        case .bus: return (.bus, target.name)
        case .link: throw CommandError(.usage, "a link has no stored state; a system or bus is wanted")
        case nil: break
        }
        let parts = try await session.client.describeStore().parts
        let found = parts.filter { $0.name == target.name }
        guard found.count < 2 else {
            throw CommandError(
                .usage, "'\(target.name)' is the name of several things",
                advice: "Say which: system:\(target.name) or bus:\(target.name).")
        }
        guard let part = found.first else {
            let hint = Nearest.hint(target.name, among: parts.map(\.name))
            throw CommandError(
                .refused, "the store has no state of '\(target.name)'\(hint)",
                advice: "See `mediatorctl store`.", code: "no-such-name")
        }
        return (part.part, part.name)
    }
}
