public import CommonExpression
public import MediatorConfiguration
public import MediatorHost
import Systemd

/// The side effect `unit`: reports the state of a systemd unit, and each change of it.
public struct UnitEffect: EffectImplementation {
    /// The time before it connects again after an error.
    public let retryInterval: Duration

    /// The name, parameters and outcomes.
    public var schema: EffectSchema { .unit }

    /// Creates the side effect with the time before it connects again.
    public init(retryInterval: Duration = .seconds(5)) {
        self.retryInterval = retryInterval
    }

    /// Watches until it is cancelled. Reports the current state of the unit, then each change.
    public func run(_ arguments: [String: Value], in context: EffectContext) async {
        guard let name = arguments["name"]?.text else { return }
        let manager = ServiceManager.of(arguments["scope"]?.text.flatMap(ServiceManager.Scope.init) ?? .system)
        var complaints = Complaints()
        var last: UnitState?
        while !Task.isCancelled {
            do {
                for try await state in manager.states(of: name) {
                    complaints.clear(context)
                    // The state may be unchanged after a lost connection.
                    guard state != last else { continue }
                    last = state
                    context.report(
                        "onChange", of: .unit,
                        [
                            .string(state.name), .string(state.active), .string(state.sub), .string(state.load),
                            .string(state.result),
                        ])
                }
            } catch {
                complaints.add("cannot watch the unit \(name): \(error)", context)
            }
            guard (try? await context.clock.sleep(for: retryInterval)) != nil else { return }
        }
    }
}
