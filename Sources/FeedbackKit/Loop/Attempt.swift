/// How often, and after which pauses, a side effect that fails is tried again.
public struct RetryPolicy: Sendable {
    /// How many times it is tried again after the first failure, at least 0.
    public let limit: Int
    private let pause: @Sendable (Int) -> Duration

    /// Tries again at most `limit` times.
    ///
    /// - Parameter delay: the pause before the retry of the given number, which counts from 1; by the loop's clock.
    /// - Parameter limit: how many times it is tried again at most.
    public init(limit: Int, delay: @escaping @Sendable (_ retry: Int) -> Duration) {
        precondition(limit >= 0, "a side effect cannot be tried again \(limit) times")
        self.limit = limit
        pause = delay
    }

    /// Pauses of `first`, then each `factor` times as long as the one before, up to `cap`.
    ///
    /// There is no random part, so that a run can be reproduced; where many clients would try again in step, give each
    /// its own `first`.
    public static func exponential(
        first: Duration, factor: Double = 2, cap: Duration = .seconds(60), limit: Int = .max
    ) -> RetryPolicy {
        precondition(factor >= 1, "a pause must not become shorter: the factor \(factor) is below 1")
        return RetryPolicy(limit: limit) { retry in
            var pause = first
            var left = factor > 1 ? retry - 1 : 0
            while left > 0, pause < cap {
                // Not multiplied beyond the cap, where a large factor would overflow.
                pause = pause >= cap / factor ? cap : pause * factor
                left -= 1
            }
            return min(pause, cap)
        }
    }

    /// The same pause each time.
    public static func constant(_ pause: Duration, limit: Int = .max) -> RetryPolicy {
        RetryPolicy(limit: limit) { _ in pause }
    }

    /// The pause before the retry of this number; `nil`: there is none.
    public func delay(beforeRetry retry: Int) -> Duration? {
        retry <= limit ? max(pause(retry), .zero) : nil
    }
}

/// A side effect ended with an error that nobody turned into an event, or a mailbox overflowed where that is a failure.
/// The loop is cancelled; ``Loop/fault`` and the observer say why.
public struct LoopFault: Error, Sendable, CustomStringConvertible {
    /// The feedback whose side effect failed; empty: the loop itself.
    public let feedback: String
    /// What was thrown.
    public let error: any Error

    /// An error of a feedback's side effect.
    public init(feedback: String, error: any Error) {
        self.feedback = feedback
        self.error = error
    }

    /// Who failed, and why.
    public var description: String {
        feedback.isEmpty ? "the loop failed: \(error)" : "a side effect of '\(feedback)' failed: \(error)"
    }
}

/// A mailbox whose policy is ``Overflow/fail`` was full.
public struct MailboxFull: Error, Sendable, Hashable, CustomStringConvertible {
    /// How many events it can hold.
    public let limit: Int
    /// How many bytes its events can hold, if it was for these that it had no room.
    package let bytes: Int?

    init(limit: Int, bytes: Int?) {
        self.limit = limit
        self.bytes = bytes
    }

    /// What happened.
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
    ///   - body: sends as many events as it likes. What it throws after the effect has been cancelled is of no interest.
    ///   - recover: turns an error into an event, or with `nil` into nothing. Without this rule an error is a fault: the
    ///     loop is cancelled, and ``Loop/fault`` says why.
    public static func attempt(
        _ body: @escaping @Sendable (Send<Event>) async throws -> Void,
        recover: (@Sendable (any Error) -> Event?)? = nil
    ) -> Effect {
        attempt(retry: .constant(.zero, limit: 0), body, recover: recover)
    }

    /// Runs an async function that may fail, and tries it again when it does.
    ///
    /// - Parameters:
    ///   - retry: how often, after which pauses; the loop's clock counts them.
    ///   - body: begins anew with each try; events it has sent in a try that failed later remain sent.
    ///   - recover: turns the error of the last try into an event; without it that error is a fault.
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
    /// The same effect, which never fails: what it throws is told to `report`, unless it has been cancelled.
    package func reportingErrors(to report: @escaping @Sendable (any Error) -> Void) -> Effect {
        let kind: Kind
        switch self.kind {
        case .nothing, .event, .events, .call, .subscribe, .timer, .cancel: return self
        case .task(let body):
            kind = .task { send in
                do {
                    try await body(send)
                } catch {
                    if !Task.isCancelled { report(error) }
                }
            }
        case .all(let effects): kind = .all(effects.map { $0.reportingErrors(to: report) })
        case .delayed(let delay, let inner): kind = .delayed(delay, { inner().reportingErrors(to: report) })
        case .throttled(let interval, let inner): kind = .throttled(interval, { inner().reportingErrors(to: report) })
        case .limited(let limit, let event, let inner):
            kind = .limited(limit, event, inner.reportingErrors(to: report))
        }
        let options = options
        let effect = Effect(kind: kind)
        return box == nil ? effect : effect.with { $0 = options }
    }
}
