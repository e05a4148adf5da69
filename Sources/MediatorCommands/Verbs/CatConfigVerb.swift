import ArgumentParser
import MediatorConfiguration

/// `mediatorctl cat-config`
struct CatConfigVerb: LocalVerb {
    static let configuration = CommandConfiguration(
        commandName: "cat-config",
        abstract: "Show the configuration as its files make it up together.",
        discussion: """
            Shows what the files say with their drop-ins merged in, and behind each value the file and line it comes \
            from. It needs no daemon, and reads what a daemon would read if it started now. Values from the environment \
            and credentials are named, not shown.

            EXAMPLES
              mediatorctl cat-config
              mediatorctl cat-config disk-guard
              mediatorctl cat-config --config Config wiring.yaml
              mediatorctl cat-config --json | jq '.documents[].system'
            """
    )

    @Argument(help: "Systems, buses, links, instances or files; everything when left out.")
    var names: [String] = []

    @Option(
        help: ArgumentHelp(
            "A directory with the configuration, instead of the system's; may be repeated, the first overrides.",
            valueName: "dir"))
    var config: [String] = []

    @Flag(help: "Print JSON, one object on a line, instead of text for people.")
    var json = false

    func perform(in environment: CommandEnvironment) throws -> CommandStatus {
        var configuration = ConfigurationCompiler.merged(
            layers: config.isEmpty ? ConfigurationLayers.system : ConfigurationLayers(config))
        for diagnostic in configuration.diagnostics { environment.writeError(diagnostic.rendered() + "\n") }
        var isWhole = !configuration.diagnostics.contains { $0.severity == .error }
        if !names.isEmpty {
            let known = configuration.names
            let (selection, unknown) = configuration.selecting(names)
            configuration = selection
            for name in unknown {
                isWhole = false
                environment.writeError(
                    "mediatorctl: there is no system, bus, link, instance or file '\(PlainText.cleaned(name))'"
                        + "\(Nearest.hint(name, among: known))\n")
            }
        }
        let renderer = Renderer(form: json ? .json : .text(TextStyle(environment)))
        let report = ConfigurationReport(documents: configuration.documents)
        if json || !configuration.documents.isEmpty { try environment.write(renderer.render(report)) }
        return isWhole ? .success : .refused
    }
}
