import CommonExpression
import MediatorConfiguration
import MediatorHost
import TestSupport

/// A fixture with a host.
protocol HostedFixture {
    /// The host.
    var host: Host { get }
}

extension HostedFixture {
    /// Returns when every system has handled its events, and the events that these caused.
    func settle() async { await host.settled() }

    /// Returns the current state of a system as text: its name and the values of its fields.
    func state(_ system: String) throws -> String {
        let status = try host.systemStatus(system)
        return text(status.state, of: status.definition)
    }

    /// Returns the states of a system as text, from now on, until one of them is `last`.
    func states(of system: String, until last: String) async throws -> [String] {
        let definition = try host.systemStatus(system).definition
        var seen: [String] = []
        for await change in try host.watchSystem(system) {
            seen.append(text(change.subject, of: definition))
            if seen.last == last { break }
        }
        return seen
    }

    /// Returns a state of a system as text.
    func text(_ state: SystemState, of definition: SystemDefinition) -> String {
        guard case .structure(let data) = state.data else { return "" }
        return ([definition.states[state.index].name] + data.fields.map(\.description)).joined(separator: " ")
    }
}
