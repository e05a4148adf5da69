import ArgumentParser
import MediatorConfiguration

/// Where the kinds of systems of a daemon of one's own are found.
struct KindOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The kinds of systems that a daemon of one's own knows: what it prints with --print-kinds; - for standard "
                + "input.", valueName: "file"), completion: .file())
    var kinds: String?

    /// The kinds.
    func read(in environment: CommandEnvironment) throws(CommandError) -> [SystemKind] {
        guard let path = kinds else { return [] }
        let isInput = path == ConfigurationCompiler.standardInputPath
        let name = isInput ? "standard input" : "'\(path)'"
        let bytes: [UInt8]
        do throws(Diagnostic) {
            bytes =
                isInput
                ? environment.readInput(KindFile.sizeLimit + 1)
                : try KindFile.contents(path)
        } catch {
            throw CommandError(.usage, "no kinds of systems in \(name): \(error.message)")
        }
        do throws(KindFile.Failure) {
            return try KindFile(json: bytes).kinds
        } catch {
            throw CommandError(
                .usage, "no kinds of systems in \(name): \(error)",
                advice: "It is what a daemon of one's own prints with --print-kinds.")
        }
    }
}
