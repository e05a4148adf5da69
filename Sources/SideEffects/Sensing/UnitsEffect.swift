public import CommonExpression
public import MediatorConfiguration
public import MediatorHost
import Systemd

/// The side effect `units`: reports the states of the systemd units whose names match a pattern, and each change of
/// them.
public struct UnitsEffect: EffectImplementation {
    /// The time before it connects again after an error.
    public let retryInterval: Duration

    /// The name, parameters and outcomes.
    public var schema: EffectSchema { .units }

    /// Creates the side effect with the time before it connects again.
    public init(retryInterval: Duration = .seconds(5)) {
        self.retryInterval = retryInterval
    }

    /// Watches until it is cancelled. Reports the current state of each unit, then each change. After each of them it
    /// reports the totals if they have changed.
    public func run(_ arguments: [String: Value], in context: EffectContext) async {
        guard let pattern = arguments["pattern"]?.text else { return }
        let manager = ServiceManager.of(arguments["scope"]?.text.flatMap(ServiceManager.Scope.init) ?? .system)
        var complaints = Complaints()
        var known: [String: UnitState] = [:]
        var last: [Value]?
        while !Task.isCancelled {
            do {
                for try await all in manager.units(matching: pattern) {
                    let units = all.prefix(ServiceManager.listLimit)
                    if units.count < all.count {
                        complaints.add(
                            "more than \(units.count) units match \(pattern); those after "
                                + "'\(units.last?.name ?? "")' are not reported", context)
                    } else {
                        complaints.clear(context)
                    }
                    tell(units, &known, &last, context)
                }
            } catch {
                complaints.add("cannot watch the units \(pattern): \(error)", context)
            }
            guard (try? await context.clock.sleep(for: retryInterval)) != nil else { return }
        }
    }

    private func tell(
        _ units: ArraySlice<UnitState>, _ known: inout [String: UnitState], _ last: inout [Value]?,
        _ context: EffectContext
    ) {
        let present = Dictionary(units.map { ($0.name, $0) }) { first, _ in first }
        // Units that are no longer loaded come first.
        for name in known.keys.filter({ present[$0] == nil }).sorted() {
            report(UnitState(name: name, active: "inactive", sub: "dead", load: "not-loaded", result: ""), context)
        }
        for unit in units where known[unit.name] != unit { report(unit, context) }
        known = present
        let list: [Value] = [
            .list(units.map { .string($0.name) }), .int(Int64(units.count)),
            .int(Int64(units.count { $0.active == "active" })), .int(Int64(units.count { $0.active == "failed" })),
        ]
        guard list != last else { return }
        last = list
        context.report("onList", of: .units, list)
    }

    private func report(_ unit: UnitState, _ context: EffectContext) {
        context.report(
            "onChange", of: .units,
            [.string(unit.name), .string(unit.active), .string(unit.sub), .string(unit.load)])
    }
}
