import MediatorConfiguration
package import FeedbackKit

extension LoopExecutor where Self == SharedPool {
    /// The executor of configured systems: the shared pool with sixteen events an activation, because an event may cost
    /// expressions and log lines. A flooded system delays the others by at most sixteen of its events.
    package static var configuredSystems: SharedPool { SharedPool(eventsPerTurn: 16) }
}

extension TaskPriority {
    /// The priority of tasks that inspect, change or stop systems. It is higher than that of their side effects, so that
    /// these tasks do not wait behind a flood.
    package static let management = TaskPriority.high
}

extension SystemState: NamedInTraces {
    /// The names of the system and the state.
    package var nameInTraces: String { "\(definition.name).\(record.name)" }
}

extension SystemEvent: NamedInTraces {
    /// The name of the event.
    package var nameInTraces: String { name }
}
