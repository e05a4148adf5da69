import ArgumentParser
import MediatorConfiguration
import MediatorControl

/// `mediatorctl cat-config`
struct CatConfigVerb: LocalVerb, ControlVerb {
    static let configuration = CommandConfiguration(
        commandName: "cat-config",
        abstract: "Show the configuration as its files define it together.",
        discussion: """
            Shows the files with their drop-ins merged in, and behind each value its file and line. No daemon is \
            needed: it reads the files that a daemon would read if it started now; with --socket, the directories of \
            that daemon. Values from the environment and credentials are named, not shown. A link or bus that exists \
            once for each instance is shown as it is written. With --running it asks the daemon, and shows the \
            active configuration: the files of the last reload, with the changes of links that are in no file, which \
            come from <control NAME>.

            EXAMPLES
              mediatorctl cat-config
              mediatorctl cat-config disk-guard
              mediatorctl cat-config --config Config wiring.yaml
              mediatorctl cat-config --running
              mediatorctl cat-config --json | jq '.documents[].system'

            \(CommandStatus.help(.ofControl, [
                .refused: "something cannot be read, or has no such name; what can be shown was",
            ]))
            """
    )

    @Argument(help: "Systems, buses, links, instances (one, or all as TEMPLATE@*) or files; everything when left out.")
    var names: [String] = []

    @Option(
        help: ArgumentHelp(
            "A directory with the configuration, instead of the system's; may be repeated, the first overrides.",
            valueName: "dir"), completion: .directory)
    var config: [String] = []

    @Flag(help: "Show what the daemon runs.")
    var running = false

    @OptionGroup var options: CommandOptions

    var isLocal: Bool { !running && (options.socket == nil || options.host != nil || !config.isEmpty) }

    var isJSON: Bool { options.json }

    func validate() throws {
        guard !running || config.isEmpty else { throw ValidationError("--running and --config exclude each other.") }
    }

    func perform(in environment: CommandEnvironment) throws -> CommandStatus {
        try show(
            ConfigurationCompiler.merged(
                layers: config.isEmpty ? ConfigurationLayers.system : ConfigurationLayers(config)), environment)
    }

    func perform(in session: Session) async throws -> CommandStatus {
        guard running else {
            let layers = try await session.configurationLayers()
            return try show(ConfigurationCompiler.merged(layers: layers), session.environment)
        }
        var files: [ConfigurationFile] = []
        for reply in try await session.client.readConfiguration(within: session.limit) {
            guard let path = reply.path else { continue }
            var file = ConfigurationFile(path: path, text: reply.text)
            file.isTransient = reply.transient
            if reply.owner == nil {
                files.append(file)
            } else if let last = files.indices.last {
                // Drop-ins come behind the file that they change.
                files[last].dropIns.append(file)
            }
        }
        return try show(ConfigurationCompiler.merged(files: files), session.environment)
    }

    /// The advice on a name that does not exist, or the reason why there is no output.
    private static func hint(_ name: String, _ configuration: MergedConfiguration) -> String {
        if let file = configuration.maskedFile(of: name), let path = file.paths.first {
            return "; '\(path)' is masked by '\(file.mask)'"
        }
        let known = configuration.names
        // The file of a missing instance may exist, if it makes others.
        let stem = String(name.prefix { $0 != "@" })
        if known.contains(stem) { return "; did you mean '\(stem)'?" }
        // A feedback's `publish` is listed among the links, and written in its system.
        if let system = name.split(separator: "/").first.map(String.init), known.contains(system) {
            return "; what a feedback publishes is written in its system, '\(system)'"
        }
        return Nearest.hint(name, among: known)
    }

    private func show(_ merged: MergedConfiguration, _ environment: CommandEnvironment) throws -> CommandStatus {
        var configuration = merged
        let json = options.json
        if !json {
            for diagnostic in configuration.diagnostics { environment.writeError(diagnostic.rendered() + "\n") }
        }
        var isWhole = !configuration.diagnostics.contains { $0.severity == .error }
        var missing: [String] = []
        if !names.isEmpty {
            let all = configuration
            let (selection, unknown) = configuration.selecting(names)
            configuration = selection
            for name in unknown {
                isWhole = false
                missing.append("there is no system, bus, link, instance or file '\(name)'\(Self.hint(name, all))")
            }
        }
        let renderer = Renderer(form: json ? .json : .text(TextStyle(environment)))
        let report = ConfigurationReport(
            documents: configuration.documents, remarks: configuration.remarks, diagnostics: configuration.diagnostics)
        if json || !configuration.documents.isEmpty { try environment.write(renderer.render(report)) }
        guard !isWhole else { return .success }
        guard !json else {
            throw CommandError(
                .refused, missing.isEmpty ? "the configuration has errors" : missing.joined(separator: "; "),
                code: missing.isEmpty ? "not-valid" : "no-such-name")
        }
        for message in missing { environment.writeError(CommandError(.refused, message).text) }
        return .refused
    }
}
