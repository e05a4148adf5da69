/// A rule for the retries of a side effect that fails: their number, and the pauses before them.
public struct RetryPolicy: Sendable {
    /// The maximum number of retries after the first failure, at least 0.
    public let limit: Int
    private let pause: @Sendable (Int) -> Duration

    /// Creates a policy with at most `limit` retries.
    ///
    /// - Parameter delay: A function that returns the pause before the retry of the given number, which counts from 1.
    ///   The loop's clock measures the pause.
    /// - Parameter limit: The maximum number of retries, at least 0.
    public init(limit: Int, delay: @escaping @Sendable (_ retry: Int) -> Duration) {
        precondition(limit >= 0, "a side effect cannot be tried again \(limit) times")
        self.limit = limit
        pause = delay
    }

    /// Returns a policy whose first pause is `first`. Each later pause is `factor` times as long as the one before, up
    /// to `cap`.
    ///
    /// The pauses have no random part, so a run can be reproduced. If many clients would retry at the same moment, give
    /// each client its own `first`.
    ///
    /// - Precondition: `factor` is at least 1.
    public static func exponential(
        first: Duration, factor: Double = 2, cap: Duration = .seconds(60), limit: Int = .max
    ) -> RetryPolicy {
        precondition(factor >= 1, "a pause must not become shorter: the factor \(factor) is below 1")
        return RetryPolicy(limit: limit) { retry in
            var pause = first
            var left = factor > 1 ? retry - 1 : 0
            while left > 0, pause < cap {
                // A multiplication beyond the cap could overflow with a large factor.
                pause = pause >= cap / factor ? cap : pause * factor
                left -= 1
            }
            return min(pause, cap)
        }
    }

    /// Returns a policy with the same pause before each retry.
    public static func constant(_ pause: Duration, limit: Int = .max) -> RetryPolicy {
        RetryPolicy(limit: limit) { _ in pause }
    }

    /// Returns the pause before the retry of this number, which counts from 1. Returns `nil` after the last retry. A
    /// negative pause counts as zero.
    public func delay(beforeRetry retry: Int) -> Duration? {
        retry <= limit ? max(pause(retry), .zero) : nil
    }
}

/// A failure that cancels its loop.
///
/// Either a side effect threw an error and no rule turned it into an event, or a mailbox with the policy
/// ``Overflow/fail`` overflowed. ``Loop/fault`` returns the fault, and the loop calls its observer with it.
public struct LoopFault: Error, Sendable, CustomStringConvertible {
    /// The name of the feedback whose side effect failed. It is empty for a fault of the loop itself.
    public let feedback: String
    /// The cause of the fault.
    public let error: any Error

    /// Creates a fault for an error of a feedback's side effect.
    public init(feedback: String, error: any Error) {
        self.feedback = feedback
        self.error = error
    }

    /// The name of the feedback and the cause, as text.
    public var description: String {
        feedback.isEmpty ? "the loop failed: \(error)" : "a side effect of '\(feedback)' failed: \(error)"
    }
}

/// The error of a side effect that tries to stop a loop that only its owner may stop.
struct StopRefused: Error, CustomStringConvertible {
    var description: String { "a side effect cannot stop the system, only its owner can; enter a final state instead" }
}

/// The error of a full mailbox whose policy is ``Overflow/fail``.
public struct MailboxFull: Error, Sendable, Hashable, CustomStringConvertible {
    /// The maximum number of waiting events.
    public let limit: Int
    /// The limit in bytes, if the new event exceeded that limit. `nil` if it exceeded ``limit``.
    package let bytes: Int?

    init(limit: Int, bytes: Int?) {
        self.limit = limit
        self.bytes = bytes
    }

    /// The exceeded limit, as text.
    public var description: String {
        guard let bytes else {
            return "its mailbox, which holds \(limit == 1 ? "one event" : "\(limit) events"), was sent one more"
        }
        return "its mailbox, which holds \(bytes) bytes of data, was sent more"
    }
}

extension Effect {
    /// Runs an async function that may fail.
    ///
    /// - Parameters:
    ///   - body: A function that sends any number of events. The loop ignores an error that it throws after the
    ///     cancellation of the effect.
    ///   - recover: A function that turns an error into an event, or returns `nil` to ignore the error. Without this
    ///     function an error is a fault: the loop is cancelled, and ``Loop/fault`` returns the fault.
    public static func attempt(
        _ body: @escaping @Sendable (Send<Event>) async throws -> Void,
        recover: (@Sendable (any Error) -> Event?)? = nil
    ) -> Effect {
        attempt(retry: .constant(.zero, limit: 0), body, recover: recover)
    }

    /// Runs an async function that may fail, and runs it again after a failure.
    ///
    /// - Parameters:
    ///   - retry: The number of retries and the pauses before them. The loop's clock measures the pauses.
    ///   - body: A function that starts from the beginning at each try. The events of a failed try remain sent.
    ///   - recover: A function that turns the error of the last try into an event, or returns `nil` to ignore it.
    ///     Without this function that error is a fault.
    public static func attempt(
        retry: RetryPolicy,
        _ body: @escaping @Sendable (Send<Event>) async throws -> Void,
        recover: (@Sendable (any Error) -> Event?)? = nil
    ) -> Effect {
        Effect(
            kind: .task { send in
                var retries = 0
                while !Task.isCancelled {
                    do {
                        return try await body(send)
                    } catch {
                        if Task.isCancelled { return }
                        retries += 1
                        if let pause = retry.delay(beforeRetry: retries) {
                            guard (try? await send.clock.sleep(for: pause)) != nil else { return }
                            continue
                        }
                        guard let recover else { throw error }
                        if let event = recover(error) { await send.offer(event) }
                        return
                    }
                }
            })
    }
}

extension Effect {
    /// Returns the same effect, but it never fails: it calls `report` with an error, unless it has been cancelled. A
    /// call of ``Send/beginStop()`` is such an error.
    package func reportingErrors(to report: @escaping @Sendable (any Error) -> Void) -> Effect {
        let kind: Kind
        let refuseStop: @Sendable () -> Void = { report(StopRefused()) }
        switch self.kind {
        case .nothing, .event, .events, .call, .timer, .cancel: return self
        case .subscribe(let start):
            kind = .subscribe { send, finish in start(send.stopping(by: refuseStop), finish) }
        case .task(let body):
            kind = .task { send in
                do {
                    try await body(send.stopping(by: refuseStop))
                } catch {
                    if !Task.isCancelled { report(error) }
                }
            }
        case .all(let effects): kind = .all(effects.map { $0.reportingErrors(to: report) })
        case .waiting(let pause, let then):
            kind = .waiting(pause) {
                let next = then()
                return Continuation(event: next.event, effect: next.effect.reportingErrors(to: report))
            }
        case .throttled(let interval, let inner): kind = .throttled(interval, { inner().reportingErrors(to: report) })
        case .limited(let limit, let event, let inner):
            kind = .limited(limit, event, inner.reportingErrors(to: report))
        }
        let options = options
        let effect = Effect(kind: kind)
        return box == nil ? effect : effect.with { $0 = options }
    }
}
