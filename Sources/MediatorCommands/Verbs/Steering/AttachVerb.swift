import ArgumentParser
import MediatorConfiguration
import MediatorControl
import Varlink

/// `mediatorctl attach`
struct AttachVerb: ControlVerb {
    static let configuration = CommandConfiguration(
        commandName: "attach",
        abstract: "Add a link while the daemon runs.",
        discussion: """
            The definition is the text below 'links' in a file, in YAML or JSON, or consists of options, whose \
            values are YAML, too. The whole configuration is checked with it, as at a reload, and nothing else \
            changes; the files on disk are not read again. The link holds until the daemon ends, unless --persist \
            writes it into a file. Without a definition, a detached link gets its definition in the files back, with \
            --persist also for good.

            EXAMPLES
              mediatorctl attach tell \\
                '{ attach: disk-guard, to: status, onState: Full, emitValue: full }'
              mediatorctl attach tell --system disk-guard --to status \\
                --on-state Full --emit-value full --dry-run
              mediatorctl attach pause --system backup --from alarms \\
                --when 'value.severity > 2' --emit-event Pause --persist
              mediatorctl attach allow --system backup --from work.allowed \\
                --set-input allowed
              mediatorctl attach tell - < link.yaml
              mediatorctl attach detached-before --persist

            \(CommandStatus.help(.ofControl + [.appliedLate], [.success: ChangeOptions.applied, .refused: ChangeOptions.rejected]))
            """
    )

    @Argument(help: "The name of the link.")
    var name: String

    @Argument(help: "The link in YAML or JSON; - for standard input.")
    var definition: String?

    @Option(help: ArgumentHelp("The system that is attached (attach).", valueName: "system"))
    var system: String?

    @Option(help: ArgumentHelp("The bus that it writes (to).", valueName: "bus"))
    var to: String?

    @Option(help: ArgumentHelp("The bus that it reads (from).", valueName: "bus"))
    var from: String?

    @Option(help: ArgumentHelp("The system it is attached to (toSystem).", valueName: "system"))
    var toSystem: String?

    @Option(help: ArgumentHelp("The states in which it fires (onState).", valueName: "yaml"))
    var onState: String?

    @Option(
        help: ArgumentHelp(
            "When it fires (on): at the entry of a state, or also when an update changes its value or event.",
            valueName: "entry|change"), completion: .list(["entry", "change"]))
    var on: String?

    @Option(help: ArgumentHelp("The value of the bus on which it fires (onValue).", valueName: "yaml"))
    var onValue: String?

    @Option(help: ArgumentHelp("The condition under which it fires (when).", valueName: "expression"))
    var when: String?

    @Option(help: ArgumentHelp("The value that it puts on the bus (emitValue).", valueName: "yaml"))
    var emitValue: String?

    @Option(help: ArgumentHelp("The event that it emits (emitEvent).", valueName: "yaml"))
    var emitEvent: String?

    @Option(
        help: ArgumentHelp(
            "The input that it sets (setInput): its name, for the value of the bus, or '{ name: value }'.",
            valueName: "yaml"))
    var setInput: String?

    @Option(
        help: ArgumentHelp(
            "How often it may fire as part of a loop (loop.limit), such as '10 per 1s'.", valueName: "limit"))
    var loop: String?

    @Option(
        help: ArgumentHelp(
            "The most links that a value may cross before it comes back, this one included (loop.hops); needs --loop.",
            valueName: "count"))
    var hops: Int?

    @OptionGroup var change: ChangeOptions

    @OptionGroup var options: CommandOptions

    var patience: Double { ReloadVerb.patience }

    /// The options that stand for keys, with these and their values.
    private var pairs: [(option: String, key: String, value: String?)] {
        [
            ("--system", "attach", system), ("--to", "to", to), ("--from", "from", from),
            ("--to-system", "toSystem", toSystem),
            ("--on-state", "onState", onState), ("--on", "on", on), ("--on-value", "onValue", onValue),
            ("--when", "when", when.map(expression)), ("--emit-value", "emitValue", emitValue),
            ("--emit-event", "emitEvent", emitEvent), ("--set-input", "setInput", setInput),
            ("--loop", "loop.limit", loop),
            ("--hops", "loop.hops", hops.map(String.init)),
        ]
    }

    private var settings: [Setting] {
        pairs.compactMap { _, key, value in value.map { Setting(key: key, value: $0) } }
    }

    /// Refuses options that would have the definition say something else than it does.
    private func check(_ definition: String) throws {
        let settings = settings.map { LinkChange.Setting(key: $0.key, value: $0.value) }
        let contradicted = LinkChange.contradictions(of: settings, to: definition)
        guard let pair = pairs.first(where: { contradicted.contains($0.key) }) else { return }
        throw CommandError(
            .usage, "the definition says something else of '\(pair.key)' than \(pair.option)",
            advice: "Leave one of the two out.")
    }

    func perform(in session: Session) async throws -> CommandStatus {
        let link = try linkName(name)
        var text = definition
        if text == ConfigurationCompiler.standardInputPath {
            text = String(decoding: session.environment.readInput(ConfigurationLimits.fileSize + 1), as: UTF8.self)
        }
        if let text { try check(text) }
        do {
            let parameters = AttachParameters(
                link: link, definition: text, settings: settings, persist: change.persist, dryRun: change.dryRun,
                all: change.all)
            let reply = try await change.make(in: session) { try await $0.attach(parameters) }
            return try finish(
                ChangeReport(
                    reply: reply, link: link, done: "attached", isDryRun: change.dryRun),
                in: session)
        } catch ControlError.noSuchLink(let name, let nearest) {
            // Only without a definition is there to be one already.
            throw CommandError(
                .refused,
                "there is no link '\(name)' that was detached" + (nearest.map { "; did you mean '\($0)'?" } ?? ""),
                advice: "A new one needs a definition: mediatorctl attach \(name) '{ attach: SYSTEM, … }'.",
                code: "no-such-link")
        }
    }
}
