import FeedbackKitTesting
import Synchronization

/// Collects values in order.
final class Log: Sendable {
    private let storage = Mutex<[String]>([])
    var lines: [String] { storage.withLock { $0 } }
    func add(_ line: String) { storage.withLock { $0.append(line) } }
}

/// Returns the messages of the failures that this module reports while `body` runs.
func failures(_ body: () throws -> Void) rethrows -> [String] {
    let collector = FailureCollector()
    try FailureReport.$collector.withValue(collector, operation: body)
    return collector.failures.map(\.message)
}

/// Returns the messages of the failures that this module reports while `body` runs.
nonisolated(nonsending) func failures(
    _ body: nonisolated(nonsending) () async throws -> Void
) async rethrows -> [String] {
    let collector = FailureCollector()
    try await FailureReport.$collector.withValue(collector, operation: body)
    return collector.failures.map(\.message)
}
