import CommonExpression
import Logging
import MediatorConfiguration
import MediatorHost

/// Why something on the network did not come about, in words for people. It names no address, header or content that
/// a configuration may have from a credential.
struct NetworkProblem: Error {
    let message: String

    init(_ message: String) {
        self.message = message
    }
}

/// The time was up.
struct TimeIsUp: Error {}

/// Does something for no longer than a limit, else throws ``TimeIsUp``.
///
/// The body is cancelled then, and it is waited for: what it had begun has ended when this returns.
func within<Result: Sendable>(
    _ limit: Duration, of clock: any Clock<Duration>, _ body: @escaping @Sendable () async throws -> Result
) async throws -> Result {
    try await withThrowingTaskGroup(of: Result?.self) { group in
        group.addTask { try await body() }
        group.addTask {
            try await clock.sleep(for: limit)
            return nil
        }
        defer { group.cancelAll() }
        guard let first = try await group.next(), let result = first else { throw TimeIsUp() }
        return result
    }
}

/// Tells how long ago it was made, by a clock.
func stopwatch(_ clock: some Clock<Duration>) -> @Sendable () -> Duration {
    let start = clock.now
    return { start.duration(to: clock.now) }
}

extension Value {
    /// A length of time.
    init(_ duration: Duration) {
        guard let span = TimeSpan(duration) else {
            preconditionFailure("no clock measures ten thousand years")
        }
        self = .duration(span)
    }

    /// The whole number.
    var whole: Int? {
        if case .int(let number) = self { Int(exactly: number) } else { nil }
    }
}

extension EffectContext {
    /// Reports a failure; one for which the configuration has no rule is logged.
    func reportFailure(of schema: EffectSchema, _ error: String, _ fields: [Value]) {
        let result = RunResult.structure(for: schema, "onFailure", fields)
        guard !report("onFailure", result) else { return }
        logger.warning(
            "\(schema.name) failed, and there is no onFailure for it",
            metadata: .about(.effectFailed, ["error": "\(error)"]))
    }
}
