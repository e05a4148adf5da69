import CommonExpression
import MediatorConfiguration
import Synchronization

extension HostedLink {
    /// The way of a link from states of its system. In an object, because a copy of the parts would count references.
    final class Outlet: Sendable {
        let selector: StateSelector
        let programs: ByState<DataProgram>
        let cause: Cause.LinkOrigin
        let destination: Destination

        init(
            _ selector: StateSelector, _ programs: ByState<DataProgram>, _ cause: Cause.LinkOrigin,
            to destination: Destination
        ) {
            self.selector = selector
            self.programs = programs
            self.cause = cause
            self.destination = destination
        }
    }

    /// The destination of what a link makes of a state.
    enum Destination {
        case bus(HostedBus)
        /// The other system, and its event for each state.
        case system(LinkTarget, ByState<Int>)
    }

    /// The way of a link from values of a bus to an event of its system.
    final class Inlet: Sendable {
        let filter: ValueFilter
        let event: EventProgram
        /// A Boolean value that indicates whether the event has a rule for its data beyond the type.
        let isRestricted: Bool

        init(_ filter: ValueFilter, _ event: EventProgram, isRestricted: Bool) {
            self.filter = filter
            self.event = event
            self.isRestricted = isRestricted
        }
    }
}

extension HostedLink {
    /// Returns what the link makes of the present state of its system for another system: the event, its data, the state and the
    /// origin. `nil` if the link does not set an input of that system, or does not fire in the state.
    func output(
        for target: HostedSystem
    ) -> (event: Int, data: Value, state: SystemState, cause: Cause.LinkOrigin)? {
        guard let outlet = ofStates, case .system(let other, let events) = outlet.destination, other.leads(to: target),
            let state = system.state,
            let index = system.definition.index(of: state.index, in: state.definition), let event = events[index],
            event >= other.definition.ownEvents, let program = outlet.programs[index]
        else { return nil }
        var variables = state.variables(at: time.now())
        guard (try? outlet.selector.matches(index, state.data, &variables)) == true,
            let data = try? program.evaluate(&variables)
        else { return nil }
        return (event, data, state, outlet.cause)
    }

    /// Notes the stay in a compound state for which the link has fired. A link that fails tries again in the next state inside.
    func note(stay: Nest.Stay?, _ outlet: Outlet) {
        guard !outlet.selector.compounds.isEmpty else { return }
        figures.status.withLock { $0.stay = stay }
    }

    /// Notes that the link has fired for a state before the start of the process.
    func note(seen state: SystemState) {
        if let outlet = ofStates { note(stay: state.stay(by: outlet.selector, of: system.definition), outlet) }
    }

    /// Returns whether the link has fired for the stay of its system in a compound state, and the state is another one inside that
    /// its selector still picks.
    func goesOn(in state: SystemState) -> Bool {
        guard let outlet = ofStates, !outlet.selector.compounds.isEmpty, definition.trigger == nil,
            let stay = state.stay(by: outlet.selector, of: system.definition),
            let known = figures.status.withLock({ $0.stay }), known === stay,
            let index = system.definition.index(of: state.index, in: state.definition)
        else { return false }
        var variables = state.variables(at: time.now())
        return (try? outlet.selector.matches(index, state.data, &variables)) ?? false
    }
}
