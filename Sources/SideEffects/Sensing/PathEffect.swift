public import CommonExpression
public import MediatorConfiguration
public import MediatorHost

/// The side effect `path`: reports when a file or directory appears, changes or disappears, with the beginning of a
/// file.
///
/// It reports at most once in each `settle`, and always the latest state.
public struct PathEffect: EffectImplementation {
    /// The time before it looks again at a path that it could not read or watch.
    public let retryInterval: Duration

    /// The name, parameters and outcomes.
    public var schema: EffectSchema { .path }

    /// Creates the side effect with the time before it looks again.
    public init(retryInterval: Duration = .seconds(10)) {
        self.retryInterval = retryInterval
    }

    /// Watches until it is cancelled. Reports the current state as `onAppear` or `onVanish`, then each change.
    public func run(_ arguments: [String: Value], in context: EffectContext) async {
        guard let path = arguments["path"]?.text else { return }
        var limit = 0
        if case .int(let content)? = arguments["content"] { limit = Int(content) }
        let settle = arguments["settle"]?.swiftDuration ?? .milliseconds(100)
        var complaints = Complaints()
        while !Task.isCancelled {
            do {
                let watch = try PathWatch(path, contentLimit: limit)
                try await report(watch, path, settle, &complaints, context)
            } catch let problem as SensingProblem {
                complaints.add(problem.message, context)
            } catch is CancellationError {
                return
            } catch {
                complaints.add("cannot watch \(path): \(error)", context)
            }
            guard (try? await context.clock.sleep(for: retryInterval)) != nil else { return }
        }
    }

    private func report(
        _ watch: PathWatch, _ path: String, _ settle: Duration, _ complaints: inout Complaints, _ context: EffectContext
    ) async throws {
        var last: PathWatch.Observation?
        while true {
            let look = try await Blocking.call { watch.look() }
            try Task.checkCancellation()
            if let problem = look.problem { complaints.add(problem, context) } else { complaints.clear(context) }
            if let now = look.observation {
                if let outcome = Self.outcome(last, now, look.isModified) {
                    context.report(
                        outcome, of: .path,
                        [
                            .string(path), .string(now.kind == .directory && last != nil ? look.entry : ""),
                            .string(now.kind.rawValue), .int(now.size),
                            .timestamp(
                                Timestamp(seconds: now.modifiedSeconds, nanoseconds: now.modifiedNanoseconds)
                                    ?? Self.epoch),
                            .string(String(decoding: now.content, as: UTF8.self)),
                        ])
                }
                last = now
            }
            var isDue = false
            while !isDue {
                if look.problem == nil {
                    try await Poller.shared.readable(watch.descriptor)
                } else if try await !Poller.shared.readable(
                    watch.descriptor, within: retryInterval, clock: context.clock)
                {
                    isDue = true
                }
                if watch.drain() { isDue = true }
            }
            try await context.clock.sleep(for: settle)
            _ = watch.drain()
        }
    }

    /// Returns the outcome for the change between two looks; `nil` if nothing changed.
    private static func outcome(
        _ last: PathWatch.Observation?, _ now: PathWatch.Observation, _ isModified: Bool
    ) -> String? {
        let (was, exists) = (last.map { $0.kind != .none }, now.kind != .none)
        if was != exists { return exists ? "onAppear" : "onVanish" }
        return exists && (isModified || last != now) ? "onChange" : nil
    }

    /// The time for a missing file, and for a time outside the range of timestamps.
    private static let epoch: Timestamp = {
        guard let epoch = Timestamp(seconds: 0, nanoseconds: 0) else {
            preconditionFailure("the beginning of 1970 is within the range of timestamps")
        }
        return epoch
    }()
}
