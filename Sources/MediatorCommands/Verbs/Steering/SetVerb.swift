import ArgumentParser
import MediatorControl

/// `mediatorctl set`
struct SetVerb: ControlVerb {
    static let configuration = CommandConfiguration(
        commandName: "set",
        abstract: "Change keys of a link while the daemon runs.",
        discussion: """
            The keys are those of a file; a nested one is written with a point (loop.limit). The value is YAML, so \
            text with ': ', ' #' or quotes at its beginning needs quotes; the value of 'when' is the plain \
            expression. Nothing behind the '=' removes the key. The whole configuration is checked with the change, \
            as at a reload, and nothing else changes. The change holds until the daemon ends, unless --persist \
            writes it into a file; --persist without a key writes the earlier changes of the link.

            EXAMPLES
              mediatorctl set tell-full 'when=state.percent > 95'
              mediatorctl set tell-full when= loop.limit='10 per 1s' --dry-run
              mediatorctl set tell-full 'emitValue={ text: full, severity: 3 }' --persist
              mediatorctl set tell-full --persist

            \(CommandStatus.help(.ofControl + [.appliedLate], [.success: ChangeOptions.applied, .refused: ChangeOptions.rejected]))
            """
    )

    @Argument(help: "The name of the link.")
    var name: String

    @Argument(help: ArgumentHelp("A key with its new value.", valueName: "key=value"))
    var settings: [String] = []

    @OptionGroup var change: ChangeOptions

    @OptionGroup var options: CommandOptions

    var patience: Double { ReloadVerb.patience }

    func validate() throws {
        guard !settings.isEmpty || change.persist else {
            throw ValidationError("Name a key with its new value, such as 'when=state.percent > 95'.")
        }
        for setting in settings where !setting.contains("=") || setting.hasPrefix("=") {
            throw ValidationError("'\(setting)' is no key=value.")
        }
        var keys: Set<Substring> = []
        for setting in settings where !keys.insert(setting.prefix { $0 != "=" }).inserted {
            throw ValidationError("'\(setting.prefix { $0 != "=" })' is set twice; give it one value.")
        }
    }

    func perform(in session: Session) async throws -> CommandStatus {
        let link = try linkName(name)
        let settings = settings.map { setting in
            let parts = setting.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let value = parts.count > 1 ? String(parts[1]) : ""
            return Setting(key: String(parts[0]), value: parts[0] == "when" ? expression(value) : value)
        }
        let parameters = SetParameters(
            link: link, settings: settings, persist: change.persist, dryRun: change.dryRun, all: change.all)
        let reply = try await change.make(in: session) { try await $0.set(parameters) }
        return try finish(
            ChangeReport(
                reply: reply, link: link, done: "changed", isDryRun: change.dryRun), in: session)
    }
}
