public import CommonExpression
public import MediatorConfiguration
public import MediatorHost
import Systemd

/// `unit`: tells how a unit of systemd is, and each time that changes.
public struct UnitEffect: EffectImplementation {
    /// How long it waits before it asks again after it could not, or the connection was lost.
    public let retryInterval: Duration

    /// Its name, parameters and outcomes.
    public var schema: EffectSchema { .unit }

    /// The effect; it asks again so long after it could not.
    public init(retryInterval: Duration = .seconds(5)) {
        self.retryInterval = retryInterval
    }

    /// Watches until it is cancelled; reports first how the unit is, then what changes.
    public func run(_ arguments: [String: Value], in context: EffectContext) async {
        guard let name = arguments["name"]?.text else { return }
        let manager = ServiceManager.of(arguments["scope"]?.text.flatMap(ServiceManager.Scope.init) ?? .system)
        var complaints = Complaints()
        var last: UnitState?
        while !Task.isCancelled {
            do {
                for try await state in manager.states(of: name) {
                    complaints.clear()
                    // After a connection that was lost it may be as it was.
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
