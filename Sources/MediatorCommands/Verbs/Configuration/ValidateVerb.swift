import ArgumentParser
import CommonExpression
import MediatorConfiguration

/// `mediatorctl validate`
struct ValidateVerb: LocalVerb, ControlVerb {
    /// The format of diagnostics.
    enum Format: String, ExpressibleByArgument, CaseIterable {
        case human, json, sarif
    }

    static let configuration = CommandConfiguration(
        commandName: "validate",
        abstract: "Check a configuration as the daemon does before it starts.",
        discussion: """
            No daemon is needed, and nothing is touched: no command runs, nothing is written, no connection is made. \
            mediatord starts every configuration that validate accepts, given the environment variables and \
            credentials that it references; missing ones are listed. All problems of all files are shown at once, \
            each with its place and a code in brackets. \
            /usr/share/doc/mediatord/Documentation/Reference/Diagnostics.md explains each code with an example.

            Directories in a row are one configuration, in which all files count. With --config they are layers, as \
            those of mediatord --config are: a file of an earlier one overrides the file of that name in a later \
            one. With --socket, validate asks that daemon for its kinds of systems and side effects, unless --kinds \
            has them, and checks its directories, unless some are named.

            With --state, validate also tells which stored states a start with the configuration keeps.

            EXAMPLES
              mediatorctl validate
              mediatorctl validate Config --deny-warnings
              mediatorctl validate uplink.yaml wiring.yaml --format json
              mediatorctl validate --config /etc/mediatord --config Config
              generate-configuration | mediatorctl validate - --quiet
              mediatorctl store export | mediatorctl validate Config --state -
              own-daemon --print-kinds | mediatorctl validate Config --kinds -

            \(CommandStatus.help(.ofControl, [
                .success: "valid", .refused: "not valid; with --deny-warnings also if there is a warning",
            ]))
            """
    )

    @Argument(
        help: ArgumentHelp(
            "Directories, files, and - for standard input; none: what mediatord reads.", valueName: "path"),
        completion: .file())
    var paths: [String] = []

    @Option(
        help: ArgumentHelp(
            "A directory with the configuration, instead of the system's; may be repeated, the first overrides.",
            valueName: "dir"), completion: .directory)
    var config: [String] = []

    @Option(help: "The format of diagnostics: human, json (one object) or sarif (2.1.0, for code hosting).")
    var format: Format?

    @Option(
        help: ArgumentHelp(
            "Stored states to check, as `mediatorctl store export` prints them; - for standard input.",
            valueName: "file"), completion: .file())
    var state: String?

    @OptionGroup var kinds: KindOptions

    @Flag(help: "Treat warnings, and stored states that are lost, as errors.")
    var denyWarnings = false

    @Flag(help: "Print diagnostics only, without the summary.")
    var quiet = false

    @OptionGroup var options: CommandOptions

    /// The same as `--format json`.
    private var json: Bool { options.json }

    var isJSON: Bool { json || format == .json }

    var isLocal: Bool {
        options.socket == nil || (!kinds.areAsked(options) && !(config.isEmpty && paths.isEmpty))
    }

    func validate() throws {
        guard options.host == nil else {
            throw ValidationError("Files of this machine are checked; on another one, run mediatorctl validate there.")
        }
        guard !json || format == nil || format == .json else {
            throw ValidationError("--json and --format exclude each other.")
        }
        guard config.isEmpty || paths.isEmpty else {
            throw ValidationError("--config and paths exclude each other: a path is all of a configuration, or a part.")
        }
        guard kinds.kinds != ConfigurationCompiler.standardInputPath || !paths.contains(kinds.kinds ?? "") else {
            throw ValidationError("Standard input cannot be both the kinds and the configuration.")
        }
        guard state == nil || format != .sarif else {
            throw ValidationError("--state needs the format human or json: a stored state has no place in a file.")
        }
        let input = ConfigurationCompiler.standardInputPath
        guard state != input || (!paths.contains(input) && kinds.kinds != input) else {
            throw ValidationError("Standard input can be only one of the states, the kinds and the configuration.")
        }
    }

    func perform(in environment: CommandEnvironment) throws -> CommandStatus {
        try check(written, try kinds.read(in: environment), in: environment)
    }

    func perform(in session: Session) async throws -> CommandStatus {
        let known = try await kinds.read(in: session)
        let layers = config.isEmpty && paths.isEmpty ? try await session.configurationLayers() : written
        return try check(layers, known, in: session.environment)
    }

    /// The layers that --config names.
    private var written: ConfigurationLayers? { config.isEmpty ? nil : ConfigurationLayers(config) }

    /// - Parameters:
    ///   - layers: the thing to check; nil for the paths.
    ///   - known: what the daemon knows for which it is written.
    private func check(
        _ layers: ConfigurationLayers?, _ known: KindFile, in environment: CommandEnvironment
    ) throws -> CommandStatus {
        var values = ExternalValues.process()
        values.mayBeMissing = true
        let now = CommonExpression.Timestamp(seconds: environment.now(), nanoseconds: 0)
        let result =
            layers.map {
                ConfigurationCompiler.compile(
                    layers: $0, effects: known.allEffects, kinds: known.kinds, values: values, now: now)
            }
            ?? ConfigurationCompiler.compile(
                paths: paths, standardInput: { environment.readInput(ConfigurationLimits.fileSize + 1) },
                effects: known.allEffects, kinds: known.kinds, values: values, now: now)
        var states: StateCheck?
        if let state, let graph = result.graph {
            states = try StateCheck(try environment.readStates(state), for: graph)
        }
        let named = (layers?.directories ?? []) + paths
        let check = Check(
            paths: named.isEmpty ? ConfigurationLayers.system.directories : named, result: result,
            deniesWarnings: denyWarnings, states: states)
        switch json ? .json : format ?? .human {
        case .human:
            let text = check.human(
                colour: environment.wantsColor, isQuiet: quiet, isJournal: environment.isJournal)
            try environment.write(text)
        case .json: try environment.write("\(check.json)\n")
        case .sarif: try environment.write("\(check.sarif)\n")
        }
        // The process ends now. Taking a large configuration apart first would take a fifth of the whole time.
        _ = Unmanaged.passRetained(Kept(check))
        return check.isValid ? .success : .refused
    }

    private final class Kept {
        let check: Check

        init(_ check: Check) { self.check = check }
    }
}
