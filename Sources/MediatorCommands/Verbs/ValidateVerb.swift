import ArgumentParser
import CommonExpression
import MediatorConfiguration

/// `mediatorctl validate`
struct ValidateVerb: LocalVerb {
    /// How findings are printed.
    enum Format: String, ExpressibleByArgument, CaseIterable {
        case human, json, sarif
    }

    static let configuration = CommandConfiguration(
        commandName: "validate",
        abstract: "Check a configuration as the daemon does before it starts.",
        discussion: """
            Needs no daemon, and touches nothing: no command runs, nothing is written, no connection is made. What it \
            accepts, mediatord starts, given the environment variables and credentials that it names; those that are \
            not to be had here are listed. Every problem of every file is shown at once, with its place.

            EXAMPLES
              mediatorctl validate
              mediatorctl validate Config --deny-warnings
              mediatorctl validate uplink.yaml wiring.yaml --format json
              generate-configuration | mediatorctl validate - --quiet
              own-daemon --print-kinds | mediatorctl validate Config --kinds -

            EXIT STATUS
              0  valid
              1  not valid; with --deny-warnings also if there is a warning
              2  wrong command line
            """
    )

    @Argument(
        help: ArgumentHelp(
            "Directories, files, and - for standard input; none: what mediatord reads.", valueName: "path"))
    var paths: [String] = []

    @Option(help: "How to print findings: human, json (one object) or sarif (2.1.0, for code hosting).")
    var format: Format?

    @Flag(help: "The same as --format json.")
    var json = false

    @OptionGroup var kinds: KindOptions

    @Flag(help: "Take warnings for errors.")
    var denyWarnings = false

    @Flag(help: "Print findings only, without the summary.")
    var quiet = false

    func validate() throws {
        guard !json || format == nil || format == .json else {
            throw ValidationError("--json and --format exclude each other.")
        }
        guard kinds.kinds != ConfigurationCompiler.standardInputPath || !paths.contains(kinds.kinds ?? "") else {
            throw ValidationError("Standard input cannot be both the kinds and the configuration.")
        }
    }

    func perform(in environment: CommandEnvironment) throws -> CommandStatus {
        var values = ExternalValues.process()
        values.mayBeMissing = true
        let result = ConfigurationCompiler.compile(
            paths: paths, standardInput: { environment.readInput(ConfigurationLimits.fileSize + 1) },
            kinds: try kinds.read(in: environment), values: values,
            now: CommonExpression.Timestamp(seconds: environment.now(), nanoseconds: 0))
        let check = Check(
            paths: paths.isEmpty ? ConfigurationLayers.system.directories : paths, result: result,
            deniesWarnings: denyWarnings)
        switch json ? .json : format ?? .human {
        case .human: try environment.write(check.human(colour: environment.wantsColor, isQuiet: quiet))
        case .json: try environment.write("\(check.json)\n")
        case .sarif: try environment.write("\(check.sarif)\n")
        }
        return check.isValid ? .success : .refused
    }
}
