import CommonExpression
import Foundation
import MediatorConfiguration

/// Files beside the sources, with what is expected.
enum Snapshots {
    /// With this variable set, tests write what they see instead of comparing it: for a change of messages that is
    /// meant, whose difference is then read before it is committed.
    static let isRewriting = ProcessInfo.processInfo.environment["MEDIATORD_REWRITE_SNAPSHOTS"] != nil

    /// The root of the repository.
    static let repository = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath()
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// What is found in files.
    static func found(_ files: [ConfigurationFile]) -> [Diagnostic] {
        ConfigurationCompiler.compile(files: files, now: Timestamp(rfc3339: "2026-11-21T10:00:00Z")).diagnostics
    }

    /// What is found in files, as it is printed.
    static func printed(_ files: [ConfigurationFile]) -> String {
        found(files).map { $0.rendered() + "\n" }.joined()
    }
}
