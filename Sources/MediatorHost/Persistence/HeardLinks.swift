import CommonExpression
import FeedbackKit
import MediatorConfiguration

// The last state or value that a persisted part has heard over each link. At a restore, a link that would show it again is
// silent.

extension SystemEvent {
    /// The name of the link that made the event, and the state or value that the link showed. `nil` for an event from elsewhere.
    var heard: (link: String, SavedDetails.Heard)? {
        if let link = via?.link {
            guard let time = cause?.time else { return nil }
            return (link.name, SavedDetails.Heard(link: link.fingerprint, since: time, serial: 0))
        }
        guard let cause, let origin = cause.origin as? Cause.LinkOrigin, origin.bus == nil else { return nil }
        return origin.heard(cause, data)
    }
}

extension BusValue {
    /// The name of the link that put the value on the bus, and the state that the link showed. `nil` for another value.
    var heard: (link: String, SavedDetails.Heard)? {
        (cause.origin as? Cause.LinkOrigin)?.heard(cause, value)
    }
}

extension Cause.LinkOrigin {
    fileprivate func heard(_ cause: Cause, _ output: Value) -> (link: String, SavedDetails.Heard)? {
        // A link with a trigger never shows a state again by itself.
        guard link.trigger == nil, let record = cause.record else { return nil }
        return (
            link.name,
            SavedDetails.Heard(
                link: link.fingerprint, since: record.since, serial: record.visitNumber,
                output: link.firesOnChange ? output.checksum : nil)
        )
    }
}

extension Value {
    /// A checksum of the value, which is the same in each process: FNV-1a of its text.
    fileprivate var checksum: UInt64 {
        description.utf8.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    }
}

extension HostedLink {
    /// Returns whether its receiver has heard a state already. A link that also fires at updates then goes on from its output.
    func isHeard(_ heard: SavedDetails.Heard?, of state: SystemState) -> Bool {
        guard let heard, heard.link == definition.fingerprint, heard.since == state.since,
            heard.serial == state.record.visitNumber
        else { return false }
        guard definition.firesOnChange else { return true }
        var variables = state.variables(at: time.now())
        guard let outlet = ofStates, let index = system.definition.index(of: state.index, in: state.definition),
            let output = try? outlet.programs[index]?.evaluate(&variables), heard.output == output.checksum
        else { return false }
        note(emitted: output)
        return true
    }

    /// Returns whether its system has heard a value already.
    func isHeard(_ heard: SavedDetails.Heard?, of value: BusValue) -> Bool {
        guard let heard else { return false }
        return heard.link == definition.fingerprint && heard.since == value.cause.time && heard.serial == 0
    }
}

extension HostedSet {
    /// Makes the links from restored systems silent in the first state, if their receivers have heard it. Called before the
    /// start.
    ///
    /// Inputs are not stored, so links that set inputs are never silent.
    ///
    /// - Parameter details: The details of the restored parts.
    /// - Returns: The links from buses whose systems have heard the value.
    func skipHeard(_ details: SavedParts) -> Set<ObjectIdentifier> {
        guard !details.systems.isEmpty || !details.buses.isEmpty else { return [] }
        var fromBuses: Set<ObjectIdentifier> = []
        var fromSystems: [Int: Set<ObjectIdentifier>] = [:]
        for link in links where link.definition.trigger == nil {
            let (id, name, system) = (ObjectIdentifier(link), link.definition.name, link.definition.system)
            let heard: [String: SavedDetails.Heard]?
            switch link.definition.form {
            case .busToSystem(let bus, _, _):
                guard !link.setsInput, details.buses[buses[bus].definition.name] != nil, let value = buses[bus].carried,
                    link.isHeard(systems[system].incarnation.commits?.heard[name], of: value)
                else { continue }
                fromBuses.insert(id)
                continue
            case .systemToBus(let bus, _, _): heard = buses[bus].gate?.heard
            case .systemToSystem(let target, _, let events):
                let own = systems[target].definition.ownEvents
                heard = events.values.contains { $0.event >= own } ? nil : systems[target].incarnation.commits?.heard
            }
            guard details.systems[systems[system].definition.name] != nil,
                link.isHeard(heard?[name], of: systems[system].loop.state)
            else { continue }
            fromSystems[system, default: []].insert(id)
        }
        for (index, links) in fromSystems {
            let incarnation = systems[index].incarnation
            incarnation.commits?.skip(links, at: incarnation.loop.state.record.visitNumber)
        }
        return fromBuses
    }
}

extension HostedSet {
    /// Adds the details of the persisted systems and buses to their states and values.
    func addDetails(to state: inout HostState) {
        for system in systems where state.systems[system.definition.name] != nil {
            let incarnation = system.incarnation
            guard let commits = incarnation.commits else { continue }
            state.systemDetails[system.definition.name] =
                StoredState(incarnation.loop.state, heard: commits.heardByState).details
        }
        for bus in buses where bus.definition.isPersisted {
            state.busDetails[bus.definition.name] = bus.gate?.details
        }
    }
}
