import ArgumentParser
import StrictJSON
import Varlink

/// The description of the command line, as ArgumentParser writes it ("dump help", version 0).
struct CommandLineInfo: Sendable {
    /// An argument of a verb.
    struct Argument: Sendable {
        enum Kind: String, Sendable {
            case positional, option, flag
        }

        /// The kind of words to propose, if the name does not decide it.
        enum Completion: Sendable, Equatable {
            case nothing, files, directories
        }

        let kind: Kind
        /// `--long` and `-s`.
        let names: [String]
        let valueName: String
        let abstract: String
        let isRepeating: Bool
        let values: [String]
        let completion: Completion
    }

    /// A verb.
    struct Verb: Sendable {
        let name: String
        let abstract: String
        let arguments: [Argument]
        let isShown: Bool
    }

    /// The verbs, in their order.
    let verbs: [Verb]

    /// The command line of mediatorctl.
    static func current() throws -> CommandLineInfo {
        CommandLineInfo(try JSONValue(parsing: RootCommand._dumpHelp()))
    }

    private init(_ json: JSONValue) {
        let command = json.objectValue?["command"]?.objectValue ?? [:]
        verbs = (command["subcommands"]?.arrayValue ?? []).compactMap { entry in
            guard let object = entry.objectValue, let name = object["commandName"]?.stringValue else { return nil }
            return Verb(
                name: name, abstract: object["abstract"]?.stringValue ?? "",
                arguments: (object["arguments"]?.arrayValue ?? []).compactMap(Self.argument),
                isShown: object["shouldDisplay"]?.boolValue ?? true)
        }
    }

    private static func argument(_ json: JSONValue) -> Argument? {
        guard let object = json.objectValue, object["shouldDisplay"]?.boolValue != false,
            let kind = object["kind"]?.stringValue.flatMap(Argument.Kind.init)
        else { return nil }
        let names = (object["names"]?.arrayValue ?? []).compactMap { entry -> String? in
            guard let name = entry.objectValue?["name"]?.stringValue else { return nil }
            return (entry.objectValue?["kind"]?.stringValue == "short" ? "-" : "--") + name
        }
        let completion = object["completionKind"]?.objectValue ?? [:]
        let listed = completion["list"]?.objectValue?["values"]?.arrayValue
        return Argument(
            kind: kind, names: names, valueName: object["valueName"]?.stringValue ?? "",
            abstract: object["abstract"]?.stringValue ?? "", isRepeating: object["isRepeating"]?.boolValue ?? false,
            values: (object["allValues"]?.arrayValue ?? object["allValueStrings"]?.arrayValue ?? listed ?? [])
                .compactMap(\.stringValue),
            completion: completion["file"] != nil ? .files : completion["directory"] != nil ? .directories : .nothing)
    }
}
