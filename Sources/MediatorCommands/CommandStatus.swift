/// The exit codes of `mediatorctl`. They are part of its interface.
public enum CommandStatus: Int32, Sendable, CaseIterable {
    /// Done; for `status` also: all is well.
    case success = 0
    /// The daemon rejected the call, the arguments do not fit the daemon's definitions, or a configuration is not
    /// valid.
    case refused = 1
    /// The command line is wrong.
    case usage = 2
    /// Applied, but a new system did not become healthy in time: it is not ready, or failed.
    case appliedLate = 3
    /// The daemon does not allow it.
    case permissionDenied = 4
    /// Only of `status`: something is starting, degraded or failed, or the daemon is about to stop.
    case unhealthy = 5
    /// The awaited state or event did not come in time.
    case notReached = 6
    /// The daemon cannot be reached, does not answer, or went away: EX_UNAVAILABLE of sysexits.h.
    case noConnection = 69
    /// The answer could not be written: EX_IOERR of sysexits.h.
    case notWritten = 74

    /// The meaning of the code, for `--help`.
    public var meaning: String {
        switch self {
        case .success: "done; for status: everything is healthy or stopped on purpose"
        case .refused: "rejected, nothing has changed: unknown name, wrong value, not valid"
        case .usage: "wrong command line"
        case .appliedLate: "applied, but a new system did not become healthy in time"
        case .noConnection: "no daemon, no answer, or the daemon has gone or is stopping"
        case .notWritten: "the output could not be written, for example to a full disk"
        case .permissionDenied: "permission denied"
        case .unhealthy: "status only: something is starting, degraded, failed or stopping"
        case .notReached: "sent, but the system did not enter the awaited state in time"
        }
    }

    /// The meaning of the code in a word, for programs.
    var word: String {
        switch self {
        case .success: "success"
        case .refused: "refused"
        case .usage: "usage"
        case .appliedLate: "late"
        case .permissionDenied: "permission-denied"
        case .unhealthy: "unhealthy"
        case .notReached: "not-reached"
        case .noConnection: "no-connection"
        case .notWritten: "not-written"
        }
    }

    /// All numbers with their meanings, a line each.
    static var table: String { table(allCases) }

    /// The exit codes of a verb in `--help`.
    ///
    /// - Parameters:
    ///   - statuses: The exit codes, in any order.
    ///   - meanings: The special meanings of some codes.
    static func help(_ statuses: [CommandStatus], _ meanings: [CommandStatus: String] = [:]) -> String {
        let meanings = [.success: "done"].merging(meanings) { $1 }
        return "EXIT STATUS\n" + table(statuses.sorted { $0.rawValue < $1.rawValue }, meanings)
    }

    private static func table(_ statuses: [CommandStatus], _ meanings: [CommandStatus: String] = [:]) -> String {
        statuses.map { status in
            let number = "\(status.rawValue < 10 ? " " : "")  \(status.rawValue)"
            return "\(number)  \(meanings[status] ?? status.meaning)"
        }.joined(separator: "\n")
    }
}

extension [CommandStatus] {
    /// The exit codes of every verb that calls the daemon.
    static let ofControl: Self = [.success, .refused, .usage, .permissionDenied, .noConnection, .notWritten]
    /// The exit codes of every verb that needs no daemon.
    static let ofLocal: Self = [.success, .refused, .usage, .notWritten]
}
