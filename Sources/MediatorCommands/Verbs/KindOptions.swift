import ArgumentParser
import MediatorConfiguration

/// Where the kinds of systems and side effects of a daemon of one's own are found.
struct KindOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "What a daemon of one's own knows, kinds of systems and side effects: what it prints with --print-kinds; - "
                + "for standard input.", valueName: "file"), completion: .file())
    var kinds: String?

    /// What it knows.
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
            throw CommandError(.usage, "\(name) does not tell what a daemon knows: \(error.message)")
        }
        do throws(KindFile.Failure) {
            return try KindFile(json: bytes)
        } catch {
            throw CommandError(
                .usage, "\(name) does not tell what a daemon knows: \(error)",
                advice: "It is what a daemon of one's own prints with --print-kinds.")
        }
    }
}
