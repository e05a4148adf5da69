import CommonExpression
import Logging
import MediatorConfiguration
import MediatorHost

/// The reason why a network operation failed, as text for people. It contains no address, header or content, because a
/// configuration may take those from a credential.
struct NetworkProblem: Error {
    let message: String

    init(_ message: String) {
        self.message = message
    }
}

/// The time limit has passed.
struct TimeIsUp: Error {}

/// Runs a function with a time limit. Throws ``TimeIsUp`` if the limit passes.
///
/// The function is then cancelled and waited for, so that everything that it began has ended when this returns.
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

/// Returns a function that measures the time since this call, by a clock.
func stopwatch(_ clock: some Clock<Duration>) -> @Sendable () -> Duration {
    let start = clock.now
    return { start.duration(to: clock.now) }
}

extension Value {
    /// Converts a length of time.
    init(_ duration: Duration) {
        guard let span = TimeSpan(duration) else {
            preconditionFailure("no clock measures ten thousand years")
        }
        self = .duration(span)
    }

    /// The integer; nil for another value.
    var whole: Int? {
        if case .int(let number) = self { Int(exactly: number) } else { nil }
    }
}

extension EffectContext {
    /// Reports a failure. A failure without a rule in the configuration is logged.
    func reportFailure(of schema: EffectSchema, _ error: String, _ fields: [Value]) {
        let result = RunResult.structure(for: schema, "onFailure", fields)
        guard !report("onFailure", result) else { return }
        warn(
            "\(schema.name) failed and no onFailure handles it",
            metadata: .about(.effectFailed, ["error": "\(error)"]))
    }
}
