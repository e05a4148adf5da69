public import CommonExpression
import Logging
public import MediatorConfiguration
public import MediatorHost
import Systemd

/// The side effect `systemctl`: starts, stops, restarts or reloads a systemd unit, and waits until its job has ended.
public struct SystemctlEffect: EffectImplementation {
    /// The name, parameters and outcomes.
    public var schema: EffectSchema { .systemctl }

    /// Creates the side effect.
    public init() {}

    /// Performs the action once. Reports `onSuccess` if the job was done, otherwise `onFailure`. A cancelled run
    /// reports nothing, and its job continues.
    public func run(_ arguments: [String: Value], in context: EffectContext) async {
        guard let name = arguments["name"]?.text, let action = arguments["action"]?.text.flatMap(UnitAction.init) else {
            return
        }
        let manager = ServiceManager.of(arguments["scope"]?.text.flatMap(ServiceManager.Scope.init) ?? .system)
        let limit = arguments["timeout"]?.swiftDuration ?? .seconds(90)
        let (result, active, error): (String, String, String)
        do {
            if let job = try await Self.perform(action, name, manager, limit, context) {
                (result, active) = (job.result, job.active)
                error = job.result == "done" ? "" : "the job to \(action.rawValue) \(name) ended with: \(job.result)"
            } else {
                (result, active) = ("timeout", "")
                error = "\(EffectSchema.timeLimitPassed); the job continues"
            }
        } catch let failure as ServiceManagerError {
            (result, active) = (failure.code == .lost ? "unknown" : "refused", "")
            error = failure.message
        } catch {
            return
        }
        if Task.isCancelled { return }
        if result == "done" {
            context.report("onSuccess", of: .systemctl, [.string(name), .string(result), .string(active)])
            return
        }
        let outcome = "onFailure"
        let isHandled = context.report(
            outcome, RunResult.structure(for: .systemctl, outcome, [.string(name), .string(result), .string(error)]))
        guard !isHandled else { return }
        if result == "refused" {
            context.fail("cannot \(action.rawValue) the unit \(name): \(error)")
        } else {
            context.warn(
                "job of a unit failed and no onFailure handles it",
                metadata: .about(
                    .effectFailed,
                    ["unit": "\(name)", "action": "\(action.rawValue)", "result": "\(result)", "error": "\(error)"]))
        }
    }

    /// Returns the job's result; `nil` if the time limit passed.
    private static func perform(
        _ action: UnitAction, _ name: String, _ manager: ServiceManager, _ limit: Duration, _ context: EffectContext
    ) async throws -> JobResult? {
        try await withThrowingTaskGroup(of: JobResult?.self) { group in
            group.addTask { try await manager.perform(action, on: name) }
            group.addTask {
                try await context.clock.sleep(for: limit)
                return nil
            }
            defer { group.cancelAll() }
            return try await group.next() ?? nil
        }
    }
}
