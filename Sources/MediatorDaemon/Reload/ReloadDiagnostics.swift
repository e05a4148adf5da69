import MediatorConfiguration
import MediatorControl
import MediatorHost

extension Reloader {
    /// The limit on diagnostics in a reply.
    static let diagnosticLimit = 200

    /// The reason to reject a configuration without errors: all files of the active one have gone. That happens when a
    /// file system is not mounted, and nobody stops everything in this way on purpose.
    func refusal(of candidate: Candidate, insteadOf running: ConfigurationSources) -> String? {
        guard candidate.result.errors == 0, candidate.sources.contents.files.isEmpty, !running.contents.files.isEmpty
        else {
            return nil
        }
        return "there is no configuration file in '\(daemon.configuration)' any longer; to stop every system, stop the "
            + "daemon"
    }

    /// The reason why a configuration with these diagnostics was rejected.
    static func rejection(_ diagnostics: [Diagnostic]) -> String {
        let errors = diagnostics.count { $0.severity == .error }
        guard errors == 0 else { return "\(count(errors, "error")) in the configuration" }
        return "\(count(diagnostics.count, "warning")) in the configuration, and warnings are denied"
    }

    static func count(_ number: Int, _ word: String) -> String { "\(number) \(word)\(number == 1 ? "" : "s")" }

    /// The first diagnostics, in the words of the control interface.
    static func diagnostics(_ diagnostics: [Diagnostic]) -> [ReportedDiagnostic] {
        diagnostics.sorted().prefix(diagnosticLimit).map { ReportedDiagnostic($0) }
    }
}

extension InitialStateError {
    /// The errors, each with its place.
    var diagnostics: [Diagnostic] {
        all.map { Diagnostic(code: .initialState, location: $0.source, message: $0.description) }
    }
}
