import ArgumentParser
import MediatorConfiguration
import MediatorControl
import StrictJSON
import Varlink

/// The source of the kinds and side effects of a daemon of one's own.
struct KindOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "What a daemon of one's own knows, kinds of systems and side effects: what it prints with --print-kinds; - "
                + "for standard input. With --socket the daemon there is asked.", valueName: "file"),
        completion: .file())
    var kinds: String?

    /// Whether the daemon is asked: its socket is named, and no file.
    func areAsked(_ options: CommandOptions) -> Bool { kinds == nil && options.socket != nil }

    /// The kinds of the daemon of a session, or of the one that wrote the file.
    func read(in session: Session) async throws -> KindFile {
        guard kinds == nil else { return try read(in: session.environment) }
        let document: JSONValue
        do {
            document = try await session.client.kinds()
        } catch ServiceError.methodNotFound {
            session.note("the mediatord there is older and does not tell which kinds it knows; name them with --kinds")
            return KindFile([])
        }
        do throws(KindFile.Failure) {
            return try KindFile(json: Array(document.description.utf8))
        } catch {
            throw CommandError(
                .refused, "the description of kinds from mediatord cannot be used: \(error)")
        }
    }

    /// The kinds.
    func read(in environment: CommandEnvironment) throws(CommandError) -> KindFile {
        guard let path = kinds else { return KindFile([]) }
        let isInput = path == ConfigurationCompiler.standardInputPath
        let name = isInput ? "standard input" : "'\(path)'"
        let bytes: [UInt8]
        do throws(Diagnostic) {
            bytes =
                isInput
                ? environment.readInput(KindFile.sizeLimit + 1)
                : try KindFile.contents(path)
        } catch {
            throw CommandError(.usage, "\(name) does not describe the kinds of a daemon: \(error.message)")
        }
        do throws(KindFile.Failure) {
            return try KindFile(json: bytes)
        } catch {
            throw CommandError(
                .usage, "\(name) does not describe the kinds of a daemon: \(error)",
                advice: "It is what a daemon of one's own prints with --print-kinds.")
        }
    }
}
