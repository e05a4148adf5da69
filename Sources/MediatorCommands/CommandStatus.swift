/// How `mediatorctl` ends. The numbers are part of its interface.
public enum CommandStatus: Int32, Sendable, CaseIterable {
    /// Done; for `status` also: all is well.
    case success = 0
    /// The daemon, or the check of the arguments against what it told, said no; or a configuration is not valid.
    case refused = 1
    /// The command line is wrong.
    case usage = 2
    /// Applied, but a new system was not ready in time.
    case appliedLate = 3
    /// The daemon does not allow it.
    case permissionDenied = 4
    /// Only of `status`: something is starting, degraded or failed.
    case unhealthy = 5
    /// The daemon cannot be reached, does not answer, or went away: EX_UNAVAILABLE of sysexits.h.
    case noConnection = 69

    /// What the number means, for `--help`.
    public var meaning: String {
        switch self {
        case .success: "done; for status: everything is healthy or stopped on purpose"
        case .refused: "refused, nothing has changed: unknown name, wrong value, not valid"
        case .usage: "wrong command line"
        case .appliedLate: "applied, but a system was not ready in time"
        case .noConnection: "no daemon, no answer, or it went away"
        case .permissionDenied: "the daemon does not allow it"
        case .unhealthy: "status only: something is starting, degraded or failed"
        }
    }

    /// All numbers with their meanings, a line each.
    static var table: String {
        allCases.map { "\($0.rawValue < 10 ? " " : "")  \($0.rawValue)  \($0.meaning)" }.joined(separator: "\n")
    }
}
