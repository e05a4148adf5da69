import ArgumentParser
import MediatorControl
import StrictJSON
import Varlink

/// The options of what changes a link.
struct ChangeOptions: ParsableArguments {
    @Flag(help: "Write the change into a file of the configuration, so that it survives the daemon.")
    var persist = false

    @Flag(help: "Only show the effect; with --persist also the file that would be written.")
    var dryRun = false

    @Flag(help: "List parts that do not change, too.")
    var all = false

    /// Makes the change, or only has it shown.
    func make(
        in session: Session, _ body: @Sendable (ControlClient) async throws -> ChangeReply
    ) async throws -> ChangeReply {
        dryRun ? try await body(session.client) : try await session.act(body)
    }

    /// The meaning of an exit code, for `--help`.
    static let applied = "applied, or nothing to do; with --dry-run: nothing is wrong with it"
    /// The meaning of an exit code, for `--help`.
    static let rejected = "rejected, and nothing changed; what is wrong was printed"
}

extension ControlVerb {
    /// Shows the result of a change.
    func finish(_ change: ChangeReport, in session: Session) throws -> CommandStatus {
        try session.show(change)
        guard change.isDryRun || change.reply.applied else { return .refused }
        guard change.reply.valid else { return .refused }
        return change.reply.late.isEmpty ? .success : .appliedLate
    }
}

/// An expression as a value in YAML: it is text, whatever it looks like, and JSON's text is YAML's.
func expression(_ text: String) -> String { text.isEmpty ? "" : JSONValue.string(text).description }

/// A name of a link, also as `link:NAME`.
func linkName(_ text: String) throws -> String {
    let target = Target(text)
    guard target.kind == nil || target.kind == .link else {
        throw CommandError(.usage, "only a link can be changed so")
    }
    return target.name
}
