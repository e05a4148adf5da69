import CommonExpression
import Foundation
import MediatorConfiguration

/// The files beside the sources with the expected output.
enum Snapshots {
    /// With this variable set, tests write their output instead of comparing it. Use it after an intended change of
    /// messages, and read the difference before you commit it.
    static let isRewriting = ProcessInfo.processInfo.environment["MEDIATORD_REWRITE_SNAPSHOTS"] != nil

    /// The root of the repository.
    static let repository = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath()
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// The diagnostics of files.
    static func found(_ files: [ConfigurationFile]) -> [Diagnostic] {
        ConfigurationCompiler.compile(files: files, now: Timestamp(rfc3339: "2026-11-21T10:00:00Z")).diagnostics
    }

    /// The diagnostics of files, as they are printed.
    static func printed(_ files: [ConfigurationFile]) -> String {
        found(files).map { $0.rendered() + "\n" }.joined()
    }
}
