import ArgumentParser
import MediatorConfiguration

/// `mediatorctl schema`
struct SchemaVerb: LocalVerb, ControlVerb {
    static let configuration = CommandConfiguration(
        commandName: "schema",
        abstract: "Print a JSON Schema of the configuration, for editors.",
        discussion: """
            Draft 2020-12, for each YAML document of a file. It covers keys, shapes and words; `mediatorctl \
            validate` checks names, types and expressions.

            A drop-in has only the parts that change, and null removes a part, so it has a schema of its own.

            EXAMPLES
              mediatorctl schema > mediatord.schema.json
              mediatorctl schema --drop-in > mediatord-drop-in.schema.json
              own-daemon --print-kinds | mediatorctl schema --kinds - > own.schema.json
              mediatorctl schema --socket /run/mediatord/io.mediatord.Control > here.json

            \(CommandStatus.help(.ofControl))
            """
    )

    @Flag(help: "Print the schema of drop-ins instead.")
    var dropIn = false

    @OptionGroup var kinds: KindOptions

    @OptionGroup var options: CommandOptions

    var isLocal: Bool { !kinds.areAsked(options) && options.host == nil }

    var isJSON: Bool { options.json }

    func validate() throws {
        guard kinds.kinds == nil || options.host == nil else {
            throw ValidationError("--kinds and --host exclude each other.")
        }
    }

    func perform(in environment: CommandEnvironment) throws -> CommandStatus {
        try write(try kinds.read(in: environment), environment)
    }

    func perform(in session: Session) async throws -> CommandStatus {
        try write(try await kinds.read(in: session), session.environment)
    }

    private func write(_ known: KindFile, _ environment: CommandEnvironment) throws -> CommandStatus {
        try environment.write(
            ConfigurationSchema(effects: known.allEffects, kinds: known.kinds, isDropIn: dropIn).text)
        return .success
    }
}
