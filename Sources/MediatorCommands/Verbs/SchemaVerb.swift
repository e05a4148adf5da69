import ArgumentParser
import MediatorConfiguration

/// `mediatorctl schema`
struct SchemaVerb: LocalVerb {
    static let configuration = CommandConfiguration(
        commandName: "schema",
        abstract: "Print a JSON Schema of the configuration, for editors.",
        discussion: """
            Draft 2020-12, for each YAML document of a file. It knows keys, shapes and words; names, types and \
            expressions are checked by `mediatorctl validate`.

            A drop-in says only what changes, and null removes what is there, so it has a schema of its own.

            EXAMPLES
              mediatorctl schema > mediatord.schema.json
              mediatorctl schema --drop-in > mediatord-drop-in.schema.json
              own-daemon --print-kinds | mediatorctl schema --kinds - > own-daemon.schema.json

            \(CommandStatus.help(.ofLocal))
            """
    )

    @Flag(help: "Print the schema of drop-ins instead.")
    var dropIn = false

    @OptionGroup var kinds: KindOptions

    var isJSON: Bool { false }

    func perform(in environment: CommandEnvironment) throws -> CommandStatus {
        let known = try kinds.read(in: environment)
        try environment.write(
            ConfigurationSchema(effects: known.allEffects, kinds: known.kinds, isDropIn: dropIn).text)
        return .success
    }
}
