import ArgumentParser
import CommonExpression
import MediatorConfiguration
import MediatorControl

/// `mediatorctl graph`
struct GraphVerb: LocalVerb, ControlVerb {
    /// The format of a graph.
    enum Format: String, ExpressibleByArgument, CaseIterable {
        case text, dot, mermaid, svg, json
    }

    static let configuration = CommandConfiguration(
        commandName: "graph",
        abstract: "Draw systems, buses and the links between them.",
        discussion: """
            Draws a tree of text, a graph for Graphviz (dot) or Mermaid, a picture (svg), or JSON. It asks the \
            daemon; with --config it draws the configuration on disk, without a daemon. Links that are part of a \
            circle are marked as a loop. --live adds states, values, the number of times that each link has fired, \
            and whether it is held back.

            EXAMPLES
              mediatorctl graph
              mediatorctl graph --live
              mediatorctl graph --around alarms --depth 2
              mediatorctl graph --system uplink --format svg > uplink.svg
              mediatorctl graph --config Config --format mermaid
              mediatorctl graph --format dot | dot -Tpdf > graph.pdf

            \(CommandStatus.help(.ofControl, [
                .refused: "unknown name, too large for a picture, or the configuration is not valid",
            ]))
            """
    )

    @Option(help: "The format: text, dot, mermaid, svg or json.")
    var format: Format?

    @Flag(help: "Include the present states, values, counters and open links.")
    var live = false

    @Option(
        help: ArgumentHelp(
            "Draw only this system or bus, with all parts that lead to it or from it.", valueName: "name"))
    var system: String?

    @Option(help: ArgumentHelp("Draw only the parts near this system or bus.", valueName: "name"))
    var around: String?

    @Option(help: ArgumentHelp("With --around: the distance in links (default: 1).", valueName: "number"))
    var depth: Int?

    @Option(
        help: ArgumentHelp(
            "A directory with a configuration to draw; may be repeated, the first overrides.",
            valueName: "dir"), completion: .directory)
    var config: [String] = []

    @OptionGroup var kinds: KindOptions

    @OptionGroup var options: CommandOptions

    var isLocal: Bool { !config.isEmpty && !kinds.areAsked(options) }

    var isJSON: Bool { options.json || format == .json }

    func validate() throws {
        guard !options.json || format == nil || format == .json else {
            throw ValidationError("--json and --format exclude each other.")
        }
        guard !live || config.isEmpty else {
            throw ValidationError("--live and --config exclude each other: what is written has no state.")
        }
        guard system == nil || around == nil else { throw ValidationError("--system and --around exclude each other.") }
        guard depth == nil || around != nil else { throw ValidationError("--depth is for --around NAME.") }
        if let depth, depth < 0 { throw ValidationError("--depth wants a number from 0.") }
        guard options.host == nil || config.isEmpty else {
            throw ValidationError("--config is for files of this machine; on another one, run mediatorctl graph there.")
        }
        guard kinds.kinds == nil || !config.isEmpty else { throw ValidationError("--kinds is for --config DIR.") }
    }

    func perform(in environment: CommandEnvironment) throws -> CommandStatus {
        try drawWritten(try kinds.read(in: environment), environment)
    }

    private func drawWritten(_ known: KindFile, _ environment: CommandEnvironment) throws -> CommandStatus {
        var values = ExternalValues.process()
        values.mayBeMissing = true
        let now = CommonExpression.Timestamp(seconds: environment.now(), nanoseconds: 0)
        let result = ConfigurationCompiler.compile(
            layers: ConfigurationLayers(config), effects: known.allEffects, kinds: known.kinds, values: values, now: now
        )
        guard let graph = result.graph else {
            if !isJSON {
                for diagnostic in result.diagnostics where diagnostic.severity == .error {
                    environment.writeError(diagnostic.rendered() + "\n")
                }
            }
            throw CommandError(
                .refused, "an invalid configuration cannot be drawn",
                advice: "See `mediatorctl validate --config \(config.joined(separator: " --config "))`.",
                code: "not-valid")
        }
        try draw(PartGraph(graph), environment)
        return .success
    }

    func perform(in session: Session) async throws -> CommandStatus {
        guard config.isEmpty else { return try drawWritten(try await kinds.read(in: session), session.environment) }
        let client = session.client
        async let systems = client.listSystems()
        async let buses = client.listBuses()
        async let links = client.listLinks()
        let graph = PartGraph(
            systems: try await systems, buses: try await buses, links: try await links, isLive: live)
        try draw(graph, session.environment)
        return .success
    }

    private func draw(_ graph: PartGraph, _ environment: CommandEnvironment) throws {
        let graph = try narrowed(graph)
        let style = TextStyle(environment)
        switch isJSON ? .json : format ?? .text {
        case .text: try environment.write(GraphTree(graph: graph).text(style))
        case .dot: try environment.write(DotText.text(graph, style))
        case .mermaid: try environment.write(MermaidText.text(graph, style))
        case .json: try environment.write(try Renderer(form: .json).render(GraphTree(graph: graph)))
        case .svg:
            guard let picture = SVGText.text(graph, style) else {
                throw CommandError(
                    .refused, "this is too large for a picture that anybody could read",
                    advice: "Narrow it with --system NAME or --around NAME, or take --format dot.")
            }
            try environment.write(picture)
        }
    }

    private func narrowed(_ graph: PartGraph) throws -> PartGraph {
        guard let text = system ?? around else { return graph }
        let target = Target(text)
        guard target.kind != .link else {
            throw CommandError(.usage, "a link does not fit here; a system or bus is wanted")
        }
        let found = graph.parts.indices.filter { index in
            let part = graph.parts[index]
            return part.name == target.name && (target.kind == nil || target.kind?.rawValue == part.kind.rawValue)
        }
        guard let index = found.first else {
            let hint = Nearest.hint(target.name, among: graph.parts.map(\.name))
            throw CommandError(
                .refused, "there is no system or bus '\(target.name)'\(hint)",
                advice: "All names: `mediatorctl graph`.",
                code: "no-such-name")
        }
        guard found.count == 1 else {
            throw CommandError(
                .usage, "'\(target.name)' is the name of several things",
                advice: "Say which: system:\(target.name) or bus:\(target.name).")
        }
        return graph.narrowed(to: system == nil ? .around(index, depth: depth ?? 1) : .flow(index))
    }
}
