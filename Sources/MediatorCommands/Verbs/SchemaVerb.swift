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

            EXAMPLES
              mediatorctl schema > mediatord.schema.json
              own-daemon --print-kinds | mediatorctl schema --kinds - > own-daemon.schema.json

            \(CommandStatus.help(.ofLocal))
            """
    )

    @OptionGroup var kinds: KindOptions

    var isJSON: Bool { false }

    func perform(in environment: CommandEnvironment) throws -> CommandStatus {
        try environment.write(ConfigurationSchema(kinds: try kinds.read(in: environment)).text)
        return .success
    }
}
