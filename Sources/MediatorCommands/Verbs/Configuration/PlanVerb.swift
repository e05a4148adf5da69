import ArgumentParser
import Glibc
import MediatorControl

/// `mediatorctl plan`
struct PlanVerb: ControlVerb {
    static let configuration = CommandConfiguration(
        commandName: "plan",
        abstract: "Show the effect of a reload, without a change.",
        discussion: """
            The daemon reads and checks its configuration, or another directory, and compares it with the active \
            one. A system is kept, changed (goes on in its present state), restarted, added or removed; one that is \
            written in Swift is migrated (starts again in its present state) instead of changed. A bus or link is \
            kept, changed, added or removed. The column FEEDBACKS shows which side effects go on, finish, end and \
            begin. Changes of links that are in no file stay in force, and are \
            named. Parts that do not change are listed only with --all.

            EXAMPLES
              mediatorctl plan
              mediatorctl plan Config --all
              mediatorctl plan --json | jq '.steps[] | select(.action == "restart")'

            \(CommandStatus.help(.ofControl, [.success: "a reload would apply the configuration", .refused: "it would be rejected; the reason was printed"]))
            """
    )

    @Argument(
        help: ArgumentHelp(
            "A directory that mediatord may read; by default the directories of the daemon.", valueName: "dir"),
        completion: .directory)
    var directory: String?

    @Flag(help: "Show it for a reload that forgets the changes of links that are in no file.")
    var dropTransient = false

    @Flag(help: "List parts that do not change, too.")
    var all = false

    @OptionGroup var options: CommandOptions

    func perform(in session: Session) async throws -> CommandStatus {
        let reply = try await session.client.plan(
            directory: try directory.map(Self.absolute), dropTransient: dropTransient, all: all)
        try session.show(PlanReport(reply: reply))
        return reply.valid ? .success : .refused
    }

    /// The daemon has another working directory, so the path is absolute.
    private static func absolute(_ path: String) throws -> String {
        guard let resolved = realpath(path, nil) else {
            throw CommandError(.refused, "there is no directory '\(path)'")
        }
        defer { free(resolved) }
        return String(cString: resolved)
    }
}
